"""Faults that are switched on by hand: what stands, what is done once, and how a player is told."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A fault that lasts while it is on.

    Parameters
    ----------
    key : the player's word for it.
    label, tip : for people.
    unit : of the number that people give, and `factor` times it is the player's.
    usual, most : that number at first, and the largest.
    """

    key: str
    label: str
    tip: str
    unit: str
    factor: float
    usual: float
    most: float
    decimals: int = 1


KINDS = (
    FaultKind("drop", "drop", "messages that are lost", "%", 0.01, 1.0, 100.0),
    FaultKind("duplicate", "duplicate", "messages that come twice", "%", 0.01, 1.0, 100.0),
    FaultKind("reorder", "reorder", "messages that change places with the next", "%", 0.01, 1.0, 100.0),
    FaultKind("nan", "NaN", "measured samples that are no number", "%", 0.01, 0.1, 100.0, 2),
    FaultKind("jitter", "jitter", "how far the times of messages are off, at most", "ms", 0.001, 2.0, 1000.0),
)
GAP = 0.5
"""s of samples that are left out at once."""
DELAY_STEP = 0.005
"""s by which the measured signals lag more."""


@dataclass(frozen=True)
class HandFaults:
    """What is on: numbers as the player takes them, by their word; `delay` in s stays until it is taken away."""

    standing: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0

    def text(self, *once: str) -> str:
        """Return what the player is told: what stands, and what happens `once`, now."""
        parts = [f"{key}={value:.12g}" for key, value in self.standing.items() if value > 0.0]
        parts += [f"delay_step=0:{self.delay:.12g}"] if self.delay > 0.0 else []
        return ",".join([*parts, *once])

    def having(self, key: str, value: float | None) -> HandFaults:
        """Return the same with one fault on, or off."""
        rest = {name: number for name, number in self.standing.items() if name != key}
        return HandFaults(rest if value is None else rest | {key: value}, self.delay)

    def later(self, delay: float = DELAY_STEP) -> HandFaults:
        """Return the same with the measured signals lagging more."""
        return HandFaults(self.standing, self.delay + delay)

    @property
    def words(self) -> str:
        """What is on, for people; empty when nothing is."""
        return ", ".join(_words(self))


def _words(faults: HandFaults) -> Iterable[str]:
    for kind in KINDS:
        value = faults.standing.get(kind.key)
        if value:
            yield f"{kind.label} {value / kind.factor:.4g} {kind.unit}"
    if faults.delay > 0.0:
        yield f"measured {1e3 * faults.delay:.4g} ms later"


def read_hand_faults(text: str) -> HandFaults:
    """Return what stands in a player's text; what happened once is left out, and so is what is not known here."""
    standing: dict[str, float] = {}
    delay = 0.0
    known = {kind.key for kind in KINDS}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        try:
            number = float(value.rpartition(":")[2])
        except ValueError:
            continue
        if not 0.0 <= number < math.inf:
            continue
        if key in known:
            standing[key] = number
        elif key == "delay_step":
            delay = number
    return HandFaults(standing, delay)

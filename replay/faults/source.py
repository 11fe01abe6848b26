"""Fault injection: which faults, how they are written, and the source whose blocks suffer them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from monitor.messages.blocks import Event, SignalBlock
from monitor.transport.base import BlockSource
from replay.faults.disturbances import (
    DelayStep,
    Disturbance,
    Drop,
    Duplicate,
    Gap,
    Jitter,
    MissingValues,
    Reorder,
    Restart,
)

_PAIRS = ("delay_step", "gap")
_WRITTEN = (
    "drop=P,duplicate=P,reorder=P,nan=P,jitter=S,delay_step=T:S,gap=T:S,restart=T "
    "with probabilities P and times T and S in s"
)


class FaultError(ValueError):
    """Faults that cannot be parsed; the message gives the reason, in one line."""


@dataclass(frozen=True)
class Faults:
    """What goes wrong; nothing by default.

    Parameters
    ----------
    drop, duplicate, reorder : probability that a block is lost, comes twice, or changes places with the next.
    jitter : s; the times of blocks are off by up to that, either way.
    nan : probability that a sample of a measured channel is NaN.
    delay_step : (s, s): from the first time on, the measured channels lag by the second.
    gap : (s, s): at the first time, samples are missing for the second.
    restart : s; the publisher restarts then: a larger epoch, numbers from 0.

    Times count from the first sample that comes.

    Raises
    ------
    FaultError : a probability is outside 0 .. 1, or a time negative.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    jitter: float = 0.0
    nan: float = 0.0
    delay_step: tuple[float, float] | None = None
    gap: tuple[float, float] | None = None
    restart: float | None = None

    def __post_init__(self) -> None:
        for name in ("drop", "duplicate", "reorder", "nan"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise FaultError(f"{name}={value:g}: a probability is between 0 and 1")
        for name in ("jitter", "delay_step", "gap", "restart"):
            value = getattr(self, name)
            times = value if isinstance(value, tuple) else (0.0 if value is None else value,)
            if not all(0.0 <= t < math.inf for t in times):
                raise FaultError(f"{name}={':'.join(f'{t:g}' for t in times)}: a time is not negative")


def parse_faults(text: str) -> Faults:
    """Return the faults in a text such as ``drop=0.01,delay_step=10:0.005``.

    Raises
    ------
    FaultError : the text names no such fault, names one twice, or gives it a wrong value.
    """
    found: dict[str, Any] = {}
    known = {field.name for field in fields(Faults)}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in known:
            raise FaultError(f"unknown fault {part!r}; write {_WRITTEN}")
        if name in found:
            raise FaultError(f"{name} is given twice: once is enough")
        try:
            numbers = tuple(float(piece) for piece in value.split(":"))
        except ValueError:
            raise FaultError(f"{part!r}: not a number; write {_WRITTEN}") from None
        if len(numbers) != (2 if name in _PAIRS else 1):
            raise FaultError(f"{part!r}: write {_WRITTEN}")
        found[name] = numbers if name in _PAIRS else numbers[0]
    return replace(Faults(), **found)


_ONCE = ("gap", "restart")


class FaultySource:
    """A source whose blocks suffer `faults`; its events pass unharmed.

    The block that ends the stream is never lost, doubled or moved. For use in one thread.
    """

    def __init__(self, source: BlockSource, faults: Faults, seed: int = 0) -> None:
        self._source = source
        self._seed = seed
        self._changes = 0
        self._restart = Restart(faults.restart)
        self.faults = faults
        self._chain = self._build_chain(faults, {})
        self._held: list[SignalBlock | Event] = []
        self._flushed = False

    def set_faults(self, faults: Faults) -> None:
        """Let the samples from now on suffer `faults`; the times of those that are new count from now.

        An unchanged fault continues undisturbed. A gap or a restart occurs again whenever it is set; a restart
        that has happened is not taken back: epochs never fall.
        """
        self._held += self._flush()
        self._changes += 1
        self._restart.retrigger(faults.restart)
        self._chain = self._build_chain(faults, self._chain)
        self.faults = faults

    @property
    def added_epochs(self) -> int:
        """By how much the epochs are larger than the source's, after so many restarts."""
        return self._restart.added

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what is left of what has arrived; empty also when all of it was lost."""
        given = self.apply_faults(self._source.receive(0.0 if self._held else timeout))
        if not self._source.ended:
            self._flushed = False  # it may have ended and been wound back
        elif not self._flushed:
            self._flushed = True
            given += self._flush()
        return given

    def apply_faults(self, items: Sequence[SignalBlock | Event]) -> list[SignalBlock | Event]:
        """Return `items` with faults, continued where the source has stopped."""
        given, self._held = self._held, []
        for item in items:
            given += _apply_chain(self._chain.values(), item) if isinstance(item, SignalBlock) else [item]
        return given

    @property
    def ended(self) -> bool:
        """Nothing will come any more."""
        return self._source.ended and self._flushed

    def close(self) -> None:
        """Close the source."""
        self._flushed = True
        self._source.close()

    def _flush(self) -> list[SignalBlock]:
        """Return what the faults hold back, which suffers those that follow."""
        given = []
        chain = tuple(self._chain.values())
        for place, disturbance in enumerate(chain):
            for block in disturbance.flush():
                given += _apply_chain(chain[place + 1 :], block)
        return given

    def _build_chain(self, faults: Faults, before: Mapping[str, Disturbance]) -> dict[str, Disturbance]:
        """Return the faults in order: of samples first, of the publisher next, of the network last.

        Each draws from a generator of its own, so that one more fault does not change what the others do.
        """
        nothing = Faults()
        chain: dict[str, Disturbance] = {}
        for place, (name, make) in enumerate(_ORDER):
            value, earlier = getattr(faults, name), before.get(name)
            if make is None:
                chain[name] = self._restart
            elif value == getattr(nothing, name):
                continue
            elif earlier is not None and value == getattr(self.faults, name) and name not in _ONCE:
                chain[name] = earlier
            elif isinstance(earlier, DelayStep):
                # a changed lag continues from the previous measured value
                earlier.retrigger(*value)
                chain[name] = earlier
            else:
                entropy = [self._seed, place, self._changes][: 3 if self._changes else 2]
                chain[name] = make(value, np.random.default_rng(entropy))
        return chain


def _apply_chain(chain: Iterable[Disturbance], block: SignalBlock) -> list[SignalBlock]:
    blocks = [block]
    for disturbance in chain:
        blocks = [changed for each in blocks for changed in disturbance.apply(each)]
    return blocks


# restarts have no maker: there is one for all, which outlives the changes
_ORDER: tuple[tuple[str, Callable[[Any, np.random.Generator], Disturbance] | None], ...] = (
    ("delay_step", lambda value, _: DelayStep(*value)),
    ("nan", MissingValues),
    ("gap", lambda value, _: Gap(*value)),
    ("restart", None),
    ("jitter", Jitter),
    ("drop", Drop),
    ("duplicate", Duplicate),
    ("reorder", Reorder),
)

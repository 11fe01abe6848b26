"""Which faults there shall be, and how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

_PAIRS = ("delay_step", "gap")
_WRITTEN = (
    "drop=P,duplicate=P,reorder=P,nan=P,jitter=S,delay_step=T:S,gap=T:S,restart=T "
    "with probabilities P and times T and S in s"
)


class FaultError(ValueError):
    """Faults that make no sense; the text says why, in one line."""


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

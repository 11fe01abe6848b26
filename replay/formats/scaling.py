"""Factors and fill values beside numbers: used where they follow the convention of netCDF, else told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.columns import words

_FACTOR, _OFFSET = ("scalefactor",), ("addoffset",)
_FILL = ("fillvalue", "missingvalue")
_DOUBTFUL = words(
    "gain scale scaling multiplier factor slope sensitivity calibration offset intercept conversionfactor calfactor "
    "conversion scalingfactor"
)


@dataclass(frozen=True)
class Scaling:
    """What makes values of numbers as they are stored: factor * number + offset; NaN for those that fill."""

    factor: float = 1.0
    offset: float = 0.0
    fill: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    def applied(self, numbers: Samples) -> Samples:
        """Return the values of numbers."""
        values = np.asarray(numbers, dtype=np.float64)
        if self.fill:
            values = np.where(np.isin(values, self.fill), np.nan, values)
        return values if (self.factor, self.offset) == (1.0, 0.0) else self.factor * values + self.offset

    @property
    def does_nothing(self) -> bool:
        """Whether values are as stored."""
        return (self.factor, self.offset, self.fill) == (1.0, 0.0, ())


def read_scaling(name: str, attributes: Mapping[str, object]) -> Scaling:
    """Return what attributes such as ``scale_factor`` and ``_FillValue`` of an array say, with notes on it.

    A ``gain`` or ``scale`` may be in the numbers already: it is not applied, which is noted.
    """
    found: dict[str, float] = {}
    for key, value in attributes.items():
        try:
            found[re.sub(r"[^a-z]", "", key.lower())] = float(np.asarray(value, dtype=np.float64).ravel()[0])
        except (TypeError, ValueError, IndexError):
            continue
    factor = next((found[key] for key in _FACTOR if key in found), 1.0)
    offset = next((found[key] for key in _OFFSET if key in found), 0.0)
    fill = tuple(dict.fromkeys(found[key] for key in _FILL if key in found))
    notes = []
    if (factor, offset) != (1.0, 0.0):
        plus = f" + {offset:g}" if offset else ""
        notes.append(f"{name}: scaled as the file says, {factor:g} times the numbers{plus}")
    if fill:
        notes.append(f"{name}: {', '.join(f'{value:g}' for value in fill)} is no value, as the file says")
    neutral = {"offset": 0.0, "intercept": 0.0}
    doubtful = [key for key in found if key in _DOUBTFUL and found[key] != neutral.get(key, 1.0)]
    if doubtful:
        said = ", ".join(f"{key} {found[key]:g}" for key in doubtful)
        notes.append(f"{name}: the file gives {said}, which is not applied: the numbers may include it or not")
    return Scaling(factor, offset, tuple(value for value in fill if np.isfinite(value)), tuple(notes))


def scaled(read: Callable[[int, int], np.ndarray], scaling: Scaling) -> Callable[[int, int], np.ndarray]:
    """Return what reads a part of an array and scales it."""
    if scaling.does_nothing:
        return read
    return lambda begin, end: scaling.applied(read(begin, end))


def beside(path: str, numbers: Mapping[str, float], names: Iterable[str] = ()) -> dict[str, float]:
    """Return the numbers below a path, or beside values in one struct, by their own names."""
    parent, _, own = path.rpartition("/")
    groups = {path, parent} if own.lower() in names and parent else {path}
    return {p.rpartition("/")[2]: value for p, value in numbers.items() if p.rpartition("/")[0] in groups}

"""In which unit, and with how many decimals, the values of a row are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from gui.plots.time_range import ValueRange
from gui.plots.time_row import Row
from gui.plots.time_ticks import decimals_of, ticks
from gui.plots.xy_scale import readable

_TICK_ROOM = 26  # pixels of height that a label wants
_SCALES = 1e5, 1e-4  # numbers beyond which, and below which, a power of ten is set apart


@dataclass(frozen=True, slots=True)
class ShownUnit:
    """Values are shown times `factor` in `unit`, with so many decimals on the axis."""

    factor: float
    unit: str
    decimals: int


def shown_unit(row: Row, limits: ValueRange, height: float) -> ShownUnit:
    """Return how the values of a row are written on an axis of `height` pixels."""
    return _shown(row.unit, limits.low, limits.high, height, row.prefixed)


@lru_cache(maxsize=256)
def _shown(unit: str, low: float, high: float, height: float, prefixed: bool) -> ShownUnit:
    # limits seldom change, and this is asked for several times a picture
    largest = max(abs(low), abs(high))
    factor, unit = readable(unit, (low, high)) if prefixed else (1.0, unit)
    if factor == 1.0 and not _SCALES[1] <= largest < _SCALES[0] and largest > 0.0:
        power = 3 * math.floor(math.log10(largest) / 3.0)
        factor, unit = 10.0**-power, f"10{_raised(power)} {'' if unit == '1' else unit}".rstrip()
    _, step = ticks(low * factor, high * factor, most_ticks(height))
    return ShownUnit(factor, unit_text(unit), decimals_of(step))


def most_ticks(height: float) -> int:
    """Return how many parts an axis of `height` pixels is divided into at most."""
    return max(3, int(height / _TICK_ROOM))


def unit_text(unit: str) -> str:
    """Return a unit as it is written by hand: m² for m^2; nothing for a plain number."""
    return "" if unit == "1" else unit.replace("^2", "²").replace("^3", "³").replace("*", "·")


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))

"""What the heading of a row says: of each curve its value, and by how much it differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gui.plots.time_frame import Between
from gui.plots.time_range import ValueRange
from gui.plots.time_reading import Reading
from gui.plots.time_row import Curve, Row
from gui.plots.time_ticks import MINUS, value_text
from gui.plots.time_unit import ShownUnit

DELTA = "Δ "
_FINER = 2  # decimals of a value beyond those of the axis
_MOST_DECIMALS = 6
_UNKNOWN = Between(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the legend says of one curve."""

    curve: Curve
    value: str
    difference: str = ""


def entries(row: Row, reading: Reading, unit: ShownUnit) -> list[Entry]:
    """Return the texts; values have the unit at their end, and where only a range is known they are that."""
    n = len(row.curves)
    values = [_known_text(value, unit) for value in _filled(reading.values, n)]
    differences = [""] * n
    if reading.differences is not None:
        differences = [DELTA + _known_text(value, unit) for value in _filled(reading.differences, n)]
    return [Entry(*entry) for entry in zip(row.curves, values, differences, strict=True)]


@dataclass(frozen=True, slots=True)
class Heading:
    """All that a heading shows.

    Parameters
    ----------
    row : what its curves are.
    unit : of the values; empty where they have none.
    entries : of the curves; what is background comes last, and goes first where there is no room.
    widest : the widest of the usual values.
    stale : a word where the values are old.
    """

    row: Row
    unit: str
    entries: tuple[Entry, ...]
    widest: str
    stale: str


def heading(row: Row, reading: Reading, unit: ShownUnit, limits: ValueRange) -> Heading:
    """Return what is said of a row."""
    found = sorted(entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    return Heading(row, unit.unit, tuple(found), _widest(unit, limits), reading.stale)


def _widest(unit: ShownUnit, limits: ValueRange) -> str:
    """Return a value as long as any within the limits."""
    largest = max(abs(limits.low), abs(limits.high)) * unit.factor
    whole = len(f"{largest:.0f}") if math.isfinite(largest) else 1
    decimals = _decimals(unit)
    return MINUS + "8" * (whole + decimals) + ("." if decimals else "") + (f" {unit.unit}" if unit.unit else "")


def _filled(known: Sequence[Between], n: int) -> list[Between]:
    return [*known, *[_UNKNOWN] * (n - len(known))]


def _known_text(value: Between, unit: ShownUnit) -> str:
    """Return ``3.42 mm``; ``−2.10 … 3.42 mm`` where no more is known; a dash where nothing is."""
    texts = [value_text(bound * unit.factor, _decimals(unit)) for bound in value]
    # what is rounded to the same is the same
    shown = " … ".join(dict.fromkeys(texts))
    return f"{shown} {unit.unit}".rstrip() if math.isfinite(value.low) else shown


def _decimals(unit: ShownUnit) -> int:
    return min(_MOST_DECIMALS, unit.decimals + _FINER)

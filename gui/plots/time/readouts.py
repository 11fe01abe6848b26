"""Readouts at the cursor: values and differences, what the row headers show of them, and their update rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gui.plots.time.axis import ShownUnit, segment_at
from gui.plots.time.rows import CurveStyle, Facts, Frame, Interval, PlotRow
from gui.plots.value_axis import MINUS, ValueRange, value_text


@dataclass(frozen=True, slots=True)
class Readout:
    """Values of a row's curves, their differences to the pinned cursor, and facts about the span."""

    values: Sequence[Interval]
    differences: Sequence[Interval] | None = None
    stale: str = ""
    facts: Facts = ()


def readouts(frame: Frame, n_rows: int, cursor: float | None, pinned: float | None) -> list[Readout]:
    """Return the readout of every row: at the cursor, else at the pinned cursor, else at the right edge.

    Only values at the right edge can be stale.
    """
    at = pinned if cursor is None else cursor
    now = values_at(frame, n_rows, frame.right if at is None else at)
    stale = frame.stale if at is None else ""
    facts = [() if row is None else row.facts for row in frame.rows] or [()] * n_rows
    if cursor is None or pinned is None:
        return [Readout(values, None, stale, fact) for values, fact in zip(now, facts, strict=True)]
    then = values_at(frame, n_rows, pinned)
    return [
        # zip ends with the shorter: no difference where a value is missing
        Readout(values, [a.minus(b) for a, b in zip(values, before, strict=False)], stale, fact)
        for values, before, fact in zip(now, then, facts, strict=True)
    ]


def values_at(frame: Frame, n_rows: int, x: float) -> list[Sequence[Interval]]:
    """Return the values of every row at `x`; none in a break of the rig's clock."""
    in_break = bool(frame.segments) and segment_at(frame.segments, x) is None
    found = () if in_break else frame.read(x)
    return [found[i] if i < len(found) else () for i in range(n_rows)]


DELTA = "Δ "
RANGE = " … "
_EXTRA_DECIMALS = 2  # of a value, beyond those of the axis
_MAX_DECIMALS = 6
_UNKNOWN = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """Legend of one curve: its style, value and difference, and its number in the row."""

    curve: CurveStyle
    value: str
    difference: str = ""
    index: int = 0


def legend_entries(row: PlotRow, reading: Readout, unit: ShownUnit) -> list[LegendEntry]:
    """Return the legend of a row; values with their unit, or a range where the value is not exact."""
    n = len(row.curves)
    values = [_known_text(value, unit) for value in _filled(reading.values, n)]
    differences = [""] * n
    if reading.differences is not None:
        differences = [DELTA + _known_text(value, unit) for value in _filled(reading.differences, n)]
    return [
        LegendEntry(curve, "", "", i) if curve.hidden else LegendEntry(curve, value, difference, i)
        for i, (curve, value, difference) in enumerate(zip(row.curves, values, differences, strict=True))
    ]


@dataclass(frozen=True, slots=True)
class RowHeader:
    """Content of a row header.

    Parameters
    ----------
    row : the row.
    unit : of the values; empty where they have none.
    entries : of the curves; faint ones last, which are the first to be left out.
    widest : widest value within the axis limits, which sets the column width.
    stale : state of the service where the values are old; else empty.
    facts : names and values.
    manual : the scale was set by hand.
    """

    row: PlotRow
    unit: str
    entries: tuple[LegendEntry, ...]
    widest: str
    stale: str
    facts: tuple[tuple[str, str], ...] = ()
    manual: bool = False


def row_header(row: PlotRow, reading: Readout, unit: ShownUnit, limits: ValueRange) -> RowHeader:
    """Return the header of a row."""
    found = sorted(legend_entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    return RowHeader(
        row, unit.unit, tuple(found), _widest(unit, limits), reading.stale, fact_texts(reading.facts, unit),
        limits.manual,
    )  # fmt: skip


def fact_texts(facts: Facts, unit: ShownUnit) -> tuple[tuple[str, str], ...]:
    """Return names, and values with their unit."""
    return tuple((name, _known_text(Interval(value, value), unit)) for name, value in facts)


def _widest(unit: ShownUnit, limits: ValueRange) -> str:
    """Return a text as long as that of any value within the limits."""
    largest = max(abs(limits.low), abs(limits.high)) * unit.factor
    whole = len(f"{largest:.0f}") if math.isfinite(largest) else 1
    decimals = _decimals(unit)
    return MINUS + "8" * (whole + decimals) + ("." if decimals else "") + (f" {unit.unit}" if unit.unit else "")


def _filled(known: Sequence[Interval], n: int) -> list[Interval]:
    return [*known, *[_UNKNOWN] * (n - len(known))]


def _known_text(value: Interval, unit: ShownUnit) -> str:
    """Return ``3.42 mm``; ``−2.10 … 3.42 mm`` for a range; a dash where the value is unknown."""
    texts = [value_text(bound * unit.factor, _decimals(unit)) for bound in value]
    # bounds that round to the same text are one value
    shown = RANGE.join(dict.fromkeys(texts))
    return f"{shown} {unit.unit}".rstrip() if math.isfinite(value.low) else shown


def _decimals(unit: ShownUnit) -> int:
    return min(_MAX_DECIMALS, unit.decimals + _EXTRA_DECIMALS)


_READOUT_INTERVAL = 0.2  # s of data between two readouts


class ReadoutThrottle:
    """Limit the rate of changing numbers; a value that becomes known or unknown is shown at once."""

    def __init__(self) -> None:
        self._shown: Sequence[Readout] | None = None
        self._shown_at = self._newest = math.nan
        self._waiting = False
        self.pending = False
        """Whether newer values than those shown are available."""

    def reset(self) -> None:
        """Show the next values at once."""
        self._shown = None

    def update(self, frame: Frame, *, more: bool) -> None:
        """Register a new frame; `more`: another one is expected soon."""
        newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
        self._waiting = more and newest != self._newest and abs(newest - self._shown_at) < _READOUT_INTERVAL
        self._newest = newest

    def flush(self) -> None:
        """Show the newest values: no other frame has come."""
        self._waiting = False

    def choose(self, found: Sequence[Readout], *, live: bool) -> Sequence[Readout]:
        """Return the readouts to show: `found`, or those shown before.

        Parameters
        ----------
        live : the readouts follow the newest sample; others are shown at once.
        """
        shown = self._shown
        self.pending = live and self._waiting and shown is not None and _same_known(found, shown)
        if shown is not None and self.pending:
            return shown
        self._shown, self._shown_at = found if live else None, self._newest
        return found


def _same_known(found: Sequence[Readout], shown: Sequence[Readout]) -> bool:
    """Return whether the same values are known in both."""
    return _known(found) == _known(shown)


def _known(found: Sequence[Readout]) -> list[tuple[str, list[bool]]]:
    return [(reading.stale, [math.isfinite(value.low + value.high) for value in reading.values]) for reading in found]

"""Limits and units of the value axes of a stack, by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gui.plots.time.rows import Frame, PlotRow, RowData
from gui.plots.value_axis import LEAST_NUMBER, Bounds, ValueRange, scaled_unit

_SPAN_TOLERANCE = 1e-9
_FIXED_ROOM = 0.05


class AxisRanges:
    """Axis limits by row key; a row that remains keeps its limits."""

    def __init__(self) -> None:
        self._ranges: dict[str, ValueRange] = {}
        self._units: dict[str, tuple[float, str]] = {}
        self._of_largest: dict[str, tuple[float, str]] = {}
        self._span = 0.0

    def __getitem__(self, key: str) -> ValueRange:
        return self._ranges[key]

    def set_rows(self, rows: Sequence[PlotRow]) -> None:
        """Keep limits for these rows only."""
        before = self._ranges
        self._ranges = {row.key: before.get(row.key) or _value_range(row) for row in rows}
        self._units = {key: unit for key, unit in self._units.items() if key in self._ranges}

    def clear(self) -> None:
        """Drop all ranges."""
        self._ranges.clear()
        self._units.clear()

    def unit(self, row: PlotRow) -> tuple[float, str]:
        """Return the factor and the unit of a row: those of the largest row of its quantity, while readable."""
        shared = self._of_largest.get(row.unit) if row.prefixed else None
        if shared is not None and self._size(row) * shared[0] >= LEAST_NUMBER:
            return shared
        return self._units.get(row.key) or self._scaled_unit(row)

    def update(self, rows: Sequence[PlotRow], frame: Frame) -> None:
        """Adapt the limits to the values of a frame."""
        span = frame.right - frame.left
        immediate = not math.isclose(span, self._span, rel_tol=_SPAN_TOLERANCE)
        self._span = span
        for row, data in zip(rows, frame.rows, strict=True):
            if data is not None:
                self._ranges[row.key].update(*data.extent_of(row), immediate=immediate)
                self._update_unit(row)
        sized = sorted((row for row in rows if row.prefixed and row.key in self._units), key=self._size)
        self._of_largest = {row.unit: self._units[row.key] for row in sized}

    def _size(self, row: PlotRow) -> float:
        limits = self._ranges[row.key]
        return max(abs(limits.low), abs(limits.high))

    def enable_auto_range(self, row: PlotRow, data: RowData | None) -> None:
        """Let the limits of a row follow its values again, starting with `data`."""
        self._ranges[row.key].enable_auto_range()
        self._units.pop(row.key, None)
        self._of_largest.pop(row.unit, None)
        if data is not None:
            self._ranges[row.key].update(*data.extent_of(row))
            self._update_unit(row)

    def manual(self, key: str) -> Bounds | None:
        """Return the limits of a row that were set by hand; None where they follow the values."""
        limits = self._ranges[key]
        return (limits.low, limits.high) if limits.manual else None

    def set_manual(self, key: str, limits: Bounds) -> None:
        """Set the limits of a row by hand."""
        self._ranges[key].set_manual(*limits)

    def __contains__(self, key: str) -> bool:
        return key in self._ranges

    def _update_unit(self, row: PlotRow) -> None:
        if self._ranges[row.key].known:
            self._units[row.key] = self._scaled_unit(row)

    def _scaled_unit(self, row: PlotRow) -> tuple[float, str]:
        limits = self._ranges[row.key]
        return scaled_unit(
            row.unit, (limits.low, limits.high), prefixed=row.prefixed, before=self._units.get(row.key)
        )


def _value_range(row: PlotRow) -> ValueRange:
    """Return the range of a row; with a margin around fixed limits, so that the frame hides no curve at them."""
    fixed = row.fixed
    if fixed is not None:
        room = _FIXED_ROOM * (fixed[1] - fixed[0])
        fixed = fixed[0] - room, fixed[1] + room
    return ValueRange(fixed, row.least_span)

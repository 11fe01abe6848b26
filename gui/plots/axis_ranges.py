"""The limits of the value axes of all rows of a stack."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gui.plots.time_frame import Frame, RowData
from gui.plots.time_range import ValueRange
from gui.plots.time_row import Row

_ALIKE = 1e-9


class AxisRanges:
    """Limits by the keys of rows; a row that stays keeps its own."""

    def __init__(self) -> None:
        self._ranges: dict[str, ValueRange] = {}
        self._span = 0.0

    def __getitem__(self, key: str) -> ValueRange:
        return self._ranges[key]

    def take(self, rows: Sequence[Row]) -> None:
        """Have limits for these rows, and for no others."""
        kept = self._ranges
        self._ranges = {row.key: kept.get(row.key) or ValueRange(row.fixed, row.least_span) for row in rows}

    def forget(self) -> None:
        """Begin anew with the rows that are taken next."""
        self._ranges.clear()

    def follow(self, rows: Sequence[Row], frame: Frame) -> None:
        """Make room for the values of a picture."""
        span = frame.right - frame.left
        hurry = not math.isclose(span, self._span, rel_tol=_ALIKE)
        self._span = span
        for row, data in zip(rows, frame.rows, strict=True):
            if data is not None:
                self._ranges[row.key].follow(*data.extent, hurry=hurry)

    def release(self, key: str, data: RowData | None) -> None:
        """Let the limits of a row follow its values again, from these on."""
        self._ranges[key].release()
        if data is not None:
            self._ranges[key].follow(*data.extent)

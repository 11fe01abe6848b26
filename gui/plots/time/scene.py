"""Scene: all that a frame of a plot over time is drawn from, but for its cursors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect

from gui.plots.time.axis import ShownUnit, TimeScale, segment_at, shown_unit
from gui.plots.time.layout import StackLayout
from gui.plots.time.rows import Frame, Row, RowData
from gui.plots.value_range import ValueRange
from gui.widgets.theme import Theme
from gui.wording.numbers import instant_text

_ALIKE = 1e-9


class AxisRanges:
    """Limits by the keys of rows; a row that stays keeps its own."""

    def __init__(self) -> None:
        self._ranges: dict[str, ValueRange] = {}
        self._span = 0.0

    def __getitem__(self, key: str) -> ValueRange:
        return self._ranges[key]

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Have limits for these rows, and for no others."""
        before = self._ranges
        self._ranges = {row.key: before.get(row.key) or ValueRange(row.fixed, row.least_span) for row in rows}

    def clear(self) -> None:
        """Drop all ranges."""
        self._ranges.clear()

    def follow(self, rows: Sequence[Row], frame: Frame) -> None:
        """Make room for the values of a picture."""
        span = frame.right - frame.left
        immediate = not math.isclose(span, self._span, rel_tol=_ALIKE)
        self._span = span
        for row, data in zip(rows, frame.rows, strict=True):
            if data is not None:
                self._ranges[row.key].follow(*data.extent, immediate=immediate)

    def release(self, key: str, data: RowData | None) -> None:
        """Let the limits of a row follow its values again, from these on."""
        self._ranges[key].release()
        if data is not None:
            self._ranges[key].follow(*data.extent)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One look at a stack.

    Parameters
    ----------
    rows : from the top down.
    ranges : of their value axes.
    frame : the numbers.
    places : of the rows, from the top of the first.
    area : the widget's, px.
    scrolled : pixels of the rows above the area.
    theme : colours.
    smooth : lines are antialiased.
    """

    rows: tuple[Row, ...]
    ranges: AxisRanges
    frame: Frame
    places: StackLayout
    area: QRect
    scrolled: int
    theme: Theme
    smooth: bool = False

    @property
    def axis_top(self) -> int:
        """Where rows have to end in the area."""
        return self.area.height() - self.places.axis_height

    @property
    def bottom(self) -> int:
        """Where rows end in the area, and the time axis begins."""
        return min(self.axis_top, self.places.height - self.scrolled)

    @property
    def seen(self) -> range:
        """Rows that are in sight."""
        return self.places.seen(self.scrolled, self.scrolled + self.axis_top)

    @property
    def scale(self) -> TimeScale:
        """Where instants stand in the area."""
        return TimeScale(self.frame.left, self.frame.right, self.places.plot_left, self.places.plot_width)

    def unit(self, row: int) -> ShownUnit:
        """Return how the values of a row are written."""
        shown = self.rows[row]
        return shown_unit(shown, self.ranges[shown.key], self.places.rows[row].plot_height)

    def instant(self, x: float) -> str:
        """Return the rig's time at `x`, as fine as a pixel; a dash in a break."""
        segment = segment_at(self.frame.segments, x)
        pixel = (self.frame.right - self.frame.left) / self.places.plot_width
        decimals = min(6, max(0, math.ceil(-math.log10(max(1e-6, pixel)))))
        return instant_text(math.nan if segment is None else x + segment.offset, decimals)

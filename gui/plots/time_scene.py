"""What a picture of a stack of rows depends on, but for its cursors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRect

from gui.plots.axis_ranges import AxisRanges
from gui.plots.time_frame import Frame
from gui.plots.time_layout import StackLayout
from gui.plots.time_row import Row
from gui.plots.time_scale import TimeScale, segment_at
from gui.plots.time_unit import ShownUnit, shown_unit
from gui.widgets.theme import Theme
from gui.wording.instant_text import instant_text


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

"""Rows of a plot over time: their layout, the scroll area that holds them, and the scene that is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from gui.plots.time.axis import AxisRanges, ShownUnit, TimeScale, segment_at, shown_unit
from gui.plots.time.rows import Frame, PlotRow
from gui.widgets.theme import Theme
from monitor.text.numbers import instant_text

MARGIN = 6
LANE_BAR = 4
"""px of the bars of alarm states at the top of the lane of events."""
POINTER_TOLERANCE = 5.0
"""px by which a pointer may miss."""
_MIN_PLOT, _MIN_LINES = 44, 2.6  # height that the curves of a row have at least, in px and in lines of text
_GAP = 5


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Position of a row in px: its header begins at `top`, its curves at `plot_top`."""

    top: int
    plot_top: int
    plot_height: int

    @property
    def bottom(self) -> int:
        """Lower end of the curves."""
        return self.plot_top + self.plot_height


@dataclass(frozen=True, slots=True)
class StackLayout:
    """Positions of all rows, px; where they are higher than the widget, they are scrolled.

    Parameters
    ----------
    plot_left, plot_width : of the curves of all rows.
    margin : width of the labels of limits, right of the curves.
    axis_height : of the lane of events and the time axis below.
    lane : of the lane of events alone.
    height : of all rows.
    rows : from the top down.
    """

    plot_left: int
    plot_width: int
    margin: int
    axis_height: int
    lane: int
    height: int
    rows: tuple[RowPlace, ...]

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at `y`, its header included."""
        return next((i for i, place in enumerate(self.rows) if place.top <= y < place.bottom + _GAP), None)

    def seen(self, first: float, last: float) -> range:
        """Return the rows that are at least partly between two pixels."""
        found = [i for i, place in enumerate(self.rows) if place.top < last and place.bottom > first]
        return range(found[0], found[-1] + 1) if found else range(0)


def layout(rows: Sequence[PlotRow], width: int, height: int, line: int, digit: int) -> StackLayout:
    """Divide `height` px among rows by their weight, none lower than the minimum.

    The value axis is left of the curves, the labels of limits are right of them.

    Parameters
    ----------
    line, digit : height of a line of text and width of a digit, px.
    """
    gutter = 8 * digit + MARGIN
    margin = 9 * digit + MARGIN
    lane = line + LANE_BAR
    axis = line + 8 + lane
    heading = line + 3
    weights = sum(row.weight for row in rows) or 1.0
    free = max(0, height - axis - len(rows) * (heading + _GAP))
    places, top = [], 0
    for row in rows:
        plot = max(_MIN_PLOT, round(_MIN_LINES * line), int(free * row.weight / weights))
        places.append(RowPlace(top, top + heading, plot))
        top += heading + plot + _GAP
    return StackLayout(gutter, max(1, width - gutter - margin), margin, axis, lane, top, tuple(places))


_SCROLL_STEP = 20


class RowArea(QAbstractScrollArea):
    """Scroll area of rows, drawn by its subclass.

    The space of the scroll bar is always reserved, so that stacked areas are equally wide.

    Attributes
    ----------
    rows : from the top down.

    Signals
    -------
    rows_revealed : rows without data have become visible.
    """

    rows_revealed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[PlotRow, ...] = ()
        self._places: StackLayout | None = None
        self._whole: int | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().valueChanged.connect(self._reveal)

    @property
    def places(self) -> StackLayout:
        """Positions of the rows, from the top of the first."""
        if self._places is None:
            metrics = QFontMetrics(self.font())
            width = self.maximumViewportSize().width() - self.verticalScrollBar().sizeHint().width()
            digit = metrics.horizontalAdvance("0")
            self._places = layout(self.rows, width, self.viewport().height(), metrics.height(), digit)
        return self._places

    @property
    def scrolled(self) -> int:
        """Scroll position, px."""
        return self.verticalScrollBar().value()

    @property
    def columns(self) -> int:
        """Number of buckets of a curve: two for a pixel, so that none of them is wider than one."""
        return 2 * self.places.plot_width if self._whole is None else self._whole

    @property
    def seen(self) -> range:
        """The visible rows."""
        places = self.places
        if self._whole is not None:
            return range(len(places.rows))
        return places.seen(self.scrolled, self.scrolled + self.viewport().height() - places.axis_height)

    @contextmanager
    def whole(self, columns: int) -> Iterator[None]:
        """Regard all rows as visible, with curves of `columns` buckets, while the data of a figure are read."""
        self._whole = columns
        try:
            yield
        finally:
            self._whole = None

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at a pixel of the viewport."""
        return self.places.row_at(y + self.scrolled)

    def sizeHint(self) -> QSize:
        """Return a size for eight rows."""
        return QSize(900, 600)

    def minimumSizeHint(self) -> QSize:
        """Return a size for one row."""
        return QSize(240, 110)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the rows out again."""
        super().resizeEvent(event)
        self._arrange()
        self._redraw()

    def changeEvent(self, event: QEvent) -> None:
        """Lay the rows out for another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()

    def _set_rows(self, rows: Sequence[PlotRow]) -> None:
        self.rows = tuple(rows)
        self._arrange()

    def _arrange(self) -> None:
        self._places = None
        places, bar = self.places, self.verticalScrollBar()
        room = self.viewport().height() - places.axis_height
        bar.setRange(0, max(0, places.height - room) if self.rows else 0)
        bar.setPageStep(max(1, room))
        bar.setSingleStep(_SCROLL_STEP)

    def scroll_to(self, key: str) -> None:
        """Scroll as far as needed to see a row."""
        places, bar = self.places, self.verticalScrollBar()
        for row, place in zip(self.rows, places.rows, strict=True):
            if row.key == key:
                lowest = place.bottom - self.viewport().height() + places.axis_height
                bar.setValue(min(max(bar.value(), lowest), place.top))

    def _reveal(self) -> None:
        self._redraw()
        self.rows_revealed.emit()

    def _redraw(self) -> None:
        """Redraw everything."""
        self.viewport().update()


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What is drawn of a stack.

    Parameters
    ----------
    rows : from the top down.
    ranges : limits of their value axes.
    frame : data of the rows.
    places : positions of the rows, from the top of the first.
    area : the widget's, px.
    scrolled : scroll position, px.
    theme : colours.
    smooth : lines are antialiased.
    as_vectors : curves are lines on every device, for files.
    """

    rows: tuple[PlotRow, ...]
    ranges: AxisRanges
    frame: Frame
    places: StackLayout
    area: QRect
    scrolled: int
    theme: Theme
    smooth: bool = False
    as_vectors: bool = False

    @property
    def axis_top(self) -> int:
        """Lowest end of the rows in the area."""
        return self.area.height() - self.places.axis_height

    @property
    def bottom(self) -> int:
        """End of the rows in the area, where the lane of events begins; the time axis is below it."""
        return min(self.axis_top, self.places.height - self.scrolled)

    @property
    def seen(self) -> range:
        """The visible rows."""
        return self.places.seen(self.scrolled, self.scrolled + self.axis_top)

    @property
    def scale(self) -> TimeScale:
        """The time scale in the area."""
        return TimeScale(self.frame.left, self.frame.right, self.places.plot_left, self.places.plot_width)

    def unit(self, row: int) -> ShownUnit:
        """Return the unit in which the values of a row are shown."""
        shown = self.rows[row]
        limits = self.ranges[shown.key]
        return shown_unit(*self.ranges.unit(shown), limits.low, limits.high, self.places.rows[row].plot_height)

    def instant(self, x: float) -> str:
        """Return the rig's time at `x` with the resolution of a pixel; a dash in a break."""
        segment = segment_at(self.frame.segments, x)
        pixel = (self.frame.right - self.frame.left) / self.places.plot_width
        decimals = min(6, max(0, math.ceil(-math.log10(max(1e-6, pixel)))))
        return instant_text(math.nan if segment is None else x + segment.offset, decimals)

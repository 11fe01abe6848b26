"""Rows of a plot over time: their layout, the scroll area that holds them, and the scene that is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from gui.plots.time.axis import ShownUnit, TimeScale, segment_at, shown_unit
from gui.plots.time.rows import Frame, Row, RowData
from gui.plots.value_axis import ValueRange
from gui.widgets.theme import Theme
from gui.wording.numbers import instant_text

MARGIN = 6
_LEAST_PLOT = 44  # pixels of a row's height that curves have at least
_GAP = 5


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Pixels of a row: its heading begins at `top`, its curves at `plot_top`."""

    top: int
    plot_top: int
    plot_height: int

    @property
    def bottom(self) -> int:
        """Below the curves."""
        return self.plot_top + self.plot_height


@dataclass(frozen=True, slots=True)
class StackLayout:
    """Pixels of a stack that is as high as it must be; what is higher than the widget is scrolled.

    Parameters
    ----------
    plot_left, plot_width : of the curves of all rows.
    axis_height : of the time axis below.
    height : of all rows.
    rows : from the top down.
    """

    plot_left: int
    plot_width: int
    axis_height: int
    height: int
    rows: tuple[RowPlace, ...]

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at `y`, heading included."""
        return next((i for i, place in enumerate(self.rows) if place.top <= y < place.bottom + _GAP), None)

    def seen(self, first: float, last: float) -> range:
        """Return the rows of which something is between two pixels."""
        found = [i for i, place in enumerate(self.rows) if place.top < last and place.bottom > first]
        return range(found[0], found[-1] + 1) if found else range(0)


def layout(rows: Sequence[Row], width: int, height: int, line: int, digit: int) -> StackLayout:
    """Share `height` pixels among rows by their weight, none lower than can be read.

    Parameters
    ----------
    line, digit : pixels of a line of text and of a figure.
    """
    gutter = 8 * digit + MARGIN
    axis = line + 8
    heading = line + 3
    weights = sum(row.weight for row in rows) or 1.0
    free = max(0, height - axis - len(rows) * (heading + _GAP))
    places, top = [], 0
    for row in rows:
        plot = max(_LEAST_PLOT, int(free * row.weight / weights))
        places.append(RowPlace(top, top + heading, plot))
        top += heading + plot + _GAP
    return StackLayout(gutter, max(1, width - gutter - MARGIN), axis, top, tuple(places))


_SCROLL_STEP = 20


class RowArea(QAbstractScrollArea):
    """Scroll area of rows, which subclasses draw.

    The room of the scroll bar is left free where there is none: areas above each other are equally wide.

    Signals
    -------
    rows_revealed : rows have come into sight that have no numbers yet.
    """

    rows_revealed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()
        self._places: StackLayout | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().valueChanged.connect(self._reveal)

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown, from the top down."""
        return self._rows

    @property
    def places(self) -> StackLayout:
        """Where the rows stand, from the top of the first."""
        if self._places is None:
            metrics = QFontMetrics(self.font())
            width = self.maximumViewportSize().width() - self.verticalScrollBar().sizeHint().width()
            digit = metrics.horizontalAdvance("0")
            self._places = layout(self._rows, width, self.viewport().height(), metrics.height(), digit)
        return self._places

    @property
    def scrolled(self) -> int:
        """Pixels of the rows above the area."""
        return self.verticalScrollBar().value()

    @property
    def columns(self) -> int:
        """How many buckets a curve is worth: two for a pixel, so that none of them is wider than one."""
        return 2 * self.places.plot_width

    @property
    def seen(self) -> range:
        """Which rows are in sight."""
        places = self.places
        return places.seen(self.scrolled, self.scrolled + self.viewport().height() - places.axis_height)

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at a pixel of the viewport."""
        return self.places.row_at(y + self.scrolled)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size that suits eight rows."""
        return QSize(900, 600)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what shows one row."""
        return QSize(240, 110)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the rows out again."""
        super().resizeEvent(event)
        self._arrange()
        self._redraw()

    def _take(self, rows: Sequence[Row]) -> None:
        """Have other rows."""
        self._rows = tuple(rows)
        self._arrange()

    def _arrange(self) -> None:
        self._places = None
        places, bar = self.places, self.verticalScrollBar()
        room = self.viewport().height() - places.axis_height
        bar.setRange(0, max(0, places.height - room) if self._rows else 0)
        bar.setPageStep(max(1, room))
        bar.setSingleStep(_SCROLL_STEP)

    def _reveal(self) -> None:
        self._redraw()
        self.rows_revealed.emit()

    def _redraw(self) -> None:
        """Redraw everything."""
        self.viewport().update()


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

"""Layout of the rows of a plot over time, and the scroll area that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from gui.plots.time.rows import Row

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

"""A stack of rows over one time axis that all panels over time share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPaintEngine,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from gui.event_text import kind_word, sentence
from gui.instant_text import instant_text
from gui.plots.time_curves import ValueScale
from gui.plots.time_gestures import NEAR, TimeGestures
from gui.plots.time_layout import MARGIN, StackLayout, layout
from gui.plots.time_legend import Reading, draw_heading, entries
from gui.plots.time_picture import StackPicture
from gui.plots.time_range import ValueRange
from gui.plots.time_row import Frame, Row, RowData
from gui.plots.time_scale import TimeScale, segment_at
from gui.plots.time_ticks import duration_text
from gui.plots.time_unit import shown_unit
from gui.theme import Theme
from gui.view import View

_ALIKE = 1e-9


class TimeStack(QAbstractScrollArea):
    """Rows over time: the wheel zooms in time, with Ctrl in value, dragging scrubs, a click pins a second cursor.

    A double click lets a row's scale follow its values again. Where there is no room for all rows they are scrolled:
    by the scroll bar, the wheel over the value axes, or PgUp and PgDn.

    Parameters
    ----------
    view : what is looked at.
    theme : colours to begin with.

    Signals
    -------
    uncovered : rows have come into sight that have no numbers yet.
    """

    uncovered = Signal()

    def __init__(self, view: View, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view, self._theme = view, theme
        self._rows: tuple[Row, ...] = ()
        self._ranges: dict[str, ValueRange] = {}
        self._frame = Frame()
        self._span = 0.0
        self._still: QPixmap | None = None
        self._places: StackLayout | None = None
        self.message = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("values over time")
        font = self.font()
        # figures of one width, so that values do not tremble
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._gestures = TimeGestures(self, view)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        view.pointed.connect(self._pointed)

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown, from the top down."""
        return self._rows

    @property
    def frame(self) -> Frame:
        """What was drawn last."""
        return self._frame

    @property
    def columns(self) -> int:
        """How many buckets a curve is worth: two for a pixel, so that none of them is wider than one."""
        return 2 * self._layout().plot_width

    @property
    def seen(self) -> range:
        """Which rows are in sight."""
        places = self._layout()
        first = self.verticalScrollBar().value()
        return places.seen(first, first + self.viewport().height() - places.axis_height)

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows; scales of those that stay are kept."""
        self._rows = tuple(rows)
        kept = self._ranges
        self._ranges = {row.key: kept.get(row.key) or ValueRange(row.fixed, row.least_span) for row in rows}
        self._frame = Frame(self._frame.left, self._frame.right, (None,) * len(rows), self._frame.segments)
        self._arrange()
        self._renew()

    def forget(self) -> None:
        """Forget all scales: other signals are shown."""
        self._ranges.clear()

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._renew()

    def draw(self, frame: Frame) -> None:
        """Show other numbers, one item for each row."""
        span = frame.right - frame.left
        hurry = not math.isclose(span, self._span, rel_tol=_ALIKE)
        self._span, self._frame = span, frame
        for row, data in zip(self._rows, frame.rows, strict=True):
            if data is not None:
                low, high = extent(data)
                self._ranges[row.key].follow(low, high, hurry=hurry)
        self._renew()

    def limits(self, key: str) -> tuple[float, float]:
        """Return the limits of a row's value axis."""
        found = self._ranges[key]
        return found.low, found.high

    def legend(self, row: int) -> list[str]:
        """Return what a row's legend says: ``command 1.25 mm``, with the difference to the pinned instant."""
        unit = shown_unit(self._rows[row], self._ranges[self._rows[row].key], self._layout().rows[row].plot_height)
        found = entries(self._rows[row], self._readings()[row], unit)
        return [" ".join(filter(None, (entry.curve.label, entry.value, entry.difference))) for entry in found]

    def zoom_values(self, row: int, factor: float, at: float) -> None:
        """Make a row's scale `factor` times as long around a value; `release` undoes it."""
        self._ranges[self._rows[row].key].zoom(factor, at)
        self._renew()

    def release(self, row: int) -> None:
        """Let a row's scale follow its values."""
        found, data = self._ranges[self._rows[row].key], self._frame.rows[row]
        found.release()
        if data is not None:
            found.follow(*extent(data))
        self._renew()

    # drawing

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what eight rows look well in."""
        return QSize(900, 600)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what shows one row."""
        return QSize(240, 110)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002 - Qt's name and arguments
        """Draw the still part, from memory where it is the same, and what moves with the cursor."""
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        places, area = self._layout(), self.viewport().rect()
        raster = painter.paintEngine().type() is QPaintEngine.Type.Raster
        if not self._rows:
            painter.fillRect(area, QColor(self._theme.window))
            painter.setPen(QColor(self._theme.muted))
            inner = area.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            painter.drawText(inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.message)
        elif raster:
            painter.drawPixmap(0, 0, self._picture(places, area))
            self._moving(painter, places, area)
        else:
            # what is written to a file is drawn, not copied
            self._still_part(painter, places, area)
            self._moving(painter, places, area)
        painter.end()

    def _picture(self, places: StackLayout, area: QRect) -> QPixmap:
        ratio = self.viewport().devicePixelRatioF()
        if self._still is None:
            self._still = QPixmap(area.size() * ratio)
            self._still.setDevicePixelRatio(ratio)
            painter = QPainter(self._still)
            painter.setFont(self.font())
            self._still_part(painter, places, area)
            painter.end()
        return self._still

    def _still_part(self, painter: QPainter, places: StackLayout, area: QRect) -> None:
        first, axis_top = self.verticalScrollBar().value(), area.height() - places.axis_height
        painter.fillRect(area, QColor(self._theme.window))
        painter.save()
        painter.translate(0.0, -first)
        picture = StackPicture(painter, places, self._frame, self._theme)
        seen = places.seen(first, first + axis_top)
        for i in seen:
            row = self._rows[i]
            picture.row(row, places.rows[i], self._ranges[row.key], self._frame.rows[i])
        if seen:
            place = places.rows[seen[-1]]
            bottom = min(place.bottom, first + axis_top)
            picture.mark_words(QRectF(places.plot_left, place.plot_top, places.plot_width, bottom - place.plot_top))
        painter.restore()
        painter.fillRect(QRect(0, axis_top, area.width(), places.axis_height), QColor(self._theme.window))
        StackPicture(painter, places, self._frame, self._theme).axis(min(axis_top, places.height - first))

    def _moving(self, painter: QPainter, places: StackLayout, area: QRect) -> None:
        first, axis_top = self.verticalScrollBar().value(), area.height() - places.axis_height
        painter.save()
        painter.setClipRect(QRect(0, 0, area.width(), axis_top))
        readings = self._readings()
        for i in places.seen(first, first + axis_top):
            row, place = self._rows[i], places.rows[i]
            box = QRectF(MARGIN, place.top - first, area.width() - 2 * MARGIN, place.plot_top - place.top)
            limits = self._ranges[row.key]
            unit = shown_unit(row, limits, place.plot_height)
            draw_heading(painter, box, row, readings[i], unit, limits, self._theme)
        painter.restore()
        bottom = min(axis_top, places.height - first)
        if self._view.pinned is not None:
            self._cursor(painter, places, bottom, self._view.pinned, self._theme.accent, Qt.PenStyle.DashLine)
        if self._view.cursor is not None:
            self._cursor(painter, places, bottom, self._view.cursor, self._theme.text, Qt.PenStyle.SolidLine)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(0, 0, -1, -1))

    def _cursor(
        self, painter: QPainter, places: StackLayout, bottom: float, x: float, colour: str, style: Qt.PenStyle
    ) -> None:
        at = self.scale().pixel(x)
        if not places.plot_left <= at <= places.plot_left + places.plot_width:
            return
        painter.setPen(QPen(QColor(colour), 1, style))
        first = self.verticalScrollBar().value()
        for i in places.seen(first, first + bottom):
            # not through the headings, which are read
            top, end = places.rows[i].plot_top - first, min(places.rows[i].bottom - first, bottom)
            painter.drawLine(QPointF(round(at), top), QPointF(round(at), end))
        text = self.instant(x)
        if self._view.pinned is not None and x == self._view.cursor:
            text += f"   Δt {duration_text(x - self._view.pinned)}"
        metrics = QFontMetrics(self.font())
        width = metrics.horizontalAdvance(text) + 8
        left = min(max(at - width / 2.0, 0.0), self.viewport().width() - width)
        box = QRectF(left, bottom + 2.0, width, metrics.height() + 2.0)
        painter.fillRect(box, QColor(colour))
        painter.setPen(QColor(self._theme.base))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def instant(self, x: float) -> str:
        """Return the rig's time at `x`, as fine as a pixel; a dash in a break."""
        segment = segment_at(self._frame.segments, x)
        pixel = (self._frame.right - self._frame.left) / self._layout().plot_width
        decimals = min(6, max(0, math.ceil(-math.log10(max(1e-6, pixel)))))
        return instant_text(math.nan if segment is None else x + segment.offset, decimals)

    def _readings(self) -> list[Reading]:
        view, frame = self._view, self._frame
        pointed = frame.right if view.cursor is None else view.cursor
        stale = frame.stale if view.cursor is None else ""
        values = frame.read(pointed)
        pinned = None if view.pinned is None or view.cursor is None else frame.read(view.pinned)
        found = []
        for i in range(len(self._rows)):
            now = values[i] if i < len(values) else ()
            differences = None if pinned is None else [a - b for a, b in zip(now, pinned[i], strict=True)]
            found.append(Reading(now, differences, stale))
        return found

    def scale(self) -> TimeScale:
        """Return where instants stand in the viewport."""
        places = self._layout()
        return TimeScale(self._frame.left, self._frame.right, places.plot_left, places.plot_width)

    def _layout(self) -> StackLayout:
        if self._places is None:
            metrics = QFontMetrics(self.font())
            size = self.viewport().size()
            digit = metrics.horizontalAdvance("0")
            self._places = layout(self._rows, size.width(), size.height(), metrics.height(), digit)
        return self._places

    def _renew(self) -> None:
        self._still = None
        self.viewport().update()

    def _arrange(self) -> None:
        self._places = None
        places = self._layout()
        room = self.viewport().height() - places.axis_height
        self.verticalScrollBar().setRange(0, max(0, places.height - room) if self._rows else 0)
        self.verticalScrollBar().setPageStep(max(1, room))
        self.verticalScrollBar().setSingleStep(20)

    def _pointed(self) -> None:
        self.viewport().update()

    def _scrolled(self, value: int) -> None:  # noqa: ARG002 - Qt's argument
        self._renew()
        self.uncovered.emit()

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at a pixel of the viewport."""
        return self._layout().row_at(y + self.verticalScrollBar().value())

    def value_at(self, row: int, y: float) -> float:
        """Return the value of a row at a pixel of the viewport."""
        place, limits = self._layout().rows[row], self._ranges[self._rows[row].key]
        scale = ValueScale(limits.low, limits.high, place.plot_top, place.plot_height)
        return scale.value(y + self.verticalScrollBar().value())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the room anew."""
        super().resizeEvent(event)
        self._arrange()
        self._renew()

    def tip(self, at: QPoint) -> str:
        """Return what a tool tip says at a place: the event there, or all of a row's legend over its heading."""
        places, scale = self._layout(), self.scale()
        y = at.y() + self.verticalScrollBar().value()
        row = places.row_at(y)
        if row is not None and y < places.rows[row].plot_top:
            shown = self._rows[row]
            return "\n".join(
                filter(None, (f"{shown.name} {shown.quantity}".strip(), *self.legend(row), shown.legend))
            )
        near = [mark for mark in self._frame.marks if abs(scale.pixel(mark.x) - at.x()) <= NEAR]
        lines = (
            f"{instant_text(mark.event.time)}  {kind_word(mark.event.kind)}  {sentence(mark.event)}".strip()
            for mark in near
        )
        return "\n".join(lines)


def extent(data: RowData) -> tuple[float, float]:
    """Return the least and the greatest value of the curves; NaN where there is none.

    Bands may reach beyond: an uncertain value does not make a certain one small.
    """
    known = [strip for strip in data.curves if strip.known.any()]
    if not known:
        return math.nan, math.nan
    return (
        min(float(strip.low[strip.known].min()) for strip in known),
        max(float(strip.high[strip.known].max()) for strip in known),
    )

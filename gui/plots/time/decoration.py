"""Draw background, grid, value and time axis, limit lines and event markers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.time.axis import ShownUnit, TimeScale, axis_unit, breaks, most_ticks, time_ticks
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.curves import ValueScale, runs
from gui.plots.time.rows import Frame, PlotRow, RowData, Trace
from gui.plots.time.scene import MARGIN, Scene
from gui.plots.value_axis import ValueRange, decimals_of, ticks, unit_text, value_text
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import event_level, kind_name

if TYPE_CHECKING:
    from gui.model.history import PlacedEvent


def colour_of(theme: Theme, colour: str | int) -> str:
    """Return ``#rrggbb`` of a series, or of the colour of that name."""
    return theme.series[colour % len(theme.series)] if isinstance(colour, int) else str(getattr(theme, colour))


def translucent(colour: str, alpha: int) -> QColor:
    """Return a colour with the opacity `alpha`, 0 to 255."""
    made = QColor(colour)
    made.setAlpha(alpha)
    return made


_MIN_UNKNOWN = 0.5  # px of an unknown span that is drawn
_HATCHED = 0.35


def draw_background(
    painter: QPainter, plot: QRectF, time: TimeScale, frame: Frame, data: RowData | None, theme: Theme
) -> None:
    """Draw the background of one row: unknown spans in grey, breaks hatched."""
    painter.fillRect(plot, QColor(theme.base))
    _draw_unknown(painter, plot, time, frame, data, QColor(theme.invalid))
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.muted))
    painter.setOpacity(_HATCHED)
    for begin, end in breaks(frame.segments, frame.left, frame.right):
        left, right = time.pixel(begin), time.pixel(end)
        painter.fillRect(QRectF(left, plot.top(), max(2.0, right - left), plot.height()), Qt.BrushStyle.BDiagPattern)
    painter.restore()


def _draw_unknown(
    painter: QPainter, plot: QRectF, time: TimeScale, frame: Frame, data: RowData | None, grey: QColor
) -> None:
    if data is None or not data.curves:
        painter.fillRect(plot, grey)
        return
    # the future is not unknown
    newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
    for begin, end in unknown_spans(data.curves, frame.left, newest):
        left, right = time.pixel(begin), time.pixel(end)
        if right - left >= _MIN_UNKNOWN:
            painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), grey)


def unknown_spans(curves: Sequence[Trace], left: float, right: float) -> list[tuple[float, float]]:
    """Return the spans of [left, right] in which no curve has a value."""
    found, reached = [], left
    for begin, end in sorted(_known_spans(curves)):
        if begin > reached:
            found.append((reached, min(begin, right)))
        reached = max(reached, end)
    if reached < right:
        found.append((reached, right))
    return [(begin, end) for begin, end in found if end > begin]


def _known_spans(curves: Sequence[Trace]) -> list[tuple[float, float]]:
    """Return the spans in which any curve has a value; they may overlap."""
    found: list[tuple[float, float]] = []
    for edges in {id(trace.edges): trace.edges for trace in curves}.values():
        known: NDArray[np.bool_] = np.zeros(len(edges) - 1, dtype=bool)
        for trace in curves:
            # one complete curve is enough
            if trace.edges is edges and not known.all():
                known |= trace.known
        if len(known) and known.all():
            found.append((float(edges[0]), float(edges[-1])))
        else:
            found += [(float(edges[begin]), float(edges[end])) for begin, end in runs(known)]
    return found


_MAX_DASHED = 20  # more dashed lines are too slow
_MAX_DECIMALS = 6
_CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter


def draw_limits(painter: QPainter, plot: QRectF, row: PlotRow, values: ValueScale, theme: Theme) -> None:
    """Draw the limit lines of a row; of those outside its scale, the label with an arrow."""
    metrics = TextMetrics(painter.font())
    height = metrics.height
    taken: list[QRectF] = []
    for limit in row.limits:
        y, colour = values.pixel(limit.value), colour_of(theme, limit.colour)
        text = f"{limit.word} {value_text(limit.value, _digits(limit.value))} {unit_text(row.unit)}".rstrip()
        if plot.top() <= y <= plot.bottom():
            pen = QPen(QColor(colour), 1)
            if not limit.solid:
                pen.setDashPattern([6.0, 4.0])
            painter.setPen(pen)
            painter.drawLine(QPointF(plot.left(), round(y)), QPointF(plot.right(), round(y)))
        else:
            text += " ↑" if y < plot.top() else " ↓"
        width = metrics.width(text)
        top = min(max(y - height if y > plot.center().y() else y + 1.0, plot.top()), plot.bottom() - height)
        box = QRectF(plot.right() - width - 4.0, top, width + 2.0, height)
        while any(box.intersects(other) for other in taken):
            box.moveRight(box.left() - 8.0)
        if box.left() > plot.left():
            taken.append(box)
            _draw_word(painter, box, text, colour, theme)


def draw_marks(painter: QPainter, plot: QRectF, time: TimeScale, marks: Sequence[PlacedEvent], theme: Theme) -> None:
    """Draw event markers through a row."""
    # markers at one pixel are one line
    lines = {round(time.pixel(mark.x)): level_colour(theme, event_level(mark.event)) for mark in marks}
    for x, colour in lines.items():
        pen = QPen(QColor(colour), 1)
        if len(lines) <= _MAX_DASHED:
            pen.setDashPattern([2.0, 2.0])
        painter.setPen(pen)
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))


def draw_mark_words(
    painter: QPainter, plot: QRectF, time: TimeScale, marks: Sequence[PlacedEvent], theme: Theme
) -> None:
    """Label the event markers with their kind in the last visible row, where there is room."""
    metrics = TextMetrics(painter.font())
    height, taken = metrics.height, plot.left()
    if plot.height() <= height:
        return
    for mark in marks:
        x = time.pixel(mark.x) + 3.0
        text = kind_name(mark.event.kind)
        width = metrics.width(text)
        if x < taken or x + width > plot.right():
            continue
        box = QRectF(x, plot.bottom() - height - 1.0, width + 1.0, height)
        # without background, so that curves remain visible
        painter.setPen(QColor(level_colour(theme, event_level(mark.event))))
        painter.drawText(box, _CENTRE, text)
        taken = x + width + 8.0


def _draw_word(painter: QPainter, box: QRectF, text: str, colour: str, theme: Theme) -> None:
    """Write on a nearly opaque background."""
    painter.fillRect(box.adjusted(-1.0, 0.0, 1.0, 0.0), translucent(theme.base, 200))
    painter.setPen(QColor(colour))
    painter.drawText(box, _CENTRE, text)


def _digits(value: float) -> int:
    return next(n for n in range(_MAX_DECIMALS + 1) if round(value, n) == value or n == _MAX_DECIMALS)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_LONGEST_LABEL = "00:00:00.000"
_LABEL_GAP = 10.0
_OVERHANG = 2.0  # px by which a number may extend above or below its row


class TimeAxis:
    """Time axis that all rows share.

    Parameters
    ----------
    painter : draws the axis.
    scene : with the time scale.
    """

    def __init__(self, painter: QPainter, scene: Scene) -> None:
        self._painter, self._scene = painter, scene
        self._metrics = TextMetrics(painter.font())
        self._scale = scene.scale
        width = self._metrics.width(_LONGEST_LABEL) + 16.0
        self._ticks = time_ticks(self._scale, scene.frame.segments, width)

    def draw_grid(self, plot: QRectF) -> None:
        """Draw the grid lines of a row."""
        self._painter.setPen(QPen(QColor(self._scene.theme.grid), 1))
        places = [round(self._scale.pixel(tick.x)) for tick in self._ticks]
        self._painter.drawLines([QLineF(x, plot.top(), x, plot.bottom()) for x in places])

    def draw(self, top: float) -> None:
        """Draw the unit and the tick labels below `top`."""
        painter, places = self._painter, self._scene.places
        painter.setPen(QColor(self._scene.theme.muted))
        height = places.axis_height - 3.0
        unit = QRectF(MARGIN, top + 3.0, places.plot_left - 2 * MARGIN, height)
        painter.drawText(unit, _LEFT, axis_unit(self._scene.frame.segments))
        taken, right = places.plot_left - 2.0, places.plot_left + places.plot_width + MARGIN
        for tick in self._ticks:
            x, width = self._scale.pixel(tick.x), self._metrics.width(tick.text)
            if not places.plot_left - 0.5 <= x <= right - MARGIN + 0.5:
                continue
            painter.drawLine(QPointF(x, top), QPointF(x, top + 3.0))
            begin = min(max(x - width / 2.0, places.plot_left - 2.0), right - width)
            if begin >= taken:
                painter.drawText(QRectF(begin, top + 3.0, width + 1.0, height), _LEFT, tick.text)
                taken = begin + width + _LABEL_GAP


def draw_value_axis(
    painter: QPainter, plot: QRectF, row: str, limits: ValueRange, unit: ShownUnit, theme: Theme, pixmaps: PixmapCache
) -> None:
    """Draw the horizontal grid lines of one row, and its tick labels on the left."""
    marks = _value_marks(limits.low, limits.high, unit.factor, plot.height())
    painter.setPen(QPen(QColor(theme.grid), 1))
    lines = (plot.top() + below for below, _ in marks)
    painter.drawLines([QLineF(plot.left(), y, plot.right(), y) for y in lines])

    def write(painter: QPainter, box: QRectF) -> None:
        painter.setPen(QColor(theme.muted))
        height = TextMetrics(painter.font()).height
        for below, text in marks:
            # the outermost labels are kept within their row
            top = min(max(box.top() + _OVERHANG + below - height / 2.0, box.top()), box.bottom() - height)
            painter.drawText(QRectF(box.left(), top, box.width(), height), _RIGHT, text)

    painter.setClipping(False)
    box = QRectF(0.0, plot.top() - _OVERHANG, plot.left() - 5.0, plot.height() + 2.0 * _OVERHANG)
    pixmaps.draw(painter, ("numbers", row), (marks, theme.muted), box, QColor(theme.window), write)
    painter.setClipping(True)


@lru_cache(maxsize=256)
def _value_marks(low: float, high: float, factor: float, height: float) -> tuple[tuple[int, str], ...]:
    """Return the ticks of an axis: px below its top, and label."""
    marks, step = ticks(low * factor, high * factor, most_ticks(height))
    decimals = decimals_of(step)
    pixels = (high - marks / factor) * (height / (high - low))
    return tuple(
        (round(y), value_text(mark, decimals)) for y, mark in zip(pixels.tolist(), marks.tolist(), strict=True)
    )

"""The axes of a stack of rows: lines of the grid, and the numbers beside and below them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gui.plots.time_curves import ValueScale
from gui.plots.time_layout import MARGIN
from gui.plots.time_scale import axis_unit, time_ticks
from gui.plots.time_scene import Scene
from gui.plots.time_ticks import decimals_of, ticks, value_text
from gui.plots.time_unit import ShownUnit, most_ticks

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_LONGEST_LABEL = "00:00:00.000"
_LABEL_GAP = 10.0


class TimeAxis:
    """The axis that all rows share.

    Parameters
    ----------
    painter : draws it.
    scene : whose axis it is.
    """

    def __init__(self, painter: QPainter, scene: Scene) -> None:
        self._painter, self._scene = painter, scene
        self._metrics = QFontMetricsF(painter.font())
        self._scale = scene.scale
        width = self._metrics.horizontalAdvance(_LONGEST_LABEL) + 16.0
        self._ticks = time_ticks(self._scale, scene.frame.segments, width)

    def draw_grid(self, plot: QRectF) -> None:
        """Draw its lines through a row."""
        self._painter.setPen(QPen(QColor(self._scene.theme.grid), 1))
        for tick in self._ticks:
            x = round(self._scale.pixel(tick.x))
            self._painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))

    def draw(self, top: float) -> None:
        """Draw, below `top`, what the labels are, on the left, and the labels."""
        painter, places = self._painter, self._scene.places
        painter.setPen(QColor(self._scene.theme.muted))
        height = places.axis_height - 3.0
        unit = QRectF(MARGIN, top + 3.0, places.plot_left - 2 * MARGIN, height)
        painter.drawText(unit, _LEFT, axis_unit(self._scene.frame.segments))
        taken, right = places.plot_left - 2.0, places.plot_left + places.plot_width + MARGIN
        for tick in self._ticks:
            x, width = self._scale.pixel(tick.x), self._metrics.horizontalAdvance(tick.text)
            if not places.plot_left - 0.5 <= x <= right - MARGIN + 0.5:
                continue
            painter.drawLine(QPointF(x, top), QPointF(x, top + 3.0))
            begin = min(max(x - width / 2.0, places.plot_left - 2.0), right - width)
            if begin >= taken:
                painter.drawText(QRectF(begin, top + 3.0, width + 1.0, height), _LEFT, tick.text)
                taken = begin + width + _LABEL_GAP


def draw_value_axis(
    painter: QPainter, plot: QRectF, values: ValueScale, unit: ShownUnit, grid: QColor, text: QColor
) -> None:
    """Draw the lines of one row, and its numbers on the left, where curves are clipped."""
    painter.setPen(QPen(grid, 1))
    marks, step = ticks(values.low * unit.factor, values.high * unit.factor, most_ticks(plot.height()))
    places = [(round(values.pixel(mark / unit.factor)), mark) for mark in marks.tolist()]
    for y, _ in places:
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
    painter.setClipping(False)
    painter.setPen(text)
    height = QFontMetricsF(painter.font()).height()
    for y, mark in places:
        # the outermost labels stay within their row
        top = min(max(y - height / 2.0, plot.top() - 2.0), plot.bottom() - height + 2.0)
        painter.drawText(QRectF(0.0, top, plot.left() - 5.0, height), _RIGHT, value_text(mark, decimals_of(step)))
    painter.setClipping(True)

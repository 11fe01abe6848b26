"""The axes of a stack of rows: lines of the grid, and the numbers beside and below them."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.pixmap_cache import PixmapCache
from gui.plots.text_metrics import TextMetrics
from gui.plots.time_layout import MARGIN
from gui.plots.time_range import ValueRange
from gui.plots.time_scale import axis_unit, time_ticks
from gui.plots.time_scene import Scene
from gui.plots.time_ticks import decimals_of, ticks, value_text
from gui.plots.time_unit import ShownUnit, most_ticks
from gui.widgets.theme import Theme

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_LONGEST_LABEL = "00:00:00.000"
_LABEL_GAP = 10.0
_OUTSIDE = 2.0  # pixels by which a number may stand above or below its row


class TimeAxis:
    """The axis that all rows share.

    Parameters
    ----------
    painter : draws it.
    scene : whose axis it is.
    """

    def __init__(self, painter: QPainter, scene: Scene) -> None:
        self._painter, self._scene = painter, scene
        self._letters = TextMetrics(painter.font())
        self._scale = scene.scale
        width = self._letters.width(_LONGEST_LABEL) + 16.0
        self._ticks = time_ticks(self._scale, scene.frame.segments, width)

    def draw_grid(self, plot: QRectF) -> None:
        """Draw its lines through a row."""
        self._painter.setPen(QPen(QColor(self._scene.theme.grid), 1))
        places = [round(self._scale.pixel(tick.x)) for tick in self._ticks]
        self._painter.drawLines([QLineF(x, plot.top(), x, plot.bottom()) for x in places])

    def draw(self, top: float) -> None:
        """Draw, below `top`, what the labels are, on the left, and the labels."""
        painter, places = self._painter, self._scene.places
        painter.setPen(QColor(self._scene.theme.muted))
        height = places.axis_height - 3.0
        unit = QRectF(MARGIN, top + 3.0, places.plot_left - 2 * MARGIN, height)
        painter.drawText(unit, _LEFT, axis_unit(self._scene.frame.segments))
        taken, right = places.plot_left - 2.0, places.plot_left + places.plot_width + MARGIN
        for tick in self._ticks:
            x, width = self._scale.pixel(tick.x), self._letters.width(tick.text)
            if not places.plot_left - 0.5 <= x <= right - MARGIN + 0.5:
                continue
            painter.drawLine(QPointF(x, top), QPointF(x, top + 3.0))
            begin = min(max(x - width / 2.0, places.plot_left - 2.0), right - width)
            if begin >= taken:
                painter.drawText(QRectF(begin, top + 3.0, width + 1.0, height), _LEFT, tick.text)
                taken = begin + width + _LABEL_GAP


def draw_value_axis(
    painter: QPainter, plot: QRectF, row: str, limits: ValueRange, unit: ShownUnit, theme: Theme, kept: PixmapCache
) -> None:
    """Draw the lines of one row, and its numbers on the left, where curves are clipped."""
    marks = _value_marks(limits.low, limits.high, unit.factor, plot.height())
    painter.setPen(QPen(QColor(theme.grid), 1))
    lines = (plot.top() + below for below, _ in marks)
    painter.drawLines([QLineF(plot.left(), y, plot.right(), y) for y in lines])

    def write(painter: QPainter, box: QRectF) -> None:
        painter.setPen(QColor(theme.muted))
        height = TextMetrics(painter.font()).height
        for below, text in marks:
            # the outermost labels stay within their row
            top = min(max(box.top() + _OUTSIDE + below - height / 2.0, box.top()), box.bottom() - height)
            painter.drawText(QRectF(box.left(), top, box.width(), height), _RIGHT, text)

    painter.setClipping(False)
    box = QRectF(0.0, plot.top() - _OUTSIDE, plot.left() - 5.0, plot.height() + 2.0 * _OUTSIDE)
    kept.draw(painter, ("numbers", row), (marks, theme.muted), box, QColor(theme.window), write)
    painter.setClipping(True)


@lru_cache(maxsize=256)
def _value_marks(low: float, high: float, factor: float, height: float) -> tuple[tuple[int, str], ...]:
    """Return the lines of an axis: pixels below its top, and what is written there."""
    marks, step = ticks(low * factor, high * factor, most_ticks(height))
    decimals = decimals_of(step)
    pixels = (high - marks / factor) * (height / (high - low))
    return tuple(
        (round(y), value_text(mark, decimals)) for y, mark in zip(pixels.tolist(), marks.tolist(), strict=True)
    )

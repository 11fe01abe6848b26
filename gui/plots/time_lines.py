"""Lines across the curves that say what they are: limits and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.text_metrics import TextMetrics
from gui.plots.time_curves import ValueScale
from gui.plots.time_ink import colour_of, translucent
from gui.plots.time_row import Row
from gui.plots.time_scale import TimeScale
from gui.plots.time_ticks import value_text
from gui.plots.time_unit import unit_text
from gui.widgets.level_colour import level_colour
from gui.widgets.theme import Theme
from gui.wording.event_text import event_level, kind_word

if TYPE_CHECKING:
    from gui.model.history.history import PlacedEvent

_MOST_DASHED = 20  # lines; more of them take too long
_MOST_DIGITS = 6
_CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter


def draw_limits(painter: QPainter, plot: QRectF, row: Row, values: ValueScale, theme: Theme) -> None:
    """Draw the limits of a row; of those beyond its scale, the word and where they are."""
    letters = TextMetrics(painter.font())
    height = letters.height
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
        width = letters.width(text)
        top = min(max(y - height if y > plot.center().y() else y + 1.0, plot.top()), plot.bottom() - height)
        box = QRectF(plot.right() - width - 4.0, top, width + 2.0, height)
        while any(box.intersects(other) for other in taken):
            box.moveRight(box.left() - 8.0)
        if box.left() > plot.left():
            taken.append(box)
            _draw_word(painter, box, text, colour, theme)


def draw_marks(painter: QPainter, plot: QRectF, time: TimeScale, marks: Sequence[PlacedEvent], theme: Theme) -> None:
    """Draw events through a row."""
    # many marks of one kind in one place are one line
    lines = {round(time.pixel(mark.x)): level_colour(theme, event_level(mark.event)) for mark in marks}
    for x, colour in lines.items():
        pen = QPen(QColor(colour), 1)
        if len(lines) <= _MOST_DASHED:
            pen.setDashPattern([2.0, 2.0])
        painter.setPen(pen)
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))


def draw_mark_words(
    painter: QPainter, plot: QRectF, time: TimeScale, marks: Sequence[PlacedEvent], theme: Theme
) -> None:
    """Write beside the events what they are, where there is room: in the last row that is seen."""
    letters = TextMetrics(painter.font())
    height, taken = letters.height, plot.left()
    if plot.height() <= height:
        return
    for mark in marks:
        x = time.pixel(mark.x) + 3.0
        text = kind_word(mark.event.kind)
        width = letters.width(text)
        if x < taken or x + width > plot.right():
            continue
        box = QRectF(x, plot.bottom() - height - 1.0, width + 1.0, height)
        # on no ground: a curve goes on behind it
        painter.setPen(QColor(level_colour(theme, event_level(mark.event))))
        painter.drawText(box, _CENTRE, text)
        taken = x + width + 8.0


def _draw_word(painter: QPainter, box: QRectF, text: str, colour: str, theme: Theme) -> None:
    """Write on a ground that lets curves through but little."""
    painter.fillRect(box.adjusted(-1.0, 0.0, 1.0, 0.0), translucent(theme.base, 200))
    painter.setPen(QColor(colour))
    painter.drawText(box, _CENTRE, text)


def _digits(value: float) -> int:
    return next(n for n in range(_MOST_DIGITS + 1) if round(value, n) == value or n == _MOST_DIGITS)

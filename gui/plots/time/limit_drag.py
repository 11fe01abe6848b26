"""Move a limit line: an overlay of a stack that handles the mouse beside a line, or keys, and shows the new value."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.plots.time.curves import ValueScale, value_scale
from gui.plots.time.decoration import colour_of, limit_number
from gui.plots.time.rows import LimitLine
from gui.plots.time.scene import POINTER_TOLERANCE
from gui.plots.time.stack import TimeStack
from gui.widgets.painting import painting

_TOLERANCE = 4.0  # px beside a line
_STEPS = (1.0, 2.0, 5.0, 10.0)
_FAR = 10  # px, with Shift
_CENTRE = Qt.AlignmentFlag.AlignCenter
_GAP = 6.0


class LimitDrag(QWidget):
    """Lets the lines of a stack that have a handle be dragged; Esc cancels.

    With the keyboard focus L takes the next line, Up and Down move it, with Shift ten times as far, Enter sets it.

    It lies over the viewport of the stack, without mouse events of its own, and is hidden unless a line is dragged:
    it costs nothing per frame.

    Parameters
    ----------
    stack : the plot.

    Signals
    -------
    moved : the `LimitHandle` of a line, and its new value in the unit of the alarm.

    Attributes
    ----------
    enabled : lines can be dragged.
    tip : the text at the mouse; empty while nothing is dragged.
    """

    moved = Signal(object, float)

    def __init__(self, stack: TimeStack) -> None:
        super().__init__(stack.viewport())
        self._stack = stack
        self._grabbed: tuple[int, LimitLine] | None = None
        self._value, self._y = 0.0, 0.0
        self._at = QPointF()
        self._started = self._over = False
        self.enabled, self.tip = True, ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        stack.viewport().installEventFilter(self)
        stack.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle mouse events beside a line and, while one is dragged, Esc."""
        handled = False
        if isinstance(event, QMouseEvent) and watched is self._stack.viewport():
            handled = self._mouse(event)
        elif isinstance(event, QKeyEvent) and self._grabbed is not None and event.key() == Qt.Key.Key_Escape:
            handled = True
            # of the window's shortcut too
            event.accept()
            if event.type() is QEvent.Type.KeyPress:
                self._end()
        elif isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            handled = self._key(event)
        elif event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide) and self._grabbed is not None:
            self._end()
        return handled or super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's name and arguments
        """Draw the line where it would be, and its value."""
        if self._grabbed is None:
            return
        theme = self._stack.scene.theme
        colour = QColor(colour_of(theme, self._grabbed[1].colour))
        places = self._stack.places
        with painting(self) as painter:
            painter.setFont(self._stack.font())
            painter.setPen(QPen(colour, 2))
            painter.drawLine(
                QPointF(places.plot_left, self._y), QPointF(places.plot_left + places.plot_width, self._y)
            )
            self._draw_tip(painter, colour, QColor(theme.base))

    def _draw_tip(self, painter: QPainter, colour: QColor, ground: QColor) -> None:
        metrics = painter.fontMetrics()
        size = metrics.boundingRect(self.tip).size()
        width, height = size.width() + 2 * _GAP, metrics.height() + _GAP
        left = min(self._at.x() + 2 * _GAP, self.width() - width)
        above = self._y - height - _GAP
        box = QRectF(left, above if above >= 0.0 else self._y + _GAP, width, height)
        painter.fillRect(box, ground)
        painter.setPen(colour)
        painter.drawRect(box)
        painter.drawText(box, _CENTRE, self.tip)

    def _mouse(self, event: QMouseEvent) -> bool:
        left = Qt.MouseButton.LeftButton
        match event.type():
            case QEvent.Type.MouseButtonPress if event.button() is left:
                plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
                self._grabbed = self._line_at(event.position()) if plain else None
                self._at, self._started = event.position(), False
            case QEvent.Type.MouseMove if self._grabbed is not None:
                moved = event.position() - self._at
                if not self._started and abs(moved.x()) >= POINTER_TOLERANCE > abs(moved.y()):
                    # the view is panned
                    self._grabbed = None
                    return False
                if not self._started and abs(moved.y()) >= POINTER_TOLERANCE:
                    self._started = True
                    # neither a click nor a pan of the stack
                    self._stack.cancel_press()
                if self._started:
                    self._drag(event.position())
                return self._started
            case QEvent.Type.MouseMove if event.buttons() == Qt.MouseButton.NoButton:
                self._show_cursor(over=self._line_at(event.position()) is not None)
            case QEvent.Type.MouseButtonRelease if event.button() is left and self._grabbed is not None:
                started = self._started
                self._set() if started else self._end()
                return started
        return False

    def _key(self, event: QKeyEvent) -> bool:
        """Take the next line, move the one that is taken, or set it; return whether the key was used."""
        stack, key = self._stack, event.key()
        if key == Qt.Key.Key_L and not event.modifiers() and self.enabled:
            lines = [(row, line) for row in stack.seen for line in self._lines_within(row)]
            if not lines:
                return False
            at = lines.index(self._grabbed) + 1 if self._grabbed in lines else 0
            row, line = self._grabbed = lines[at % len(lines)]
            self._started = True
            self._drag(QPointF(stack.places.plot_left, self._scale(row).pixel(line.value)))
            # where it is, without rounding
            self._value = line.value
            return True
        if self._grabbed is None:
            return False
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = _FAR if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            self._drag(self._at + QPointF(0.0, step if key == Qt.Key.Key_Down else -step))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._set()
        else:
            return False
        return True

    def _set(self) -> None:
        """End, and report the new value of the line."""
        if self._grabbed is not None:
            line, value = self._grabbed[1], self._value
            self._end()
            if line.handle is not None and value != line.value:
                self.moved.emit(line.handle, float(f"{value / line.handle.factor:.10g}"))

    def _drag(self, at: QPointF) -> None:
        if self._grabbed is None:
            return
        row, line = self._grabbed
        rows = self._stack.rows
        if row >= len(rows) or line.value not in [each.value for each in rows[row].limits]:
            # the row or the line is gone meanwhile
            self._end()
            return
        unit, scale = self._stack.scene.unit(row), self._scale(row)
        y = min(max(at.y(), scale.top), scale.top + scale.height)
        self._value = _rounded(scale.value(y) * unit.factor, (scale.high - scale.low) / scale.height * unit.factor)
        self._value /= unit.factor
        self._y, self._at = round(scale.pixel(self._value)), at
        new, former = (limit_number(value, unit) for value in (self._value, line.value))
        whose = line.owner or ("all" if line.handle is not None and len(line.handle.alarms) > 1 else "")
        self.tip = " ".join(filter(None, (line.word, whose, new, unit.unit, f"(was {former})")))
        self.setGeometry(self._stack.viewport().rect())
        self.show()
        self.raise_()
        self.update()

    def _end(self) -> None:
        self._grabbed, self.tip = None, ""
        self.hide()
        self._show_cursor(over=False)

    def _show_cursor(self, *, over: bool) -> None:
        if over != self._over:
            self._over = over
            if over:
                self._stack.viewport().setCursor(Qt.CursorShape.SizeVerCursor)
            else:
                self._stack.viewport().unsetCursor()

    def _line_at(self, at: QPointF) -> tuple[int, LimitLine] | None:
        """Return the row of a point of the viewport and the nearest line there with a handle."""
        row, places = self._stack.row_at(at.y()), self._stack.places
        if not self.enabled or row is None or not 0.0 <= at.x() - places.plot_left <= places.plot_width:
            return None
        scale = self._scale(row)
        lines = filter(_is_movable, self._stack.rows[row].limits)
        near = [(abs(scale.pixel(line.value) - at.y()), line) for line in lines]
        distance, line = min(near, key=lambda each: each[0], default=(math.inf, None))
        return (row, line) if line is not None and distance <= _TOLERANCE else None

    def _lines_within(self, row: int) -> list[LimitLine]:
        """Return the lines of a row that can be moved, and are within its scale."""
        scale, lines = self._scale(row), self._stack.rows[row].limits
        return [line for line in lines if _is_movable(line) and scale.low <= line.value <= scale.high]

    def _scale(self, row: int) -> ValueScale:
        """Return the value scale of a row, in pixels of the viewport."""
        place, stack = self._stack.places.rows[row], self._stack
        limits = stack.scene.ranges[stack.rows[row].key]
        return value_scale(limits, place.plot_top - stack.scrolled, place.plot_height)


def _is_movable(line: LimitLine) -> bool:
    return line.handle is not None and not line.pending


def _rounded(value: float, resolution: float) -> float:
    """Return a value rounded to 1, 2 or 5 times a power of ten, the smallest that is not below `resolution`."""
    power = 10.0 ** math.floor(math.log10(resolution))
    step = next(power * each for each in _STEPS if power * each >= resolution * (1.0 - 1e-9))
    return float(f"{round(value / step) * step:.12g}")

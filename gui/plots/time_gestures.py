"""What mouse, wheel and keys do over a stack of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip

from gui.plots.time_tip import NEAR
from gui.plots.view import View
from gui.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from gui.plots.time_stack import TimeStack

_NOTCH = 1.25  # times as long a span, a notch of the wheel
_STEP = 0.01  # of the span, that a key moves the cursor


class TimeGestures(QObject):
    """Turn events of a stack and its viewport into a view that is zoomed, scrubbed, pointed at and pinned.

    With the focus on the stack, Ctrl+Left and Ctrl+Right move the cursor, Enter pins it or lets go, Shift+Up and
    Shift+Down zoom all values, and Shift+Home lets the scales follow them again.

    Parameters
    ----------
    stack : listened to; the parent.
    view : moved.
    """

    def __init__(self, stack: TimeStack, view: View) -> None:
        super().__init__(stack)
        self._stack, self._view = stack, view
        self._pressed: QPointF | None = None
        self._scrubbed_from: float | None = None
        self._pinned_before: float | None = None
        stack.viewport().setMouseTracking(True)
        stack.viewport().installEventFilter(self)
        stack.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Take what is a gesture; leave the rest, such as the wheel over the value axes, to the stack."""
        if watched is self._stack:
            return isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self._key(event)
        match event.type():
            case QEvent.Type.Wheel if isinstance(event, QWheelEvent):
                return self._wheel(event)
            case QEvent.Type.ToolTip if isinstance(event, QHelpEvent):
                text = self._stack.tip(event.pos())
                QToolTip.showText(event.globalPos(), plain_tip(text), self._stack) if text else QToolTip.hideText()
                return True
            case QEvent.Type.Leave:
                self._view.point(None)
                return False
            case QEvent.Type.MouseMove if isinstance(event, QMouseEvent):
                self._move(event.position())
                return True
        if isinstance(event, QMouseEvent) and event.button() is Qt.MouseButton.LeftButton:
            return self._button(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        key, modifiers, view = event.key(), event.modifiers(), self._view
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            view.pin((view.right if view.cursor is None else view.cursor) if view.pinned is None else None)
        elif modifiers == Qt.KeyboardModifier.ControlModifier and key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = _STEP * view.span * (1.0 if key == Qt.Key.Key_Right else -1.0)
            at = (view.right if view.cursor is None else view.cursor) + step
            view.point(min(max(at, view.left), view.right))
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            for row in range(len(self._stack.rows)):
                low, high = self._stack.limits(self._stack.rows[row].key)
                self._stack.zoom_values(row, _NOTCH ** (-1 if key == Qt.Key.Key_Up else 1), (low + high) / 2.0)
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key == Qt.Key.Key_Home:
            for row in range(len(self._stack.rows)):
                self._stack.release(row)
        else:
            return False
        return True

    def _wheel(self, event: QWheelEvent) -> bool:
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120.0
        at, factor = event.position(), _NOTCH**-notches
        if not self._over_plots(at) and self._stack.verticalScrollBar().maximum() > 0:
            return False
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            row = self._stack.row_at(at.y())
            if row is not None:
                self._stack.zoom_values(row, factor, self._stack.value_at(row, at.y()))
        else:
            self._view.zoom(factor, self._stack.scale().x(at.x()))
        event.accept()
        return True

    def _button(self, event: QMouseEvent) -> bool:
        at = event.position()
        match event.type():
            case QEvent.Type.MouseButtonPress if self._over_plots(at):
                self._pressed, self._scrubbed_from = at, None
                # a filter that takes a click must hand on the focus that comes with it
                self._stack.setFocus(Qt.FocusReason.MouseFocusReason)
            case QEvent.Type.MouseButtonRelease if self._pressed is not None:
                self._release(at)
            case QEvent.Type.MouseButtonDblClick:
                self._twice(at)
            case _:
                return False
        return True

    def _move(self, at: QPointF) -> None:
        """Point, or scrub."""
        scale = self._stack.scale()
        if self._pressed is None:
            self._view.point(scale.x(at.x()) if self._over_plots(at) else None)
            return
        moved = at.x() - self._pressed.x()
        if self._scrubbed_from is None:
            if abs(moved) < NEAR:
                return
            self._scrubbed_from = self._view.right
            self._view.point(None)
            self._stack.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        self._view.look_at(self._scrubbed_from - moved * self._view.span / scale.width)

    def _release(self, at: QPointF) -> None:
        """Pin the second cursor, or let go of it, unless this was the end of a drag."""
        self._pressed = None
        self._stack.viewport().unsetCursor()
        if self._scrubbed_from is None:
            self._pinned_before = self._view.pinned
            self._view.pin(self._stack.scale().x(at.x()) if self._view.pinned is None else None)

    def _twice(self, at: QPointF) -> None:
        """Let a row's scale follow its values; the first of the two clicks did not count."""
        self._pressed = None
        if self._view.pinned != self._pinned_before:
            self._view.pin(self._pinned_before)
        row = self._stack.row_at(at.y())
        if row is not None:
            self._stack.release(row)

    def _over_plots(self, at: QPointF) -> bool:
        scale = self._stack.scale()
        return bool(self._stack.rows) and scale.begin <= at.x() <= scale.begin + scale.width

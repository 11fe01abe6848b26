"""Mouse gestures on a stack: hover, click, drag, rubber band, double click, back and forward buttons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QApplication

from gui.plots.time.decoration import translucent
from gui.plots.time.scene import POINTER_TOLERANCE
from gui.plots.view import View
from gui.widgets.theme import Theme

if TYPE_CHECKING:
    from gui.plots.time.stack import TimeStack

_LEAST_HEIGHT = 12.0  # px; a flatter rubber band selects a span of time only
_LEAST_WIDTH = 8.0  # px; a narrower one selects values only
_ALPHA = 40
_LEFT, _RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@dataclass(frozen=True, slots=True)
class RubberBand:
    """Rectangle that a drag selects within the plot of one row.

    Parameters
    ----------
    row : number of the row.
    plot : of the row, px of the viewport.
    begin, end : of the drag.
    """

    row: int
    plot: QRectF
    begin: QPointF
    end: QPointF

    @property
    def selects_time(self) -> bool:
        """Whether it is wide enough to select a span."""
        return abs(self.end.x() - self.begin.x()) >= _LEAST_WIDTH

    @property
    def selects_values(self) -> bool:
        """Whether it is high enough to select values."""
        return abs(self.end.y() - self.begin.y()) >= _LEAST_HEIGHT

    @property
    def rect(self) -> QRectF:
        """What is selected, within the plot: all of its width or height where the band is too narrow or too flat."""
        found = QRectF(self.begin, self.end).normalized()
        if not self.selects_time:
            found.setLeft(self.plot.left())
            found.setRight(self.plot.right())
        if not self.selects_values:
            found.setTop(self.plot.top())
            found.setBottom(self.plot.bottom())
        return found & self.plot

    def draw(self, painter: QPainter, theme: Theme) -> None:
        """Draw what is selected."""
        painter.setPen(QPen(QColor(theme.accent), 1))
        painter.setBrush(translucent(theme.accent, _ALPHA))
        painter.drawRect(self.rect)


class Gestures:
    """State of the mouse on a stack.

    Parameters
    ----------
    stack : receives what is done; positions are in px of its viewport.
    view : visible time range and cursors.

    Attributes
    ----------
    hover : px where the mouse is at rest over the plots; None elsewhere.
    band : rubber band that is being drawn.
    """

    def __init__(self, stack: TimeStack, view: View) -> None:
        self._stack, self._view = stack, view
        self.hover: float | None = None
        self.band: RubberBand | None = None
        self._pressed: QPointF | None = None
        self._bands = False
        self._dragged_from: float | None = None
        self._pinned_before: float | None = None

    def hide_cursor(self) -> None:
        """Remove the cursor: the mouse has left, or something else moves it."""
        self.hover = None
        self._view.set_cursor(None)

    def cancel(self) -> bool:
        """Cancel a rubber band; return whether there was one."""
        found = self.band is not None
        if found:
            self.band = self._pressed = None
            self._stack.viewport().update()
        return found

    def drop_press(self) -> None:
        """Forget the pressed button: something else is dragged."""
        self._pressed = None
        self.hide_cursor()

    def press(self, event: QMouseEvent) -> bool:
        """Start a click, a drag or a rubber band; return whether the event was handled."""
        button, at = event.button(), event.position()
        self._pinned_before = self._view.pinned
        if button is Qt.MouseButton.BackButton:
            self._view.undo()
        elif button is Qt.MouseButton.ForwardButton:
            self._view.redo()
        elif button in (_LEFT, _RIGHT) and (self._stack.over_plots(at) or self._stack.is_header(at)):
            self._pressed, self._dragged_from = at, None
            self._bands = button is _RIGHT or bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        else:
            return False
        return True

    def move(self, event: QMouseEvent) -> None:
        """Move the cursor, pan while dragging, or extend the rubber band."""
        at, scale, view, stack = event.position(), self._stack.scale(), self._view, self._stack
        if self._pressed is None:
            self.hover = at.x() if stack.over_plots(at) else None
            view.set_cursor(None if self.hover is None else scale.x(self.hover))
            return
        moved = at - self._pressed
        if self._bands:
            row = stack.row_at(self._pressed.y())
            if row is not None and (self.band is not None or moved.manhattanLength() >= POINTER_TOLERANCE):
                self.hide_cursor()
                self.band = RubberBand(row, stack.plot_of(row), self._pressed, at)
                stack.viewport().update()
            return
        if self._dragged_from is None:
            names = stack.signals_at(self._pressed)
            if names:
                if moved.manhattanLength() >= QApplication.startDragDistance():
                    self.drop_press()
                    stack.drag_signals(names)
                return
            if abs(moved.x()) < POINTER_TOLERANCE:
                return
            self._dragged_from = view.right
            self.hide_cursor()
            stack.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        view.pan_to(self._dragged_from - moved.x() * view.span / scale.width)

    def release(self, event: QMouseEvent) -> bool:
        """Zoom to the rubber band, or click: pin, unpin or open a menu; return whether the event was handled."""
        if event.button() not in (_LEFT, _RIGHT) or self._pressed is None:
            return False
        self._pressed = None
        self._stack.viewport().unsetCursor()
        band, self.band = self.band, None
        if band is not None:
            self._stack.zoom_to(band)
        elif self._dragged_from is None and event.button() is _LEFT:
            self._click(event.position())
        elif event.button() is _RIGHT and self._stack.over_plots(event.position()):
            self._stack.request_menu(event.position(), event.globalPosition().toPoint())
        return True

    def _click(self, at: QPointF) -> None:
        """Act on a row header, or pin or unpin the second cursor."""
        if not self._stack.click_header(at) and self._stack.over_plots(at):
            self._view.toggle_pin(self._stack.scale().x(at.x()))

    def double_click(self, event: QMouseEvent) -> bool:
        """Enable auto-range of a row; what the first of the two clicks did is undone."""
        if event.button() is not _LEFT:
            return False
        if self._stack.click_header(event.position()):
            return True
        self._pressed = None
        if self._view.pinned != self._pinned_before:
            self._view.pin(self._pinned_before)
        row = self._stack.row_at(event.position().y())
        if row is not None:
            self._stack.enable_auto_range(row)
        return True

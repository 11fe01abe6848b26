"""Stack of rows over one time axis, used by all panels over time, with its mouse, wheel and key handling."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.plots.time.display import StackDisplay, curve_menu
from gui.plots.time.gestures import Gestures, RubberBand
from gui.plots.time.rows import Frame
from gui.plots.time.scene import MARGIN
from gui.plots.value_axis import Bounds
from gui.plots.view import View
from gui.widgets.painting import plain_tip
from gui.widgets.signal_drag import drag_signals
from gui.widgets.theme import Theme

_NOTCH = 1.25  # zoom factor a notch of the wheel
_KEY_STEP = 0.01  # of the span, by which a key moves the cursor


class TimeStack(StackDisplay):
    """Rows over time: the wheel zooms in time, with Ctrl in value; dragging pans, a click pins a second cursor.

    Dragging with the right button or with Ctrl zooms to a rubber band; a click with the right button requests the
    menu of the row and instant. A click on an entry of a legend hides its curve; the right button there has its
    colours and limits. Legends and names are dragged onto other plots. A double click enables auto-range of a row.
    Rows that do not fit are scrolled with the scroll bar, the wheel over the value axes, or PgUp and PgDn. With the
    keyboard focus, Ctrl+Left and Ctrl+Right move the cursor, Enter pins or unpins it, Shift+Up and Shift+Down zoom
    all values, Shift+Home enables auto-range of all rows.

    Parameters
    ----------
    view : visible time range and cursors.
    theme : initial colours.

    Signals
    -------
    curve_removed : key of a row, and name of a signal that was dropped into it.
    limits_requested : key of a row and label of its curve, whose limits are to be edited.
    menu_requested : key of a row or empty, x or None, and where on the screen their menu is to be.
    """

    curve_removed = Signal(str, str)
    limits_requested = Signal(str, str)
    menu_requested = Signal(str, object, QPoint)
    yields_to_shortcuts = True  # its keys are not shortcuts of the window

    def __init__(self, view: View, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(view, theme, parent)
        self._gestures = Gestures(self, view)
        view.restored.connect(self.restore_scales)

    def draw(self, frame: Frame, *, more: bool = False) -> None:
        """Draw a frame; see `StackDisplay.draw`."""
        super().draw(frame, more=more)
        hover = self._gestures.hover
        if hover is not None and self._view.following:
            # under the mouse, while the data scroll
            self._view.set_cursor(self.scale().x(hover), scrolled=True)

    def zoom_values(self, row: int, factor: float, at: float) -> None:
        """Zoom the scale of a row by `factor` about a value; `enable_auto_range` undoes it."""
        key = self.rows[row].key
        with self._view.step(f"values of {key}", lambda: {key: self._ranges.manual(key)}):
            self._ranges[key].zoom(factor, at)
        self._redraw()

    def zoom_to(self, band: RubberBand) -> None:
        """Show the span, the values or both that a rubber band selects."""
        rect, scale, key = band.rect, self.scale(), self.rows[band.row].key
        low, high = self.value_at(band.row, rect.bottom()), self.value_at(band.row, rect.top())
        with self._view.step("", lambda: {key: self._ranges.manual(key)} if band.selects_values else {}):
            if band.selects_values:
                self._ranges.set_manual(key, (low, high))
            if band.selects_time:
                self._view.show(scale.x(rect.left()), scale.x(rect.right()))
        self._redraw()

    def enable_auto_range(self, row: int) -> None:
        """Let the scale of a row follow its values."""
        shown = self.rows[row]
        with self._view.step("", lambda: {shown.key: self._ranges.manual(shown.key)}):
            self._ranges.enable_auto_range(shown, self.frame.rows[row])
        self._redraw()

    def is_manual(self, row: int) -> bool:
        """Whether the scale of a row was set by hand."""
        return self._ranges[self.rows[row].key].manual

    def keep_scale(self, row: int) -> None:
        """Keep the scale that a row has now; `enable_auto_range` undoes it."""
        key = self.rows[row].key
        with self._view.step("", lambda: {key: self._ranges.manual(key)}):
            self._ranges.set_manual(key, self.limits(key))
        self._redraw()

    def click_header(self, at: QPointF) -> bool:
        """Hide or show the curve of the legend entry at a point, or fit a manual scale whose mark is there."""
        found = self._entry_at(at)
        if found is not None:
            self._styles.toggle(*found)
            self._apply_styles()
            return True
        header = self._header_at(at)
        if header is not None and header[1].is_mark(at.x() - MARGIN):
            self.enable_auto_range(header[0])
            return True
        return False

    def event(self, event: QEvent) -> bool:
        """Handle the keys of a plot; not in `keyPressEvent`: space and arrows remain shortcuts of the window."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self._key(event):
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom in time, with Ctrl in value; over the value axes, scroll."""
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120.0
        at, factor = event.position(), _NOTCH**-notches
        if not self.over_plots(at) and self.verticalScrollBar().maximum() > 0:
            super().wheelEvent(event)
            return
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            row = self.row_at(at.y())
            if row is not None:
                self.zoom_values(row, factor, self.value_at(row, at.y()))
        else:
            self._view.zoom(factor, self.scale().x(at.x()))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a click, a drag or a rubber band."""
        if not self._gestures.press(event):
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the cursor, pan, or extend the rubber band."""
        self._gestures.move(event)

    def cancel_press(self) -> None:
        """Forget the pressed mouse button: it neither pans nor pins."""
        self._gestures.drop_press()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pin or unpin the second cursor, or zoom to the rubber band."""
        if not self._gestures.release(event):
            super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Enable auto-range of a row."""
        if not self._gestures.double_click(event):
            super().mouseDoubleClickEvent(event)

    def signals_at(self, at: QPointF) -> tuple[str, ...]:
        """Return the signals of the legend entry, or of the row whose name is at a point."""
        header, entry = self._header_at(at), self._entry_at(at)
        if header is None or (entry is None and at.x() - MARGIN > header[1].name_end):
            return ()
        curves = self.rows[header[0]].curves
        return tuple(curve.signal for curve in curves if curve.signal and (entry is None or curve.label == entry[1]))

    def drag_signals(self, names: tuple[str, ...]) -> None:
        """Drag signals onto another plot."""
        drag_signals(self, names)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the menu of a legend entry, or request that of a row; in a plot, by mouse, `Gestures` does.

        There the right button may begin a rubber band, and many systems send this event when it is pressed.
        """
        at = QPointF(event.pos())
        found, header = self._entry_at(at), self._header_at(at)
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        if by_key:
            cursor = self._view.pinned if self._view.cursor is None else self._view.cursor
            self.menu_requested.emit(self._key_at(at), cursor, event.globalPos())
        elif found is not None:
            self.cancel_press()
            self.show_curve_menu(*found, event.globalPos())
        elif header is not None or not self.over_plots(at):
            self.cancel_press()
            self.menu_requested.emit(self._key_at(at), None, event.globalPos())

    def show_curve_menu(self, key: str, label: str, on_screen: QPoint) -> None:
        """Show the menu of a curve of a row: hide it, its colour and its limits."""
        menu = curve_menu(self, self._styles, key, label, self._theme, self._apply_styles)
        menu.addSeparator()
        menu.addAction("Limits…").triggered.connect(partial(self.limits_requested.emit, key, label))
        row = next(row for row in self.rows if row.key == key)
        curve = next(curve for curve in row.curves if curve.label == label)
        if curve.added:
            remove = menu.addAction("Remove from this row")
            remove.triggered.connect(partial(self.curve_removed.emit, row.key, curve.signal))
        menu.popup(on_screen)

    def request_menu(self, at: QPointF, on_screen: QPoint) -> None:
        """Request the menu of the row and the instant at a point."""
        if not self.is_header(at):
            self._gestures.hide_cursor()
            self.menu_requested.emit(self._key_at(at), self.scale().x(at.x()), on_screen)

    def _key_at(self, at: QPointF) -> str:
        """Return the key of the row at a point; empty where there is none."""
        row = self.row_at(at.y()) if at.y() < self.scene.axis_top else None
        return "" if row is None else self.rows[row].key

    def viewportEvent(self, event: QEvent) -> bool:
        """Show tool tips; hide the cursor when the mouse leaves."""
        if isinstance(event, QHelpEvent):
            text = self.tip(event.pos())
            QToolTip.showText(event.globalPos(), plain_tip(text), self) if text else QToolTip.hideText()
            return True
        if event.type() is QEvent.Type.Leave:
            self._gestures.hide_cursor()
        return super().viewportEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        """Move or pin the cursor, zoom values; return whether the key was handled."""
        key, modifiers, view = event.key(), event.modifiers(), self._view
        if key == Qt.Key.Key_Escape:
            return self._gestures.cancel()
        at = view.right if view.cursor is None else view.cursor
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            view.toggle_pin(at)
        elif modifiers == Qt.KeyboardModifier.ControlModifier and key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = _KEY_STEP * view.span * (1.0 if key == Qt.Key.Key_Right else -1.0)
            self._gestures.hover = None
            view.set_cursor(min(max(at + step, view.left), view.right))
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            for i, row in enumerate(self.rows):
                low, high = self.limits(row.key)
                self.zoom_values(i, _NOTCH ** (-1 if key == Qt.Key.Key_Up else 1), (low + high) / 2.0)
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key == Qt.Key.Key_Home:
            for i in range(len(self.rows)):
                self.enable_auto_range(i)
        else:
            return False
        return True

    @property
    def manual_scales(self) -> dict[str, Bounds]:
        """The scales that were set by hand, by the key of their row."""
        found = {row.key: self._ranges.manual(row.key) for row in self.rows}
        return {key: limits for key, limits in found.items() if limits is not None}

    def restore_scales(self, parts: Mapping[str, Any]) -> None:
        """Restore the scales in parts of the view, of those rows that this stack has; None: by its values."""
        for i, row in enumerate(self.rows):
            if row.key in parts:
                limits = parts[row.key]
                if limits is None:
                    self._ranges.enable_auto_range(row, self.frame.rows[i])
                else:
                    self._ranges.set_manual(row.key, limits)
        self._redraw()

    def _draw_over(self, painter: QPainter) -> None:
        if self._gestures.band is not None:
            self._gestures.band.draw(painter, self._theme)

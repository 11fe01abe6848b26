"""Stack of rows over one time axis, used by all panels over time, with its mouse, wheel and key handling."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QFont, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.plots.time.axis import TimeScale
from gui.plots.time.cache import BackgroundCache, PixmapCache
from gui.plots.time.curves import value_scale
from gui.plots.time.picture import (
    POINTER_TOLERANCE,
    ScenePainter,
    draw_cursors,
    draw_focus,
    draw_row_headers,
    event_tip,
    limit_tip,
    row_header_tip,
)
from gui.plots.time.readouts import Readout, ReadoutThrottle, fact_texts, legend_entries, readouts
from gui.plots.time.rows import Frame, PlotRow
from gui.plots.time.scene import MARGIN, AxisRanges, RowArea, Scene
from gui.plots.view import View
from gui.widgets.labels import plain_tip
from gui.widgets.painting import painting
from gui.widgets.theme import Theme

_NOTCH = 1.25  # zoom factor a notch of the wheel
_KEY_STEP = 0.01  # of the span, by which a key moves the cursor


class TimeStack(RowArea):
    """Rows over time: the wheel zooms in time, with Ctrl in value; dragging pans, a click pins a second cursor.

    A double click enables auto-range of a row. Rows that do not fit are scrolled with the scroll bar, the wheel over
    the value axes, or PgUp and PgDn. With the keyboard focus, Ctrl+Left and Ctrl+Right move the cursor, Enter pins or
    unpins it, Shift+Up and Shift+Down zoom all values, Shift+Home enables auto-range of all rows.

    Parameters
    ----------
    view : visible time range and cursors.
    theme : initial colours.
    """

    yields_to_shortcuts = True  # its keys are not shortcuts of the window

    def __init__(self, view: View, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view, self._theme = view, theme
        self._ranges = AxisRanges()
        self._frame = Frame()
        self._background, self._pixmaps, self._readouts = BackgroundCache(), PixmapCache(), ReadoutThrottle()
        self._smooth, self._smooth_when_paused = False, True
        self.message = ""
        self.setAccessibleName("values over time")
        font = self.font()
        # tabular figures, so that readouts do not jitter
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)
        self._pressed: QPointF | None = None
        self._dragged_from: float | None = None
        self._pinned_before: float | None = None
        self._hover: float | None = None
        view.cursor_changed.connect(self._move_cursor)
        view.range_changed.connect(self._update_smooth)

    @property
    def frame(self) -> Frame:
        """The frame that was drawn last."""
        return self._frame

    @property
    def scene(self) -> Scene:
        """What is drawn, without the cursors."""
        smooth, area = self._smooth, self.viewport().rect()
        return Scene(
            self._rows, self._ranges, self._frame, self.places, area, self.scrolled, self._theme, smooth=smooth
        )

    def set_rows(self, rows: Sequence[PlotRow]) -> None:
        """Show other rows; those that were shown before keep their scales."""
        self._ranges.set_rows(rows)
        self._frame = Frame(self._frame.left, self._frame.right, (None,) * len(rows), self._frame.segments)
        self._set_rows(rows)
        self._pixmaps.clear()
        self._readouts.reset()
        self._redraw()

    def reset_scales(self) -> None:
        """Drop all scales, for other signals."""
        self._ranges.clear()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._redraw()

    def set_smooth(self, when_paused: bool) -> None:
        """Antialias lines while the view is paused, or never; live it would cost frames."""
        self._smooth_when_paused = when_paused
        self._update_smooth()

    def draw(self, frame: Frame, *, more: bool = False) -> None:
        """Draw a frame.

        Parameters
        ----------
        more : another frame is expected soon, so that readouts may be skipped; call `flush_readouts` if none comes.
        """
        self._frame = frame
        self._readouts.update(frame, more=more)
        self._ranges.update(self._rows, frame)
        self._redraw()
        if self._hover is not None and self._view.following:
            # under the mouse, while the data scroll
            self._view.set_cursor(self.scale().x(self._hover), scrolled=True)

    def flush_readouts(self) -> None:
        """Show the newest values in the headers: no other frame has come."""
        self._readouts.flush()
        if self._readouts.pending:
            self.viewport().update()

    def limits(self, key: str) -> tuple[float, float]:
        """Return the limits of a row's value axis."""
        found = self._ranges[key]
        return found.low, found.high

    def legend(self, row: int) -> list[str]:
        """Return the legend of a row: ``command 1.25 mm``, with the difference to the pinned cursor."""
        found = legend_entries(self._rows[row], self._current_readouts()[row], self.scene.unit(row))
        return [" ".join(filter(None, (entry.curve.label, entry.value, entry.difference))) for entry in found]

    def zoom_values(self, row: int, factor: float, at: float) -> None:
        """Zoom the scale of a row by `factor` about a value; `enable_auto_range` undoes it."""
        self._ranges[self._rows[row].key].zoom(factor, at)
        self._redraw()

    def enable_auto_range(self, row: int) -> None:
        """Let the scale of a row follow its values."""
        self._ranges.enable_auto_range(self._rows[row], self._frame.rows[row])
        self._redraw()

    def scale(self) -> TimeScale:
        """Return the time scale of the viewport."""
        return self.scene.scale

    def instant(self, x: float) -> str:
        """Return the rig's time at `x` with the resolution of a pixel; a dash in a break."""
        return self.scene.instant(x)

    def value_at(self, row: int, y: float) -> float:
        """Return the value of a row at a pixel of the viewport."""
        place, limits = self.places.rows[row], self._ranges[self._rows[row].key]
        return value_scale(limits, place.plot_top, place.plot_height).value(y + self.scrolled)

    def tip(self, at: QPoint) -> str:
        """Return the tool tip at a point: the events there, or the full text of a row header."""
        row = self.row_at(at.y())
        if row is not None and at.y() + self.scrolled < self.places.rows[row].plot_top:
            return self.tip_of_header(row)
        limits = "" if row is None else limit_tip(self.scene, row, at)
        return limits or event_tip(self.scene, at)

    def tip_of_header(self, row: int) -> str:
        """Return the full text of a row header."""
        facts = [
            f"{name} {value}" for name, value in fact_texts(self._current_readouts()[row].facts, self.scene.unit(row))
        ]
        return row_header_tip(self.scene, row, [*self.legend(row), *facts])

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the background from its cache, and over it the headers and cursors."""
        with painting(self.viewport()) as painter:
            painter.setFont(self.font())
            scene = self.scene
            if not self._rows:
                self._draw_message(painter, scene.area)
                return
            ratio = self.viewport().devicePixelRatioF()
            self._background.draw(
                painter, scene.area.size(), ratio, lambda inner: ScenePainter(inner, scene, self._pixmaps).draw()
            )
            view = self._view
            live = view.following and (view.cursor is None or view.cursor_scrolls)
            draw_row_headers(
                painter, scene, self._readouts.choose(self._current_readouts(), live=live), self._pixmaps
            )
            draw_cursors(painter, scene, self._view.cursor, self._view.pinned)
            if self.hasFocus():
                draw_focus(painter, scene)

    def event(self, event: QEvent) -> bool:
        """Handle the keys of a plot; not in `keyPressEvent`: space and arrows remain shortcuts of the window."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self._key(event):
            return True
        return super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom in time, with Ctrl in value; over the value axes, scroll."""
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120.0
        at, factor = event.position(), _NOTCH**-notches
        if not self._over_plots(at) and self.verticalScrollBar().maximum() > 0:
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
        """Start a click or a drag."""
        self._pinned_before = self._view.pinned
        if event.button() is Qt.MouseButton.LeftButton and self._over_plots(event.position()):
            self._pressed, self._dragged_from = event.position(), None
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the cursor, or pan while dragging."""
        at, scale, view = event.position(), self.scale(), self._view
        if self._pressed is None:
            self._hover = at.x() if self._over_plots(at) else None
            view.set_cursor(None if self._hover is None else scale.x(self._hover))
            return
        moved = at.x() - self._pressed.x()
        if self._dragged_from is None:
            if abs(moved) < POINTER_TOLERANCE:
                return
            self._dragged_from = view.right
            self._hide_cursor()
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        view.set_right(self._dragged_from - moved * view.span / scale.width)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pin or unpin the second cursor, unless a drag ends."""
        if event.button() is not Qt.MouseButton.LeftButton or self._pressed is None:
            super().mouseReleaseEvent(event)
            return
        self._pressed = None
        self.viewport().unsetCursor()
        if self._dragged_from is None:
            self._view.toggle_pin(self.scale().x(event.position().x()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Enable auto-range of a row; what the first of the two clicks did is undone."""
        if event.button() is not Qt.MouseButton.LeftButton:
            super().mouseDoubleClickEvent(event)
            return
        self._pressed = None
        if self._view.pinned != self._pinned_before:
            self._view.pin(self._pinned_before)
        row = self.row_at(event.position().y())
        if row is not None:
            self.enable_auto_range(row)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show tool tips; hide the cursor when the mouse leaves."""
        if isinstance(event, QHelpEvent):
            text = self.tip(event.pos())
            QToolTip.showText(event.globalPos(), plain_tip(text), self) if text else QToolTip.hideText()
            return True
        if event.type() is QEvent.Type.Leave:
            self._hide_cursor()
        return super().viewportEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        """Move or pin the cursor, zoom values; return whether the key was handled."""
        key, modifiers, view = event.key(), event.modifiers(), self._view
        at = view.right if view.cursor is None else view.cursor
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            view.toggle_pin(at)
        elif modifiers == Qt.KeyboardModifier.ControlModifier and key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = _KEY_STEP * view.span * (1.0 if key == Qt.Key.Key_Right else -1.0)
            self._hover = None
            view.set_cursor(min(max(at + step, view.left), view.right))
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            for i, row in enumerate(self._rows):
                low, high = self.limits(row.key)
                self.zoom_values(i, _NOTCH ** (-1 if key == Qt.Key.Key_Up else 1), (low + high) / 2.0)
        elif modifiers == Qt.KeyboardModifier.ShiftModifier and key == Qt.Key.Key_Home:
            for i in range(len(self._rows)):
                self.enable_auto_range(i)
        else:
            return False
        return True

    def _over_plots(self, at: QPointF) -> bool:
        scale = self.scale()
        return bool(self._rows) and scale.begin <= at.x() <= scale.begin + scale.width

    def _draw_message(self, painter: QPainter, area: QRect) -> None:
        painter.fillRect(area, QColor(self._theme.window))
        painter.setPen(QColor(self._theme.muted))
        inner = area.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        painter.drawText(inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.message)

    def _current_readouts(self) -> list[Readout]:
        return readouts(self._frame, len(self._rows), self._view.cursor, self._view.pinned)

    def _redraw(self) -> None:
        self._background.invalidate()
        super()._redraw()

    def _hide_cursor(self) -> None:
        self._hover = None
        self._view.set_cursor(None)

    def _move_cursor(self) -> None:
        """Redraw the cursors."""
        self.viewport().update()

    def _update_smooth(self) -> None:
        """Redraw with or without antialiasing when the view is paused or continued."""
        smooth = self._smooth_when_paused and not self._view.following
        if smooth != self._smooth:
            self._smooth = smooth
            self._redraw()
        if not self._view.following:
            self.flush_readouts()

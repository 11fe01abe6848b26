"""Timeline of a run: its overview, and a cursor to seek with."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from gui.sources.replay_bar.overview import ChannelMenu, RunPicture
from gui.widgets.painting import painting, plain_tip
from gui.widgets.theme import Theme
from monitor.messages.recordings import Description

_PAUSE = 200  # ms between seeks


class SeekThrottle(QObject):
    """Target of a seek, until the player has reached it.

    Signals
    -------
    sought : target, s; at most five times a second, except for the last one of a drag.
    arrived : the target is reached.
    """

    sought = Signal(float)
    arrived = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.wanted: float | None = None
        self.dragging = False
        self._requested: float | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self.go_on)

    def want(self, seconds: float) -> None:
        """Seek to `seconds`: now, or when the interval since the last seek has passed."""
        self.wanted = seconds
        if not self._pause.isActive():
            self._seek_newest()

    def let_go(self, seconds: float) -> None:
        """End a drag at `seconds`; seeks now."""
        self.dragging = False
        self.wanted = seconds
        self._seek_newest()

    def settle(self) -> None:
        """Take the position of the player as the target, unless a seek has just been sent."""
        if not self.dragging and not self._pause.isActive():
            self.wanted = None

    def go_on(self) -> None:
        """Seek to the newest target; without a new one, the player has arrived."""
        if self.dragging or self.wanted != self._requested:
            self._seek_newest()
        else:
            self.rest()

    def rest(self) -> None:
        """Drop the target; the next seek is sent at once."""
        self._pause.stop()
        self._requested = self.wanted = None
        self.arrived.emit()

    def _seek_newest(self) -> None:
        if self.wanted is not None and self.wanted != self._requested:
            self._requested = self.wanted
            self._pause.start()
            self.sought.emit(self.wanted)


_SHORT, _LONG = 1.0, 10.0  # s by which keys move
_KEYS = {
    Qt.Key.Key_Left: -_SHORT,
    Qt.Key.Key_Right: _SHORT,
    Qt.Key.Key_PageUp: -_LONG,
    Qt.Key.Key_PageDown: _LONG,
    Qt.Key.Key_Home: -math.inf,
    Qt.Key.Key_End: math.inf,
}


class RunTimeline(QWidget):
    """Overview with the position of the player; click, drag and keys seek.

    Signals
    -------
    sought : s after the first sample; at most five times a second during a drag, and at its end.
    """

    sought = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.channel = ""
        self.position = 0.0
        self._duration = 0.0
        self._description: Description | None = None
        self._pixmap: QPixmap | None = None
        self._seeking = SeekThrottle(self)
        self._seeking.sought.connect(self.sought)
        self._seeking.arrived.connect(self.update)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumSize(120, 36)
        self.setAccessibleName("timeline of the run")
        self.setAccessibleDescription("Left, Right: 1 s; Page Up, Page Down: 10 s; Home, End; Up, Down: channel")

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that can be shown."""
        overview = None if self._description is None else self._description.overview
        return () if overview is None else overview.channels

    @property
    def wanted(self) -> float | None:
        """Target of a seek, s; None without one."""
        return self._seeking.wanted

    @property
    def picture(self) -> RunPicture:
        """The picture of the run."""
        return RunPicture(self._description, self.channel, self._duration, self.width(), self.height())

    def show_run(self, description: Description | None) -> None:
        """Show another run; None: none."""
        self._description = description
        if self.channel not in self.channels:
            self.channel = "" if description is None else description.default_channel
        self._redraw()

    def set_position(self, position: float, duration: float) -> None:
        """Show the position of the player."""
        if duration != self._duration:
            self._duration = duration
            self._redraw()
        self._seeking.settle()
        self.position = position
        self.update()

    def choose(self, channel: str) -> None:
        """Show another channel."""
        self.channel = channel
        self._redraw()

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self._redraw()

    def seek(self, seconds: float) -> None:
        """Seek to `seconds`: now, or when the interval since the last seek has passed."""
        if self._duration > 0.0:
            self._seeking.want(min(max(seconds, 0.0), self._duration))
            self.update()

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(480, 44)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a drag, and seek."""
        if event.button() is Qt.MouseButton.LeftButton and self._duration > 0.0:
            self._seeking.dragging = True
            self.seek(self.picture.seconds_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Seek during a drag."""
        if self._seeking.dragging:
            self.seek(self.picture.seconds_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag."""
        if self._seeking.dragging and event.button() is Qt.MouseButton.LeftButton:
            self._seeking.let_go(self.picture.seconds_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Seek by a step, to an end, or show another channel."""
        step = _KEYS.get(Qt.Key(event.key()))
        turn = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is not None:
            self.seek((self.position if self.wanted is None else self.wanted) + step)
        elif turn is not None and self.channel in self.channels:
            self.choose(self.channels[(self.channels.index(self.channel) + turn) % len(self.channels)])
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the menu of the channels."""
        if self.channels:
            self.channel_menu().popup(event.globalPos())

    def channel_menu(self) -> QMenu:
        """Return the menu of the channels, deleted when it is closed."""
        menu = ChannelMenu(self.channels, self.channel, self)
        menu.chosen.connect(self.choose)
        return menu

    def event(self, event: QEvent) -> bool:
        """Show the tool tip."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tip(self.picture.tip(float(event.pos().x()))), self)
            return True
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Redraw at another size."""
        super().resizeEvent(event)
        self._pixmap = None

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the picture of the run, and over it the position."""
        if self._pixmap is None or self._pixmap.devicePixelRatio() != self.devicePixelRatioF():
            self._pixmap = self.picture.draw(self.theme, self.devicePixelRatioF())
        with painting(self) as painter:
            painter.drawPixmap(0, 0, self._pixmap)
            if self._duration > 0.0:
                self._line(painter, self.position, QPen(QColor(self.theme.accent), 2.0))
                if (wanted := self.wanted) is not None:
                    self._line(painter, wanted, QPen(QColor(self.theme.text), 2.0, Qt.PenStyle.DashLine))
            if self.hasFocus():
                painter.setPen(QPen(QColor(self.theme.accent), 2.0))
                painter.drawRect(QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0))

    def _line(self, painter: QPainter, seconds: float, pen: QPen) -> None:
        x = self.picture.x_of(seconds)
        painter.setPen(pen)
        painter.drawLine(QPointF(x, 1.0), QPointF(x, self.height() - 1.0))

    def _redraw(self) -> None:
        self._pixmap = None
        self.update()

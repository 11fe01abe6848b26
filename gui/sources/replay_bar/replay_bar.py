"""Replay bar: play, pause, step, loop, speed, and the whole run on a timeline."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPainterPathStroker, QPixmap, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from gui.sources.processes.player import Player
from gui.sources.replay_bar.run_timeline import RunTimeline
from gui.sources.replay_bar.speed_box import SpeedBox
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme

_SIZE = 64  # of the pixmap; scaled down where it is shown


def media_icon(name: str, colour: str) -> QIcon:
    """Return the icon `name`: play, pause, step, restart, loop or open."""
    pixmap = QPixmap(_SIZE, _SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(_path(name), QColor(colour))
    painter.end()
    return QIcon(pixmap)


def _path(name: str) -> QPainterPath:
    """Return the outline of the shape."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    match name:
        case "play":
            _triangle(path, 16.0, 54.0)
        case "pause":
            path.addRect(QRectF(14.0, 10.0, 13.0, 44.0))
            path.addRect(QRectF(37.0, 10.0, 13.0, 44.0))
        case "step":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 27.0, 58.0)
        case "restart":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 54.0, 23.0)
        case "loop":
            arc = QPainterPath()
            circle = QRectF(12.0, 12.0, 40.0, 40.0)
            arc.arcMoveTo(circle, 40.0)
            arc.arcTo(circle, 40.0, 280.0)
            stroker = QPainterPathStroker()
            stroker.setWidth(7.0)
            path = stroker.createStroke(arc)
            path.addPolygon(QPolygonF([QPointF(36.0, 30.0), QPointF(60.0, 30.0), QPointF(48.0, 10.0)]))
        case "open":
            path.addPolygon(
                QPolygonF([QPointF(6.0, 14.0), QPointF(26.0, 14.0), QPointF(32.0, 21.0), QPointF(6.0, 21.0)])
            )
            path.addRect(QRectF(6.0, 21.0, 52.0, 32.0))
        case _:
            raise ValueError(f"there is no icon {name!r}")
    return path


def _triangle(path: QPainterPath, base: float, tip: float) -> None:
    path.addPolygon(QPolygonF([QPointF(base, 10.0), QPointF(tip, 32.0), QPointF(base, 54.0)]))


STEP = 0.1
"""s that one step goes."""
LEAD = 2.1
"""s before the place that is sought which are sent at once, so that windows are full there."""


class ReplayBar(QWidget):
    """Steer a player; hidden while there is none.

    Parameters
    ----------
    theme : colours to begin with.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.lead = LEAD
        self._player: Player | None = None
        self.play = self._button("play", "Play")
        self.step = self._button("step", f"Step: {STEP:g} s, then stand")
        self.restart = self._button("restart", "Play from the beginning")
        self.loop = self._button("loop", "Loop: begin again at the end", checkable=True)
        self.speed = SpeedBox(theme)
        self.timeline = RunTimeline(theme)
        self.place = PlainLabel()
        self.place.setAccessibleName("place in the run")
        self.place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(6, 4, 6, 4)
        layout.setSpacing(4)
        for widget in (self.restart, self.play, self.step, self.loop, self.speed, self.timeline, self.place):
            layout.addWidget(widget)
        layout.setStretchFactor(self.timeline, 1)
        self.play.clicked.connect(self._toggle)
        self.step.clicked.connect(self._step)
        self.restart.clicked.connect(self._restart)
        self.loop.toggled.connect(self._set_loop)
        self.speed.chosen.connect(self._set_speed)
        self.timeline.sought.connect(self._seek)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("replay")
        self.apply_theme(theme)
        self.set_player(None)

    @property
    def player(self) -> Player | None:
        """The one that is steered."""
        return self._player

    def set_player(self, player: Player | None) -> None:
        """Steer another player, or none."""
        if self._player is not None:
            self._player.changed.disconnect(self._show_state)
            self._player.described.disconnect(self._show_run)
        self._player = player
        if player is not None:
            player.changed.connect(self._show_state)
            player.described.connect(self._show_run)
        self._show_run()
        self.setVisible(player is not None)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        for button, name in ((self.step, "step"), (self.restart, "restart"), (self.loop, "loop")):
            button.setIcon(media_icon(name, theme.text))
        self.timeline.apply_theme(theme)
        self.speed.apply_theme(theme)
        self._show_state()

    def _button(self, name: str, tip: str, *, checkable: bool = False) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setCheckable(checkable)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setObjectName(name)
        button.setAccessibleName(tip.partition(":")[0])
        button.setToolTip(tip)
        return button

    def _show_run(self) -> None:
        self.timeline.show_run(None if self._player is None else self._player.description)
        self._show_state()

    def _show_state(self) -> None:
        player = self._player
        playing = player is not None and player.playing
        word = "Pause" if playing else "Play"
        if self.play.text() != word or self.play.icon().isNull() or self.play.property("colour") != self.theme.text:
            self.play.setProperty("colour", self.theme.text)
            self.play.setIcon(media_icon(word.lower(), self.theme.text))
            self.play.setText(word)
            self.play.setAccessibleName(word)
            self.play.setToolTip(word)
        if player is None:
            self.place.setText("")
            return
        self.timeline.stand(player.position, player.duration)
        self.speed.show_speed(player.speed)
        blocked = self.loop.blockSignals(True)
        self.loop.setChecked(player.loop)
        self.loop.blockSignals(blocked)
        self.place.setText(place_text(player))
        # grows with the words and never shrinks: the timeline stays where it is
        self.place.setMinimumWidth(max(self.place.minimumWidth(), self.place.sizeHint().width()))

    def _toggle(self) -> None:
        if self._player is not None:
            self._player.toggle()

    def _step(self) -> None:
        if self._player is not None:
            self._player.step(STEP)

    def _restart(self) -> None:
        if self._player is not None:
            self._player.restart()

    def _set_loop(self, loop: bool) -> None:
        if self._player is not None:
            self._player.set_loop(loop)

    def _set_speed(self, speed: float) -> None:
        if self._player is not None:
            self._player.set_speed(speed)

    def _seek(self, seconds: float) -> None:
        if self._player is not None:
            # while it plays the windows fill by themselves
            self._player.seek(seconds, 0.0 if self._player.playing else self.lead)


def place_text(player: Player) -> str:
    """Return where a player is, of what, and whether time passes."""
    decimals = 1 if player.duration >= 1.0 else 3
    whole = f"{player.duration:.{decimals}f}"
    # as wide at the beginning as at the end, or the line beside it would move
    place = f"{player.position:.{decimals}f}".rjust(len(whole), "\u2007")
    return f"{place} of {whole} s  {'ended' if player.ended else 'playing' if player.playing else 'paused'}"

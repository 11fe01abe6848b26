"""Replay bar: play, pause, step, loop, speed, and the whole run on a timeline."""

from __future__ import annotations

import math

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from gui.sources.processes.player import Player
from gui.sources.replay_bar.run_timeline import RunTimeline
from gui.widgets.layout import fill
from gui.widgets.painting import PlainLabel, media_icon
from gui.widgets.theme import Theme

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, math.inf)
SLOWEST, FASTEST = 0.001, 10_000.0
_WRONG = f"write a number from {SLOWEST:g} to {FASTEST:g}, or max"


def speed_text(speed: float) -> str:
    """Return a speed as text: ``2×`` or ``max``."""
    return "max" if math.isinf(speed) else f"{speed:g}×"


def read_speed(text: str) -> float | None:
    """Parse a speed; None if it is invalid."""
    plain = text.strip().lower()
    if plain in ("max", "maximum"):
        return math.inf
    try:
        speed = float(plain.rstrip("x× ").replace(",", "."))
    except ValueError:
        return None
    return speed if SLOWEST <= speed <= FASTEST else None


class SpeedBox(QComboBox):
    """Combo box for the speed.

    Attributes
    ----------
    speed : of the player.

    Signals
    -------
    chosen : factor on real time; infinite: as fast as possible.
    """

    chosen = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.speed = 1.0
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        # completion would turn a typed 0.2 into 0.25
        self.setCompleter(None)  # type: ignore[arg-type]  # the stubs do not know None
        self.addItems([speed_text(speed) for speed in SPEEDS])
        self.setAccessibleName("speed")
        self.setMinimumContentsLength(5)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.textActivated.connect(self._choose)
        self.editTextChanged.connect(self._mark)
        field = self.lineEdit()
        assert field is not None
        field.returnPressed.connect(self._enter)
        field.editingFinished.connect(self._give_back)
        self.show_speed(1.0)

    @property
    def problem(self) -> str:
        """The problem of the text; empty if it is valid."""
        return "" if read_speed(self.currentText()) is not None else _WRONG

    def show_speed(self, speed: float) -> None:
        """Show the speed of the player, unless a text is being typed."""
        field = self.lineEdit()
        typing = field is not None and field.hasFocus() and field.isModified()
        if speed == self.speed and (typing or read_speed(self.currentText()) == speed):
            return
        self.speed = speed
        if not typing:
            self.setEditText(speed_text(speed))

    def faster(self, steps: int = 1) -> None:
        """Choose the next listed speed; a slower one where `steps` is negative."""
        if steps > 0:
            above = [speed for speed in SPEEDS if speed > self.speed]
            speed = above[min(steps, len(above)) - 1] if above else self.speed
        else:
            below = [speed for speed in reversed(SPEEDS) if speed < self.speed]
            speed = below[min(-steps, len(below)) - 1] if below else self.speed
        self._choose(speed_text(speed))

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self._mark()

    def _choose(self, text: str) -> None:
        speed = read_speed(text)
        if speed is None:
            return
        self.setEditText(speed_text(speed))
        # Enter is signalled twice, by the field and by the list
        if speed != self.speed:
            self.speed = speed
            self.chosen.emit(speed)

    def _enter(self) -> None:
        self._choose(self.currentText())

    def _give_back(self) -> None:
        """Show the speed of the player if the text was left without Enter."""
        field = self.lineEdit()
        if field is not None and not field.hasFocus():
            self.setEditText(speed_text(self.speed))

    def _mark(self) -> None:
        field, problem = self.lineEdit(), self.problem
        assert field is not None
        palette = self.palette()
        if problem:
            palette.setColor(QPalette.ColorRole.Text, QColor(self.theme.bad))
        field.setPalette(palette)
        self.setToolTip(problem or "speed: seconds of the recording in a second")


STEP = 0.1
"""Length of a step, s."""
LEAD = 2.1
"""s before the target of a seek that are sent at once, so that windows are full."""


class ReplayBar(QWidget):
    """Controls of a player; hidden without one.

    Parameters
    ----------
    theme : initial colours.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.lead = LEAD
        self.player: Player | None = None
        self.play = self._button("play", "Play")
        self.step = self._button("step", f"Step: {STEP:g} s, then pause")
        self.restart = self._button("restart", "Play from the beginning")
        self.loop = self._button("loop", "Loop: begin again at the end", checkable=True)
        self.speed = SpeedBox(theme)
        self.timeline = RunTimeline(theme)
        self.place = PlainLabel()
        self.place.setAccessibleName("place in the run")
        self.place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        fill(
            QHBoxLayout(self),
            self.restart,
            self.play,
            self.step,
            self.loop,
            self.speed,
            (self.timeline, 1),
            self.place,
            margins=(6, 4, 6, 4),
            spacing=4,
        )
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

    def set_player(self, player: Player | None) -> None:
        """Set the player; None: none."""
        if self.player is not None:
            self.player.changed.disconnect(self._show_state)
            self.player.described.disconnect(self._show_run)
        self.player = player
        if player is not None:
            player.changed.connect(self._show_state)
            player.described.connect(self._show_run)
        self._show_run()
        self.setVisible(player is not None)

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
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
        self.timeline.show_run(None if self.player is None else self.player.description)
        self._show_state()

    def _show_state(self) -> None:
        player = self.player
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
        self.timeline.set_position(player.position, player.duration)
        self.speed.show_speed(player.speed)
        with QSignalBlocker(self.loop):
            self.loop.setChecked(player.loop)
        self.place.setText(place_text(player))
        # grows with the text and never shrinks, so that the timeline does not move
        self.place.setMinimumWidth(max(self.place.minimumWidth(), self.place.sizeHint().width()))

    def _toggle(self) -> None:
        if self.player is not None:
            self.player.toggle()

    def _step(self) -> None:
        if self.player is not None:
            self.player.step(STEP)

    def _restart(self) -> None:
        if self.player is not None:
            self.player.restart()

    def _set_loop(self, loop: bool) -> None:
        if self.player is not None:
            self.player.set_loop(loop)

    def _set_speed(self, speed: float) -> None:
        if self.player is not None:
            self.player.set_speed(speed)

    def _seek(self, seconds: float) -> None:
        if self.player is not None:
            # while playing the windows fill anyway
            self.player.seek(seconds, 0.0 if self.player.playing else self.lead)


def place_text(player: Player) -> str:
    """Return position, duration and state of a player."""
    decimals = 1 if player.duration >= 1.0 else 3
    whole = f"{player.duration:.{decimals}f}"
    # of constant width, so that the timeline does not move
    place = f"{player.position:.{decimals}f}".rjust(len(whole), "\u2007")
    return f"{place} of {whole} s  {'ended' if player.ended else 'playing' if player.playing else 'paused'}"

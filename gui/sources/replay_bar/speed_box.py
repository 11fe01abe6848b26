"""How fast a recording is played: usual speeds to choose from, or any that is typed."""

from __future__ import annotations

import math

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox, QWidget

from gui.widgets.theme import Theme

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, math.inf)
SLOWEST, FASTEST = 0.001, 10_000.0
_WRONG = f"write a number from {SLOWEST:g} to {FASTEST:g}, or max"


def speed_text(speed: float) -> str:
    """Return a speed as it is shown: ``2×`` or ``max``."""
    return "max" if math.isinf(speed) else f"{speed:g}×"


def read_speed(text: str) -> float | None:
    """Return the speed that a text means; None where it means none."""
    plain = text.strip().lower()
    if plain in ("max", "maximum"):
        return math.inf
    try:
        speed = float(plain.rstrip("x× ").replace(",", "."))
    except ValueError:
        return None
    return speed if SLOWEST <= speed <= FASTEST else None


class SpeedBox(QComboBox):
    """Choose or type a speed.

    Signals
    -------
    chosen : s of the recording in a second; infinite for as fast as possible.
    """

    chosen = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._speed = 1.0
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        # it would make 0.25 of a 0.2 that is typed
        self.setCompleter(None)  # type: ignore[arg-type]
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
    def speed(self) -> float:
        """The one that is played."""
        return self._speed

    @property
    def problem(self) -> str:
        """What is wrong with the text; empty when nothing is."""
        return "" if read_speed(self.currentText()) is not None else _WRONG

    def show_speed(self, speed: float) -> None:
        """Show what is played; a text that is being typed stays."""
        field = self.lineEdit()
        typing = field is not None and field.hasFocus() and field.isModified()
        if speed == self._speed and (typing or read_speed(self.currentText()) == speed):
            return
        self._speed = speed
        if not typing:
            self.setEditText(speed_text(speed))

    def faster(self, steps: int = 1) -> None:
        """Go to the next of the usual speeds; slower where `steps` is negative."""
        if steps > 0:
            above = [speed for speed in SPEEDS if speed > self._speed]
            speed = above[min(steps, len(above)) - 1] if above else self._speed
        else:
            below = [speed for speed in reversed(SPEEDS) if speed < self._speed]
            speed = below[min(-steps, len(below)) - 1] if below else self._speed
        self._choose(speed_text(speed))

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self._mark()

    def _choose(self, text: str) -> None:
        speed = read_speed(text)
        if speed is None:
            return
        self.setEditText(speed_text(speed))
        # Enter comes twice, from the field and as a choice in the list
        if speed != self._speed:
            self._speed = speed
            self.chosen.emit(speed)

    def _enter(self) -> None:
        self._choose(self.currentText())

    def _give_back(self) -> None:
        """Show what is played where the text was left without Enter."""
        field = self.lineEdit()
        if field is not None and not field.hasFocus():
            self.setEditText(speed_text(self._speed))

    def _mark(self) -> None:
        field, problem = self.lineEdit(), self.problem
        assert field is not None
        palette = self.palette()
        if problem:
            palette.setColor(QPalette.ColorRole.Text, QColor(self.theme.bad))
        field.setPalette(palette)
        self.setToolTip(problem or "speed: seconds of the recording in a second")

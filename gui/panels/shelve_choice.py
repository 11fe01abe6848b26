"""For how long an alarm is put aside: a choice in place, no dialog."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from gui.widgets.elided_label import ElidedLabel

DURATIONS = (("10 min", 600.0), ("1 h", 3600.0), ("8 h", 28800.0))
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
_NUMBERS = (Qt.Key.Key_1, Qt.Key.Key_2, Qt.Key.Key_3)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_OWN = (*_STEPS, *_NUMBERS, *_ENTER, Qt.Key.Key_Escape)


class ShelveChoice(QWidget):
    """Hidden until asked for; 1, 2 and 3 choose, and so do the arrows with Enter. Esc forgets it.

    Signals
    -------
    chosen : name of the alarm, and s.
    left : it is hidden again.
    """

    chosen = Signal(str, float)
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._label = ElidedLabel()
        # the question gives way, never its answers
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(4, 0, 4, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label, 1)
        self.buttons: list[QPushButton] = []
        for number, (text, seconds) in enumerate(DURATIONS, 1):
            button = QPushButton(text)
            button.setToolTip(f"shelve it for {text} ({number})")
            button.setProperty("seconds", seconds)
            button.clicked.connect(self._choose)
            layout.addWidget(button)
            self.buttons.append(button)
        forget = QPushButton("Cancel")
        forget.setToolTip("do not shelve it (Esc)")
        forget.clicked.connect(self.forget)
        layout.addWidget(forget)
        self.hide()

    def ask(self, name: str, said: str) -> None:
        """Ask for how long the alarm `name`, which is called `said`, is put aside."""
        self._name = name
        self._label.set_text(f"Shelve {said} for")
        self.show()
        self.buttons[0].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def forget(self) -> None:
        """Ask no longer."""
        if not self.isHidden():
            # first, or the focus would go to whoever comes next
            self.left.emit()
            self.hide()

    def event(self, event: QEvent) -> bool:
        """Keep the keys that choose from being commands of the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _OWN:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Choose by number, go from one to the next, or forget it."""
        key = Qt.Key(event.key())
        focused = next((i for i, button in enumerate(self.buttons) if button.hasFocus()), 0)
        if key == Qt.Key.Key_Escape:
            self.forget()
        elif key in _NUMBERS:
            self.buttons[_NUMBERS.index(key)].click()
        elif key in _ENTER and self.buttons[focused].hasFocus():
            self.buttons[focused].click()
        elif key in _STEPS:
            self.buttons[(focused + _STEPS[key]) % len(self.buttons)].setFocus()
        else:
            super().keyPressEvent(event)

    def _choose(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            name, seconds = self._name, float(button.property("seconds"))
            self.forget()
            self.chosen.emit(name, seconds)

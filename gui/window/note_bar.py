"""Note bar: asks for the text of a note at an instant."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QPushButton, QWidget
from shiboken6 import isValid

from gui.widgets.labels import PlainLabel
from monitor.messages.requests import MAX_NOTE


class NoteBar(QWidget):
    """A line for the text, hidden until `ask`; the focus returns to where it was.

    Signals
    -------
    written : the text, and its instant in s of the display.
    """

    written = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self._instant = 0.0
        self._before: QWidget | None = None
        self._label = PlainLabel()
        self._text = QLineEdit(placeholderText="Text of the note; Enter saves it with the run, Esc cancels")
        self._text.setAccessibleName("Text of the note")
        self._save = QPushButton("Save")
        self._remaining = PlainLabel()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        for widget in (self._label, self._text, self._remaining, self._save):
            layout.addWidget(widget)
        layout.setStretchFactor(self._text, 1)
        self._text.textChanged.connect(self._update_remaining)
        self._text.returnPressed.connect(self._emit)
        self._save.clicked.connect(self._emit)
        self._update_remaining()
        self.hide()

    def ask(self, instant: float, label: str, text: str = "") -> None:
        """Ask for a note at `instant`, shown as `label`; a note that is being written is not replaced by `text`."""
        self._instant = instant
        focused = QApplication.focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            self._before = focused
        self._label.setText(f"Note at {label}:")
        if self.isHidden():
            self._text.setText(text)
            # selected, so that typing replaces it
            self._text.selectAll()
        self.show()
        self._text.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Cancel with Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancel()
        else:
            super().keyPressEvent(event)

    def cancel(self) -> None:
        """Hide the bar without a note."""
        if not self.isHidden():
            self._close()

    def _update_remaining(self) -> None:
        used = len(self._text.text().encode())
        self._save.setEnabled(bool(self._text.text().strip()) and used <= MAX_NOTE)
        self._remaining.setText(
            "" if used <= MAX_NOTE - 40 else f"{MAX_NOTE - used} left" if used <= MAX_NOTE else "too long"
        )

    def _emit(self) -> None:
        if self._save.isEnabled():
            self._close()
            self.written.emit(self._text.text().strip(), self._instant)

    def _close(self) -> None:
        """Hide, and return the focus: a button that had it would use Space."""
        before, self._before = self._before, None
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus()
        else:
            self._text.clearFocus()
            self.window().setFocus()
        self.hide()

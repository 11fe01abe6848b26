"""A note of the operator: one line, at the instant when the key was pressed, and on its way to the service."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QPushButton, QWidget
from shiboken6 import isValid

from gui.widgets.labels import PlainLabel
from monitor.messages.requests import MAX_NOTE


class NoteBar(QWidget):
    """Ask for a text; hidden until asked for, and the focus goes back where it was.

    Signals
    -------
    written : the text, and the instant it belongs to as s on the display's time.
    """

    written = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self._instant = 0.0
        self._before: QWidget | None = None
        self._label = PlainLabel()
        self._text = QLineEdit(placeholderText="what happened; Enter stores it with the run, Esc forgets it")
        self._text.setAccessibleName("text of the note")
        self._store = QPushButton("Store")
        self._left = PlainLabel()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        for widget in (self._label, self._text, self._left, self._store):
            layout.addWidget(widget)
        layout.setStretchFactor(self._text, 1)
        self._text.textChanged.connect(self._count)
        self._text.returnPressed.connect(self._write)
        self._store.clicked.connect(self._write)
        self._count()
        self.hide()

    def ask(self, instant: float, said: str, text: str = "") -> None:
        """Ask for a note at `instant`, which is called `said`; begin with `text`, or go on with what stands there."""
        self._instant = instant
        focused = QApplication.focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            self._before = focused
        self._label.setText(f"Note at {said}:")
        if self.isHidden():
            self._text.setText(text)
            # typing takes the place of what is offered again
            self._text.selectAll()
        self.show()
        self._text.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Forget the note at Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.forget()
        else:
            super().keyPressEvent(event)

    def forget(self) -> None:
        """Ask no longer."""
        if not self.isHidden():
            self._leave()

    def _count(self) -> None:
        used = len(self._text.text().encode())
        self._store.setEnabled(bool(self._text.text().strip()) and used <= MAX_NOTE)
        self._left.setText(
            "" if used <= MAX_NOTE - 40 else f"{MAX_NOTE - used} left" if used <= MAX_NOTE else "too long"
        )

    def _write(self) -> None:
        if self._store.isEnabled():
            self._leave()
            self.written.emit(self._text.text().strip(), self._instant)

    def _leave(self) -> None:
        """Hide; a button that came by the focus would take the space for itself."""
        before, self._before = self._before, None
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus()
        else:
            self._text.clearFocus()
            self.window().setFocus()
        self.hide()

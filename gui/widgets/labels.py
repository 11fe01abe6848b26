"""Labels and tool tips of plain text, and a label that elides its text."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from gui.widgets.painting import painting


def plain_tip(text: str) -> str:
    """Return a tool tip that shows `text` as plain text, with its line breaks."""
    # without these characters Qt does not detect rich text
    if not {"<", "&"} & set(text):
        return text
    return f'<p style="white-space: pre-wrap">{escape(text)}</p>'


class PlainLabel(QLabel):
    """A label of plain text: names from a rig are not interpreted as rich text."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        # the stubs know the arguments of QLabel only one by one
        super().__init__(*arguments, textFormat=Qt.TextFormat.PlainText, **keywords)  # type: ignore[call-overload]


class ElidedLabel(PlainLabel):
    """Label that is elided instead of widening what it is in; its tool tip has the whole text."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def setText(self, text: str) -> None:  # noqa: N802 - Qt's name
        """Set the text."""
        super().setText(text)
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the elided text."""
        with painting(self) as painter:
            painter.setPen(self.palette().windowText().color())
            text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

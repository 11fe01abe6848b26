"""Labels and tool tips of plain text, and a label that elides its text."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

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


class ElidedLabel(QWidget):
    """As wide as its text, or elided; its minimum width is zero."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Set the text."""
        if text != self.text:
            self.text = text
            self.setToolTip(plain_tip(text))
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Return the size of the whole text."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text), metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Return the height of one line."""
        return QSize(0, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the elided text."""
        with painting(self) as painter:
            text = self.fontMetrics().elidedText(self.text, Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

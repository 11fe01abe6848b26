"""A line of text that ends in an ellipsis where it has no room, and then says all in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.widgets.painting import painting
from gui.widgets.plain_text import plain_tip


class ElidedLabel(QWidget):
    """Shrinks to nothing; as wide as its text where it may."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show this text."""
        if text != self.text:
            self.text = text
            self.setToolTip(plain_tip(text))
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the whole text."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text), metrics.height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return its height."""
        return QSize(0, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002, N802 - Qt's name
        """Draw as much as there is room for."""
        with painting(self) as painter:
            text = self.fontMetrics().elidedText(self.text, Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

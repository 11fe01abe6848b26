"""Text from outside, shown as it is: Qt takes what looks like HTML for it, and would load the images it names."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def plain_tip(text: str) -> str:
    """Return a tool tip that shows `text` literally, its line breaks kept."""
    # without these Qt finds no HTML: most tips stay as they are
    if not {"<", "&"} & set(text):
        return text
    return f'<p style="white-space: pre-wrap">{escape(text)}</p>'


class PlainLabel(QLabel):
    """A label that shows its text literally, as every label of the window does."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        super().__init__(*arguments, textFormat=Qt.TextFormat.PlainText, **keywords)  # type: ignore[call-overload]

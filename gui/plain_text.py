"""Text from outside, shown as it is: Qt takes what looks like HTML for it, and would load the images it names."""

from __future__ import annotations

from html import escape


def plain_tip(text: str) -> str:
    """Return a tool tip that shows `text` literally, its line breaks kept."""
    # without these Qt finds no HTML: most tips stay as they are
    if not {"<", "&"} & set(text):
        return text
    return f'<p style="white-space: pre-wrap">{escape(text)}</p>'

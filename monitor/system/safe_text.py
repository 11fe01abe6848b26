"""Text from untrusted files or messages, made safe for a terminal and a spreadsheet; shortened paths."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@")


def printable(text: str) -> str:
    """Return `text` with every non-printable character, such as an escape sequence, replaced."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def csv_cell(text: str) -> str:
    """Return `text` as one line that no spreadsheet interprets as a formula."""
    cell = "".join(c if c.isprintable() else " " for c in text)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell


def elide_left(text: str, most: int = 75) -> str:
    """Return `text`, shortened from the left to at most `most` bytes."""
    while len(text.encode()) > most:
        text = "…" + text[2:]
    return text

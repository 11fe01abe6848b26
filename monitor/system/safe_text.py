"""Text from a stranger's file or message, made harmless for a terminal and for a spreadsheet."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@")


def printable(text: str) -> str:
    """Return `text` with a replacement character for each one that would steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def csv_cell(text: str) -> str:
    """Return `text` as a cell that no spreadsheet takes for a formula, and in one line."""
    cell = "".join(c if c.isprintable() else " " for c in text)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell

"""Colours of what is drawn over time."""

from __future__ import annotations

from PySide6.QtGui import QColor

from gui.widgets.theme import Theme


def colour_of(theme: Theme, colour: str | int) -> str:
    """Return ``#rrggbb``: a series by its number, else the colour of that name."""
    return theme.series[colour % len(theme.series)] if isinstance(colour, int) else str(getattr(theme, colour))


def translucent(colour: str, alpha: int) -> QColor:
    """Return a colour that what lies below is seen through; 255 is none of it."""
    made = QColor(colour)
    made.setAlpha(alpha)
    return made

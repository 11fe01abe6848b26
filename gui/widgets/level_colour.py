"""The colour of a level in a theme."""

from __future__ import annotations

from gui.widgets.theme import Theme
from gui.wording.level import Level


def level_colour(theme: Theme, level: Level) -> str:
    """Return ``#rrggbb``; what says nothing is muted."""
    match level:
        case Level.GOOD:
            return theme.good
        case Level.INFO:
            return theme.info
        case Level.WARN:
            return theme.warn
        case Level.BAD:
            return theme.bad
        case Level.NONE:
            return theme.muted

"""Level of importance of a state or message; colours follow from it, and shapes and words repeat it."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """From unimportant to what needs action."""

    NONE = "none"
    GOOD = "good"
    INFO = "info"
    WARN = "warn"
    BAD = "bad"

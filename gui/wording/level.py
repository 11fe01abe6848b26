"""How much something matters to who looks; a word and a shape always say the same as its colour."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """From what says nothing to what needs a hand."""

    NONE = "none"
    GOOD = "good"
    INFO = "info"
    WARN = "warn"
    BAD = "bad"

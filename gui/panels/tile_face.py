"""What a tile says, in words and numbers; how it is drawn is another thing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.model.contradiction import contradiction_mark
from gui.model.verdict import Verdict
from gui.wording.level import Level
from gui.wording.numbers import DASH, number

WIDTH = 6
"""Characters of a number on a tile, at least."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number with its unit, its standard deviation beside it, and whether it is over a limit."""

    label: str
    text: str
    unit: str = ""
    spread: str = ""
    level: Level = Level.NONE


@dataclass(frozen=True, slots=True)
class TileFace:
    """All that a tile says.

    Parameters
    ----------
    name : of the actuator or site.
    source : which indicator the numbers are of.
    verdict : a word and a shape for all of it.
    readings : the most important first.
    remark : what else there is to say.
    alarm, alarm_level : what is over a limit; empty where nothing is.
    said : of which instant that is; empty for now.
    standing : the service says so: an alarm stands.
    window : s that the numbers are of; NaN for no window.
    contradicting : prefixes of the indicators that contradict the numbers.
    """

    name: str
    source: str
    verdict: Verdict
    readings: tuple[Reading, ...]
    remark: str = ""
    alarm: str = ""
    alarm_level: Level = Level.NONE
    said: str = ""
    standing: bool = False
    window: float = math.nan
    contradicting: tuple[str, ...] = ()

    @property
    def origin(self) -> tuple[str, str]:
        """Two lines: which indicator and over how long a window, or of which instant and which indicator."""
        seconds = f"{self.window:.3g} s" if math.isfinite(self.window) else ""
        if self.said:
            return self.said, ", ".join(filter(None, (self.source, seconds)))
        return self.source, seconds and f"{seconds} window"

    @property
    def mark(self) -> str:
        """``≠ FDB, PAEI`` where these contradict the numbers; empty where nothing does."""
        return contradiction_mark(self.contradicting)

    @property
    def known(self) -> bool:
        """There is a number on it."""
        return any(reading.text != DASH for reading in self.readings)

    @property
    def text(self) -> str:
        """The whole of it in one line, for who cannot see it."""
        numbers = (" ".join(filter(None, (r.label, r.text, r.unit, r.spread))) for r in self.readings)
        origin = ", ".join(filter(None, self.origin))
        parts = (self.name, self.verdict.words, *numbers, origin, self.mark, self.remark, self.alarm)
        return "; ".join(part for part in parts if part)


def spread_text(deviation: float, decimals: int) -> str:
    """Return ``± 0.2``; nothing where it is not known."""
    if not math.isfinite(deviation):
        return ""
    least = 10.0**-decimals
    if 0.0 < deviation < 0.5 * least:
        return f"± <{least:.{decimals}f}"
    return f"± {number(deviation, WIDTH, decimals)}"

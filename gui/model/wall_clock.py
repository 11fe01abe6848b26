"""Clock time of the display's axis: measured as data arrive, for rigs whose time is since their own start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gui.model.timeline import ClockSegment
from monitor.text.numbers import is_dated

_RESOLUTION = 0.01  # s


class WallClock:
    """Offset of this computer's clock from x, for each run of samples: the smallest of all arrivals."""

    def __init__(self) -> None:
        self._offsets: dict[float, float] = {}

    def observe(self, begin: float, x: float, now: float) -> None:
        """Register that the newest sample, at `x` in the run that begins at `begin`, has arrived at `now`, s."""
        if math.isfinite(begin) and is_dated(now):
            self._offsets[begin] = min(now - x, self._offsets.get(begin, math.inf))

    def applied(self, segments: Sequence[ClockSegment]) -> tuple[ClockSegment, ...]:
        """Return the segments with clock time in place of the rig's, where that is no clock time already."""
        offset, found = math.nan, []
        for segment in segments:
            offset = self._offsets.get(segment.x_begin, offset if segment.follows else math.nan)
            known = not math.isnan(offset) and not is_dated(segment.x_begin + segment.offset)
            found.append(replace(segment, offset=_rounded(offset)) if known else segment)
        return tuple(found)


def _rounded(offset: float) -> float:
    return round(offset / _RESOLUTION) * _RESOLUTION

"""How often numbers change that nobody can read faster."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gui.plots.time_frame import Frame
from gui.plots.time_reading import Reading

_PACE = 0.2  # s of data between two numbers


class ReadoutThrottle:
    """Let numbers go by while more are on their way; what becomes known, or unknown, is never kept back."""

    def __init__(self) -> None:
        self._shown: Sequence[Reading] | None = None
        self._shown_at = self._newest = math.nan
        self._hurried = False
        self.behind = False
        """Whether there is a newer number than the one that is shown."""

    def forget(self) -> None:
        """Show the next numbers, whatever they are: they are others."""
        self._shown = None

    def take(self, frame: Frame, *, more: bool) -> None:
        """Say that there are other numbers, and whether more are on their way."""
        newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
        self._hurried = more and newest != self._newest and abs(newest - self._shown_at) < _PACE
        self._newest = newest

    def rest(self) -> None:
        """Say that nothing more has come."""
        self._hurried = False

    def choose(self, found: Sequence[Reading], *, live: bool) -> Sequence[Reading]:
        """Return what is shown: what is found, or what was shown before.

        Parameters
        ----------
        live : the newest are looked at; others are shown at once.
        """
        shown = self._shown
        self.behind = live and self._hurried and shown is not None and _alike(found, shown)
        if shown is not None and self.behind:
            return shown
        self._shown, self._shown_at = found if live else None, self._newest
        return found


def _alike(found: Sequence[Reading], shown: Sequence[Reading]) -> bool:
    """Return whether the same is known of the same curves."""
    return _known(found) == _known(shown)


def _known(readings: Sequence[Reading]) -> list[tuple[str, list[bool]]]:
    return [
        (reading.stale, [math.isfinite(value.low + value.high) for value in reading.values]) for reading in readings
    ]

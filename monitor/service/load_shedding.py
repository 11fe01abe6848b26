"""What a service that cannot follow its rig leaves out, and in which order: never the recording, never an alarm."""

from __future__ import annotations

from collections.abc import Collection

from monitor.config import Measure

COSTLY: tuple[Measure, ...] = ("broadband", "fei", "transfer")
"""Measures that look at whole windows, the costliest first: 150, 40 and 10 us a sample of 64 actuators at 1 kHz."""

_VIEWERS, _RESULTS = "viewers", "results"
_LATE = 0.3  # s of lag at which something more is left out
_LOOKS = 2  # in a row: what waited for a stream to begin is soon caught up with
_PROMPT = 0.05  # s of lag at which the service follows
_NEXT = 1.0  # s between two steps, in which the last one shows
_CALM = 10.0  # s without lag until the last step is taken back


class LoadShedding:
    """Decides by the lag of the results what is left out.

    Parameters
    ----------
    measures : that are computed; those among `COSTLY` can be paused.
    """

    def __init__(self, measures: Collection[Measure]) -> None:
        self._steps = (_VIEWERS, _RESULTS, *(measure for measure in COSTLY if measure in measures))
        self._taken = 0
        self._changed = self._late = -float("inf")
        self._lag, self._looks = 0.0, 0  # the last lag; looks at which it was too large and did not fall

    @property
    def shed(self) -> tuple[str, ...]:
        """What is left out, in the order in which it was."""
        return self._steps[: self._taken]

    @property
    def thins_viewers(self) -> bool:
        """The feeds of other programs get a part only."""
        return _VIEWERS in self.shed

    @property
    def thins_results(self) -> bool:
        """Subscribers get a part only."""
        return _RESULTS in self.shed

    @property
    def paused(self) -> frozenset[str]:
        """Measures that are not computed."""
        return frozenset(self.shed) & frozenset(COSTLY)

    def look(self, now: float, lag: float, *, hurried: bool = False) -> str:
        """Judge a lag, s; return what is new, in one line, else nothing.

        Parameters
        ----------
        now : s, monotonic.
        hurried : samples come faster than the rig's clock goes, as from a replay, which waits where it must.
        """
        self._looks = self._looks + 1 if lag > _LATE and lag >= self._lag and not hurried else 0
        self._lag = lag
        if lag > _PROMPT:
            self._late = now
        may = now - self._changed >= _NEXT and self._taken < len(self._steps)
        if self._looks >= _LOOKS and may:
            self._changed, self._taken = now, self._taken + 1
            return f"overloaded, {lag:.2g} s behind: {_left_out(self._steps[self._taken - 1])}"
        if self._taken and now - max(self._late, self._changed) >= _CALM:
            self._changed, self._taken = now, self._taken - 1
            return f"follows again: {_taken_up(self._steps[self._taken])}"
        return ""


def _left_out(step: str) -> str:
    if step == _VIEWERS:
        return "the feeds of other programs are thinned"
    if step == _RESULTS:
        return "published signals and results are thinned, what is recorded is not"
    return f"{step} is paused"


def _taken_up(step: str) -> str:
    if step == _VIEWERS:
        return "the feeds of other programs are whole again"
    if step == _RESULTS:
        return "all signals and results are published again"
    return f"{step} is computed again"

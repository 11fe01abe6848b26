"""Distribution of results to the sinks, and load shedding: never of the recording, never of an alarm."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from monitor.catalogue import CATALOGUE
from monitor.config import Measure
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.transport.base import Sink

_COSTS = {name: entry.cost for name, entry in CATALOGUE.items() if entry.cost}
COSTLY = tuple(sorted(_COSTS, key=_COSTS.__getitem__, reverse=True))
"""Measures that evaluate whole windows, the costliest first."""

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

    def update(self, now: float, lag: float, *, hurried: bool = False) -> str:
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


_THINNED = 0.1  # s between what is handed on when time is short


class Distribution:
    """Hand on to sinks, and to viewers after them.

    Parameters
    ----------
    sinks : served in this order. The first is the one that clients wait for: it gets the results of a block before
        its signals, the others after them. All but it get everything.
    viewers : for other programs.
    shedding : says who gets a part only.
    clock : s, monotonic.
    """

    def __init__(
        self, sinks: Sequence[Sink], viewers: Sequence[Sink], shedding: LoadShedding, clock: Callable[[], float]
    ) -> None:
        self._first, self._others, self._viewers = sinks[:1], tuple(sinks[1:]), tuple(viewers)
        self._everyone = (*sinks, *viewers)
        self._shedding = shedding
        self._clock = clock
        self._published = self._viewed = -math.inf

    def results_first(self, results: ResultBlock, *, whole: bool) -> None:
        """Hand results to the first sink, before all that can wait; with `whole` in any case."""
        if self._publishes(self._clock(), whole):
            for sink in self._first:
                sink.results(results)

    def block(self, signals: SignalBlock, results: ResultBlock | None, *, whole: bool) -> None:
        """Hand signals to everyone, and results to those who have not got them; with `whole` in any case."""
        now = self._clock()
        if self._publishes(now, whole):
            self._published = now
            for sink in self._first:
                sink.signals(signals)
        viewers: tuple[Sink, ...] = ()
        if whole or not self._shedding.thins_viewers or now - self._viewed >= _THINNED:
            self._viewed, viewers = now, self._viewers
        for sink in (*self._others, *viewers):
            sink.signals(signals)
            if results is not None:
                sink.results(results)

    def _publishes(self, now: float, whole: bool) -> bool:
        return whole or not self._shedding.thins_results or now - self._published >= _THINNED

    def transfer(self, transfer: TransferBlock) -> None:
        """Hand on transfer functions."""
        for sink in self._everyone:
            sink.transfer(transfer)

    def event(self, event: Event) -> None:
        """Hand on an event."""
        for sink in self._everyone:
            sink.event(event)

    def alarms(self, report: AlarmReport) -> None:
        """Hand on alarms."""
        for sink in self._everyone:
            sink.alarms(report)

    def health(self, health: Health, report: AlarmReport) -> None:
        """Hand on a look at the service and all alarms."""
        for sink in self._everyone:
            sink.health(health)
            sink.alarms(report)

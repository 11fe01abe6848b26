"""To whom what the service makes is handed on, in which order, and how much of it when time is short."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.service.load_shedding import LoadShedding
from monitor.transport.base import Sink

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

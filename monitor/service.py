"""The service's loop: source -> engine -> sinks, with its health told several times a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from monitor.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.engine import Monitor, UnfitSettingsError
from monitor.health import Counts, Health, Recording
from monitor.requests import Request
from monitor.transport.base import Inlet, Sink, Source

_LONGEST_WAIT = 0.1
_HEALTH_INTERVAL = 0.5
_REQUEST_INTERVAL = 0.05

# which count an event raises, and whether by its own count or by one
_COUNTED = {
    EventKind.GAP: ("lost", True),
    EventKind.DUPLICATE: ("duplicates", True),
    EventKind.REORDERED: ("reordered", True),
    EventKind.REJECTED: ("rejected", True),
    EventKind.RESTART: ("restarts", False),
    EventKind.CLOCK_JUMP: ("clock_jumps", False),
    EventKind.RECONNECTED: ("reconnects", False),
}


class Service:
    """Carry what the source brings through the engine to the sinks.

    Parameters
    ----------
    source : where blocks come from.
    monitor : the engine.
    sinks : served in this order; the ones that clients wait for first.
    rig : the rig that is followed; empty: the first that speaks. Blocks of other rigs are refused.
    stale_after : s of silence after which the stream is called stale.
    recording : asked how the recording is doing.
    inlet : looked at for requests twenty times a second at most; by default there are none.
    clock : s, monotonic.
    """

    def __init__(
        self,
        source: Source,
        monitor: Monitor,
        sinks: Sequence[Sink],
        *,
        rig: str = "",
        stale_after: float = 5.0,
        recording: Callable[[], Recording] = Recording,
        inlet: Inlet | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._monitor = monitor
        self._sinks = tuple(sinks)
        self._rig = rig
        self._stale_after = stale_after
        self._recording = recording
        self._inlet = inlet
        self._clock = clock
        self._counts = Counts()
        self._newest: SignalBlock | None = None
        self._columns: ResultStream | None = None
        self._heard: float | None = None
        self._arrived = self._served = clock()
        self._told = (self._arrived, 0)
        self._rate = self._latency = 0.0

    @property
    def counts(self) -> Counts:
        """What has happened to the stream so far."""
        return self._counts

    def run(self, stop: Callable[[], bool], *, once: bool = False) -> None:
        """Work until `stop` says so or the source has ended; with `once`, until the stream's last block."""
        self._tell()
        while not stop() and not self._source.ended and not (once and self._ended()):
            items = self._source.receive(_LONGEST_WAIT)
            self._arrived = self._clock()
            for item in items:
                if isinstance(item, SignalBlock):
                    self._take(item)
                else:
                    self._note(item)
            if self._arrived - self._served >= _REQUEST_INTERVAL:
                self._serve()
            if self._arrived - self._told[0] >= _HEALTH_INTERVAL:
                self._tell()
        self._serve()
        self._tell()

    def _take(self, block: SignalBlock) -> None:
        self._rig = self._rig or block.stream.rig
        if block.stream.rig != self._rig:
            other = f"rig {block.stream.rig!r} is not {self._rig!r}, which is followed here"
            self._note(Event(EventKind.REJECTED, block.time, block.index, 1, other))
            return
        try:
            update = self._monitor.update(block)
        except UnfitSettingsError as problem:
            # say so, and keep the samples all the same
            self._note(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
            update = problem.update
        if update.signals is not None:
            self._heard = self._arrived
            self._pass_on(update.signals, update.results)
        if update.transfer is not None:
            for sink in self._sinks:
                sink.transfer(update.transfer)
        for event in update.events:
            self._note(event)

    def _pass_on(self, signals: SignalBlock, results: ResultBlock | None) -> None:
        self._newest = signals
        self._counts = replace(self._counts, received=self._counts.received + len(signals))
        # the first block of a stream goes on even if it is empty: it says what the columns are
        worth = results is not None and (len(results) > 0 or results.last or results.stream is not self._columns)
        for position, sink in enumerate(self._sinks):
            sink.signals(signals)
            if results is not None and worth:
                sink.results(results)
                if position == 0 and (passed := self._clock() - self._arrived) > self._latency:
                    self._latency = passed
        if results is not None:
            self._columns = results.stream

    def _serve(self) -> None:
        self._served = self._arrived
        if self._inlet is not None:
            self._inlet.serve(self._carry_out)

    def _carry_out(self, request: Request) -> None:
        newest_time, newest_index = self._where()
        at = newest_time if request.time is None else request.time
        index = newest_index if request.index is None else request.index
        self._note(Event(EventKind.NOTE, at, index, 0, request.text))

    def _where(self) -> tuple[float, int]:
        """Return time and index of the newest sample; zeros before the first."""
        if self._newest is None:
            return 0.0, 0
        newest = self._newest.tail(max(len(self._newest) - 1, 0))
        return newest.time, newest.index

    def _note(self, event: Event) -> None:
        if event.kind is EventKind.GAP:
            self._counts = replace(self._counts, gaps=self._counts.gaps + 1)
        if event.kind in _COUNTED:
            name, by_count = _COUNTED[event.kind]
            raised = getattr(self._counts, name) + (event.count if by_count else 1)
            self._counts = replace(self._counts, **{name: raised})
        for sink in self._sinks:
            sink.event(event)

    def _tell(self) -> None:
        now = self._clock()
        then, received = self._told
        if now > then:
            self._rate = (self._counts.received - received) / (now - then)
        self._told = now, self._counts.received
        kept = self._recording()
        health = Health(
            rig=self._rig,
            state=self._state(now),
            counts=self._counts,
            sample_rate=0.0 if self._newest is None else self._newest.stream.sample_rate,
            measured_rate=self._rate,
            age=0.0 if self._heard is None else now - self._heard,
            latency=self._latency,
            recording=kept.path,
            recorded=kept.recorded,
            unrecorded=kept.unrecorded,
            disk_free=kept.disk_free,
            requests="" if self._inlet is None else self._inlet.endpoint,
            requests_refused=0 if self._inlet is None else self._inlet.refused,
            window=self._monitor.settings.window,
            transfer_memory=self._monitor.settings.transfer_memory,
        )
        self._latency = 0.0
        for sink in self._sinks:
            sink.health(health)

    def _ended(self) -> bool:
        return self._newest is not None and self._newest.last

    def _state(self, now: float) -> str:
        if self._heard is None:
            return "waiting"
        if self._ended():
            return "ended"
        return "stale" if now - self._heard > self._stale_after else "receiving"

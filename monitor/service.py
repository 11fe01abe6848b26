"""The service's loop: source -> engine -> alarms -> sinks, with its health told several times a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from monitor.alarm_report import AlarmReport, Transition
from monitor.alarms.monitor import AlarmMonitor
from monitor.alarms.text import event_of
from monitor.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.engine import Monitor, UnfitSettingsError
from monitor.health import Broker, Counts, Health, Recording
from monitor.requests import NoteRequest, Request
from monitor.transport.base import Inlet, Sink, Source
from monitor.transport.beginnings import Beginnings
from monitor.vitals import Vitals

_LONGEST_WAIT = 0.1
_HEALTH_INTERVAL = 0.5
_REQUEST_INTERVAL = 0.05


class Service:
    """Carry what the source brings through the engine to the sinks.

    Parameters
    ----------
    source : where blocks come from.
    monitor : the engine.
    sinks : served in this order; the ones that clients wait for first.
    alarms : judges what is published; by default it watches nothing.
    rig : the rig that is followed; empty: the first that speaks. Blocks of other rigs are refused.
    stale_after : s of silence after which the stream is called stale.
    recording : asked how the recording is doing.
    broker : asked how the connection to a broker is doing.
    inlets : looked at for requests twenty times a second at most; clients are told the endpoint of the first.
    clock : s, monotonic.
    """

    def __init__(
        self,
        source: Source,
        monitor: Monitor,
        sinks: Sequence[Sink],
        *,
        alarms: AlarmMonitor | None = None,
        rig: str = "",
        stale_after: float = 5.0,
        recording: Callable[[], Recording] = Recording,
        broker: Callable[[], Broker] = Broker,
        inlets: Sequence[Inlet] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._monitor = monitor
        self._sinks = tuple(sinks)
        self._alarms = alarms or AlarmMonitor()
        self._rig = rig
        self._recording = recording
        self._broker = broker
        self._inlets = tuple(inlets)
        self._clock = clock
        self._columns: ResultStream | None = None
        self._beginnings = Beginnings(clock)
        self._arrived = self._served = clock()
        settings, requests = monitor.settings, inlets[0].endpoint if inlets else ""
        fixed = Health(requests=requests, window=settings.window, transfer_memory=settings.transfer_memory)
        self._vitals = Vitals(self._arrived, stale_after, fixed)

    @property
    def counts(self) -> Counts:
        """What has happened to the stream so far."""
        return self._vitals.counts

    def run(self, stop: Callable[[], bool], *, once: bool = False) -> None:
        """Work until `stop` says so or the source has ended; with `once`, until the stream's last block."""
        self._tell()
        while not stop() and not self._source.ended and not (once and self._vitals.ended):
            items = self._source.receive(_LONGEST_WAIT)
            self._arrived = self._clock()
            for item in items:
                if isinstance(item, SignalBlock):
                    self._take(item)
                else:
                    self._note(item)
            if self._arrived - self._served >= _REQUEST_INTERVAL:
                self._serve()
            if self._arrived - self._vitals.told >= _HEALTH_INTERVAL:
                self._tell()
        self._serve()
        self._tell()

    def _take(self, block: SignalBlock) -> None:
        self._rig = self._rig or block.stream.rig
        if block.stream.rig != self._rig:
            other = f"rig {block.stream.rig!r} is not {self._rig!r}, which is followed here"
            self._note(Event(EventKind.REJECTED, block.time, block.index, 1, other))
            return
        if self._monitor.begins(block) and not self._beginnings.allow(block.stream):
            if count := self._beginnings.told():
                often = f"rig {self._rig!r} begins anew too often: what it sends is refused for a while"
                self._note(Event(EventKind.REJECTED, block.time, block.index, count, often))
            return
        try:
            update = self._monitor.update(block)
        except UnfitSettingsError as problem:
            # say so, and keep the samples all the same
            self._note(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
            update = problem.update
        if update.signals is not None:
            self._vitals.take(update.signals, self._arrived)
            self._pass_on(update.signals, update.results)
        if update.transfer is not None:
            for sink in self._sinks:
                sink.transfer(update.transfer)
        for event in update.events:
            self._note(event)

    def _pass_on(self, signals: SignalBlock, results: ResultBlock | None) -> None:
        # the first block of a stream goes on even if it is empty: it says what the columns are
        worth = results is not None and (len(results) > 0 or results.last or results.stream is not self._columns)
        for position, sink in enumerate(self._sinks):
            sink.signals(signals)
            if results is not None and worth:
                sink.results(results)
                if position == 0:
                    self._vitals.passed(self._clock() - self._arrived)
        if results is not None:
            if results.stream is not self._columns:
                self._columns = results.stream
                for text in self._alarms.follow(results.stream):
                    self._note(Event(EventKind.NOTE, signals.time, signals.index, 0, text))
            self._alarmed(self._alarms.judge(results))

    def _serve(self) -> None:
        self._served = self._arrived
        for inlet in self._inlets:
            inlet.serve(self._carry_out)

    def _carry_out(self, request: Request) -> None:
        at, index = self._vitals.where
        if isinstance(request, NoteRequest):
            at = at if request.time is None else request.time
            index = index if request.index is None else request.index
            self._note(Event(EventKind.NOTE, at, index, 0, request.text))
        else:
            self._alarmed(self._alarms.obey(request, at, index))

    def _alarmed(self, transitions: Sequence[Transition]) -> None:
        if not transitions:
            return
        for transition in transitions:
            self._note(event_of(transition))
        report = AlarmReport(self._alarms.alarms, tuple(transitions))
        for sink in self._sinks:
            sink.alarms(report)

    def _note(self, event: Event) -> None:
        self._vitals.note(event)
        for sink in self._sinks:
            sink.event(event)

    def _tell(self) -> None:
        now = self._clock()
        passed = now - self._vitals.told
        health = self._vitals.look(now, self._rig, self._recording(), self._inlets, self._broker())
        self._alarmed(self._alarms.look(health, *self._vitals.where, passed))
        report = AlarmReport(self._alarms.alarms)
        for sink in self._sinks:
            sink.health(health)
            sink.alarms(report)

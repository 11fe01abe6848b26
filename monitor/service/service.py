"""The service's loop: source -> engine -> alarms -> sinks, with its health told several times a second."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from monitor.alarms.monitor import AlarmMonitor
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.messages.alarms import MAX_TRANSITIONS, AlarmReport, Transition
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.messages.health import Broker, Counts, Health, Recording
from monitor.messages.requests import AlarmRequest, NoteRequest, Request
from monitor.service.distribution import Distribution, LoadShedding
from monitor.service.health_statistics import HealthStatistics, SampleAccount
from monitor.service.intake import RestartLimiter, StopDeadlines, joined
from monitor.transport.base import LiveSource, RequestServer, Sink
from monitor.transport.rate_limit import TokenBucket

_LONGEST_WAIT = 0.1
_HEALTH_INTERVAL = 0.2
_REQUEST_INTERVAL = 0.05
_HURRIED = 1.2  # times the rig's rate
_TROUBLES = 5, 0.1  # notes of trouble at once, and a second
_AT_ONCE = 1 << 13  # numbers between two looks at requests and health: a tenth of a second of work at most


class Service:
    """Carry what the source brings through the engine to the sinks.

    Parameters
    ----------
    source : where blocks come from.
    monitor : the engine.
    sinks : served in this order. The first is the one that clients wait for: it gets the results of a block before
        its signals, the others after them.
    viewers : sinks for other programs, which get a part only of what there is when time is short.
    alarms : judges what is published; by default it watches nothing.
    rig : the rig that is followed; empty: the first that speaks. Blocks of other rigs are refused.
    stale_after : s of silence after which the stream is called stale.
    recording : asked how the recording is doing.
    broker : asked how the connection to a broker is doing.
    unpublished : asked how many messages were sent to no subscriber.
    trouble : asked what is wrong with the service itself, in one line, which is noted; empty: nothing.
    inlets : looked at for requests twenty times a second at most; clients are told the endpoint of the first.
    clock : s, monotonic.
    """

    def __init__(
        self,
        source: LiveSource,
        monitor: Monitor,
        sinks: Sequence[Sink],
        *,
        viewers: Sequence[Sink] = (),
        alarms: AlarmMonitor | None = None,
        rig: str = "",
        stale_after: float = 5.0,
        recording: Callable[[], Recording] = Recording,
        broker: Callable[[], Broker] = Broker,
        unpublished: Callable[[], int] = int,
        trouble: Callable[[], str] = str,
        inlets: Sequence[RequestServer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._monitor = monitor
        self._shedding = LoadShedding(monitor.settings.measures)
        self._distribution = Distribution(sinks, viewers, self._shedding, clock)
        self._alarms = alarms or AlarmMonitor()
        self._rig = rig
        self._recording = recording
        self._broker, self._unpublished = broker, unpublished
        self._trouble, self._told_trouble = trouble, ""
        self._troubles = TokenBucket(*_TROUBLES, clock)
        self._inlets = tuple(inlets)
        self._clock = clock
        self._columns: ResultStream | None = None
        self._beginnings = RestartLimiter(clock)
        self._now = self._served = self._arrived = clock()
        self._items = 0
        self._uncomputed, self._judged = 0, math.inf
        self.dropped = 0
        settings, requests = monitor.settings, inlets[0].endpoint if inlets else ""
        fixed = Health(requests=requests, window=settings.window, transfer_memory=settings.transfer_memory)
        self._vitals = HealthStatistics(self._now, stale_after, fixed)
        self._account = SampleAccount()

    @property
    def counts(self) -> Counts:
        """What has happened to the stream so far."""
        return self._vitals.counts

    def run(self, stop: Callable[[], bool], *, once: bool = False) -> None:
        """Work until `stop` says so or the source has ended; with `once`, until the stream's last block.

        Told to stop, it takes what has arrived: at last without results, and what there is no time for is `dropped`.
        """
        deadlines = StopDeadlines(stop)
        self._tell()
        while not deadlines.told(self._clock()) and not self._source.ended and not (once and self._vitals.ended):
            # one part at a time: what comes meanwhile waits for it
            self._receive(0.0 if self._monitor.work() else _LONGEST_WAIT, deadlines)
        if deadlines.told(self._clock()):
            self._receive(0.0, deadlines)
            while not self._source.ended and not deadlines.over(self._now):
                on_the_way = deadlines.on_the_way(self._now)
                if not self._source.waiting and not on_the_way:
                    break
                self._receive(on_the_way, deadlines)
            self._tell_backlog()
        self._serve()
        if count := self._beginnings.told(at_once=True):
            self._refused(count)
        self._tell()

    def _receive(self, timeout: float, deadlines: StopDeadlines) -> None:
        began = self._clock()
        items = self._source.receive(timeout)
        received = self._now = self._clock()
        self._vitals.waited(received - began)
        self._items += len(items)
        for item, waited in joined(zip(items, self._source.waited, strict=True)):
            if isinstance(item, SignalBlock):
                self._arrived = received - waited
                for part in item.parts(1 + _AT_ONCE // (1 + len(item.stream.channels))):
                    self._take(part, compute=deadlines.compute(self._now))
                    self._attend()
            else:
                self._note(item)
        self._attend()

    def _attend(self) -> None:
        """Serve and tell when it is time, however much waits to be taken."""
        self._now = self._clock()
        if self._now - self._served >= _REQUEST_INTERVAL:
            self._serve()
        if self._now - self._vitals.told >= _HEALTH_INTERVAL:
            self._tell()

    def _take(self, block: SignalBlock, *, compute: bool) -> None:
        self._rig = self._rig or block.stream.rig
        if block.stream.rig != self._rig:
            other = f"rig {block.stream.rig!r} is not {self._rig!r}, which is followed here"
            self._note(Event(EventKind.REJECTED, block.time, block.index, 1, other))
            return
        if self._monitor.begins(block) and not self._beginnings.allow(block.stream):
            if count := self._beginnings.told():
                self._refused(count)
            return
        try:
            update = self._monitor.update(block) if compute else self._monitor.keep(block)
        except UnfitSettingsError as problem:
            # say so, and keep the samples all the same
            self._note(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
            update = problem.update
        if update.signals is not None:
            self._account.take(update)
            self._vitals.take(update.signals, self._now)
            self._pass_on(update.signals, update.results)
            if not compute:
                self._uncomputed += len(update.signals)
                self._vitals.late(self._clock() - self._judged)
        if update.transfer is not None:
            self._distribution.transfer(update.transfer)
        for event in update.events:
            self._note(event)

    def _pass_on(self, signals: SignalBlock, results: ResultBlock | None) -> None:
        begins = results is not None and results.stream is not self._columns
        whole = begins or signals.last
        # the first block of a stream goes on even if it is empty: it says what the columns are
        worth = results if results is not None and (len(results) > 0 or results.last or begins) else None
        if worth is not None:
            self._distribution.results_first(worth, whole=whole)
            self._judged = self._arrived
            self._vitals.passed(self._clock() - self._judged)
        self._distribution.block(signals, worth, whole=whole)
        if results is not None:
            if results.stream is not self._columns:
                self._columns = results.stream
                for text in self._alarms.follow(results.stream):
                    self._note(Event(EventKind.NOTE, signals.time, signals.index, 0, text))
            self._alarmed(self._alarms.judge(results))

    def _serve(self) -> None:
        self._served = self._now
        for inlet in self._inlets:
            inlet.serve(self._carry_out)

    def _carry_out(self, request: Request) -> None:
        at, index = self._vitals.where
        if isinstance(request, NoteRequest):
            at = at if request.time is None else request.time
            index = index if request.index is None else request.index
            self._note(Event(EventKind.NOTE, at, index, 0, request.text))
        elif isinstance(request, AlarmRequest):
            self._alarmed(self._alarms.obey(request, at, index))
        else:
            raise ValueError("a monitor takes notes and what concerns alarms: this is for a replay")  # noqa: TRY004

    def _alarmed(self, transitions: Sequence[Transition]) -> None:
        if not transitions:
            return
        for transition in transitions:
            self._note(Event.of_alarm(transition))
        alarms = self._alarms.alarms
        for first in range(0, len(transitions), MAX_TRANSITIONS):
            report = AlarmReport(alarms, tuple(transitions[first : first + MAX_TRANSITIONS]))
            self._distribution.alarms(report)

    def _note(self, event: Event) -> None:
        self._vitals.note(event)
        self._distribution.event(event)

    def _refused(self, count: int) -> None:
        often = f"rig {self._rig!r} restarts too frequently: what it sends is refused for a while"
        self._note(Event(EventKind.REJECTED, *self._vitals.where, count, often))

    def _tell_backlog(self) -> None:
        """Say what of the samples that had arrived has no results, and about how many were left."""
        if self._uncomputed:
            behind = f"stopped while behind: the last {self._uncomputed} samples have no results"
            self._note(Event(EventKind.NOTE, *self._vitals.where, 0, behind))
        if left := self._source.waiting + self._source.dropped_last:
            # as many in each as in those that were received
            self.dropped = max(1, round(left * self.counts.received / max(self._items, 1)))
            why = "stopped while behind: about so many had arrived and are neither computed nor recorded"
            self._note(Event(EventKind.GAP, *self._vitals.where, self.dropped, why))

    def _tell(self) -> None:
        # those that no other followed
        if count := self._beginnings.told():
            self._refused(count)
        # the newest words are not lost where they come too often: they are told later
        if (trouble := self._trouble()) and trouble != self._told_trouble and self._troubles.take():
            self._told_trouble = trouble
            self._note(Event(EventKind.NOTE, *self._vitals.where, 0, trouble))
        now = self._clock()
        passed = now - self._vitals.told
        kept = self._recording()
        health = replace(
            self._vitals.look(now, self._rig, kept, self._inlets, self._broker()),
            unaccounted=self._account.missing(self.counts, self.dropped, kept),
            unpublished=self._unpublished(),
        )
        hurried = health.measured_rate > _HURRIED * health.sample_rate
        if text := self._shedding.look(now, health.lag, hurried=hurried):
            self._monitor.pause(self._shedding.paused)
            self._note(Event(EventKind.NOTE, *self._vitals.where, 0, text))
        health = replace(health, shed=self._shedding.shed)
        self._alarmed(self._alarms.look(health, *self._vitals.where, passed))
        report = AlarmReport(self._alarms.alarms)
        self._distribution.health(health, report)

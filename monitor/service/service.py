"""The service's loop: source -> engine -> alarms -> sinks, and its health published several times a second."""

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
_FAULT_NOTES = 5, 0.1  # notes of fault at once, and a second
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
    fault : asked what is wrong with the service itself, in one line, which is noted; empty: nothing.
    request_servers : asked for requests twenty times a second at most; clients are told the endpoint of the first.
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
        fault: Callable[[], str] = str,
        request_servers: Sequence[RequestServer] = (),
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
        self._fault, self._last_fault = fault, ""
        self._fault_limit = TokenBucket(*_FAULT_NOTES, clock)
        self._request_servers = tuple(request_servers)
        self._clock = clock
        self._columns: ResultStream | None = None
        self._restart_limiter = RestartLimiter(clock)
        self._now = self._served = self._arrived = clock()
        self._items = 0
        self._uncomputed, self._judged = 0, math.inf
        self.dropped = 0
        settings, requests = monitor.settings, request_servers[0].endpoint if request_servers else ""
        fixed = Health(requests=requests, window=settings.window, transfer_memory=settings.transfer_memory)
        self._statistics = HealthStatistics(self._now, stale_after, fixed)
        self._account = SampleAccount()

    @property
    def counts(self) -> Counts:
        """What has happened to the stream so far."""
        return self._statistics.counts

    def run(self, stop: Callable[[], bool], *, once: bool = False) -> None:
        """Work until `stop` says so or the source has ended; with `once`, until the stream's last block.

        Told to stop, it takes what has arrived: at last without results, and what there is no time for is `dropped`.
        """
        deadlines = StopDeadlines(stop)
        self._publish_health()
        while (
            not deadlines.stopping(self._clock()) and not self._source.ended and not (once and self._statistics.ended)
        ):
            # one part at a time: what comes meanwhile waits for it
            self._receive(0.0 if self._monitor.work() else _LONGEST_WAIT, deadlines)
        if deadlines.stopping(self._clock()):
            self._receive(0.0, deadlines)
            while not self._source.ended and not deadlines.over(self._now):
                on_the_way = deadlines.on_the_way(self._now)
                if not self._source.waiting and not on_the_way:
                    break
                self._receive(on_the_way, deadlines)
            self._report_backlog()
        self._serve()
        if count := self._restart_limiter.take_rejected_count(at_once=True):
            self._report_restarts(count)
        self._publish_health()

    def _receive(self, timeout: float, deadlines: StopDeadlines) -> None:
        began = self._clock()
        items = self._source.receive(timeout)
        received = self._now = self._clock()
        self._statistics.add_idle(received - began)
        self._items += len(items)
        for item, waited in joined(zip(items, self._source.waited, strict=True)):
            if isinstance(item, SignalBlock):
                self._arrived = received - waited
                for part in item.parts(1 + _AT_ONCE // (1 + len(item.stream.channels))):
                    self._process(part, compute=deadlines.compute(self._now))
                    self._do_periodic_work()
            else:
                self._publish_event(item)
        self._do_periodic_work()

    def _do_periodic_work(self) -> None:
        """Serve and tell when it is time, however much waits to be taken."""
        self._now = self._clock()
        if self._now - self._served >= _REQUEST_INTERVAL:
            self._serve()
        if self._now - self._statistics.last_report_time >= _HEALTH_INTERVAL:
            self._publish_health()

    def _process(self, block: SignalBlock, *, compute: bool) -> None:
        self._rig = self._rig or block.stream.rig
        if block.stream.rig != self._rig:
            other = f"rig {block.stream.rig!r} is not {self._rig!r}, which is followed here"
            self._publish_event(Event(EventKind.REJECTED, block.time, block.index, 1, other))
            return
        if self._monitor.begins(block) and not self._restart_limiter.allow(block.stream):
            if count := self._restart_limiter.take_rejected_count():
                self._report_restarts(count)
            return
        try:
            update = self._monitor.update(block) if compute else self._monitor.keep(block)
        except UnfitSettingsError as problem:
            # say so, and keep the samples all the same
            self._publish_event(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
            update = problem.update
        if update.signals is not None:
            self._account.take(update)
            self._statistics.count_samples(update.signals, self._now)
            self._publish(update.signals, update.results)
            if not compute:
                self._uncomputed += len(update.signals)
                self._statistics.set_lag(self._clock() - self._judged)
        if update.transfer is not None:
            self._distribution.transfer(update.transfer)
        for event in update.events:
            self._publish_event(event)

    def _publish(self, signals: SignalBlock, results: ResultBlock | None) -> None:
        begins = results is not None and results.stream is not self._columns
        whole = begins or signals.last
        # the first block of a stream goes on even if it is empty: it says what the columns are
        publishable = results if results is not None and (len(results) > 0 or results.last or begins) else None
        if publishable is not None:
            self._distribution.results_first(publishable, whole=whole)
            self._judged = self._arrived
            self._statistics.add_latency(self._clock() - self._judged)
        self._distribution.block(signals, publishable, whole=whole)
        if results is not None:
            if results.stream is not self._columns:
                self._columns = results.stream
                for text in self._alarms.follow(results.stream):
                    self._publish_event(Event(EventKind.NOTE, signals.time, signals.index, 0, text))
            self._publish_transitions(self._alarms.judge(results))

    def _serve(self) -> None:
        self._served = self._now
        for server in self._request_servers:
            server.serve(self._carry_out)

    def _carry_out(self, request: Request) -> None:
        at, index = self._statistics.newest_sample
        if isinstance(request, NoteRequest):
            at = at if request.time is None else request.time
            index = index if request.index is None else request.index
            self._publish_event(Event(EventKind.NOTE, at, index, 0, request.text))
        elif isinstance(request, AlarmRequest):
            self._publish_transitions(self._alarms.carry_out(request, at, index))
        else:
            raise ValueError("a monitor takes notes and what concerns alarms: this is for a replay")  # noqa: TRY004

    def _publish_transitions(self, transitions: Sequence[Transition]) -> None:
        if not transitions:
            return
        for transition in transitions:
            self._publish_event(Event.of_alarm(transition))
        alarms = self._alarms.alarms
        for first in range(0, len(transitions), MAX_TRANSITIONS):
            report = AlarmReport(alarms, tuple(transitions[first : first + MAX_TRANSITIONS]))
            self._distribution.alarms(report)

    def _publish_event(self, event: Event) -> None:
        self._statistics.count_event(event)
        self._distribution.event(event)

    def _report_restarts(self, count: int) -> None:
        often = f"rig {self._rig!r} restarts too frequently: what it sends is refused for a while"
        self._publish_event(Event(EventKind.REJECTED, *self._statistics.newest_sample, count, often))

    def _report_backlog(self) -> None:
        """Say what of the samples that had arrived has no results, and about how many were left."""
        if self._uncomputed:
            behind = f"stopped while behind: the last {self._uncomputed} samples have no results"
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, behind))
        if left := self._source.waiting + self._source.dropped_last:
            # as many in each as in those that were received
            self.dropped = max(1, round(left * self.counts.received / max(self._items, 1)))
            why = "stopped while behind: about so many had arrived and are neither computed nor recorded"
            self._publish_event(Event(EventKind.GAP, *self._statistics.newest_sample, self.dropped, why))

    def _publish_health(self) -> None:
        # those that no other followed
        if count := self._restart_limiter.take_rejected_count():
            self._report_restarts(count)
        # the newest words are not lost where they come too often: they are told later
        if (fault := self._fault()) and fault != self._last_fault and self._fault_limit.take():
            self._last_fault = fault
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, fault))
        now = self._clock()
        passed = now - self._statistics.last_report_time
        kept = self._recording()
        health = replace(
            self._statistics.report(now, self._rig, kept, self._request_servers, self._broker()),
            unaccounted=self._account.missing(self.counts, self.dropped, kept),
            unpublished=self._unpublished(),
        )
        hurried = health.measured_rate > _HURRIED * health.sample_rate
        if text := self._shedding.update(now, health.lag, hurried=hurried):
            self._monitor.pause(self._shedding.paused)
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, text))
        health = replace(health, shed=self._shedding.shed)
        self._publish_transitions(self._alarms.judge_health(health, *self._statistics.newest_sample, passed))
        report = AlarmReport(self._alarms.alarms)
        self._distribution.health(health, report)

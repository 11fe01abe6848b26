"""The service's loop: source -> engine -> alarms -> sinks, and its health published several times a second."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from monitor.alarms.monitor import AlarmMonitor
from monitor.alarms.text import describe_change
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.messages.alarms import MAX_TRANSITIONS, AlarmReport, LimitChange, Transition
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock
from monitor.messages.health import BrokerStatus, Health, RecordingStatus, StreamCounts
from monitor.messages.requests import AlarmRequest, NoteRequest, Request, SetLimitsRequest
from monitor.service.health_statistics import HealthStatistics, SampleAccount
from monitor.service.load import LoadShedding, RestartLimiter, SinkSchedule, StopDeadlines, join_blocks
from monitor.transport.base import RequestServer, SignalSource, Sink
from monitor.transport.rate_limit import TokenBucket

_RECEIVE_TIMEOUT = 0.1  # s
_HEALTH_INTERVAL = 0.2  # s
_REQUEST_INTERVAL = 0.05  # s
_FASTER_THAN_REAL_TIME = 1.2  # times the rig's rate
_FAULT_NOTES = 5, 0.1  # burst, and per second
_MAX_VALUES = 1 << 13  # between two polls of requests and health: a tenth of a second of work at most


class Service:
    """Pass blocks from the source through the engine to the sinks.

    Parameters
    ----------
    source : where blocks come from.
    monitor : the engine.
    sinks : served in this order. The first is the one that clients wait for: it gets the results of a block before
        its signals, the others after them.
    viewers : sinks for other programs, which get only a part of the blocks when time is short.
    alarms : evaluates limits on what is published; by default there are none.
    rig : the rig that is followed; empty: the first that sends. Blocks of other rigs are rejected.
    stale_after : s of silence after which the stream is called stale.
    recording : returns the state of the recording.
    broker : returns the state of the connection to a broker.
    unpublished : returns how many messages were dropped before any subscriber got them.
    fault : returns what is wrong with the service itself, in one line, which becomes a note; empty: nothing.
    request_servers : polled twenty times a second at most; the endpoint of the first is published in the health.
    clock : s, monotonic.
    """

    def __init__(
        self,
        source: SignalSource,
        monitor: Monitor,
        sinks: Sequence[Sink],
        *,
        viewers: Sequence[Sink] = (),
        alarms: AlarmMonitor | None = None,
        rig: str = "",
        stale_after: float = 5.0,
        recording: Callable[[], RecordingStatus] = RecordingStatus,
        broker: Callable[[], BrokerStatus] = BrokerStatus,
        unpublished: Callable[[], int] = int,
        fault: Callable[[], str] = str,
        request_servers: Sequence[RequestServer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._monitor = monitor
        self._shedding = LoadShedding(monitor.settings.measures)
        self._sinks = SinkSchedule(sinks, viewers, self._shedding, clock)
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
        self._uncomputed, self._computed_arrival = 0, math.inf
        self.dropped = 0
        """About how many samples were not processed at a stop."""
        settings, requests = monitor.settings, request_servers[0].endpoint if request_servers else ""
        fixed = Health(requests=requests, window=settings.window, transfer_memory=settings.transfer_memory)
        self._statistics = HealthStatistics(self._now, stale_after, fixed)
        self._account = SampleAccount()

    @property
    def counts(self) -> StreamCounts:
        """Counts of samples and events so far."""
        return self._statistics.counts

    def run(self, stop: Callable[[], bool], *, once: bool = False) -> None:
        """Run until `stop` returns True or the source has ended; with `once`, until the stream's last block.

        After a stop the messages that have arrived are processed, the last of them without results; `dropped` counts
        the samples for which there was no time.
        """
        deadlines = StopDeadlines(stop)
        self._publish_health()
        while (
            not deadlines.stopping(self._clock()) and not self._source.ended and not (once and self._statistics.ended)
        ):
            # one slice of the slow measures at a time: blocks that come meanwhile wait for it
            self._receive(0.0 if self._monitor.run_pending() else _RECEIVE_TIMEOUT, deadlines)
        if deadlines.stopping(self._clock()):
            self._receive(0.0, deadlines)
            while not self._source.ended and not deadlines.expired(self._now):
                in_flight = deadlines.in_flight_time(self._now)
                if not self._source.waiting and not in_flight:
                    break
                self._receive(in_flight, deadlines)
            self._report_backlog()
        self._serve()
        if count := self._restart_limiter.take_rejected_count(force=True):
            self._report_restarts(count)
        self._publish_health()

    def _receive(self, timeout: float, deadlines: StopDeadlines) -> None:
        start = self._clock()
        items = self._source.receive(timeout)
        received = self._now = self._clock()
        self._statistics.add_idle(received - start)
        self._items += len(items)
        for item, waited in join_blocks(zip(items, self._source.waited, strict=True)):
            if isinstance(item, SignalBlock):
                self._arrived = received - waited
                for part in item.parts(1 + _MAX_VALUES // (1 + len(item.stream.channels))):
                    self._process(part, compute=deadlines.may_compute(self._now))
                    self._do_periodic_work()
            else:
                self._publish_event(item)
        self._do_periodic_work()

    def _do_periodic_work(self) -> None:
        """Serve requests and publish the health when due, however many blocks wait."""
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
        if self._monitor.starts_stream(block) and not self._restart_limiter.allow(block.stream):
            if count := self._restart_limiter.take_rejected_count():
                self._report_restarts(count)
            return
        try:
            update = self._monitor.update(block) if compute else self._monitor.pass_through(block)
        except UnfitSettingsError as problem:
            # the samples are published and recorded all the same
            self._publish_event(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
            update = problem.update
        if update.signals is not None:
            self._account.count(update)
            self._statistics.count_samples(update.signals, self._now)
            self._publish(update.signals, update.results)
            if not compute:
                self._uncomputed += len(update.signals)
                self._statistics.set_lag(self._clock() - self._computed_arrival)
        if update.transfer is not None:
            for sink in self._sinks.all:
                sink.transfer(update.transfer)
        for event in update.events:
            self._publish_event(event)

    def _publish(self, signals: SignalBlock, results: ResultBlock | None) -> None:
        begins = results is not None and results.stream is not self._columns
        unthinned = begins or signals.last
        # the first block of a stream is published even if it is empty: it defines the columns
        publishable = results if results is not None and (len(results) > 0 or results.last or begins) else None
        first = self._sinks.first(unthinned=unthinned)
        if publishable is not None:
            for sink in first:
                sink.results(publishable)
            self._computed_arrival = self._arrived
            self._statistics.add_latency(self._clock() - self._computed_arrival)
        for sink in first:
            sink.signals(signals)
        for sink in self._sinks.others(unthinned=unthinned):
            sink.signals(signals)
            if publishable is not None:
                sink.results(publishable)
        if results is not None:
            if results.stream is not self._columns:
                self._columns = results.stream
                for text in self._alarms.set_stream(results.stream):
                    self._publish_event(Event(EventKind.NOTE, signals.time, signals.index, 0, text))
                for change in self._alarms.pop_restored_limits():
                    self._publish_limits(change, signals.time, signals.index, ", before this start")
            self._publish_transitions(self._alarms.evaluate(results))

    def _serve(self) -> None:
        self._served = self._now
        for server in self._request_servers:
            server.serve(partial(self._carry_out, trusted=server.trusted))

    def _carry_out(self, request: Request, *, trusted: bool) -> None:
        at, index = self._statistics.newest_sample
        if isinstance(request, NoteRequest):
            at = at if request.time is None else request.time
            index = index if request.index is None else request.index
            self._publish_event(Event(EventKind.NOTE, at, index, 0, request.text))
        elif isinstance(request, AlarmRequest):
            self._publish_transitions(self._alarms.handle_request(request, at, index))
        elif isinstance(request, SetLimitsRequest):
            for change in self._alarms.set_limits(request, trusted=trusted):
                self._publish_limits(change, at, index)
            self._publish_alarms(())
        else:
            raise ValueError("a monitor accepts requests about notes and alarms: this one is for a replay")  # noqa: TRY004

    def _publish_limits(self, change: LimitChange, time: float, index: int, suffix: str = "") -> None:
        self._publish_event(
            Event(EventKind.LIMITS, time, index, 0, f"{describe_change(change)}{suffix}", limits=change)
        )

    def _publish_transitions(self, transitions: Sequence[Transition]) -> None:
        if not transitions:
            return
        for transition in transitions:
            self._publish_event(Event.of_alarm(transition))
        for first in range(0, len(transitions), MAX_TRANSITIONS):
            self._publish_alarms(transitions[first : first + MAX_TRANSITIONS])

    def _publish_alarms(self, transitions: Sequence[Transition]) -> None:
        report = AlarmReport(self._alarms.alarms, tuple(transitions))
        for sink in self._sinks.all:
            sink.alarms(report)

    def _publish_event(self, event: Event) -> None:
        self._statistics.count_event(event)
        for sink in self._sinks.all:
            sink.event(event)

    def _report_restarts(self, count: int) -> None:
        message = f"rig {self._rig!r} restarts too frequently: its blocks are rejected for a while"
        self._publish_event(Event(EventKind.REJECTED, *self._statistics.newest_sample, count, message))

    def _report_backlog(self) -> None:
        """Report which samples have no results, and about how many were not read."""
        if self._uncomputed:
            behind = f"stopped while behind: the last {self._uncomputed} samples have no results"
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, behind))
        if unread := self._source.waiting + self._source.dropped_at_end:
            # as many samples in each message as in those received
            self.dropped = max(1, round(unread * self.counts.received / max(self._items, 1)))
            why = "stopped while behind: about so many samples had arrived and are neither computed nor recorded"
            self._publish_event(Event(EventKind.GAP, *self._statistics.newest_sample, self.dropped, why))

    def _publish_health(self) -> None:
        # blocks rejected at the end, which no later block reports
        if count := self._restart_limiter.take_rejected_count():
            self._report_restarts(count)
        # a fault above the rate limit is reported later, if it is still there
        if (fault := self._fault()) and fault != self._last_fault and self._fault_limit.allow():
            self._last_fault = fault
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, fault))
        now = self._clock()
        passed = now - self._statistics.last_report_time
        recording = self._recording()
        health = replace(
            self._statistics.report(now, self._rig, recording, self._request_servers, self._broker()),
            unaccounted=self._account.missing(self.counts, self.dropped, recording),
            unpublished=self._unpublished(),
        )
        faster = health.measured_rate > _FASTER_THAN_REAL_TIME * health.sample_rate
        if text := self._shedding.update(now, health.lag, faster_than_real_time=faster):
            self._monitor.pause(self._shedding.paused)
            self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, text))
        health = replace(health, shed=self._shedding.shed)
        self._publish_transitions(self._alarms.evaluate_health(health, *self._statistics.newest_sample, passed))
        for sink in self._sinks.all:
            sink.health(health)
        self._publish_alarms(())

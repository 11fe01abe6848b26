"""The service's loop: source -> recording -> engine -> alarms -> sinks, and its health several times a second.

What arrives is recorded before it is computed: the loop reads everything that has come, gives it to the recorders,
and computes for a fiftieth of a second before it reads again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from monitor.alarms.monitor import AlarmMonitor
from monitor.alarms.text import describe_change
from monitor.engine.continuity import Accepted
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.messages import Sink
from monitor.messages.alarms import MAX_TRANSITIONS, AlarmReport, LimitChange, Transition
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock, TransferBlock
from monitor.messages.health import BrokerStatus, CompilationStatus, Health, RecordingStatus, StreamCounts
from monitor.messages.reasons import Reason
from monitor.messages.requests import AlarmRequest, NoteRequest, Request, SetLimitsRequest
from monitor.service import load
from monitor.service.health_statistics import HealthStatistics, SampleAccount
from monitor.service.load import UnpublishedSignals, WaitingBlocks
from monitor.system.running_clock import RunningClock
from monitor.transport.base import RecordingSink, RequestServer, SignalSource
from monitor.transport.rate_limit import TokenBucket

_RECEIVE_TIMEOUT = 0.1  # s
_SENDING_TIME = 0.001  # s without spare work after a row was published
_HEALTH_INTERVAL = 0.2  # s
_REQUEST_INTERVAL = 0.05  # s
_FASTER_THAN_REAL_TIME = 1.2  # times the rig's rate
_FAULT_NOTES = 5, 0.1  # burst, and per second
_READ_SLICE, _COMPUTE_SLICE = 0.05, 0.02  # s, before the other gets its turn
_HOLD_AGE = 1.0  # s that samples wait until senders that can are asked to hold; half of it until they may go on


class Service:
    """Pass blocks from the source to the recorders, and through the engine to the sinks.

    Parameters
    ----------
    source : where blocks come from.
    monitor : the engine.
    sinks : served in this order. The first is the one that clients wait for: it gets the results of a block before
        its signals, the others after them.
    recorders : get signals when they arrive, and an empty block of results that tells their columns; results later.
    viewers : sinks for other programs, which get only a part of the blocks when time is short.
    alarms : evaluates limits on what is published; by default there are none.
    rig : the rig that is followed; empty: the first that sends. Blocks of other rigs are rejected.
    stale_after : s of silence after which the stream is called stale.
    recording : returns the state of the recording.
    broker : returns the state of the connection to a broker.
    unpublished : returns how many messages were dropped before any subscriber got them.
    fault : returns what is wrong with the service itself, in one line, which becomes a note; empty: nothing.
    compilation : returns which measures are not there yet at a first start; they join when they are.
    request_servers : polled twenty times a second at most; the endpoint of the first is published in the health.
    clock : s, monotonic.
    """

    def __init__(
        self,
        source: SignalSource,
        monitor: Monitor,
        sinks: Sequence[Sink],
        *,
        recorders: Sequence[RecordingSink] = (),
        viewers: Sequence[Sink] = (),
        alarms: AlarmMonitor | None = None,
        rig: str = "",
        stale_after: float = 5.0,
        recording: Callable[[], RecordingStatus] = RecordingStatus,
        broker: Callable[[], BrokerStatus] = BrokerStatus,
        unpublished: Callable[[], int] = int,
        fault: Callable[[], str] = str,
        compilation: Callable[[], CompilationStatus] = CompilationStatus,
        request_servers: Sequence[RequestServer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._monitor = monitor
        self._shedding = load.LoadShedding(load.shedding_order(monitor.settings.measures))
        self._sinks = load.SinkSchedule(sinks, recorders, viewers, self._shedding, clock)
        self._waiting, self._unpublished_signals = WaitingBlocks(), UnpublishedSignals()
        self._alarms = alarms or AlarmMonitor()
        self._rig = rig
        self._recording = recording
        self._broker, self._unpublished = broker, unpublished
        self._compilation, self._compiling = compilation, tuple[str, ...]()
        self._fault, self._last_fault = fault, ""
        self._fault_limit = TokenBucket(*_FAULT_NOTES, clock)
        self._request_servers = tuple(request_servers)
        self._clock = clock
        self._columns: ResultStream | None = None
        self._transfer: TransferBlock | None = None
        self._restart_limiter = load.RestartLimiter(clock)
        self._now = self._served = clock()
        self._running = RunningClock(clock=clock)
        self._items = 0
        self._holding = self._alarms_due = self._row_leaves = False
        self.dropped = 0
        """About how many samples were not read at a stop."""
        self.flooded = False
        """Senders too fast to be read were disconnected: an unknown number of samples is missing."""
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

        After a stop everything that has arrived is recorded, the last of it without results; `dropped` counts the
        samples for which there was no time.
        """
        deadlines = load.StopDeadlines(stop)
        self._publish_health()
        while not deadlines.stopping(self._clock()):
            if not len(self._waiting) and (self._source.ended or (once and self._statistics.ended)):
                break
            # one slice of the slow measures at a time: blocks that come meanwhile wait for it, and so does what sends
            # a row that has just been published, if it shares this core: it goes first, unless every sample has a row
            first, self._row_leaves = self._row_leaves and self._monitor.settings.every > 1, False
            busy = len(self._waiting) > 0 or (not first and (self._publish_transfer() or self._monitor.run_pending()))
            self._read(0.0 if busy else _SENDING_TIME if first else _RECEIVE_TIMEOUT)
            self._compute(self._clock() + _COMPUTE_SLICE)
        if deadlines.stopping(self._clock()):
            self._finish(deadlines)
        self._publish_together()
        self._publish_transfer()
        self._serve()
        for event in self._monitor.finish_order():
            self._publish_event(event)
        self._report_restarts(force=True)
        self._publish_health()
        self._publish_alarms(())

    def _finish(self, deadlines: load.StopDeadlines) -> None:
        """Record everything that has arrived, and compute as much of it as there is time for."""
        self._read(0.0)
        while not self._source.ended and not deadlines.expired(self._now):
            in_flight = deadlines.in_flight_time(self._now)
            if not self._source.waiting and not in_flight:
                break
            self._read(0.0 if len(self._waiting) else in_flight)
            if deadlines.may_compute(self._now):
                self._compute(self._now + _COMPUTE_SLICE)
            else:
                self._do_periodic_work()
        unread = self._source.waiting + self._source.dropped_at_end
        while len(self._waiting) and deadlines.may_compute(self._clock()):
            self._compute(self._clock() + _COMPUTE_SLICE)
        self._report_backlog(unread)

    def _read(self, timeout: float) -> None:
        """Record what has arrived; wait up to `timeout` s for the first of it."""
        start = self._clock()
        while True:
            began = self._clock()
            items = self._source.receive(timeout)
            received = self._now = self._clock()
            if timeout:
                self._statistics.add_idle(received - began)
                if not items:
                    self._publish_together()
            self._items += len(items)
            for item, waited in load.join_blocks(zip(items, self._source.waited, strict=True)):
                if isinstance(item, SignalBlock):
                    self._accept(item, received - waited)
                else:
                    self._publish_event(item)
            timeout = 0.0
            # an end is first computed: the service may be meant to stop there
            if not items or not self._source.waiting or self._statistics.ended or self._now - start >= _READ_SLICE:
                break

    def _hold(self) -> None:
        """Ask senders that can to hold while results are late, as a replay at maximum speed does."""
        age = self._now - self._waiting.oldest_arrival if len(self._waiting) else 0.0
        holding = age > (0.5 * _HOLD_AGE if self._holding else _HOLD_AGE)
        if holding is not self._holding:
            self._holding = holding
            self._source.hold(on=holding)

    def _compute(self, until: float) -> None:
        """Compute what has been recorded, until the time `until` [s]; then do what is due besides."""
        while True:
            if len(self._waiting):
                self._process(*self._waiting.pop())
            self._do_periodic_work()
            if not len(self._waiting) or self._now >= until:
                break
        self._hold()

    def _do_periodic_work(self) -> None:
        """Serve requests, and publish the health or, in the turn after it, the alarms, however many blocks wait."""
        self._now = self._clock()
        self._running()
        if self._now - self._served >= _REQUEST_INTERVAL:
            self._serve()
        if self._alarms_due:
            self._publish_alarms(())
        if self._now - self._statistics.last_report_time >= _HEALTH_INTERVAL:
            self._publish_health()

    def _accept(self, block: SignalBlock, arrived: float) -> None:
        """Check the order of a block, record it, and let it wait for its turn."""
        self._rig = self._rig or block.stream.rig
        if block.stream.rig != self._rig:
            other = f"rig {block.stream.rig!r} is not {self._rig!r}, which is followed here"
            self._publish_event(Event(EventKind.REJECTED, block.time, block.index, 1, other, samples=len(block)))
            return
        if self._monitor.starts_stream(block) and not self._restart_limiter.allow(block):
            self._report_restarts()
            return
        accepted = self._monitor.accept(block)
        for event in accepted.events:
            self._statistics.count_event(event)
        if accepted.block is not None:
            self._account.count(accepted)
            self._statistics.count_samples(accepted.block, self._running())
            self._record(accepted.block, arrived, started=accepted.started)
        for event in accepted.events:
            for sink in self._sinks.recorders:
                sink.event(event)
        self._waiting.add(accepted, arrived)
        if self._waiting.used > 1.0:
            self._leave_out(0.5, "the memory for samples that wait is full")

    def _leave_out(self, share: float, why: str) -> None:
        """Leave the oldest samples that wait without results, but for a share of the memory: the present counts."""
        samples, events = self._waiting.leave_out(share)
        for event in events:
            self._publish_event(event, sinks=self._sinks.clients)
        self._publish_note(f"{why}: {samples} samples are recorded, but have no results")

    def _record(self, block: SignalBlock, arrived: float, *, started: bool) -> None:
        results = self._monitor.results_of(block.stream) if started and self._sinks.recorders else None
        for sink in self._sinks.recorders:
            sink.signals(block, arrived)
            if results is not None:
                # the columns, before anything is computed
                sink.results(ResultBlock(results, block.index, block.time, np.empty((0, len(results.columns)))))

    def _process(self, accepted: Accepted, arrived: float) -> None:
        """Compute a block and publish the results."""
        block = accepted.block
        try:
            update = self._monitor.compute(accepted)
        except UnfitSettingsError as problem:
            # the samples are published and recorded all the same
            update = problem.update
            if block is not None:
                self._publish_event(Event(EventKind.NOTE, block.time, block.index, 0, f"no indicators: {problem}"))
        if update.signals is not None:
            self._publish(update.signals, update.results, arrived)
        if update.transfer is not None:
            self._publish_transfer()
            self._transfer = update.transfer
        for event in update.events:
            self._publish_event(event, sinks=self._sinks.clients if event in accepted.events else None)

    def _publish(self, signals: SignalBlock, results: ResultBlock | None, arrived: float) -> None:
        begins = results is not None and results.stream is not self._columns
        if begins:
            self._publish_together()
        # the first block of a stream is published even if it is empty: it defines the columns
        publishable = results if results is not None and (len(results) > 0 or results.last or begins) else None
        if not self._unpublished_signals.add(signals) and publishable is None:
            return
        self._publish_together(publishable, arrived, unthinned=begins or signals.last)
        if publishable is not None:
            for sink in self._sinks.recorders:
                if len(publishable) > 0:
                    sink.results(publishable)
            if begins:
                self._begin(publishable.stream, signals)
            self._publish_transitions(self._alarms.evaluate(publishable, arrived, self._clock()))

    def _publish_together(
        self, results: ResultBlock | None = None, arrived: float = 0.0, *, unthinned: bool = False
    ) -> None:
        """Publish results, of samples that `arrived`, and the signals that wait for them."""
        if not len(self._unpublished_signals):
            return
        first = self._sinks.first(unthinned=unthinned)
        if results is not None:
            for sink in first:
                sink.results(results)
            self._row_leaves = True
            self._statistics.add_latency(self._clock() - arrived)
        blocks = self._unpublished_signals.take()
        for sink in first:
            for block in blocks:
                sink.signals(block)
        for sink in self._sinks.others(unthinned=unthinned):
            for block in blocks:
                sink.signals(block)
            if results is not None:
                sink.results(results)

    def _publish_transfer(self) -> bool:
        """Publish the transfer functions that wait for it, a megabyte of 64 actuators; return whether any did."""
        block, self._transfer = self._transfer, None
        if block is None:
            return False
        for sink in self._sinks.all:
            sink.transfer(block)
        return True

    def _begin(self, stream: ResultStream, signals: SignalBlock) -> None:
        self._columns = stream
        at = signals.time, signals.index
        for text in self._alarms.set_stream(stream, self._clock()):
            self._publish_event(Event(EventKind.NOTE, *at, 0, text))
        for change in self._alarms.pop_restored_limits():
            self._publish_limits(change, *at, ", before this start")
        measures = self._monitor.settings.measures
        self._shedding.set_order(load.shedding_order(measures, self._alarms.watched, self._alarms.headline))
        self._pause()

    def _pause(self) -> None:
        """Have neither computed nor judged what is shed or being compiled, and all else again."""
        reasons = dict.fromkeys(self._shedding.paused, Reason.PAUSED)
        reasons |= dict.fromkeys(self._compiling, Reason.COMPILING)
        self._monitor.pause(reasons)
        self._publish_transitions(self._alarms.pause(reasons, *self._statistics.newest_sample))

    def _join_compiled(self, status: CompilationStatus) -> None:
        """Compute from now on the measures whose kernels have come."""
        joined = [each for each in self._compiling if each not in status.measures]
        if status.measures != self._compiling:
            self._compiling = status.measures
            self._pause()
        if joined and self._rig:
            self._publish_note(f"kernels are compiled, computed from here on: {', '.join(joined)}")

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
        text = f"{describe_change(change)}{suffix}"
        self._publish_event(Event(EventKind.LIMITS, time, index, 0, text, limits=change))

    def _publish_transitions(self, transitions: Sequence[Transition]) -> None:
        if not transitions:
            return
        for transition in transitions:
            self._publish_event(Event.of_alarm(transition))
        for first in range(0, len(transitions), MAX_TRANSITIONS):
            self._publish_alarms(transitions[first : first + MAX_TRANSITIONS])

    def _publish_alarms(self, transitions: Sequence[Transition]) -> None:
        self._alarms_due = False
        report = AlarmReport(self._alarms.alarms, tuple(transitions))
        for sink in self._sinks.all:
            sink.alarms(report)

    def _publish_note(self, text: str) -> None:
        self._publish_event(Event(EventKind.NOTE, *self._statistics.newest_sample, 0, text))

    def _publish_event(self, event: Event, *, sinks: Sequence[Sink] | None = None) -> None:
        """Publish an event; one that is only for some sinks has been counted."""
        if sinks is None:
            self._statistics.count_event(event)
            self.flooded |= event.kind is EventKind.REJECTED and event.count == event.samples == 0
        for sink in self._sinks.all if sinks is None else sinks:
            sink.event(event)

    def _report_restarts(self, *, force: bool = False) -> None:
        blocks, samples = self._restart_limiter.take_rejected(force=force)
        if blocks:
            why = f"rig {self._rig!r} restarts too frequently: its blocks are rejected for a while"
            newest = self._statistics.newest_sample
            self._publish_event(Event(EventKind.REJECTED, *newest, blocks, why, samples=samples))

    def _report_backlog(self, unread: int) -> None:
        """Report which samples have no results, and about how many were not read, in `unread` messages."""
        if uncomputed := self._waiting.samples:
            self._publish_note(f"stopped while behind: the last {uncomputed} samples have no results")
        if unread:
            # as many samples in each message as in those received
            self.dropped = max(1, round(unread * self.counts.received / max(self._items, 1)))
            why = "stopped while behind: about so many samples had arrived and are neither computed nor recorded"
            self._publish_event(Event(EventKind.GAP, *self._statistics.newest_sample, self.dropped, why))

    def _publish_health(self) -> None:
        # blocks rejected at the end, which no later block reports
        self._report_restarts()
        # a fault above the rate limit is reported later, if it is still there
        if (fault := self._fault()) and fault != self._last_fault and self._fault_limit.allow():
            self._last_fault = fault
            self._publish_note(fault)
        now, recording, newest = self._clock(), self._recording(), self._statistics.newest
        passed = now - self._statistics.last_report_time
        if len(self._waiting):
            self._statistics.set_lag(now - self._waiting.oldest_arrival)
        servers, broker = self._request_servers, self._broker()
        health = replace(
            self._statistics.report(now, self._running(), self._rig, recording, servers, broker),
            unaccounted=self._account.missing(self.counts, self.dropped, recording),
            unpublished=self._unpublished(),
            not_judged=self._alarms.not_judged,
            memory_used=max(self._waiting.used, recording.queue_filled),
            memory_seconds=0.0 if newest is None else self._waiting.seconds(newest),
        )
        faster = health.measured_rate > _FASTER_THAN_REAL_TIME * health.sample_rate
        if text := self._shedding.update(now, health.lag, faster_than_real_time=faster):
            self._publish_note(text)
            self._pause()
        if self._shedding.exhausted and health.lag > self._alarms.max_age and len(self._waiting):
            self._leave_out(0.0, f"results are {health.lag:.2g} s late, and nothing more can be shed")
        self._join_compiled(status := self._compilation())
        health = replace(health, shed=self._shedding.shed, compilation=status)
        self._publish_transitions(self._alarms.evaluate_health(health, *self._statistics.newest_sample, passed, now))
        for sink in self._sinks.all:
            sink.health(health)
        # in the next turn, or all of this would delay one result
        self._alarms_due = True

"""History: the signals, results, events and alarms of a service on one time axis, in bounded memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from gui.model.alarms import (
    AlarmLimits,
    AlarmSpan,
    AlarmSummary,
    NormalRange,
    alarm_limits,
    alarm_spans,
    summarize,
    unknown_now,
)
from gui.model.derived import DerivedChannel
from gui.model.loaded_recording import LoadedRecording
from gui.model.pyramid import DAY
from gui.model.receiver import ReceivedMessages
from gui.model.results import RATE, ResultHistory
from gui.model.service_state import RECORDED, RecordingProgress, ServiceState, service_state
from gui.model.signals import CoarseSignals, SignalHistory
from gui.model.timeline import Block, ClockSegment, ContiguousRun, DisplayTimeline
from monitor.messages.alarms import Alarm
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock, Stream, TransferBlock
from monitor.messages.health import Health
from monitor.messages.recordings import Description, Overview
from monitor.messages.requests import NoteRequest
from monitor.text.numbers import is_dated

if TYPE_CHECKING:
    from gui.model.comparison import ComparedRun


_RESOLUTION = 0.01  # s


class WallClock:
    """Offset of this computer's clock from x, for each run of samples: the smallest of all arrivals."""

    def __init__(self) -> None:
        self._offsets: dict[float, float] = {}

    def observe(self, begin: float, x: float, now: float) -> None:
        """Register that the newest sample, at `x` in the run that begins at `begin`, has arrived at `now`, s."""
        if math.isfinite(begin) and is_dated(now):
            self._offsets[begin] = min(now - x, self._offsets.get(begin, math.inf))

    def applied(self, segments: Sequence[ClockSegment]) -> tuple[ClockSegment, ...]:
        """Return the segments with clock time in place of the rig's, where that is no clock time already."""
        offset, found = math.nan, []
        for segment in segments:
            offset = self._offsets.get(segment.x_begin, offset if segment.follows else math.nan)
            known = not math.isnan(offset) and not is_dated(segment.x_begin + segment.offset)
            rounded = round(offset / _RESOLUTION) * _RESOLUTION if known else segment.offset
            found.append(replace(segment, offset=rounded))
        return tuple(found)


_MAX_EVENTS = 10_000
RESULTS_SHARE = 4
"""One part in this many of the memory is for results."""


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event and its position x [s] on the display's time axis."""

    x: float
    event: Event


class History:
    """Signals, results, transfer functions, events and health of one rig, on one time axis.

    A restart of the rig continues on the same time axis; other channels, other columns or another rate begin a new
    history. x counts the samples of the signals or, where a service publishes results only, those of the results.

    Parameters
    ----------
    memory : maximum in bytes, a quarter of it for results; allocated when the first block defines the columns.
    minutes : for which every row is stored, where the memory suffices.
    recording : what is shown, where it is not live: all of its rows are stored, where the memory suffices.

    Attributes
    ----------
    computed : of a recording, what is being done, and the share that is done (NaN: unknown); None: it is complete.
    halted : the stream is a replay that was paused by its user.
    alarms : newest alarms of the service; None before the first report.
    summary : counts of these alarms.
    limits : limits of these alarms; the object is replaced only when a limit changes.
    requested_limits : limits that are requested and not confirmed, by the name of the alarm.
    progress : whether the service's recording proceeds.
    compared : recordings that are drawn over this one.
    notes : added to a recording here.
    derived : definitions of derived channels; those of another rig may not apply to this one.
    """

    def __init__(
        self, memory: int = 512 << 20, minutes: float = 10.0, recording: LoadedRecording | None = None
    ) -> None:
        self.recording = recording
        self.notes: tuple[NoteRequest, ...] = ()
        self._longest = DAY if recording is None else recording.room
        self._memory, self._minutes = memory, minutes if recording is None else recording.room / 60.0
        self.timeline, self.wall_clock = DisplayTimeline(), WallClock()
        self.signals: SignalHistory | None = None
        self.results: ResultHistory | None = None
        self.health: Health | None = None
        self.alarms: tuple[Alarm, ...] | None = None
        self.summary, self.limits = AlarmSummary(), AlarmLimits()
        self.requested_limits: Mapping[str, NormalRange] = {}
        self.silence, self.age = 0.0, math.inf
        self.halted = False
        self.computed: tuple[str, float] | None = None
        self.progress = RecordingProgress()
        self.generation = 0
        self.version = 0
        self.compared: tuple[ComparedRun, ...] = ()
        self.derived: tuple[DerivedChannel, ...] = ()
        self._events: deque[PlacedEvent] = deque(maxlen=_MAX_EVENTS)
        self._spans: tuple[AlarmSpan, ...] | None = None
        self._transfer: TransferBlock | None = None
        self._epoch: int | None = None
        self._signal_run, self._result_run = ContiguousRun[SignalBlock](), ContiguousRun[ResultBlock]()

    @classmethod
    def coarse(cls, recording: LoadedRecording, known: Description) -> Self:
        """Return what a description says of a recording that is still to be read."""
        history, rate = cls(0, recording=recording), known.sample_rate or 1.0
        stream = Stream(known.rig or "", 0, rate, known.channels)
        x = history.timeline.place(0, 0, known.start_time or 0.0, rate)
        history.timeline.reach(recording.header.n_samples - 1)
        history.signals = CoarseSignals(stream, x, known.overview or Overview())
        return history

    @property
    def state(self) -> ServiceState:
        """State of the service, and whether the newest values are current."""
        if self.recording is not None:
            return RECORDED
        results = self.results
        interval = 0.0 if results is None else results.stream.every / results.stream.sample_rate
        return service_state(self.health, self.silence, self.age, interval, halted=self.halted)

    @property
    def run_path(self) -> str:
        """Path of the run file that has the signals in full detail; empty: none."""
        if self.recording is not None:
            return self.recording.path
        return "" if self.health is None else self.health.recording

    @property
    def events(self) -> Sequence[PlacedEvent]:
        """Events in the order of time, the newest last; at most 10 000."""
        return self._events

    @property
    def alarm_spans(self) -> tuple[AlarmSpan, ...]:
        """The spans in which alarms were active, as far as their events are stored."""
        if self._spans is None:
            steps = ((placed.x, placed.event.alarm) for placed in self._events)
            self._spans = alarm_spans((x, step) for x, step in steps if step is not None)
        return self._spans

    @property
    def transfer(self) -> TransferBlock | None:
        """The newest transfer functions of the current epoch; None after a restart."""
        if self._transfer is None or self._epoch not in (None, self._transfer.stream.epoch):
            return None
        return self._transfer

    def transfer_at(self, x: float | None) -> TransferBlock | None:
        """Return the transfer functions at `x` of a recording; live only the newest are known, whatever `x`."""
        if self.recording is None:
            return self.transfer
        x = self.end_x if x is None else x
        return self.recording.states.transfer(x, self.timeline.epoch_at(x))

    def alarms_at(self, x: float | None) -> tuple[Alarm, ...]:
        """Return the alarms in their states at `x` of a recording; live only those of now, None, are known.

        Where the values of now are not current, no alarm is judged, whatever the service has said last.
        """
        if self.recording is None:
            if x is not None or not self.alarms:
                return ()
            return self.alarms if self.state.current else unknown_now(self.alarms, self.state.words)
        return self.recording.states.alarms(self.end_x if x is None else x, self.results)

    def result_instant(self, x: float) -> float:
        """Return `x`, or the newest result before it, unless those at `x` are still to be computed."""
        return x if self.results is None or self.computed is not None else min(x, self.results.end_x)

    @property
    def begin_x(self) -> float:
        """x of the oldest stored row, s; 0 before the first."""
        begins = [stored.begin_x for stored in (self.signals, self.results) if stored is not None]
        return min((x for x in begins if not math.isnan(x)), default=0.0)

    @property
    def end_x(self) -> float:
        """The newest x, s; 0 before the first."""
        return max(0.0, self.timeline.end)

    @property
    def nbytes(self) -> int:
        """Bytes that the ring buffers hold."""
        return sum(stored.nbytes for stored in (self.signals, self.results) if stored is not None)

    def update(
        self, received: ReceivedMessages, *, silence: float = 0.0, age: float = math.inf, now: float = 0.0
    ) -> None:
        """Store received messages.

        Parameters
        ----------
        silence : s since the last health message.
        age : s since the last results.
        now : s since 1970.
        """
        self.silence, self.age = silence, age
        before = self.timeline.end
        if received.health is not None:
            self.health = received.health
            self.progress.update(received.health, now)
        if received.alarms is not None:
            self._update_alarms(received.alarms.alarms)
        for message in received.in_order:
            if isinstance(message, Event):
                self._store()
                placed = PlacedEvent(self.timeline.x_of(message.time, self._epoch), message)
                self._add_event(placed)
                if self.recording is not None:
                    self.recording.states.add_event(placed.x, message)
            elif isinstance(message, SignalBlock):
                self._collect(message, self._signal_run)
            else:
                self._collect(message, self._result_run)
        self._store()
        # the next update compares the rig's clock with the timeline again, in case it drifts
        self._signal_run.end()
        self._result_run.end()
        if self.timeline.end > before:
            self.wall_clock.observe(self.timeline.run_of(self.timeline.end), self.timeline.end, now)
        self._transfer = received.transfer or self._transfer
        self.version += bool(received)

    def add_note(self, note: NoteRequest) -> None:
        """Add a note on a recording, which the view keeps: one of an instant that is not shown is left out."""
        if note.time is not None and note.index is not None and note not in self.notes:
            self.notes = (*self.notes, note)
            event = Event(EventKind.NOTE, note.time, note.index, detail=note.text)
            self.update(ReceivedMessages(events=(event,)), silence=self.silence, age=self.age)

    def _add_event(self, placed: PlacedEvent) -> None:
        """Store an event in the order of time: a note may be on an earlier instant than the newest event."""
        late, self._spans = bool(self._events) and placed.x < self._events[-1].x, None
        self._events.append(placed)
        if late:
            self._events = deque(sorted(self._events, key=lambda each: each.x), self._events.maxlen)

    def compare(self, runs: tuple[ComparedRun, ...]) -> None:
        """Draw these recordings over this one."""
        others = [run.history for run in runs] != [run.history for run in self.compared]
        self.compared = runs
        self.generation += others
        self.version += 1

    def derive(self, definitions: Sequence[DerivedChannel]) -> None:
        """Compute these derived channels, also of the samples that are stored as received."""
        if tuple(definitions) == self.derived:
            return
        self.derived = tuple(definitions)
        if self.signals is not None:
            self.signals.derive(self.derived)
        self.generation += 1
        self.version += 1

    def remove_events(self, events: Sequence[Event]) -> None:
        """Remove events, which will be received once more."""
        kept = [placed for placed in self._events if placed.event not in events]
        self._events, self._spans = deque(kept, self._events.maxlen), None

    def _update_alarms(self, alarms: tuple[Alarm, ...]) -> None:
        if self.recording is None:
            self.alarms, self.summary = alarms, summarize(alarms)
        else:
            # their states follow from the events
            self.recording.states.configure(alarms)
        self._update_limits(alarms)

    def request_limits(self, requested: Mapping[str, NormalRange]) -> None:
        """Show these limits as pending, in place of those that were requested before."""
        if requested != self.requested_limits:
            self.requested_limits = dict(requested)
            self._update_limits(self.alarms or ())
            self.version += 1

    def _update_limits(self, alarms: tuple[Alarm, ...]) -> None:
        limits = alarm_limits(alarms, self.requested_limits)
        if limits != self.limits:
            self.limits = limits

    def _collect(self, block: Block, run: ContiguousRun[Block]) -> None:
        """Append a block to its run; where it is not contiguous, store what was collected and begin a new run."""
        if not run.is_contiguous_with(block):
            self._store()
            self._check_stream(block)
            if run.precedes(block):
                self.timeline.interrupt()
                self._signal_run.reset()
                self._result_run.reset()
            if not len(block):
                return
            x = self.timeline.place(block.stream.epoch, block.index, block.time, block.stream.sample_rate)
            run.begin(block, x)
        run.append(block)

    def _store(self) -> None:
        """Move the collected rows into the ring buffers."""
        signals, results = self._signal_run.pop_rows(), self._result_run.pop_rows()
        if signals is not None and self.signals is not None:
            self.timeline.reach(self._signal_run.newest_index)
            self.signals.append(*signals)
        if results is not None and self.results is not None:
            self.timeline.reach(self._result_run.newest_index)
            self.results.append(*results)

    def _check_stream(self, block: SignalBlock | ResultBlock) -> None:
        """Handle a restart of the rig, other channels and other columns."""
        epoch = block.stream.epoch
        if epoch != self._epoch:
            self._epoch = epoch
            if self.results is not None:
                self.results.restart()
        if isinstance(block, SignalBlock):
            self._check_signal_stream(block.stream)
        else:
            self._check_result_stream(block.stream)

    def _check_signal_stream(self, stream: Stream) -> None:
        if self.signals is not None and _same(self.signals.stream, stream):
            self.signals.stream = stream
            return
        if self.signals is not None:
            # of another rig; its memory is freed before as much is allocated again
            self.signals = self.results = None
        self.signals = SignalHistory(
            stream, self._minutes, self._memory - self._memory // RESULTS_SHARE, self._longest
        )
        self.signals.derive(self.derived)
        self.generation += 1

    def _check_result_stream(self, stream: ResultStream) -> None:
        if self.results is not None and _same(self.results.stream, stream):
            self.results.stream = stream
            return
        self.results = None
        if self.signals is not None and self.signals.sample_rate != stream.sample_rate:
            # of another rig, whose service does not publish its signals
            self.signals = None
        self.results = ResultHistory(
            stream,
            self._minutes,
            self._memory // RESULTS_SHARE,
            RATE if self.recording is None else math.inf,
            self._longest,
        )
        self.generation += 1


def _same(one: Stream | ResultStream, other: Stream | ResultStream) -> bool:
    return one is other or replace(one, epoch=other.epoch) == other

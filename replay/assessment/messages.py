"""A recording as messages: its signals, what the engine computes of them, and its events, for a window to show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import msgspec
import numpy as np
from msgspec import structs

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import SettingsError, load_settings
from monitor.engine.continuity import Continuity
from monitor.messages import alarms as alarm_report
from monitor.messages.alarms import Alarm, AlarmReport
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock, Stream, TransferBlock
from monitor.messages.recordings import SIGNALS_COMPLETE, RunHeader, RunProgress
from monitor.system.worker_process import pack_message
from monitor.wire.native import Encoder, topic
from replay.assessment.run import BLOCK, record_settings, thinned, updates
from replay.formats import Recording
from replay.formats.joined import JoinedRecording
from replay.formats.run_file import RunRecording

_MODEL_PREFIXES = ("reliability_", "model_")
# of a quotient that is a whole number
_ROUNDING = 1e-9
_TRANSFER_BYTES = 32 << 20  # of all transfer functions, at most
# s by which a clock may leave the straight line through its first sample: a display has one axis for that
_STRAIGHT = 0.05
_BREAKS = (EventKind.RESTART, EventKind.CLOCK_JUMP)
# of joined files, whose ends the engine sees too
_COMPUTED = (EventKind.STARTED, EventKind.GAP, EventKind.ENDED, *_BREAKS)


def write_messages(recording: Recording, given: Mapping[str, object], output: BinaryIO, result_bytes: float) -> None:
    """Write a recording and its results, computed with the settings with which it is assessed.

    The signals come first, up to the first restart or jump of the clock, between a header without settings and
    `SIGNALS_COMPLETE`; those after it come beside their results, which the whole header precedes.

    A recording without command and measured channels has no results, and neither has one that the settings do not
    fit; a note says so. Of a run file the events are those that were recorded, and so are the results of a model; the
    limits of its alarms, those at the end of the run, are reported as alarms without a state. Of joined run files the
    breaks are computed, and the other events those that were recorded.

    Parameters
    ----------
    given : settings that were given, by name.
    output : for `RunHeader`, then blocks, events and `RunProgress`, each packed by `pack_message`.
    result_bytes : size of the results, at most; rows are left out evenly.

    Raises
    ------
    ValueError : the recording holds no samples, or settings are wrong.
    """
    if not recording.n_samples:
        raise ValueError("the recording holds no samples")
    sent = _Sent(recording.stream.rig, output)
    recorded, events = _recorded_events(recording)
    header = RunHeader(recording.n_samples, recording.duration, sum(event.kind in _BREAKS for event in recorded))
    sent.header(header)
    ahead = _write_first_signals(recording, sent)
    settings, notes = record_settings(recording, given)
    if "every" not in given:
        settings, note = thinned(settings, recording.n_samples)
        notes += [note] if note else []
    run = recording if isinstance(recording, RunRecording) else None
    about = (*(recording.notes if run is None else run.remarks), *notes)
    doubts = () if run is None else run.doubts
    sent.header(structs.replace(header, window=settings.window, every=settings.every, notes=about, doubts=doubts))
    notes_left = [] if events is not None else [event for event, _ in recording.timed_events()][::-1]
    thinning, transfers = _Thinning(recording.n_samples, result_bytes), _TransferThinning(recording.n_samples)
    models = _RecordedModels(run) if run is not None else None
    limits = _alarms_of(run) if run is not None else None
    unfit: list[str] = []
    for n, update in enumerate(updates(recording, settings, sent.progress, unfit.append)):
        signals = update.signals
        if signals is not None:
            sent.events(() if events is None else events.before(signals))
            if n >= ahead:
                sent.block(signals)
            sent.events(Event(EventKind.NOTE, signals.time, signals.index, 0, f"no results: {why}") for why in unfit)
            unfit.clear()
        results = update.results if models is None or signals is None else models.beside(signals, update.results)
        if results is not None and limits is not None:
            limits.set_stream(results.stream)
            sent.alarms(AlarmReport(_with_changes(limits.alarms, recorded)))
            limits = None
        if results is not None and len(rows := thinning(results)):
            sent.block(rows)
        if run is None:
            sent.events(update.events)
            while signals is not None and notes_left and notes_left[-1].index < signals.index + len(signals):
                sent.events([notes_left.pop()])
        if events is not None and signals is not None:
            sent.events(events.within(signals))
        for transfer in transfers(update.transfer):
            sent.block(transfer)
    if transfers.held is not None:
        # the last one is that of the whole record
        sent.block(transfers.held)
    sent.events(() if events is None else events.rest())
    output.flush()


class _Sent:
    """Messages on a rig that are written to an output."""

    def __init__(self, rig: str, output: BinaryIO) -> None:
        self._rig, self._output, self._encoder = rig, output, Encoder()

    def write(self, *frames: bytes) -> None:
        self._output.write(pack_message(frames))

    def block(self, block: SignalBlock | ResultBlock | TransferBlock) -> None:
        self.write(*self._encoder.encode(block))

    def events(self, found: Iterable[Event]) -> None:
        for event in found:
            self.write(topic("event", self._rig), msgspec.json.encode(event))

    def alarms(self, report: AlarmReport) -> None:
        self.write(topic("alarms", self._rig), alarm_report.encode(report))

    def header(self, header: RunHeader) -> None:
        self.write(b"run", msgspec.json.encode(header))

    def progress(self, task: str, done: int, total: int) -> None:
        if task != "samples":
            self.write(b"progress", msgspec.json.encode(RunProgress(task, done, total)))
            self._output.flush()

    def signals_complete(self) -> None:
        self.write(SIGNALS_COMPLETE)
        self._output.flush()


def _write_first_signals(recording: Recording, sent: _Sent) -> int:
    """Write the signals up to the first restart or jump of the clock, and that they are; return how many blocks."""
    order, n = Continuity(), 0
    first: SignalBlock | None = None
    for block in recording.blocks(BLOCK):
        # as the engine accepts it
        new = order.accept(block).block
        if new is None:
            break
        first = first or new
        expected = first.time + (new.index - first.index) * first.stream.dt
        if new.stream != first.stream or not abs(new.time - expected) < _STRAIGHT:
            break
        sent.block(new)
        n += 1
    sent.signals_complete()
    return n


@dataclass
class _Thinning:
    """Leaves rows of results out evenly, so that at most `most` bytes remain of `n_samples` samples."""

    n_samples: int
    most: float
    _known: tuple[ResultStream, ResultStream] | None = None

    def __call__(self, block: ResultBlock) -> ResultBlock:
        stream = block.stream
        if self._known is None or self._known[0] is not stream:
            size = 8.0 * len(stream.columns) * self.n_samples / stream.every
            step = max(1, math.ceil(size / self.most - _ROUNDING))
            self._known = stream, replace(stream, every=stream.every * step)
        fewer = self._known[1]
        step = fewer.every // stream.every
        if step == 1:
            return block
        skipped = -(block.index // stream.every) % step
        time = block.time + skipped * stream.every / stream.sample_rate
        return ResultBlock(fewer, block.index + skipped * stream.every, time, block.values[skipped::step], block.last)


@dataclass
class _TransferThinning:
    """Leaves transfer functions out evenly, so that at most about 32 MB remain; never the last one of an epoch.

    Attributes
    ----------
    held : the newest one, if it was left out so far.
    """

    n_samples: int
    held: TransferBlock | None = None
    _written: TransferBlock | None = None

    def __call__(self, block: TransferBlock | None) -> Iterator[TransferBlock]:
        """Yield what is to be written when `block` is the next one."""
        if block is None:
            return
        if self.held is not None and self.held.stream.epoch != block.stream.epoch:
            yield self.held
        last, spacing = self._written, self.n_samples * block.values.nbytes / _TRANSFER_BYTES
        if last is None or last.stream.epoch != block.stream.epoch or block.index - last.index >= spacing:
            self._written, self.held = block, None
            yield block
        else:
            self.held = block


class _RecordedModels:
    """The results of models in a run file: they cannot be computed again without the ensembles."""

    def __init__(self, run: RunRecording) -> None:
        stream, self._epoch, self._index, values = run.results()
        columns = () if stream is None else stream.columns
        kept = [i for i, column in enumerate(columns) if column.name.startswith(_MODEL_PREFIXES)]
        self._columns = tuple(columns[i] for i in kept)
        self._values = values[:, kept]
        self._every = 1 if stream is None else stream.every
        self._streams: dict[ResultStream | Stream, ResultStream] = {}

    def beside(self, signals: SignalBlock, computed: ResultBlock | None) -> ResultBlock | None:
        """Return the computed results of a block, and beside them those of models, each held until the next."""
        if not self._columns:
            return computed
        source = signals.stream if computed is None else computed.stream
        if source not in self._streams:
            every, columns = (1, ()) if computed is None else (computed.stream.every, computed.stream.columns)
            self._streams[source] = ResultStream(
                source.rig, source.epoch, source.sample_rate, every, (*columns, *self._columns)
            )
        stream = self._streams[source]
        index = signals.index if computed is None else computed.index
        rows = index + np.arange(len(signals if computed is None else computed)) * stream.every
        first, last = np.searchsorted(self._epoch, (source.epoch, source.epoch + 1))
        at = first + np.searchsorted(self._index[first:last], rows, side="right") - 1
        known = (at >= first) & (rows - self._index[np.clip(at, 0, None)] < self._every) if last > first else rows < 0
        values = np.full((len(rows), len(self._columns)), np.nan)
        values[known] = self._values[at[known]]
        if computed is not None:
            values = np.concatenate([computed.values, values], axis=1)
        time = signals.time if computed is None else computed.time
        return ResultBlock(stream, index, time, values, signals.last)


def _with_changes(alarms: Sequence[Alarm], recorded: Sequence[Event]) -> tuple[Alarm, ...]:
    """Return the alarms with the limits that were in force at the end of the run."""
    last = {event.limits.name: event.limits for event in recorded if event.limits is not None}
    return tuple(
        structs.replace(alarm, low=last[alarm.name].low, high=last[alarm.name].high) if alarm.name in last else alarm
        for alarm in alarms
    )


def _alarms_of(run: RunRecording) -> AlarmMonitor | None:
    """Return the alarms in the settings of a run; None where there are none, or they are not valid."""
    recorded: object = run.settings.get("alarms")
    try:
        settings = load_settings(None, {"alarms": recorded}) if isinstance(recorded, dict) else None
    except SettingsError:
        return None
    return (
        None if settings is None else AlarmMonitor(settings.alarms.model_copy(update={"limits_changeable": "never"}))
    )


class _RecordedEvents:
    """The events of run files in the order of their samples, each after those that it is about; not some kinds."""

    def __init__(self, runs: Sequence[tuple[RunRecording, Sequence[Event]]], without: Sequence[EventKind]) -> None:
        self._starts: list[int] = []
        self._pending: list[tuple[int, Event]] = []
        row = 0
        for run, events in runs:
            first = len(self._starts)
            self._starts += [row + epoch.row for epoch in run.epochs]
            self._pending += [(first + n, e) for n, e in _with_epochs(run, events) if e.kind not in without]
            row += run.n_samples
        self._pending.reverse()
        self._row = self._epoch = 0

    def before(self, block: SignalBlock) -> Iterator[Event]:
        """Yield what is left of the epochs that end before the next block."""
        while self._epoch + 1 < len(self._starts) and self._starts[self._epoch + 1] <= self._row:
            self._epoch += 1
        self._row += len(block)
        while self._pending and self._pending[-1][0] < self._epoch:
            yield self._pending.pop()[1]

    def within(self, block: SignalBlock) -> Iterator[Event]:
        """Yield the events up to the last sample of the current block."""
        end = block.index + len(block)
        while self._pending and self._pending[-1][0] == self._epoch and self._pending[-1][1].index < end:
            yield self._pending.pop()[1]

    def rest(self) -> Iterator[Event]:
        """Yield those that remain at the end."""
        while self._pending:
            yield self._pending.pop()[1]


def _recorded_events(recording: Recording) -> tuple[Sequence[Event], _RecordedEvents | None]:
    """Return the events of a run file, none of others, and what gives those of run files in their order."""
    parts = recording.parts if isinstance(recording, JoinedRecording) else (recording,)
    told = [(part, part.events()) for part in parts if isinstance(part, RunRecording)]
    if isinstance(recording, RunRecording):
        return told[0][1], _RecordedEvents(told, ())
    return (), _RecordedEvents(told, _COMPUTED) if told else None


def _with_epochs(run: RunRecording, events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
    """Yield the events, each with the number of the epoch in which it happened."""
    number, epochs = 0, run.epochs
    for event in events:
        if event.kind is EventKind.RESTART:
            later = range(number + 1, len(epochs))
            number = next(
                (n for n in later if (epochs[n].index, epochs[n].time) == (event.index, event.time)), number
            )
        yield number, event

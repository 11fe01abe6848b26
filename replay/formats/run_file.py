"""Run files that the monitor records: channels, epochs, notes, alarm transitions and when no alarm was judged."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from monitor.alarms.text import describe_transition
from monitor.messages.alarms import AlarmAction, Severity
from monitor.messages.blocks import Event, EventKind, ResultStream, Samples, SignalBlock, Stream
from monitor.system.files import HDF5_SIGNATURE
from monitor.wire.sample_rate import POINTS_PER_SECOND, RateCheck, rate_contradicted
from replay.formats.base import LONG, Format, Inspection, RecordingError, Selection, sample_number, scattered
from replay.formats.recordings import ArrayRecording

if TYPE_CHECKING:
    from monitor.recording import RunReader
    from monitor.recording.verification import Numbering

_ROWS, _PARTS = 16, 1 << 15  # at each place of a long run: of a wide one with few rows, one eighth at most
_MOST_TRIPS, _MOST_WARNS = 50, 10


def alarm_steps(events: Iterable[tuple[Event, float]]) -> list[str]:
    """Return a line for each step, trips first; of more than 50 (of warnings: 10) a line for each alarm.

    Each event comes with its time in the run, s. No alarm is left out: its line has the number of its steps, and the
    first and the last of them.
    """
    trips: list[tuple[str, str]] = []
    warns: list[tuple[str, str]] = []
    for event, seconds in events:
        if event.kind is EventKind.ALARM:
            step, name, text = event.alarm, "of another form", event.detail
            if step is not None:
                name, text = step.name, describe_transition(step)
            warning = step is not None and step.severity is Severity.WARN
            (warns if warning else trips).append((name, f"{_instant(event, seconds)}: {text}"))
    return [*_lines(trips, _MOST_TRIPS), *_lines(warns, _MOST_WARNS)]


def _lines(steps: list[tuple[str, str]], most: int) -> list[str]:
    if len(steps) <= most:
        return [f"alarm at {text}" for _, text in steps]
    of_each: dict[str, list[str]] = {}
    for name, text in steps:
        of_each.setdefault(name, []).append(text)
    return [
        f"alarm {name}: {len(found)} steps, the first at {found[0]}; the last at {found[-1]}"
        if len(found) > 1
        else f"alarm at {found[0]}"
        for name, found in of_each.items()
    ]


def _instant(event: Event, seconds: float) -> str:
    """Return the time in the run, as --start counts it, and that of the rig's clock where it is another."""
    text, clock = f"{seconds:.3f} s", f"{event.time:.3f} s"
    return text if clock == text else f"{text} ({clock} on the rig's clock)"


_LEAST_POINTS = 8  # a quarter of a second: where a service finds another rate, a file ends
_MOST_NOTES = 10
_TOLD = {EventKind.NOTE: "note", EventKind.CONTRADICTION: "contradiction", EventKind.CLOCK_JUMP: "clock jump"}
_MOST_NUMBER = 1 << 53  # more would be no number of samples, but damage


@dataclass(frozen=True, slots=True)
class Epoch:
    """The samples from one start of the publisher to the next.

    Parameters
    ----------
    row : of its first sample in the file.
    passed : number of that sample, counted from the run's first through gaps and restarts.
    epoch, index, time : of that sample, as the publisher gave them.
    """

    row: int
    passed: int
    epoch: int
    index: int
    time: float


class RunRecording:
    """A run file; nothing is held in memory, and every pass over its blocks opens it again.

    ``settings`` are those of the service that recorded it, ``epochs`` the starts of the publisher in order, ``notes``
    how the run ended if not well, of which ``remarks`` are not events, and ``doubts`` tell what is not as it was
    recorded. ``created`` is when the file was created, ISO 8601, and ``outcome`` how the run ended: clean, lossy,
    truncated or recovered.

    Raises
    ------
    RecordingError : the file is not a run file, or too damaged to be read.
    """

    def __init__(self, path: Path) -> None:
        from monitor.recording import RunFileError, RunReader  # h5py is slow to import

        self._path = path
        try:
            with RunReader(path) as reader:
                self._declared = reader.stream.sample_rate
                self.stream: Stream = with_rate_of_times(reader)
                self.n_samples = int(reader.n_samples)
                self.outcome = str(reader.outcome)
                self.created: str = reader.created
                self._damage = reader.check()
                self.settings: dict[str, Any] = dict(reader.settings)
                self.epochs, self._end = epoch_starts(reader.numbering())
                if not 0 <= self._end <= _MOST_NUMBER:
                    raise RecordingError(f"{path} is damaged: the numbers of its samples cannot be")
                ended = () if self.outcome == "clean" else (f"the outcome of the run is {self.outcome!r}",)
                self.doubts = tuple(self._damage.messages(lambda row: self._seconds(reader, row)))
                told: tuple[str, ...] = ()
                if self.stream.sample_rate != self._declared:
                    told = (rate_contradicted(self._declared, self.stream.sample_rate),)
                self.remarks: tuple[str, ...] = (*told, *self.doubts, *ended)
                late = filter(None, [reader.results_message()])
                self.notes = (*self.remarks, *late, *_written(self._timed(reader)))
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last, through gaps and restarts."""
        return self._end / self.stream.sample_rate

    def events(self) -> tuple[Event, ...]:
        """Return what happened to the stream, in order.

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        return tuple(event for event, _ in self.timed_events())

    def timed_events(self) -> tuple[tuple[Event, float], ...]:
        """Return the events, each with its time in the run: seconds from the first sample, through gaps and restarts.

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        with self.opened() as reader:
            return tuple(self._timed(reader))

    def results(self) -> tuple[ResultStream | None, NDArray[np.int64], NDArray[np.int64], Samples]:
        """Return the recorded results: their stream, epoch and index, (m,), and values, (m, n_columns).

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        with self.opened() as reader:
            epoch, index, _, values = reader.results()
            return reader.result_stream, epoch, index, values

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has.

        Raises
        ------
        ValueError : the start is before the first sample.
        RecordingError : the file has become unreadable.
        """
        number = sample_number(start, self.stream.sample_rate)
        with self.opened() as reader:
            row = self._row_of(reader, number)
            if row == self.n_samples:
                return self.duration
            return self._number_of(reader, row) / self.stream.sample_rate

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give the run's signals, from `start` seconds after its first sample; gaps and restarts included.

        Raises
        ------
        ValueError : the length is below 1 or the start before the first sample.
        RecordingError : the file has become unreadable.
        """
        return self.coarse_blocks(block_length, start, 0.0)

    def coarse_blocks(self, block_length: int, start: float, jitter: float) -> Iterator[SignalBlock]:
        """Give the same in longer blocks, whose times may be off by `jitter` s."""
        number = sample_number(start, self.stream.sample_rate)
        with self.opened() as reader:
            yield from reader.signal_blocks(block_length, self._row_of(reader, number), jitter)

    @contextmanager
    def opened(self) -> Iterator[RunReader]:
        """Open the file once more, with what was found about its integrity.

        Raises
        ------
        RecordingError : the file has become unreadable.
        """
        from monitor.recording import RunFileError, RunReader

        try:
            with RunReader(self._path, self._damage) as reader:
                reader.stream = self.stream
                yield reader
        except RunFileError as problem:
            raise RecordingError(str(problem)) from problem

    def _timed(self, reader: RunReader) -> Iterator[tuple[Event, float]]:
        rate, epochs = self.stream.sample_rate, self.epochs
        # an event knows the index of its publisher: the starts whose first sample has that index and time, in order
        starts: dict[tuple[int, float], list[int]] = {}
        for number, epoch in enumerate(epochs):
            starts.setdefault((epoch.index, epoch.time), []).append(number)
        number = 0
        for event in reader.events():
            if event.kind is EventKind.RESTART:
                equal = starts.get((event.index, event.time), [])
                at = bisect_right(equal, number)
                number = equal[at] if at < len(equal) else number
            at = epochs[number].passed + event.index - epochs[number].index if epochs else 0
            yield event, min(max(at / rate, 0.0), self.duration)

    def _seconds(self, reader: RunReader, row: int) -> float:
        return self._number_of(reader, row) / self.stream.sample_rate

    def _number_of(self, reader: RunReader, row: int) -> int:
        epoch = self.epochs[bisect_right(self.epochs, row, key=lambda epoch: epoch.row) - 1]
        return epoch.passed + reader.index_of(row) - epoch.index

    def _row_of(self, reader: RunReader, number: int) -> int:
        """Return the row of the first sample at or after `number`; numbers rise from row to row."""
        if number == 0 or not self.epochs:
            return 0
        epoch = self.epochs[bisect_right(self.epochs, number, key=lambda epoch: epoch.passed) - 1]
        most = min(epoch.row + number - epoch.passed, self.n_samples)
        # as a rule nothing is missing, and the sample is where it would be then
        if most < self.n_samples and self._number_of(reader, most) == number:
            return most
        rows = range(epoch.row, most)
        return epoch.row + bisect_left(rows, number, key=lambda row: self._number_of(reader, row))


def epoch_starts(numbering: Iterable[tuple[int, Numbering]]) -> tuple[tuple[Epoch, ...], int]:
    """Return the starts of the publisher, and the number of the sample that would follow the last."""
    found: list[Epoch] = []
    passed, first, before = 0, 0, (-1, -1)
    for row, rows in numbering:
        epoch, index = (
            np.concatenate(([last], own)) for last, own in zip(before, (rows.epoch, rows.index), strict=True)
        )
        starts = np.flatnonzero((np.diff(epoch) != 0) | (index[1:] <= index[:-1]))
        for at in starts.tolist():
            if found:
                passed += int(index[at]) + 1 - first
            first = int(rows.index[at])
            found.append(Epoch(row + at, passed, int(rows.epoch[at]), first, float(rows.time[at])))
        before = int(epoch[-1]), int(index[-1])
    return tuple(found), passed + before[1] + 1 - first if found else 0


def with_rate_of_times(reader: RunReader) -> Stream:
    """Return the stream of a run, with the rate that its times have where they contradict that of the file.

    A service that finds it out begins another file: this one has the samples until then.
    """
    stream = reader.stream
    check, step, epoch = RateCheck(stream.sample_rate), max(1, int(stream.sample_rate / POINTS_PER_SECOND)), -1
    for _, rows in reader.numbering():
        for at in range(0, len(rows.index), step):
            if (number := int(rows.epoch[at])) != epoch:
                epoch, check = number, RateCheck(stream.sample_rate, _LEAST_POINTS)
            rate = check.add(int(rows.index[at]), float(rows.time[at]))
            if rate is not None:
                return replace(stream, sample_rate=rate)
    return stream


def _written(timed: Iterable[tuple[Event, float]]) -> list[str]:
    """Return the notes and alarms of a run, a line each; of very many notes the newest."""
    events = list(timed)
    notes = [
        f"{_TOLD[e.kind]} at {_instant(e, seconds)}: {e.detail}"
        for e, seconds in events
        if e.kind in _TOLD and e.detail
    ]
    left = len(notes) - _MOST_NOTES
    lines = [f"{left} older notes are in the file", *notes[-_MOST_NOTES:]] if left > 0 else notes
    return [*lines, *alarm_steps(events)]


def is_run_file(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the first bytes are those of HDF5."""
    return head.startswith(HDF5_SIGNATURE)


def open_run_file(path: Path, selection: Selection) -> RunRecording:
    """Open a run file, whose channels have their roles already.

    Raises
    ------
    RecordingError : it is not a run file, or columns are named for it; one line.
    """
    recording = RunRecording(path)
    if selection != Selection():
        raise RecordingError(f"{path}: a run file knows its channels and its rate: leave out --command and the like")
    return recording


def inspect_coarsely(path: Path, selection: Selection) -> Inspection | None:
    """Return what some rows all over a long run show, of one start of its publisher with an even clock."""
    from monitor.recording import RunFileError, RunReader

    if path.stat().st_size < LONG or selection != Selection():
        return None
    try:
        with RunReader(path) as reader:
            stream, length = reader.stream, min(_ROWS, max(1, reader.n_samples // _PARTS))
            epoch, index, time, samples = reader.some_rows([0, *scattered(length, reader.n_samples, length)], length)
    except RunFileError:
        return None
    numbers, passed = index - index[0], (time - time[0]) * stream.sample_rate
    even = np.abs(passed - numbers).max() < stream.sample_rate
    if epoch.min() != epoch.max() or np.any(np.diff(numbers) < 1) or not even:
        return None
    recording = ArrayRecording(stream, samples, float(time[0]), (), numbers)
    return Inspection((), reader.n_samples, None, recording, coarse=True)


FORMAT = Format("run file", ("*.h5", "*.hdf5"), is_run_file, open_run_file, coarse=inspect_coarsely)


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The times at which an alarm was not judged.

    Parameters
    ----------
    spans : begin and end of each, s in the run; none is empty.
    reasons : what was said, each once.
    """

    spans: tuple[tuple[float, float], ...]
    reasons: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Their total."""
        return covered(self.spans)


def unjudged_times(events: Iterable[tuple[Event, float]], first: float, last: float) -> dict[str, Unjudged]:
    """Return the times at which alarms were not judged, by the name of the alarm; others are not among them.

    Parameters
    ----------
    events : of the run, each with its time, s.
    first, last : of the run or of a part of it, s.
    """
    since: dict[str, tuple[float, str]] = {}
    found: dict[str, list[tuple[float, float, str]]] = {}

    def finish(name: str, until: float) -> None:
        begin, reason = since.pop(name, (until, ""))
        begin, until = max(begin, first), min(until, last)
        if until > begin:
            found.setdefault(name, []).append((begin, until, reason))

    for event, seconds in events:
        step = event.alarm
        if step is not None and step.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
            finish(step.name, seconds)
            if step.action is AlarmAction.LOSE_VALUE:
                since[step.name] = seconds, step.not_judged
    for name in tuple(since):
        finish(name, last)
    return {
        name: Unjudged(
            tuple((begin, until) for begin, until, _ in spans), tuple(dict.fromkeys(reason for _, _, reason in spans))
        )
        for name, spans in found.items()
    }


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length that intervals cover together."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total

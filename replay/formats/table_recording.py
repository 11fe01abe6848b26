"""A table -> a recording: its times, its missing samples, and numbers that loggers write where there is no value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.messages.blocks import Channel, Samples, Stream
from monitor.system.safe_text import printable
from monitor.wire.native import MAX_RATE, MIN_RATE
from replay.formats.base import Recording, RecordingError, Selection
from replay.formats.clock import SampleTiming, resample
from replay.formats.columns import TableColumn
from replay.formats.recordings import ArrayRecording, PiecewiseRecording
from replay.formats.signal_table import Changes, SignalTable, at_rows
from replay.formats.times import sample_times, sample_timing
from replay.formats.units import unit_factor

_KNOWN = (-9999.0, -99999.0, -999999.0, -999.0, -9999.25, -999.25, 9999.0, 99999.0, 999999.0, -32768.0, 32767.0)
_NO_MEASUREMENT = 1e30  # 9.9E+37 of Keysight and Keithley, 1e30 and the largest floats of others
_FEWEST = 16
_FAR = 10.0  # times the range of all other values
_PIECE, _PIECES = 1 << 16, 32  # rows of a part, and the parts that are looked at of a table that is not in memory


@dataclass(frozen=True)
class Sentinels:
    """The numbers without a meaning of each column, by its place."""

    of: tuple[tuple[int, tuple[float, ...]], ...]

    def removed(self, values: Samples) -> Samples:
        """Return samples, (n, n_columns), with NaN in their places."""
        if not self.of or not len(values):
            return values
        values = values.copy()
        for place, numbers in self.of:
            column = values[:, place]
            column[np.isin(column, numbers) | (np.abs(column) >= _NO_MEASUREMENT)] = np.nan
        return values


def find_sentinels(table: SignalTable, columns: Sequence[TableColumn]) -> tuple[Sentinels, tuple[str, ...]]:
    """Return the numbers without a meaning in columns of a large table, by parts of it all over, and notes.

    What would be far beyond all others of these parts is one in the rest too.
    """
    starts = range(0, table.n_rows, _PIECE)
    some = starts[:: max(1, len(starts) // _PIECES)]
    known = _known(columns, (table.read(k, min(k + _PIECE, table.n_rows), columns) for k in some))
    notes = [note for column, each in zip(columns, known, strict=True) for note in each.notes(column)]
    numbers = ((place, tuple(filter(each.is_sentinel, _KNOWN))) for place, each in enumerate(known))
    return Sentinels(tuple(numbers)), tuple(notes)


def without_sentinels(values: Samples, columns: Sequence[TableColumn]) -> tuple[Samples, tuple[str, ...]]:
    """Return samples, (n, n_columns), with NaN in the place of numbers without a meaning, and notes on these."""
    pieces = (values[k : k + _PIECE] for k in range(0, len(values), _PIECE))
    known = _known(columns, pieces)
    notes = [note for column, each in zip(columns, known, strict=True) for note in each.notes(column)]
    numbers = ((place, tuple(each.sentinels())) for place, each in enumerate(known))
    return Sentinels(tuple(each for each in numbers if each[1])).removed(values), tuple(notes)


@dataclass
class _Column:
    """What is known of a column so far: its ends, and numbers that are missing or may have no meaning."""

    least: float = np.inf
    most: float = -np.inf
    others: int = 0
    missing: int = 0
    total: int = 0
    doubtful: dict[float, int] = field(default_factory=dict)

    def add(self, values: Samples, low: float, high: float) -> None:
        """Add a piece, whose ends are known."""
        missing = int(np.count_nonzero(np.isnan(values)))
        self.missing += missing
        self.total += len(values)
        if low in _KNOWN or high in _KNOWN or max(high, -low) >= _NO_MEASUREMENT:
            doubtful = np.isin(values, _KNOWN) | (np.abs(values) >= _NO_MEASUREMENT)
            for value, count in zip(*np.unique(values[doubtful], return_counts=True), strict=True):
                self.doubtful[float(value)] = self.doubtful.get(float(value), 0) + int(count)
            rest = values[~doubtful & ~np.isnan(values)]
            low, high = (float(np.min(rest)), float(np.max(rest))) if len(rest) else (np.inf, -np.inf)
            self.others += len(rest)
        else:
            self.others += len(values) - missing
        self.least, self.most = np.fmin(self.least, low), np.fmax(self.most, high)

    def is_sentinel(self, value: float) -> bool:
        """Whether a number has no meaning: too large for any measurement, or a known one far beyond all others."""
        # of a column at rest, or of few values, nothing is known
        if abs(value) >= _NO_MEASUREMENT or not (self.most > self.least and self.others >= _FEWEST):
            return abs(value) >= _NO_MEASUREMENT
        far = _FAR * (self.most - self.least)
        return value > self.most + far or value < self.least - far

    def sentinels(self) -> dict[float, int]:
        """Return the numbers without a meaning, and how often each is there."""
        return {value: count for value, count in self.doubtful.items() if self.is_sentinel(value)}

    def notes(self, column: TableColumn) -> list[str]:
        """Return what is to be said of the column."""
        notes = []
        if numbers := self.sentinels():
            said = ", ".join(f"{value:.6g} ({count} times)" for value, count in numbers.items())
            notes.append(f"{column.name}: {said} is no value, taken as missing")
        if self.missing:
            notes.append(f"{column.name}: {self.missing} of {self.total} values are missing")
        return notes


def _known(columns: Sequence[TableColumn], pieces: Iterable[Samples]) -> list[_Column]:
    known = [_Column() for _ in columns]
    for piece in pieces:
        # five times as fast as along the rows of a narrow array
        by_column = np.ascontiguousarray(piece.T)
        low, high = np.fmin.reduce(by_column, axis=1), np.fmax.reduce(by_column, axis=1)
        for place, each in enumerate(known):
            each.add(by_column[place], float(low[place]), float(high[place]))
    return known


_IN_MEMORY = 1 << 27  # bytes; larger tables are read piece by piece, which spares a copy of one that is in memory


def make_recording(
    table: SignalTable,
    signals: Sequence[TableColumn],
    channels: tuple[Channel, ...],
    time: TableColumn | None,
    selection: Selection,
    notes: tuple[str, ...],
) -> ArrayRecording | PiecewiseRecording:
    """Return the recording of some columns of a table, in memory or, if it is large, read piece by piece.

    Raises
    ------
    RecordingError : the times are not clear.
    """
    rig, notes, times = "".join(filter(str.isprintable, table.path.stem))[:120], (*table.notes, *notes), None
    if selection.resample is not None:
        times, said = sample_times(table, time, selection)
        values, missing = without_sentinels(table.values(signals), signals)
        samples, timing = resample(times, values, selection.resample, table.place)
        notes = (*notes, *said, *missing)
    else:
        timing, samples = sample_timing(table, time, selection), None
    if not MIN_RATE <= timing.sample_rate <= MAX_RATE:
        given = f"{timing.sample_rate:g} Hz by the file is no rate of a test"
        raise RecordingError(f"{given}, which is {MIN_RATE:g} to {MAX_RATE:g} Hz: give --rate HZ")
    last = table.n_rows - 1 if samples is None else len(samples) - 1
    last = last if timing.index is None else int(timing.index[-1])
    states = _numbered(table, timing, times, last) if table.states else ()
    stream, notes = Stream(rig, 0, timing.sample_rate, channels), tuple(map(printable, (*notes, *timing.notes)))
    scale = np.array([table.factors.get(column.position, 1.0) for column in signals])
    outcome = "truncated" if table.cut else ""
    if samples is None and 8 * table.n_rows * len(signals) > _IN_MEMORY:
        sentinels, said = find_sentinels(table, signals)

        def read(begin: int, end: int) -> Samples:
            return np.asarray(sentinels.removed(table.read(begin, end, signals)) * scale)

        return PiecewiseRecording(
            stream, read, table.n_rows, timing.start, (*notes, *said), timing.index, outcome, states
        )
    said = ()
    if samples is None:
        samples, said = without_sentinels(table.values(signals), signals)
    samples = samples * scale if table.factors else samples
    return ArrayRecording(stream, samples, timing.start, (*notes, *said), timing.index, outcome, states)


def _numbered(table: SignalTable, timing: SampleTiming, times: Samples | None, last: int) -> Changes:
    """Return the changes of columns of text by the numbers of samples; `times` of the rows, where resampled."""
    rows = np.array([change.row for change in table.states])
    if times is not None:
        rows = np.ceil((times[rows] - timing.start) * timing.sample_rate - 1e-6)
    elif timing.index is not None:
        rows = timing.index[rows]
    return at_rows(table.states, np.clip(rows, 0, last))


def in_units_of(recording: Recording, reference: Stream) -> Recording:
    """Return a recording of a table with the signals of its actuators in the units of those of a reference, noted.

    Actuators belong together by their names, else in order. What cannot be converted, or is of a run file, stays.
    """
    if not isinstance(recording, ArrayRecording | PiecewiseRecording):
        return recording
    channels, notes = list(recording.stream.channels), []
    scale = np.ones(len(channels))
    by_name = {pair.actuator: pair for pair in reference.pairs}
    for pair, in_order in zip(recording.stream.pairs, reference.pairs, strict=False):
        other = by_name.get(pair.actuator, in_order)
        for own, theirs in ((pair.command, other.command), (pair.measured, other.measured)):
            channel, unit = channels[own], reference.channels[theirs].unit
            factor = unit_factor(channel.unit, unit) if channel.unit and unit and channel.unit != unit else None
            if factor is not None:
                scale[own], channels[own] = factor, replace(channel, unit=unit)
                notes.append(f"{channel.name} is converted from {channel.unit} to {unit}, as the reference is")
    if not notes:
        return recording
    stream, said = replace(recording.stream, channels=tuple(channels)), (*recording.notes, *notes)
    if isinstance(recording, ArrayRecording):
        return replace(recording, stream=stream, samples=recording.samples * scale, notes=said)
    read = recording.read
    return replace(recording, stream=stream, read=lambda begin, end: np.asarray(read(begin, end) * scale), notes=said)

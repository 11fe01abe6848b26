"""A table and the roles of its columns -> the recording, in memory or read piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Channel, Samples, Stream
from monitor.system.safe_text import printable
from monitor.wire.native import MAX_RATE, MIN_RATE
from replay.formats.base import Recording, RecordingError, Selection
from replay.formats.clock import SampleTiming
from replay.formats.columns import TableColumn
from replay.formats.recordings import ArrayRecording, PiecewiseRecording
from replay.formats.resampling import resample
from replay.formats.sentinels import find_sentinels, without_sentinels
from replay.formats.signal_table import SignalTable
from replay.formats.states import Changes, at_rows
from replay.formats.times import sample_times, sample_timing
from replay.formats.units import unit_factor

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
    rig, notes, times = _rig(table.path.stem), (*table.notes, *notes), None
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


def _rig(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:120]

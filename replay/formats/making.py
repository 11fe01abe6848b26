"""A table and the roles of its columns -> the recording, in memory or read piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.messages.blocks import Channel, Samples, Stream
from monitor.system.safe_text import printable
from monitor.wire.native import MAX_RATE, MIN_RATE
from replay.formats.base import RecordingError, Selection
from replay.formats.columns import TableColumn
from replay.formats.recordings import ArrayRecording, PiecewiseRecording
from replay.formats.resampling import resample
from replay.formats.sentinels import find_sentinels, without_sentinels
from replay.formats.signal_table import SignalTable
from replay.formats.times import sample_times, sample_timing

_IN_MEMORY = 1 << 28  # bytes; larger tables are read piece by piece


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
    rig, notes = _rig(table.path.stem), (*table.notes, *notes)
    if selection.resample is not None:
        times, said = sample_times(table, time, selection)
        notes = (*notes, *said)
        samples, timing = resample(times, table.values(signals), selection.resample, table.place)
    else:
        timing, samples = sample_timing(table, time, selection), None
    if not MIN_RATE <= timing.sample_rate <= MAX_RATE:
        given = f"{timing.sample_rate:g} Hz by the file is no rate of a test"
        raise RecordingError(f"{given}, which is {MIN_RATE:g} to {MAX_RATE:g} Hz: give --rate HZ")
    stream, notes = Stream(rig, 0, timing.sample_rate, channels), tuple(map(printable, (*notes, *timing.notes)))
    outcome = "truncated" if table.cut else ""
    if samples is None and 8 * table.n_rows * len(signals) > _IN_MEMORY:
        sentinels, said = find_sentinels(table, signals)
        notes = (*notes, *said)

        def read(begin: int, end: int) -> Samples:
            return sentinels.removed(table.read(begin, end, signals))

        return PiecewiseRecording(stream, read, table.n_rows, timing.start, notes, timing.index, outcome)
    values = table.values(signals) if samples is None else samples
    values, said = without_sentinels(values, signals)
    return ArrayRecording(stream, values, timing.start, (*notes, *said), timing.index, outcome)


def _rig(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:120]

"""Columns that were sampled together, from a file of any format, and the recording that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Samples, Stream
from monitor.system.safe_text import printable
from monitor.wire.native import MAX_RATE, MIN_RATE
from replay.formats.base import RecordingError, Selection
from replay.formats.clock import (
    SampleTiming,
    check_times,
    is_increasing,
    is_step_index,
    read_timing,
    through_daylight_saving,
)
from replay.formats.columns import SECONDS, TableColumn, find_column
from replay.formats.memory import check_memory
from replay.formats.recordings import ArrayRecording, PiecewiseRecording
from replay.formats.resampling import resample
from replay.formats.roles import PairColumns

_IN_MEMORY = 1 << 28  # bytes; larger tables are read piece by piece
_SLOW = 2.0  # Hz, of a test: times without a unit may then be in ms
UNUSUAL_RATE = "Hz is unusual"
"""In the note on times whose unit is doubtful."""
_SAME_RATE = 0.01  # of a rate that is given: that of the file is no other one


def row_place(row: int) -> str:
    """Return where a row is in a file without lines: ``row 12``, counted from 1."""
    return f"row {row + 1}"


@dataclass(frozen=True, eq=False)
class SignalTable:
    """Columns of equal length that share their times.

    Parameters
    ----------
    path : of the file.
    columns : their positions are unique in the file, not only in the table.
    n_rows : of each.
    read : first row, end row, columns -> (n, n_columns), float64, NaN where a value is missing.
    name : of the dataset, group, topic or stream; empty where the file is one table.
    notes : what was left out or taken for granted.
    named : whether the columns' names are the file's.
    days : positions of columns of dates and times, in s since the beginning of a day, in days since 1970.
    in_utc : those of them that are not local time: with a zone, or by the format.
    times : (n_rows,) s, where the format has times beside its columns.
    rate, start : Hz, and s of the first sample, where the file gives them in place of times.
    pairs : the actuators, where the file gives the roles.
    place : row -> where it is in the file, for messages.
    clock : the column of times, where it is known not by its name alone.
    ordered : whether the columns are in the order in which they were written.
    cut : whether the file ends before it was finished.
    """

    path: Path
    columns: tuple[TableColumn, ...]
    n_rows: int
    read: Callable[[int, int, Sequence[TableColumn]], Samples]
    name: str = ""
    notes: tuple[str, ...] = ()
    named: bool = True
    days: Mapping[int, int] = field(default_factory=dict)
    in_utc: frozenset[int] = frozenset()
    times: Samples | None = None
    rate: float | None = None
    start: float = 0.0
    pairs: tuple[PairColumns, ...] = ()
    place: Callable[[int], str] = row_place
    clock: TableColumn | None = None
    ordered: bool = True
    cut: bool = False

    def values(self, columns: Sequence[TableColumn]) -> Samples:
        """Return whole columns, (n_rows, n).

        Raises
        ------
        RecordingError : they do not fit into memory, or are damaged.
        """
        check_memory(self.path, 8.0 * self.n_rows * len(columns), f"{self.n_rows} rows are read at once")
        return self.read(0, self.n_rows, columns)

    def column(self, column: TableColumn) -> Samples:
        """Return one whole column, (n_rows,)."""
        return self.values((column,))[:, 0]


def array_reader(
    values: Samples, positions: Mapping[int, int] | None = None
) -> Callable[[int, int, Sequence[TableColumn]], Samples]:
    """Return the `read` of a table in memory; `positions`: position of a column -> its place in the array."""

    def read(begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        at = [c.position if positions is None else positions[c.position] for c in columns]
        return values[begin:end, at]

    return read


def pairs_given(columns: Sequence[TableColumn], given: Mapping[int, tuple[str, str]]) -> tuple[PairColumns, ...]:
    """Return the actuators whose command and measured signal a file gives; none where they contradict each other.

    Parameters
    ----------
    columns : of a table.
    given : position of a column -> its role, and the name of its actuator.
    """
    by_actuator: dict[str, dict[str, TableColumn]] = {}
    for column in columns:
        role, actuator = given.get(column.position, ("", ""))
        if role in ("command", "measured", "force"):
            if role in by_actuator.setdefault(actuator, {}):
                return ()
            by_actuator[actuator][role] = column
    whole = {name: found for name, found in by_actuator.items() if {"command", "measured"} <= set(found)}
    return tuple(
        PairColumns(name or "actuator", found["command"], found["measured"], found.get("force"))
        for name, found in whole.items()
    )


def choose_time(table: SignalTable, selection: Selection) -> TableColumn | None:
    """Return the column of times: the user's, one with such a name, with dates, or an increasing first one."""
    if selection.time is not None:
        return find_column(table.columns, selection.time)
    if table.clock is not None:
        return table.clock
    named = [column for column in table.columns if column.is_time]
    if named or table.times is not None:
        return named[0] if named and table.times is None else None
    dated = [column for column in table.columns if column.position in table.days]
    if dated:
        return dated[0]
    first = table.columns[0]
    return first if not table.named and is_increasing(table.column(first)) else None


def sample_timing(table: SignalTable, time: TableColumn | None, selection: Selection) -> SampleTiming:
    """Return sample rate and sample numbers: from the rate that the user gives, the times, or the file's own rate.

    Raises
    ------
    RecordingError : there is none of these, or the times are uneven.
    """
    if selection.rate is not None:
        return SampleTiming(selection.rate, notes=(_given_rate_note(table, selection.rate),))
    if time is None and table.times is not None:
        return _own_timing(table)
    if time is None and table.rate is not None:
        notes = (f"no times: evenly spaced at {table.rate:.10g} Hz, as the file gives it",)
        return SampleTiming(table.rate, table.start, notes=notes)
    times, unit, dated, hour = _written_times(table, time)
    assert time is not None
    if not unit and not dated and is_step_index(times):
        raise RecordingError(f"column {time.name!r} counts steps and is not a time: give --rate HZ")
    since_1970 = "" if unit or dated else _unit_since_1970(times)
    timing = read_timing(times, SECONDS.get(unit or since_1970, 1.0), table.place)
    if since_1970:
        return replace(
            timing, notes=(f"the times of {time.name} are taken as {since_1970} since 1970", *timing.notes)
        )
    if dated:
        day = np.datetime64(table.days[time.position], "D")
        return replace(timing, notes=(f"the times of {time.name} count from {day}, 00:00 UTC", *hour, *timing.notes))
    by_values = not table.named or (time is table.clock and not time.is_time)
    if by_values and selection.time is None:
        return replace(timing, notes=(f"{time.name} is the time in s", *timing.notes))
    if not unit and timing.sample_rate <= _SLOW:
        rate = 1000.0 * timing.sample_rate
        said = (
            f"{time.name} has no unit and is taken as s: {timing.sample_rate:g} {UNUSUAL_RATE}; for ms give "
            f"--rate {rate:g} or name the column {time.name} [ms]"
        )
        return replace(timing, notes=(said, *timing.notes))
    if SECONDS.get(unit, 1.0) != 1.0:
        return replace(timing, notes=(f"the times of {time.name} are in {unit}, converted to s", *timing.notes))
    return timing


def _given_rate_note(table: SignalTable, rate: float) -> str:
    """Return the note on a rate that the user gives, with that of the file's times where it is another."""
    note = f"evenly spaced at {rate:g} Hz, as given"
    time = next((column for column in table.columns if column.is_time), None)
    try:
        if table.times is not None:
            own = read_timing(table.times, 1.0, table.place)
        elif time is not None:
            times, unit, dated, _ = _written_times(table, time)
            if not unit and not dated and (is_step_index(times) or _unit_since_1970(times)):
                return note
            own = read_timing(times, SECONDS.get(unit, 1.0), table.place)
        else:
            return note
    except RecordingError:
        # unreadable times are what a rate is given for
        return note
    if abs(own.sample_rate - rate) <= _SAME_RATE * rate:
        return note
    return f"{note}; the times in the file are those of {own.sample_rate:g} Hz"


def _unit_since_1970(times: Samples) -> str:
    """Return the unit of times that are too large for any other beginning: ms, us or ns; else nothing."""
    size = float(np.median(np.abs(times)))
    # 2001 and later, until 2286
    return next(
        (unit for unit, least in (("ms", 1e12), ("us", 1e15), ("ns", 1e18)) if least <= size < 10.0 * least), ""
    )


def _own_timing(table: SignalTable) -> SampleTiming:
    """Return the timing by the times of the format; where these are uneven, by a column of times that is not."""
    assert table.times is not None
    try:
        return read_timing(table.times, 1.0, table.place)
    except RecordingError:
        time = next((column for column in table.columns if column.is_time), None)
        if time is None:
            raise
        unit = time.unit.strip().lower()
        timing = read_timing(table.column(time), SECONDS.get(unit, 1.0), table.place)
        return replace(
            timing, notes=(f"the times are those in {time.name}, the file's own are uneven", *timing.notes)
        )


def _written_times(table: SignalTable, time: TableColumn | None) -> tuple[Samples, str, bool, tuple[str, ...]]:
    """Return the times as written, their unit, whether they are dates, and a note on an hour added to them."""
    if time is None:
        raise RecordingError("no column of times: name it with --time NAME or give --rate HZ")
    dated = time.position in table.days
    unit = "" if dated else time.unit.strip().lower()
    if unit and unit not in SECONDS:
        raise RecordingError(
            f"the times of {time.name!r} are in {time.unit!r}, which is not a time unit: give --rate HZ"
        )
    if dated:
        times, notes = dated_times(table, time)
        return times, "", True, notes
    times = table.column(time)
    check_times(times, table.place)
    return times, unit, dated, ()


def dated_times(table: SignalTable, time: TableColumn) -> tuple[Samples, tuple[str, ...]]:
    """Return a column of dates, s; where local time goes back at the end of daylight saving time, through it, noted.

    Raises
    ------
    RecordingError : one is missing.
    """
    times = table.column(time)
    check_times(times, table.place)
    # an hour back in UTC is a fault of the clock
    row = None
    if time.position not in table.in_utc:
        times, row = through_daylight_saving(times)
    if row is None:
        return times, ()
    place = table.place(row)
    return times, (f"the times go back by an hour at {place}, as local time in autumn: an hour is added from there",)


def sample_times(table: SignalTable, time: TableColumn | None, selection: Selection) -> Samples:
    """Return the time of each row in s, as the file gives it, for a table that is resampled.

    Raises
    ------
    RecordingError : it has no times, or one is missing.
    """
    if selection.rate is not None or (time is None and table.times is None and table.rate is not None):
        rate = selection.rate or table.rate or 1.0
        return np.asarray((0.0 if selection.rate else table.start) + np.arange(table.n_rows) / rate)
    if time is None and table.times is not None:
        check_times(table.times, table.place)
        return table.times
    times, unit, dated, _ = _written_times(table, time)
    unit = unit or ("" if dated else _unit_since_1970(times))
    return np.asarray(times * SECONDS.get(unit, 1.0))


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
        times = sample_times(table, time, selection)
        samples, timing = resample(times, table.values(signals), selection.resample, table.place)
    else:
        timing, samples = sample_timing(table, time, selection), None
    if not MIN_RATE <= timing.sample_rate <= MAX_RATE:
        given = f"{timing.sample_rate:g} Hz by the file is no rate of a test"
        raise RecordingError(f"{given}, which is {MIN_RATE:g} to {MAX_RATE:g} Hz: give --rate HZ")
    stream, notes = Stream(rig, 0, timing.sample_rate, channels), tuple(map(printable, (*notes, *timing.notes)))
    if samples is None and 8 * table.n_rows * len(signals) > _IN_MEMORY:

        def read(begin: int, end: int) -> Samples:
            return table.read(begin, end, signals)

        return PiecewiseRecording(stream, read, table.n_rows, timing.start, notes, timing.index)
    values = table.values(signals) if samples is None else samples
    return ArrayRecording(stream, values, timing.start, notes, timing.index)


def _rig(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:120]

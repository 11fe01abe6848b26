"""When the rows of a table were sampled: the user's rate, the file's own times or rate, or a column of times."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import UNKNOWN_GAP, RecordingError, Selection
from replay.formats.clock import (
    SampleTiming,
    check_times,
    is_increasing,
    is_step_index,
    over_midnight,
    read_timing,
    through_daylight_saving,
    through_overflow,
)
from replay.formats.columns import SECONDS, TableColumn, find_column
from replay.formats.signal_table import SignalTable

_SINCE_1970 = (("ms", 1e12), ("us", 1e15), ("ns", 1e18))  # the least of each: 2001, until 2286
_SERIAL_DAYS = (20_000.0, 80_000.0, "days since 1900, as of Excel")  # 1954 to 2119
_DATENUM = (700_000.0, 800_000.0, "days of MATLAB's datenum")  # 1916 to 2190
_HERTZ_IN_DAYS = 80_000.0  # as s: 1 Hz in days
_TICKS = (("ns", 5e4, 1e9), ("us", 1e3, 5e4))  # whole steps: of ns up to 20 kHz, of us from 20 Hz


@dataclass(frozen=True)
class TimeUnit:
    """A unit, empty for s, and what is said of it where the file does not."""

    unit: str = ""
    note: str = ""


def unit_of_times(times: Samples) -> TimeUnit:
    """Return the unit of times, (n,), as they are written.

    Since 1970 in ms or less they are too large for any other beginning; in days since 1900, or of MATLAB, they would
    be a rate in s that no test has; ticks of ns or us are whole numbers with long steps.
    """
    size = float(np.median(np.abs(times)))
    for unit, least in _SINCE_1970:
        if least <= size < 10.0 * least:
            return TimeUnit(unit, f"{unit} since 1970")
    step = float(np.median(np.abs(np.diff(times)))) if len(times) > 1 else 0.0
    for least, most, name in (_SERIAL_DAYS, _DATENUM):
        if least < size < most and 0.0 < step * _HERTZ_IN_DAYS < 1.0:
            return TimeUnit("days", f"{name}: {step * 86400.0:.6g} s a step; --rate HZ takes them as evenly spaced")
    if step >= _TICKS[-1][1] and np.array_equal(times, np.round(times)):
        for unit, least, most in _TICKS:
            if least <= step < most:
                return TimeUnit(unit, f"{unit}, by steps of {step:.6g}; --rate HZ takes them as evenly spaced")
    return TimeUnit()


_IMPLAUSIBLE = 1e6  # Hz, of times without a unit
_SLOW = 2.0  # Hz, of a test: times without a unit may then be in ms
UNUSUAL_RATE = "Hz is unusual"
"""In the note on times whose unit is doubtful."""
_MOST_RISING = 24  # columns that are looked at for times, where none has the name of one
_SAME_RATE = 0.01  # of a rate that is given: that of the file is no other one


@dataclass(frozen=True, eq=False)
class WrittenTimes:
    """A column of times.

    Parameters
    ----------
    times : (n_rows,), as written.
    scale : s in their unit.
    unit : as the file gives it; empty for none.
    notes : what was found out of them, or done to them.
    """

    times: Samples
    scale: float = 1.0
    unit: str = ""
    notes: tuple[str, ...] = ()


def choose_time(table: SignalTable, selection: Selection) -> TableColumn | None:
    """Return the column of times: the user's, one with such a name, with dates, or an increasing first one."""
    if selection.time is not None:
        return find_column(table.columns, selection.time)
    if table.clock is not None:
        return table.clock
    named = [column for column in table.columns if column.is_time]
    if named or table.times is not None:
        return named[0] if named and table.times is None else None
    dated = [c for c in table.columns if c.position in table.days or c.position in table.times_of_day]
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
        note = f"no times: evenly spaced at {table.rate:.10g} Hz, as the file gives it"
        doubt = f"; {table.rate:.6g} {UNUSUAL_RATE}: if it is not that of the test, give --rate HZ"
        return SampleTiming(table.rate, table.start, notes=(note + doubt * (table.rate <= _SLOW),))
    timing, notes = _written_timing(table, time, by_user=selection.time is not None)
    if table.rate is not None and abs(table.rate - timing.sample_rate) > _SAME_RATE * timing.sample_rate:
        rates = f"a rate of {table.rate:.6g} Hz, its times one of {timing.sample_rate:.6g} Hz"
        notes = (*notes, f"the file gives {rates}: the times are used")
    return replace(timing, notes=(*notes, *timing.notes))


def _written_timing(
    table: SignalTable, time: TableColumn | None, *, by_user: bool
) -> tuple[SampleTiming, tuple[str, ...]]:
    """Return the timing by a column of times, and the notes on what was taken for granted."""
    written = written_times(table, time)
    assert time is not None
    if not written.unit and not written.notes and is_step_index(written.times):
        raise RecordingError(f"column {time.name!r} counts steps and is not a time: give --rate HZ")
    timing = read_timing(written.times, written.scale, table.place)
    if written.unit and written.notes:
        return timing, written.notes
    if not written.unit and timing.sample_rate > _IMPLAUSIBLE:
        raise RecordingError(
            f"the times of {time.name} have no unit; as s they are {timing.sample_rate:.6g} Hz, which no test has: "
            f"name the column {time.name} [days], [h] or another unit, or give --rate HZ"
        )
    if (not table.named or (time is table.clock and not time.is_time)) and not by_user:
        return timing, (*written.notes, f"{time.name} is the time in s")
    if not written.unit and timing.sample_rate <= _SLOW:
        rate = 1000.0 * timing.sample_rate
        said = (
            f"{time.name} has no unit and is taken as s: {timing.sample_rate:g} {UNUSUAL_RATE}; for ms give "
            f"--rate {rate:g} or name the column {time.name} [ms]"
        )
        return timing, (*written.notes, said)
    if written.scale != 1.0:
        return timing, (f"the times of {time.name} are in {written.unit}, converted to s",)
    return timing, written.notes


def _given_rate_note(table: SignalTable, rate: float) -> str:
    """Return the note on a rate that the user gives, with that of the file's times where it is another."""
    note = f"evenly spaced at {rate:g} Hz, as given"
    time = next((column for column in table.columns if column.is_time), None)
    try:
        if table.times is not None:
            own = read_timing(table.times, 1.0, table.place)
        elif time is not None:
            written = written_times(table, time)
            if not written.unit and not written.notes and is_step_index(written.times):
                return note
            own = read_timing(written.times, written.scale, table.place)
        else:
            return note
    except RecordingError as problem:
        # unreadable times are what a rate is given for
        return f"{note}; the times in the file are ignored: {str(problem).partition('; ')[0]}"
    if abs(own.sample_rate - rate) <= _SAME_RATE * rate:
        return note
    return f"{note}; the times in the file are those of {own.sample_rate:g} Hz"


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


def written_times(table: SignalTable, time: TableColumn | None) -> WrittenTimes:
    """Return a column of times.

    Raises
    ------
    RecordingError : it is None, a time is missing, or its unit is not one of time.
    """
    if time is None:
        several = table.columns[:_MOST_RISING] if len(table.columns) > 1 else ()
        rising = (c for c in several if is_increasing(table.column(c)))
        perhaps = next((f", perhaps {c.name!r}, which rises," for c in rising), "")
        raise RecordingError(f"no column of times: name it with --time NAME{perhaps} or give --rate HZ")
    if time.position in table.days:
        times, notes = dated_times(table, time)
        day = np.datetime64(table.days[time.position], "D")
        return WrittenTimes(times, unit="s", notes=(f"the times of {time.name} count from {day}, 00:00 UTC", *notes))
    unit = time.unit.strip().lower()
    if unit and unit not in SECONDS:
        raise RecordingError(
            f"the times of {time.name!r} are in {time.unit!r}, which is not a time unit: give --rate HZ"
        )
    times = table.column(time)
    check_times(times, table.place)
    said: list[str] = []
    if time.position in table.times_of_day:
        times, row = over_midnight(times)
        unit = "s"
        said.append(f"the times of {time.name} are times of day")
        said += [] if row is None else [f"midnight is passed at {table.place(row)}: a day is added from there"]
    times, wrapped = through_overflow(times)
    said += [] if wrapped is None else [f"{time.name} overflows at {table.place(wrapped)}, as a counter does: joined"]
    taken = None if unit else unit_of_times(times)
    if taken is not None and taken.note:
        unit = taken.unit
        said.append(f"the times of {time.name} are taken as {taken.note}")
    scale = SECONDS.get(unit, 1.0)
    times, joined = _over_joints(table, times, scale)
    return WrittenTimes(times, scale, unit, (*said, *joined))


def _over_joints(table: SignalTable, times: Samples, scale: float) -> tuple[Samples, tuple[str, ...]]:
    """Return times that rise through repeated headers, where they may begin again, and notes on these."""
    notes = []
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 0.0
    for row in table.joints:
        if 0 < row < len(times) and usual > 0.0 and times[row] <= times[row - 1]:
            gap = usual * np.ceil(UNKNOWN_GAP / (scale * usual))
            times = np.concatenate([times[:row], times[row:] + (times[row - 1] + gap - times[row])])
            notes.append(
                f"the times begin again at {table.place(row)}, below a repeated header: a gap of unknown length is "
                f"taken as {gap * scale:.6g} s"
            )
    return times, tuple(notes)


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


def sample_times(
    table: SignalTable, time: TableColumn | None, selection: Selection
) -> tuple[Samples, tuple[str, ...]]:
    """Return the time of each row in s, as the file gives it, for a table that is resampled, and notes on them.

    Raises
    ------
    RecordingError : it has no times, or one is missing.
    """
    if selection.rate is not None or (time is None and table.times is None and table.rate is not None):
        rate = selection.rate or table.rate or 1.0
        return np.asarray((0.0 if selection.rate else table.start) + np.arange(table.n_rows) / rate), ()
    if time is None and table.times is not None:
        check_times(table.times, table.place)
        return table.times, ()
    written = written_times(table, time)
    return np.asarray(written.times * written.scale), written.notes

"""Delimited text files such as CSV."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Stream
from monitor.messages.recordings import FileColumn
from replay.formats.base import (
    ArrayRecording,
    Format,
    Inspection,
    RecordingError,
    Selection,
)
from replay.formats.clock import SampleTiming, check_times, is_increasing, is_step_index, read_timing
from replay.formats.columns import SECONDS, TableColumn, find_column, references
from replay.formats.roles import PairColumns, as_channels, choose_actuators
from replay.formats.table import Table, read_table

_BINARY = frozenset(range(32)) - set(b"\t\n\v\f\r\x1a")


def is_text(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 any name, any selection
    """Whether the first bytes hold no control characters; a crash may leave zeros at the end of a file."""
    return _BINARY.isdisjoint(head.rstrip(b"\0"))


@dataclass(frozen=True)
class _Choice:
    """The columns of time, signals and actuators."""

    time: TableColumn | None
    signals: tuple[TableColumn, ...]
    actuators: tuple[PairColumns, ...]
    notes: tuple[str, ...]


def open_text(path: Path, selection: Selection) -> ArrayRecording:
    """Read a text table.

    Raises
    ------
    RecordingError : something in the file is not clear; one line with the file's name.
    OSError : it cannot be read.
    """
    table = read_table(path)
    try:
        return _read(table, _choose(table, selection), selection)
    except RecordingError as problem:
        raise RecordingError(f"{path}: {problem}") from None


def inspect_text(path: Path, selection: Selection) -> Inspection:
    """Return the columns of a text table, and their roles as far as they are clear.

    Raises
    ------
    RecordingError : the file holds no table; one line with the file's name.
    OSError : it cannot be read.
    """
    table = read_table(path)
    columns, n_rows = file_columns(table), len(table.values)
    try:
        choice = _choose(table, selection)
        found = _read(table, choice, selection)
    except RecordingError as problem:
        return Inspection(columns, n_rows, None, None, str(problem))
    return Inspection(columns, n_rows, _as_selection(choice, references(table.columns), selection), found)


def file_columns(table: Table) -> tuple[FileColumn, ...]:
    """Return the columns of a table as a user may choose them."""
    found = references(table.columns)
    return tuple(FileColumn(c.name, c.unit, c.position + 1, found[c]) for c in table.columns)


def _choose(table: Table, selection: Selection) -> _Choice:
    time = choose_time(table, selection)
    signals = tuple(c for c in table.columns if c is not time or selection.rate is not None)
    return _Choice(time, signals, *choose_actuators(signals, selection))


def _read(table: Table, choice: _Choice, selection: Selection) -> ArrayRecording:
    channels = as_channels(choice.signals, choice.actuators)
    timing = sample_timing(table, choice.time, selection)
    samples = table.values[:, [c.position for c in choice.signals]]
    return recording(table.path.stem, channels, samples, timing, (*table.notes, *choice.notes))


def _as_selection(choice: _Choice, found: dict[TableColumn, str], selection: Selection) -> Selection:
    """Return the choice as the options of a user; forces only if every actuator has one."""
    forces = tuple(found[a.force] for a in choice.actuators if a.force is not None)
    return Selection(
        command=tuple(found[a.command] for a in choice.actuators),
        measured=tuple(found[a.measured] for a in choice.actuators),
        force=forces if len(forces) == len(choice.actuators) else (),
        time=found[choice.time] if choice.time is not None and selection.rate is None else None,
        rate=selection.rate,
        auxiliary=not choice.actuators,
    )


def recording(
    rig: str, channels: tuple[Channel, ...], samples: np.ndarray, timing: SampleTiming, notes: tuple[str, ...]
) -> ArrayRecording:
    """Return a recording of these channels and samples."""
    rig = "".join(c for c in rig if c.isprintable())[:120]
    stream = Stream(rig, 0, timing.sample_rate, channels)
    return ArrayRecording(stream, samples, timing.start, (*notes, *timing.notes), timing.index)


def choose_time(table: Table, selection: Selection) -> TableColumn | None:
    """Return the column of times: the user's, one with such a name, with dates, or an increasing first one."""
    if selection.time is not None:
        return find_column(table.columns, selection.time)
    named = [column for column in table.columns if column.is_time]
    if named:
        return named[0]
    if table.layout.instants:
        return table.columns[table.layout.instants[0]]
    first = table.values[:, 0]
    return table.columns[0] if not table.layout.header and is_increasing(first) else None


def sample_timing(table: Table, time: TableColumn | None, selection: Selection) -> SampleTiming:
    """Return sample rate and sample numbers, from the rate that the user gives or from the column of times.

    Raises
    ------
    RecordingError : there is neither, or the times are uneven.
    """
    if selection.rate is not None:
        return SampleTiming(selection.rate, notes=(f"evenly spaced at {selection.rate:g} Hz, as given",))
    if time is None:
        raise RecordingError("no column of times: name it with --time NAME or give --rate HZ")
    dated = time.position in table.layout.instants
    unit = "" if dated else time.unit.strip().lower()
    if unit and unit not in SECONDS:
        raise RecordingError(
            f"the times of {time.name!r} are in {time.unit!r}, which is not a time unit: give --rate HZ"
        )
    times = table.values[:, time.position]
    check_times(times, table.line)
    if not unit and not dated and is_step_index(times):
        raise RecordingError(f"column {time.name!r} counts steps and is not a time: give --rate HZ")
    timing = read_timing(times, SECONDS.get(unit, 1.0), table.line)
    if dated:
        day = date.fromordinal(date(1970, 1, 1).toordinal() + table.layout.first_day)
        return replace(timing, notes=(f"the times of {time.name} count from {day}, 00:00 UTC", *timing.notes))
    if not table.layout.header and selection.time is None:
        return SampleTiming(
            timing.sample_rate, timing.start, timing.index, (f"{time.name} is the time in s", *timing.notes)
        )
    return timing


_PATTERNS = ("*.csv", "*.txt", "*.out", "*.dat", "*.tsv", "*.asc")
FORMAT = Format("text table", _PATTERNS, is_text, open_text, inspect_text)

"""OpenFresco's recorders write the command in one file and the measurement in another: read as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Role
from replay.formats.base import Format, Inspection, Recording, RecordingError, Selection
from replay.formats.choice import inspect_tables
from replay.formats.columns import TableColumn
from replay.formats.signal_table import array_reader
from replay.formats.table import Table, read_table
from replay.formats.table_recording import make_recording
from replay.formats.text import begins_as_table, is_text, signal_table
from replay.formats.times import choose_time

_KIND = re.compile(r"ctrl|daq")
_OTHER = {"ctrl": "daq", "daq": "ctrl"}


def sibling(path: Path) -> Path | None:
    """Return the file with the other half, in the same folder: ``ctrl`` in its name for ``daq``, or the reverse."""
    other = path.with_name(_KIND.sub(lambda match: _OTHER[match[0]], path.name))
    return other if other != path and other.is_file() else None


def is_half(path: Path, head: bytes, selection: Selection) -> bool:
    """Whether the file has a sibling and the user names no columns."""
    return not selection.names_columns and sibling(path) is not None and is_text(path, head, selection)


def inspect_halves(path: Path, selection: Selection) -> Inspection:
    """Return the recording of the two halves; if that is not clear, the columns of this one.

    Raises
    ------
    RecordingError : one holds no table; one line.
    OSError : one cannot be read.
    """
    own, other = read_table(path), _read_sibling(path)
    try:
        return Inspection((), len(own.values), None, _pair(own, other, selection))
    except RecordingError as problem:
        alone = inspect_tables([signal_table(own)], selection)
        return replace(alone, selection=None, recording=None, problem=str(problem).removeprefix(f"{path}: "))


def _read_sibling(path: Path) -> Table:
    other = sibling(path)
    if other is None:
        raise RecordingError(f"{path}: the file that belongs to it no longer exists")
    return read_table(other)


def _pair(own: Table, other: Table, selection: Selection) -> Recording:
    command, measured = (own, other) if _KIND.findall(own.path.name)[0] == "ctrl" else (other, own)
    names = f"{command.path.name} and {measured.path.name}"
    notes = [*command.notes, f"{names} belong together: command and measured of each element by position"]
    rows = min(len(command.values), len(measured.values))
    longer = max(len(command.values), len(measured.values))
    if rows < longer:
        notes.append(f"the longer of the two is cut from {longer} to {rows} rows")
    command, measured = (replace(table, values=table.values[:rows]) for table in (command, measured))
    table = signal_table(command)
    try:
        time = choose_time(table, selection)
        _check_fit(command, measured, time)
        positions = [column.position for column in command.columns if column is not time]
        signals, channels = _signals(command, measured, positions)
        both = np.stack((command.values[:, positions], measured.values[:, positions]), axis=2).reshape(rows, -1)
        others = () if time is None else (time,)
        values = np.column_stack((both, *(command.values[:, [column.position]] for column in others)))
        places = {column.position: place for place, column in enumerate((*signals, *others))}
        table = replace(table, columns=(*signals, *others), read=array_reader(values, places), notes=())
        return make_recording(table, signals, channels, time, selection, tuple(notes))
    except RecordingError as problem:
        raise RecordingError(f"{command.path}: {problem}") from None


def _signals(
    command: Table, measured: Table, positions: Sequence[int]
) -> tuple[tuple[TableColumn, ...], tuple[Channel, ...]]:
    """Return the columns of command and measured signal of each element in turn, and their channels."""
    columns: list[TableColumn] = []
    channels: list[Channel] = []
    for number, position in enumerate(positions, 1):
        for role, table in ((Role.COMMAND, command), (Role.MEASURED, measured)):
            unit, name = table.columns[position].unit, f"element{number}.{role}"
            # beyond the positions of the file's own columns
            columns.append(TableColumn(len(command.columns) + len(columns), name, unit, name))
            channels.append(Channel(name, role, unit, f"element{number}"))
    return tuple(columns), tuple(channels)


def _check_fit(command: Table, measured: Table, time: TableColumn | None) -> None:
    ours, theirs = len(command.columns), len(measured.columns)
    if ours != theirs:
        raise RecordingError(f"{ours} columns, but {theirs} in {measured.path.name}")
    if ours == (time is not None):
        raise RecordingError("a column of times and nothing else")
    if time is not None:
        at = time.position
        if not np.array_equal(command.values[:, at], measured.values[:, at], equal_nan=True):
            raise RecordingError(f"the times differ from those in {measured.path.name}: pair them in one file")


_PATTERNS = ("*ctrl*.out", "*daq*.out")
FORMAT = Format(
    "OpenFresco recorders",
    _PATTERNS,
    is_half,
    tables=lambda path: [signal_table(read_table(path))],
    inspect=inspect_halves,
    shared=_PATTERNS,
    begins=begins_as_table,
)

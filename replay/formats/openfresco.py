"""OpenFresco's recorders write the command in one file and the measurement in another: read as one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Role
from replay.formats.base import ArrayRecording, Format, Inspection, RecordingError, Selection
from replay.formats.columns import TableColumn
from replay.formats.table import Table, read_table
from replay.formats.text import choose_time, file_columns, is_text, recording, sample_timing

_KIND = re.compile(r"ctrl|daq")
_OTHER = {"ctrl": "daq", "daq": "ctrl"}


def sibling(path: Path) -> Path | None:
    """Return the file with the other half, in the same folder: ``ctrl`` in its name for ``daq``, or the reverse."""
    other = path.with_name(_KIND.sub(lambda match: _OTHER[match[0]], path.name))
    return other if other != path and other.is_file() else None


def is_half(path: Path, head: bytes, selection: Selection) -> bool:
    """Whether the file has a sibling and the user names no columns."""
    return not selection.names_columns and sibling(path) is not None and is_text(path, head, selection)


def open_halves(path: Path, selection: Selection) -> ArrayRecording:
    """Read a file and its sibling; their columns belong together by position.

    Raises
    ------
    RecordingError : one cannot be read, or the two do not fit; one line.
    OSError : one cannot be read.
    """
    return _pair(read_table(path), _read_sibling(path), selection)


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
        return Inspection(file_columns(own), len(own.values), None, None, str(problem).removeprefix(f"{path}: "))


def _read_sibling(path: Path) -> Table:
    other = sibling(path)
    if other is None:
        raise RecordingError(f"{path}: the file that belongs to it no longer exists")
    return read_table(other)


def _pair(own: Table, other: Table, selection: Selection) -> ArrayRecording:
    command, measured = (own, other) if _KIND.findall(own.path.name)[0] == "ctrl" else (other, own)
    names = f"{command.path.name} and {measured.path.name}"
    notes = [*command.notes, f"{names} belong together: command and measured of each element by position"]
    rows = min(len(command.values), len(measured.values))
    longer = max(len(command.values), len(measured.values))
    if rows < longer:
        notes.append(f"the longer of the two is cut from {longer} to {rows} rows")
    command, measured = (replace(table, values=table.values[:rows]) for table in (command, measured))
    try:
        time = choose_time(command, selection)
        _check_fit(command, measured, time)
        timing = sample_timing(command, time, selection)
    except RecordingError as problem:
        raise RecordingError(f"{command.path}: {problem}") from None
    channels: list[Channel] = []
    positions = [column.position for column in command.columns if column is not time]
    for number, position in enumerate(positions, 1):
        name = f"element{number}"
        for role, table in ((Role.COMMAND, command), (Role.MEASURED, measured)):
            channels.append(Channel(f"{name}.{role}", role, table.columns[position].unit, name))
    both = np.stack((command.values[:, positions], measured.values[:, positions]), axis=2)
    return recording(command.path.stem, tuple(channels), both.reshape(rows, -1), timing, tuple(notes))


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


FORMAT = Format("OpenFresco recorders", ("*ctrl*.out", "*daq*.out"), is_half, open_halves, inspect_halves)

"""Export as CSV: signals, results and events in a file each; after a restart of the rig follow further files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np

from monitor.messages.blocks import Channel, Role
from monitor.system.csv_text import TIME_LABEL, csv_label, csv_line, csv_rows
from monitor.system.safe_text import csv_cell
from replay import Progress
from replay.export.contents import RunContents, SeriesTable, event_columns
from replay.export.target_files import TargetFiles
from replay.formats import RecordingError, Selection
from replay.formats.columns import TableColumn, references
from replay.formats.roles import as_channels, choose_actuators


def write_csv(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the files; times increase in each, because every start of the publisher has its own."""
    marks = {epoch: f"-{number}" if number > 1 else "" for number, epoch in enumerate(contents.offsets, 1)}
    for table in contents.tables:
        _write_series(table, files, marks, progress)
    columns = event_columns(contents)
    with files.temporary("-events").open("wb") as file:
        file.write(csv_line(tuple(columns)))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            file.write(csv_line([_cell(value) for value in row]))


def _write_series(table: SeriesTable, files: TargetFiles, marks: dict[int, str], progress: Progress) -> None:
    ending = "" if table.name == "signals" else f"-{table.name}"
    head = csv_line((TIME_LABEL, *(csv_label(column.name, column.unit) for column in table.columns)))
    opened: dict[str, IO[bytes]] = {}
    done = 0
    with ExitStack() as stack:

        def file_of(mark: str) -> IO[bytes]:
            if mark not in opened:
                opened[mark] = stack.enter_context(files.temporary(mark + ending).open("wb"))
                opened[mark].write(head)
            return opened[mark]

        if not table.n_rows:
            file_of("")
        for rows in table.pieces():
            starts = np.flatnonzero(np.diff(rows.epoch, prepend=rows.epoch[0] - 1)).tolist()
            for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
                file = file_of(marks.get(int(rows.epoch[start]), ""))
                for text in csv_rows(rows.time[start:stop], rows.data[start:stop]):
                    file.write(text)
            done += len(rows)
            progress(f"writing {table.name}", done, table.n_rows)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return csv_cell(value)
    return "" if value != value else value


def reading_options(contents: RunContents) -> str:
    """Return the options with which the exported CSV file is read as the recording; empty without."""
    channels = contents.stream.channels
    columns = [TableColumn(at, c.name, c.unit, csv_label(c.name, c.unit)) for at, c in enumerate(channels)]
    wanted = _positions(channels)
    try:
        guessed = as_channels(columns, choose_actuators(columns, Selection())[0])
    except RecordingError:
        guessed = ()
    if not wanted or _positions(guessed) == wanted:
        return ""
    named = references(columns)
    return " ".join(
        f"--{role} '{named[columns[position]]}'"
        for actuator in wanted
        for role, position in zip((Role.COMMAND, Role.MEASURED, Role.FORCE), actuator, strict=True)
        if position >= 0
    )


def _positions(channels: Sequence[Channel]) -> list[tuple[int, ...]]:
    """Return the columns of command, measured signal and force of each actuator; -1 without."""
    found: dict[str, dict[Role, int]] = {}
    for position, channel in enumerate(channels):
        if channel.actuator:
            found.setdefault(channel.actuator, {})[channel.role] = position
    return [
        tuple(own.get(role, -1) for role in (Role.COMMAND, Role.MEASURED, Role.FORCE))
        for own in found.values()
        if Role.COMMAND in own and Role.MEASURED in own
    ]

"""Export as CSV: signals, results and events in a file each; after a restart of the rig follow further files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Channel, Role
from monitor.system.csv_text import TIME_LABEL, csv_label, csv_line, csv_rows
from monitor.system.safe_text import csv_cell
from replay import Progress
from replay.export.contents import RunContents, SeriesTable, event_columns
from replay.export.target_files import TargetFiles
from replay.formats import RecordingError, Selection
from replay.formats.columns import read_columns, references
from replay.formats.roles import as_channels, choose_actuators
from replay.formats.sidecar import SUFFIX, sidecar_text


def write_csv(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the files; times increase in each, because every start of the publisher has its own."""
    marks = {epoch: f"-{number}" if number > 1 else "" for number, epoch in enumerate(contents.offsets, 1)}
    written = _write_series(contents.signals, files, marks, progress)
    if (chosen := selection_of(contents.stream.channels)) is not None:
        for mark in written:
            path = files.temporary(mark, after=SUFFIX)
            path.write_bytes(sidecar_text(files.paths[-1].name.removesuffix(SUFFIX), chosen))
    if contents.results is not None:
        _write_series(contents.results, files, marks, progress)
    columns = event_columns(contents)
    with files.temporary("-events").open("wb") as file:
        file.write(csv_line(tuple(columns)))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            file.write(csv_line([_cell(value) for value in row]))


def _write_series(
    table: SeriesTable, files: TargetFiles, marks: dict[int, str], progress: Progress
) -> tuple[str, ...]:
    """Write a table and return the marks of its files."""
    ending = "" if table.name == "signals" else f"-{table.name}"
    head = csv_line((TIME_LABEL, *(csv_label(column.name, column.unit) for column in table.columns)))
    paths: dict[str, Path] = {}

    def path_of(mark: str) -> Path:
        if mark not in paths:
            paths[mark] = files.temporary(mark + ending)
            paths[mark].write_bytes(head)
        return paths[mark]

    if not table.n_rows:
        path_of("")
    for _, rows in table.pieces(progress):
        starts = np.flatnonzero(np.diff(rows.epoch, prepend=rows.epoch[0] - 1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            with path_of(marks.get(int(rows.epoch[start]), "")).open("ab") as file:
                for text in csv_rows(rows.time[start:stop], rows.data[start:stop]):
                    file.write(text)
    return tuple(paths)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return csv_cell(value)
    return "" if value != value else value


def selection_of(channels: Sequence[Channel]) -> Selection | None:
    """Return the selection with which the exported file is read as the recording; None where none is needed."""
    labels = [TIME_LABEL, *(csv_label(channel.name, channel.unit) for channel in channels)]
    columns = read_columns(labels, (), len(labels))
    wanted = _positions(channels)
    try:
        guessed = as_channels(columns[1:], choose_actuators(columns[1:], Selection())[0])
    except RecordingError:
        guessed = ()
    if not wanted or _positions(guessed) == wanted:
        return None
    named = references(columns)
    command, measured, force = (
        tuple(named[columns[1 + actuator[role]]] for actuator in wanted if actuator[role] >= 0) for role in range(3)
    )
    return Selection(command, measured, force if len(force) == len(command) else (), time=TIME_LABEL)


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

"""Columns that were sampled together, from a file of any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.columns import TableColumn
from replay.formats.reading import check_memory
from replay.formats.roles import PairColumns
from replay.formats.states import Changes


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
    times_of_day : positions of columns of times of day alone, s.
    joints : rows at which the writer began again, with a repeated header.
    states : changes of columns of text, by rows.
    factors : position of a column -> what its values are multiplied by in a recording, to be in the unit of another.
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
    times_of_day: frozenset[int] = frozenset()
    joints: tuple[int, ...] = ()
    states: Changes = ()
    factors: Mapping[int, float] = field(default_factory=dict)

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
        # row by row in memory, which an index by a list is not
        return np.take(values[begin:end], at, axis=1)

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

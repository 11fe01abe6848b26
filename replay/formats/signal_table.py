"""Columns that were sampled together, from a file of any format, and what changes in columns of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.columns import TableColumn, some
from replay.formats.reading import check_memory
from replay.formats.roles import PairColumns

_MOST = 1000  # changes of a column
_LONGEST = 200  # characters of one


class Change(NamedTuple):
    """What a column of text changes to, ``mode: ramp``, at a row of a table; `origin` and `number` are unique in it.

    A marker is an event at an instant of its own; the others are in force until the next of their origin.
    """

    row: int
    text: str
    origin: str = ""
    number: int = 0
    is_marker: bool = False


Changes = tuple[Change, ...]


def read_states(
    columns: Mapping[str, Sequence[object]], *, markers: bool = False, origin: str = ""
) -> tuple[Changes, tuple[str, ...]]:
    """Return the changes of columns of text by their names, and notes on them; empty cells change nothing.

    A column that changes more than a thousand times, or at every second row, has no states and is left out; of
    `markers` each is an event, also one that is repeated. `origin` is of one column; by default its name.
    """
    found: list[Change] = []
    kept, left_out = [], []
    for name, cells in columns.items():
        texts = np.array([cell.strip() if isinstance(cell, str) else "" for cell in cells], dtype=object)
        there = np.flatnonzero(texts != "")
        changed = np.ones(len(there), dtype=bool)
        changed[1:] = markers or texts[there[1:]] != texts[there[:-1]]
        rows = there[changed].tolist()
        if len(rows) > (_MOST if markers else min(_MOST, len(texts) // 2)):
            left_out.append(name)
            continue
        found += [Change(r, f"{name}: {texts[r][:_LONGEST]}", origin or name, r, markers) for r in rows]
        kept.append(f"{name} ({len(rows)})")
    notes = [f"columns of text are kept as events, one a change: {some(kept)}"] if kept else []
    notes += [f"left out, columns of text: {some(left_out)}"] if left_out else []
    return tuple(sorted(found)), tuple(notes)


def at_rows(changes: Changes, rows: Iterable[int]) -> Changes:
    """Return changes at other rows, one each."""
    return tuple(change._replace(row=int(row)) for row, change in zip(rows, changes, strict=True))


def outside(count: int) -> tuple[str, ...]:
    """Return the note on events that are not kept."""
    what = "markers or changes of state are" if count > 1 else "marker or change of state is"
    return (f"left out: {count} {what} before or after the record",) if count else ()


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

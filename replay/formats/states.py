"""Columns of text, such as the state of a controller or an operator's remarks: each change of one is an event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

_MOST = 1000  # changes of a column
_LONGEST = 200  # characters of one
_LISTED = 6


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
    notes = [f"columns of text are kept as events, one a change: {_listed(kept)}"] if kept else []
    notes += [f"left out, columns of text: {_listed(left_out)}"] if left_out else []
    return tuple(sorted(found)), tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def at_rows(changes: Changes, rows: Iterable[int]) -> Changes:
    """Return changes at other rows, one each."""
    return tuple(change._replace(row=int(row)) for row, change in zip(rows, changes, strict=True))


def outside(count: int) -> tuple[str, ...]:
    """Return the note on events that are not kept."""
    what = "markers or changes of state are" if count > 1 else "marker or change of state is"
    return (f"left out: {count} {what} before or after the record",) if count else ()

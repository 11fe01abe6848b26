"""Columns of text, such as the state of a controller or an operator's remarks: each change of one is an event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

_MOST = 1000  # changes of a column
_LONGEST = 200  # characters of one
_LISTED = 6

Changes = tuple[tuple[int, str], ...]
"""Rows at which columns of text change, in order, and what they change to: ``mode: ramp``."""


def read_states(columns: Mapping[str, Sequence[object]], *, markers: bool = False) -> tuple[Changes, tuple[str, ...]]:
    """Return the changes of columns of text by their names, and notes on them; empty cells change nothing.

    A column that changes more than a thousand times, or at every second row, has no states and is left out; of
    `markers` each is an event, also one that is repeated.
    """
    found: list[tuple[int, str]] = []
    kept, left_out = [], []
    for name, cells in columns.items():
        texts = np.array([cell.strip() if isinstance(cell, str) else "" for cell in cells], dtype=object)
        changed = np.ones(len(texts), dtype=bool)
        changed[1:] = markers or texts[1:] != texts[:-1]
        rows = [int(row) for row in np.flatnonzero(changed) if texts[row]]
        if len(rows) > (_MOST if markers else min(_MOST, len(texts) // 2)):
            left_out.append(name)
            continue
        found += [(row, f"{name}: {texts[row][:_LONGEST]}") for row in rows]
        kept.append(f"{name} ({len(rows)})")
    notes = [f"columns of text are kept as events, one a change: {_listed(kept)}"] if kept else []
    notes += [f"left out, columns of text: {_listed(left_out)}"] if left_out else []
    return tuple(sorted(found)), tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def at_rows(changes: Changes, rows: Iterable[int]) -> Changes:
    """Return changes at other rows, one each; those below 0 are at the first."""
    return tuple((max(0, int(row)), text) for row, (_, text) in zip(rows, changes, strict=True))

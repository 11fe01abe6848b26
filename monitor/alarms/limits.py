"""Conditions of many alarms over rows of results: entered beyond a limit for long enough, left well within it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples

Integers = NDArray[np.int64]
_AT_ONCE = 1024  # changes that are handed out by one call of the kernel


class Change(NamedTuple):
    """The condition of a watch begins to hold at a row, or holds no longer.

    Where it holds no longer, it had ended `suppressed` times before, too soon for being told.
    """

    row: int
    watch: int
    entered: bool
    value: float
    suppressed: int = 0


class Limit(NamedTuple):
    """When a condition holds.

    Parameters
    ----------
    column : of the value, in the results.
    low, high : the normal range; infinite where it is open. A value on a limit is normal.
    deadband : how far within the range a value must be for the condition to end.
    on_rows, off_rows : rows for which a value must have been out, or back, since the first such row.
    least_rows : for which the condition holds at least, once it does, whatever the value.
    """

    column: int
    low: float
    high: float
    deadband: float = 0.0
    on_rows: int = 0
    off_rows: int = 0
    least_rows: int = 0


class LimitJudge:
    """Follow the conditions of many limits, row by row.

    Parameters
    ----------
    limits : one a watch.
    active : which conditions hold to begin with; none by default.

    Notes
    -----
    A condition begins to hold at the row r + ``on_rows``, if the values of the rows r .. r + ``on_rows`` are all
    below ``low`` or above ``high``; it ends at the row r + ``off_rows``, if they are all within
    [low + deadband, high - deadband], or as long after that as they still are, and it has held for ``least_rows``.
    NaN is not judged: it changes no condition, and counting begins anew after it. One that holds to begin with has
    held for long enough. The results do not depend on how the rows are cut into calls, bit for bit.
    """

    def __init__(self, limits: Sequence[Limit], active: Sequence[bool] = ()) -> None:
        n = len(limits)
        self._columns = np.array([limit.column for limit in limits], np.int64)
        self._normal = np.array([(limit.low, limit.high) for limit in limits], np.float64).reshape(n, 2)
        within = [(limit.low + limit.deadband, limit.high - limit.deadband) for limit in limits]
        self._within = np.array(within, np.float64).reshape(n, 2)
        rows = [(limit.on_rows, limit.off_rows, limit.least_rows) for limit in limits]
        self._rows = np.array(rows, np.int64).reshape(n, 3)
        self._active = np.array(active or [False] * n, np.bool_)
        self._held = np.zeros(n, np.int64)
        # rows that the condition has held for, and ends that came too soon
        self._since = self._rows[:, 2].copy()
        self._untold = np.zeros(n, np.int64)
        self.last: Samples = np.full(n, np.nan)
        self._found = np.empty((n + _AT_ONCE, 3), np.int64)

    def __len__(self) -> int:
        return len(self._columns)

    def advance(self, values: Samples) -> Sequence[Change]:
        """Judge the next rows, (n_rows, n_columns), and return the changes in their order."""
        if not len(values) or not len(self._columns):
            return ()
        if not (values.flags.c_contiguous and values.flags.writeable):
            # a second signature would be compiled for it
            values = np.array(values, np.float64, order="C")
        row, n_found = self._advance(values, 0)
        if not n_found:
            return ()
        changes = list(self._changes(values, n_found))
        while row < len(values):
            row, n_found = self._advance(values, row)
            changes += self._changes(values, n_found)
        return changes

    def interrupt(self) -> None:
        """Begin counting anew: rows are missing here."""
        self._held[:] = 0

    def _advance(self, values: Samples, row: int) -> tuple[int, int]:
        return _advance_limits(
            values,
            row,
            self._columns,
            self._normal,
            self._within,
            self._rows,
            self._active,
            self._held,
            self._since,
            self._untold,
            self.last,
            self._found,
        )

    def _changes(self, values: Samples, n_found: int) -> Iterator[Change]:
        # of several changes of one watch in these rows only the last is in `_active`
        for row, signed, suppressed in self._found[:n_found].tolist():
            watch = abs(signed) - 1
            yield Change(row, watch, signed > 0, float(values[row, self._columns[watch]]), suppressed)


@kernel
def _advance_limits(
    values: Samples,
    first: int,
    columns: Integers,
    normal: Samples,
    within: Samples,
    rows: Integers,
    active: NDArray[np.bool_],
    held: Integers,
    since: Integers,
    suppressed: Integers,
    last: Samples,
    found: Integers,
) -> tuple[int, int]:
    """Judge rows from `first` on, until all are or `found` may not hold another row's changes.

    ``found`` takes (row, 1 + watch, 0) where a condition is entered, (row, -1 - watch, suppressed) where it is left.

    Returns
    -------
    row : the first that was not judged.
    n_found : how many changes there are.
    """
    n_found = 0
    for row in range(first, values.shape[0]):
        if n_found + columns.size > found.shape[0]:
            return row, n_found
        for watch in range(columns.size):
            x = values[row, columns[watch]]
            if active[watch]:
                since[watch] += 1
            if x != x:
                held[watch] = 0
                continue
            last[watch] = x
            if active[watch]:
                turns = within[watch, 0] <= x <= within[watch, 1]
            else:
                turns = x < normal[watch, 0] or x > normal[watch, 1]
            if not turns:
                if held[watch] > rows[watch, 1] and active[watch]:
                    suppressed[watch] += 1
                held[watch] = 0
                continue
            held[watch] += 1
            if held[watch] <= rows[watch, int(active[watch])] or (active[watch] and since[watch] < rows[watch, 2]):
                continue
            held[watch] = 0
            active[watch] = not active[watch]
            found[n_found, 0] = row
            found[n_found, 1] = 1 + watch if active[watch] else -1 - watch
            found[n_found, 2] = suppressed[watch]
            since[watch] = suppressed[watch] = 0
            n_found += 1
    return values.shape[0], n_found


def warm_up() -> None:
    """Compile the kernel, or load it from disk."""
    LimitJudge([Limit(0, -1.0, 1.0)]).advance(np.zeros((1, 1)))

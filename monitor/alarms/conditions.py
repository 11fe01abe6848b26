"""Conditions of alarms: whether a value is out of its limits, over rows of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples

Integers = NDArray[np.int64]
_MAX_CHANGES = 1024  # returned by one call of the kernel


class ConditionChange(NamedTuple):
    """A condition becomes active at a row, or inactive; `suppressed` returns before were too brief to be reported."""

    row: int
    condition: int
    active: bool
    value: float
    suppressed: int = 0


class RowCondition(NamedTuple):
    """When a condition on a column of results is active.

    Parameters
    ----------
    column : of the value.
    low, high : the normal range; infinite if open. A value on a limit is normal.
    deadband : distance from the limit, within the range, at which the condition ends.
    on_rows, off_rows : rows for which a value must have been out of the range, or back, after the first such row.
    min_rows : for which the condition stays active at least.
    """

    column: int
    low: float
    high: float
    deadband: float = 0.0
    on_rows: int = 0
    off_rows: int = 0
    min_rows: int = 0


class ConditionEvaluator:
    """Evaluate many conditions row by row.

    Parameters
    ----------
    conditions : one for each alarm.
    active : which conditions are active initially; none by default.

    Notes
    -----
    A condition becomes active at the row r + ``on_rows`` if the values of the rows r .. r + ``on_rows`` are all below
    ``low`` or above ``high``. It ends at the row r + ``off_rows`` if they are all within
    [low + deadband, high - deadband], or at the first row after that at which it has been active for ``min_rows``.
    NaN changes no condition and restarts the delays. Conditions that are active initially have been so for
    ``min_rows``. The results do not depend on how the rows are divided into calls.
    """

    def __init__(self, conditions: Sequence[RowCondition], active: Sequence[bool] = ()) -> None:
        n = len(conditions)
        self._columns = np.array([each.column for each in conditions], np.int64)
        self._normal = np.array([(each.low, each.high) for each in conditions], np.float64).reshape(n, 2)
        within = [(each.low + each.deadband, each.high - each.deadband) for each in conditions]
        self._within = np.array(within, np.float64).reshape(n, 2)
        rows = [(each.on_rows, each.off_rows, each.min_rows) for each in conditions]
        self._rows = np.array(rows, np.int64).reshape(n, 3)
        self._active = np.array(active or [False] * n, np.bool_)
        self._held = np.zeros(n, np.int64)
        # rows for which each condition has been active, and its suppressed returns
        self._since = self._rows[:, 2].copy()
        self._suppressed = np.zeros(n, np.int64)
        self.last_values: Samples = np.full(n, np.nan)
        self._found = np.empty((n + _MAX_CHANGES, 3), np.int64)

    def __len__(self) -> int:
        return len(self._columns)

    def advance(self, values: Samples) -> Sequence[ConditionChange]:
        """Evaluate the next rows, (n_rows, n_columns), and return the changes in their order."""
        if not len(values) or not len(self._columns):
            return ()
        if not (values.flags.c_contiguous and values.flags.writeable):
            # numba would compile a second signature for it
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
        """Restart the delays: rows are missing here."""
        self._held[:] = 0

    def set_column(self, position: int, column: int) -> None:
        """Evaluate another column from the next row on."""
        if column != self._columns[position]:
            self._columns[position], self.last_values[position] = column, np.nan

    def set_limits(self, position: int, condition: RowCondition) -> None:
        """Replace the range and the deadband of a condition from the next row on; its delays restart."""
        low, high, deadband = condition.low, condition.high, condition.deadband
        self._normal[position] = low, high
        self._within[position] = low + deadband, high - deadband
        self._held[position] = 0

    def _advance(self, values: Samples, row: int) -> tuple[int, int]:
        return _advance_conditions(
            values,
            row,
            self._columns,
            self._normal,
            self._within,
            self._rows,
            self._active,
            self._held,
            self._since,
            self._suppressed,
            self.last_values,
            self._found,
        )

    def _changes(self, values: Samples, n_found: int) -> Iterator[ConditionChange]:
        # `_active` has only the last of several changes of one condition
        for row, signed, suppressed in self._found[:n_found].tolist():
            condition = abs(signed) - 1
            value = float(values[row, self._columns[condition]])
            yield ConditionChange(row, condition, signed > 0, value, suppressed)


@kernel
def _advance_conditions(
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
    last_values: Samples,
    found: Integers,
) -> tuple[int, int]:
    """Evaluate rows from `first` on, as long as `found` has room for the changes of another row.

    ``found`` gets (row, 1 + i, 0) where condition i becomes active, (row, -1 - i, suppressed) where it ends.

    Returns
    -------
    row : the first that was not evaluated.
    n_found : number of changes.
    """
    n_found = 0
    for row in range(first, values.shape[0]):
        if n_found + columns.size > found.shape[0]:
            return row, n_found
        for i in range(columns.size):
            x = values[row, columns[i]]
            if active[i]:
                since[i] += 1
            if x != x:
                held[i] = 0
                continue
            last_values[i] = x
            out = x < normal[i, 0] or x > normal[i, 1]
            if not (within[i, 0] <= x <= within[i, 1] if active[i] else out):
                if held[i] > rows[i, 1] and active[i]:
                    suppressed[i] += 1
                held[i] = 0
                continue
            held[i] += 1
            if held[i] <= rows[i, int(active[i])] or (active[i] and since[i] < rows[i, 2]):
                continue
            held[i] = 0
            active[i] = not active[i]
            found[n_found, 0] = row
            found[n_found, 1] = 1 + i if active[i] else -1 - i
            found[n_found, 2] = suppressed[i]
            since[i] = suppressed[i] = 0
            n_found += 1
    return values.shape[0], n_found


def warm_up() -> None:
    """Compile the kernel, or load it from disk."""
    ConditionEvaluator([RowCondition(0, -1.0, 1.0)]).advance(np.zeros((1, 1)))

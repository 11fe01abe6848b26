"""Which alarms are judged, and why others are not: whether the values that they watch still come.

This is the one place that decides it; everything that shows alarms shows `Alarm.state` and `Alarm.not_judged`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.alarms.definitions import AlarmDefinition
from monitor.catalogue import RELIABILITY, measure_of, reason_column
from monitor.kernel import kernel
from monitor.messages.blocks import ResultBlock, ResultStream, Samples
from monitor.messages.health import Health
from monitor.messages.reasons import Reason, reason_word

_SILENT = 0.5  # share of the longest age of a value, from which on the rig's silence is why there is none
_MAX_CHANGES = 1024  # returned by one call of the kernel
_ROUNDING = 1e-6  # of a row, in the sum of their intervals


class PresenceChange(NamedTuple):
    """A value is missing from a row on, or is back; `reported`: its absence is, or was, a change of its own."""

    row: int
    position: int
    missing: bool
    reported: bool = True


class _State(IntEnum):
    """Whether a value comes."""

    THERE = 0
    AWAITED = 1  # the first one, not yet for so long that it is missing
    MISSING = 2


class ValuePresence:
    """Which of the watched values are recent, over rows of results.

    Parameters
    ----------
    columns : of the values, one for each alarm.
    max_age : s; a value is missing when none has come for longer, by the time of the rows or by the clock.
    row_interval : s between two rows.
    now : s on the clock, from which the first value is awaited.

    Notes
    -----
    The age by the rows counts the stream's own seconds, also those of missing rows; the age by the clock counts from
    the arrival of the samples of the last value, so that it includes the lag of results and the silence of a rig.
    The changes in the time of the rows do not depend on how the rows are divided into calls.
    """

    def __init__(self, columns: Sequence[int], max_age: float, row_interval: float, now: float = 0.0) -> None:
        n = len(columns)
        self.max_age = max(max_age, 2.0 * row_interval)
        self._row_interval = row_interval
        self._oldest = self.max_age + _ROUNDING * row_interval
        self._columns = np.array(columns, np.int64)
        self._ages, self._arrived = np.zeros(n), np.full(n, float(now))
        self._states = np.full(n, int(_State.AWAITED), np.int64)
        self._found = np.empty((n + _MAX_CHANGES, 3), np.int64)

    @property
    def there(self) -> list[int]:
        """Positions of the values that are recent."""
        return list(np.flatnonzero(self._states == _State.THERE).tolist())

    @property
    def missing(self) -> list[int]:
        """Positions of the values that have not come for too long."""
        return list(np.flatnonzero(self._states == _State.MISSING).tolist())

    def lacks(self, position: int) -> bool:
        """Whether rows have come for longer than `max_age`, without the value."""
        return bool(self._ages[position] > self._oldest)

    def set_column(self, position: int, column: int) -> None:
        """Read a value from another column from the next row on."""
        self._columns[position] = column

    def continue_from(self, other: ValuePresence, positions: Sequence[tuple[int, int]]) -> None:
        """Take over the ages of `positions`, pairs of a position here and in `other`: of the rig before a restart."""
        for here, there in positions:
            self._ages[here], self._arrived[here] = other._ages[there], other._arrived[there]
            self._states[here] = other._states[there]

    def skip(self, seconds: float) -> None:
        """Count rows that are missing in the stream."""
        self._ages += seconds

    def advance(self, values: Samples, arrived: float = 0.0, now: float = 0.0) -> list[PresenceChange]:
        """Process the next rows, (n_rows, n_columns), of samples that arrived at `arrived`; return the changes."""
        late = now - arrived > self.max_age
        changes: list[PresenceChange] = []
        row = 0
        while row < len(values) and len(self._columns):
            row, n_found = _advance_presence(
                values,
                row,
                self._columns,
                self._row_interval,
                self._oldest,
                arrived,
                late,
                self._ages,
                self._arrived,
                self._states,
                self._found,
            )
            changes += _changes(self._found[:n_found])
        return changes

    def expire(self, now: float) -> None:
        """Set values to missing that are too old by the clock, `now` s."""
        self._states[now - self._arrived > self.max_age] = _State.MISSING

    def withdraw(self, positions: Sequence[int]) -> None:
        """Set values to missing at once: they are not computed."""
        self._states[list(positions)] = _State.MISSING


def _changes(found: NDArray[np.int64]) -> Iterator[PresenceChange]:
    for row, signed, reported in found.tolist():
        yield PresenceChange(row, abs(signed) - 1, signed < 0, bool(reported))


@kernel
def _advance_presence(
    values: Samples,
    first: int,
    columns: NDArray[np.int64],
    row_interval: float,
    oldest: float,
    arrived: float,
    late: bool,
    ages: Samples,
    arrivals: Samples,
    states: NDArray[np.int64],
    found: NDArray[np.int64],
) -> tuple[int, int]:
    """Process rows from `first` on, as long as `found` has room for the changes of another row.

    ``found`` gets (row, 1 + i, reported) where value i is back, (row, -1 - i, 1) where it is missing. A `late` row
    brings no value back: its results are old.

    Returns
    -------
    row : the first that was not processed.
    n_found : number of changes.
    """
    n_found = 0
    for row in range(first, values.shape[0]):
        if n_found + columns.size > found.shape[0]:
            return row, n_found
        for i in range(columns.size):
            x = values[row, columns[i]]
            change = 0
            if x == x:
                ages[i], arrivals[i] = 0.0, arrived
                if states[i] != 0 and not late:
                    change, reported = 1 + i, int(states[i] == 2)
                    states[i] = 0
            else:
                ages[i] += row_interval
                if states[i] != 2 and ages[i] > oldest:
                    change, reported = -1 - i, 1
                    states[i] = 2
            if change != 0:
                found[n_found, 0], found[n_found, 1], found[n_found, 2] = row, change, reported
                n_found += 1
    return values.shape[0], n_found


class Judgement:
    """The alarms on one stream of results that have no recent value, and why.

    Parameters
    ----------
    definitions : of the alarms, whose numbers are the positions here.
    stream : of the results.
    max_age : s, see `ValuePresence`.
    now : s, monotonic.
    """

    def __init__(
        self, definitions: Sequence[AlarmDefinition], stream: ResultStream | None, max_age: float, now: float = 0.0
    ) -> None:
        self._definitions = definitions
        self._max_age = max_age
        self._columns = () if stream is None else stream.columns
        self._row_interval = 0.0 if stream is None else stream.every / stream.sample_rate
        self.presence = ValuePresence([each.column for each in definitions], max_age, self._row_interval, now)
        self._paused: Mapping[str, Reason] = {}
        self._health = Health()
        self._newest: Samples = np.empty(0)  # last row

    def advance(self, results: ResultBlock, lost: int, arrived: float, now: float) -> list[PresenceChange]:
        """Process the next rows, after `lost` missing samples; see `ValuePresence`."""
        if lost:
            self.presence.skip(lost / results.stream.sample_rate)
        if not len(results):
            return []
        self._newest = results.values[-1]
        return self.presence.advance(results.values, arrived, now)

    def update(self, health: Health, now: float) -> None:
        """Set values to missing that are too old by the clock, `now` s; `health` is a part of the reasons."""
        self._health = health
        self.presence.expire(now)

    def pause(self, reasons: Mapping[str, Reason]) -> dict[int, tuple[str, int]]:
        """Set which measures are not computed, and why; alarms that no other can speak for are not judged at once.

        Returns
        -------
        by position, the name and column that each headline value is read from: that of the first measure computed.
        """
        self._paused = dict(reasons)
        silent, read_from = [], {}
        for position, definition in enumerate(self._definitions):
            sources = definition.sources or ((definition.alarm.value, definition.column),)
            computed = [source for source in sources if (measure_of(source[0]) or RELIABILITY) not in self._paused]
            if not computed:
                silent.append(position)
            elif definition.sources:
                read_from[position] = computed[0]
                self.presence.set_column(position, computed[0][1])
        self.presence.withdraw(silent)
        return read_from

    def reason(self, position: int, source: str) -> str:
        """Return why the value of an alarm does not come; `source` is the column that it is read from."""
        definition, health = self._definitions[position], self._health
        measures = sorted(definition.measures or {RELIABILITY})
        words = [self._paused[each].word for each in measures if each in self._paused]
        if len(words) == len(measures):
            return f"{', '.join(measures)} {' or '.join(sorted({*words}))}"
        if health.state == "ended":
            return "the stream has ended"
        if health.lag > self._max_age:
            return "results come late: overload"
        silent = health.state in ("stale", "waiting") or health.age > _SILENT * self._max_age
        if silent or not self.presence.lacks(position):
            return "no data"
        reason = (reason_column(source), definition.alarm.actuator)
        for column, code in zip(self._columns, self._newest.tolist(), strict=False):
            if (column.name, column.actuator) == reason and code > Reason.VALID:
                return reason_word(code)
        return "no value"


def warm_up() -> None:
    """Compile the kernel, or load it from disk."""
    ValuePresence([0], 1.0, 1.0).advance(np.zeros((1, 1)))

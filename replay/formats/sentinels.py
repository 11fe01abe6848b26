"""Numbers that loggers write where there is no value, -9999 or 9.9E+37, become missing samples, which is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.columns import TableColumn
from replay.formats.signal_table import SignalTable

_KNOWN = (-9999.0, -99999.0, -999999.0, -999.0, -9999.25, -999.25, 9999.0, 99999.0, 999999.0, -32768.0, 32767.0)
_NO_MEASUREMENT = 1e30  # 9.9E+37 of Keysight and Keithley, 1e30 and the largest floats of others
_FEWEST = 16
_FAR = 10.0  # times the range of all other values
_PIECE, _PIECES = 1 << 16, 32  # rows of a part, and the parts that are looked at of a table that is not in memory


@dataclass(frozen=True)
class Sentinels:
    """The numbers without a meaning of each column, by its place."""

    of: tuple[tuple[int, tuple[float, ...]], ...]

    def removed(self, values: Samples) -> Samples:
        """Return samples, (n, n_columns), with NaN in their places."""
        if not self.of or not len(values):
            return values
        values = values.copy()
        for place, numbers in self.of:
            column = values[:, place]
            column[np.isin(column, numbers) | (np.abs(column) >= _NO_MEASUREMENT)] = np.nan
        return values


def find_sentinels(table: SignalTable, columns: Sequence[TableColumn]) -> tuple[Sentinels, tuple[str, ...]]:
    """Return the numbers without a meaning in columns of a large table, by parts of it all over, and notes.

    What would be far beyond all others of these parts is one in the rest too.
    """
    starts = range(0, table.n_rows, _PIECE)
    some = starts[:: max(1, len(starts) // _PIECES)]
    known = _known(columns, (table.read(k, min(k + _PIECE, table.n_rows), columns) for k in some))
    notes = [note for column, each in zip(columns, known, strict=True) for note in each.notes(column)]
    numbers = ((place, tuple(filter(each.is_sentinel, _KNOWN))) for place, each in enumerate(known))
    return Sentinels(tuple(numbers)), tuple(notes)


def without_sentinels(values: Samples, columns: Sequence[TableColumn]) -> tuple[Samples, tuple[str, ...]]:
    """Return samples, (n, n_columns), with NaN in the place of numbers without a meaning, and notes on these."""
    pieces = (values[k : k + _PIECE] for k in range(0, len(values), _PIECE))
    known = _known(columns, pieces)
    notes = [note for column, each in zip(columns, known, strict=True) for note in each.notes(column)]
    numbers = ((place, tuple(each.sentinels())) for place, each in enumerate(known))
    return Sentinels(tuple(each for each in numbers if each[1])).removed(values), tuple(notes)


@dataclass
class _Column:
    """What is known of a column so far: its ends, and numbers that are missing or may have no meaning."""

    least: float = np.inf
    most: float = -np.inf
    others: int = 0
    missing: int = 0
    total: int = 0
    doubtful: dict[float, int] = field(default_factory=dict)

    def add(self, values: Samples, low: float, high: float) -> None:
        """Add a piece, whose ends are known."""
        missing = int(np.count_nonzero(np.isnan(values)))
        self.missing += missing
        self.total += len(values)
        if low in _KNOWN or high in _KNOWN or max(high, -low) >= _NO_MEASUREMENT:
            doubtful = np.isin(values, _KNOWN) | (np.abs(values) >= _NO_MEASUREMENT)
            for value, count in zip(*np.unique(values[doubtful], return_counts=True), strict=True):
                self.doubtful[float(value)] = self.doubtful.get(float(value), 0) + int(count)
            rest = values[~doubtful & ~np.isnan(values)]
            low, high = (float(np.min(rest)), float(np.max(rest))) if len(rest) else (np.inf, -np.inf)
            self.others += len(rest)
        else:
            self.others += len(values) - missing
        self.least, self.most = np.fmin(self.least, low), np.fmax(self.most, high)

    def is_sentinel(self, value: float) -> bool:
        """Whether a number has no meaning: too large for any measurement, or a known one far beyond all others."""
        # of a column at rest, or of few values, nothing is known
        if abs(value) >= _NO_MEASUREMENT or not (self.most > self.least and self.others >= _FEWEST):
            return abs(value) >= _NO_MEASUREMENT
        far = _FAR * (self.most - self.least)
        return value > self.most + far or value < self.least - far

    def sentinels(self) -> dict[float, int]:
        """Return the numbers without a meaning, and how often each is there."""
        return {value: count for value, count in self.doubtful.items() if self.is_sentinel(value)}

    def notes(self, column: TableColumn) -> list[str]:
        """Return what is to be said of the column."""
        notes = []
        if numbers := self.sentinels():
            said = ", ".join(f"{value:.6g} ({count} times)" for value, count in numbers.items())
            notes.append(f"{column.name}: {said} is no value, taken as missing")
        if self.missing:
            notes.append(f"{column.name}: {self.missing} of {self.total} values are missing")
        return notes


def _known(columns: Sequence[TableColumn], pieces: Iterable[Samples]) -> list[_Column]:
    known = [_Column() for _ in columns]
    for piece in pieces:
        # five times as fast as along the rows of a narrow array
        by_column = np.ascontiguousarray(piece.T)
        low, high = np.fmin.reduce(by_column, axis=1), np.fmax.reduce(by_column, axis=1)
        for place, each in enumerate(known):
            each.add(by_column[place], float(low[place]), float(high[place]))
    return known

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
_PIECE = 1 << 16


@dataclass(frozen=True)
class Sentinels:
    """The numbers without a meaning of each column, by its place."""

    of: tuple[tuple[int, tuple[float, ...]], ...]

    def removed(self, values: Samples) -> Samples:
        """Return samples, (n, n_columns), with NaN in their places."""
        if not self.of:
            return values
        values = values.copy()
        for place, numbers in self.of:
            column = values[:, place]
            column[np.isin(column, numbers) | (np.abs(column) >= _NO_MEASUREMENT)] = np.nan
        return values


def find_sentinels(table: SignalTable, columns: Sequence[TableColumn]) -> tuple[Sentinels, tuple[str, ...]]:
    """Return the numbers without a meaning in columns of a table, which is read once, piece by piece, and notes."""
    starts = range(0, table.n_rows, _PIECE)
    return _named(columns, (table.read(k, min(k + _PIECE, table.n_rows), columns) for k in starts))


def without_sentinels(values: Samples, columns: Sequence[TableColumn]) -> tuple[Samples, tuple[str, ...]]:
    """Return samples, (n, n_columns), with NaN in the place of numbers without a meaning, and notes on these."""
    pieces = (values[k : k + _PIECE] for k in range(0, len(values), _PIECE))
    found, notes = _named(columns, pieces)
    return found.removed(values), notes


@dataclass
class _Column:
    """What is known of a column so far: its ends, and numbers that are missing or may have no meaning."""

    least: float = np.inf
    most: float = -np.inf
    others: int = 0
    missing: int = 0
    doubtful: dict[float, int] = field(default_factory=dict)

    def add(self, values: Samples, low: float, high: float) -> None:
        """Add a piece, whose ends are known."""
        missing = int(np.count_nonzero(np.isnan(values)))
        self.missing += missing
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

    def sentinels(self) -> dict[float, int]:
        """Return the numbers without a meaning, and how often each is there: a known one far beyond all others."""
        # of a column at rest, or of few values, nothing is known
        known = self.most > self.least and self.others >= _FEWEST
        far = _FAR * (self.most - self.least) if known else 0.0

        def is_far(value: float) -> bool:
            return known and (value > self.most + far or value < self.least - far)

        return {v: count for v, count in self.doubtful.items() if abs(v) >= _NO_MEASUREMENT or is_far(v)}


def _named(columns: Sequence[TableColumn], pieces: Iterable[Samples]) -> tuple[Sentinels, tuple[str, ...]]:
    known = [_Column() for _ in columns]
    total = 0
    for piece in pieces:
        total += len(piece)
        low, high = np.fmin.reduce(piece, axis=0), np.fmax.reduce(piece, axis=0)
        for place, each in enumerate(known):
            each.add(piece[:, place], float(low[place]), float(high[place]))
    found = [each.sentinels() for each in known]
    notes = []
    for column, each, numbers in zip(columns, known, found, strict=True):
        if numbers:
            said = ", ".join(f"{value:.6g} ({count} times)" for value, count in numbers.items())
            notes.append(f"{column.name}: {said} is no value, taken as missing")
        if each.missing:
            notes.append(f"{column.name}: {each.missing} of {total} values are missing")
    return Sentinels(tuple((place, tuple(numbers)) for place, numbers in enumerate(found) if numbers)), tuple(notes)

"""Numbers that loggers write where there is no value, -9999 or 9.9E+37, become missing samples, which is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def pieces(column: TableColumn) -> list[Samples]:
        return [table.read(k, min(k + _PIECE, table.n_rows), (column,))[:, 0] for k in range(0, table.n_rows, _PIECE)]

    return _named(columns, [_sentinels(pieces(column)) for column in columns])


def without_sentinels(values: Samples, columns: Sequence[TableColumn]) -> tuple[Samples, tuple[str, ...]]:
    """Return samples, (n, n_columns), with NaN in the place of numbers without a meaning, and notes on these."""
    found, notes = _named(columns, [_sentinels([column]) for column in values.T])
    missing = np.count_nonzero(np.isnan(values), axis=0).tolist()
    empty = tuple(
        f"{column.name}: {count} of {len(values)} values are missing"
        for column, count in zip(columns, missing, strict=True)
        if count
    )
    return found.removed(values), (*notes, *empty)


def _sentinels(pieces: Sequence[Samples]) -> dict[float, int]:
    """Return the numbers without a meaning in a column, and how often each is there.

    A known one is taken for such where it is far beyond all other values.
    """
    ends = [end for piece in pieces if len(piece) for end in (np.fmin.reduce(piece), np.fmax.reduce(piece))]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    if not (max(high, -low) >= _NO_MEASUREMENT or low in _KNOWN or high in _KNOWN):
        return {}
    found: dict[float, int] = {}
    for piece in pieces:
        there, counts = np.unique(
            piece[np.isin(piece, _KNOWN) | (np.abs(piece) >= _NO_MEASUREMENT)], return_counts=True
        )
        for value, count in zip(there.tolist(), counts.tolist(), strict=True):
            found[value] = found.get(value, 0) + count
    others = [piece[~np.isin(piece, list(found)) & np.isfinite(piece)] for piece in pieces]
    rest = np.concatenate([np.array([np.min(o), np.max(o)]) for o in others if len(o)] or [np.zeros(1)])
    least, most = float(np.min(rest)), float(np.max(rest))
    # of a column at rest, or of few values, nothing is known
    known = most > least and sum(map(len, others)) >= _FEWEST
    far = _FAR * (most - least) if known else np.inf
    return {
        value: count
        for value, count in found.items()
        if abs(value) >= _NO_MEASUREMENT or value > most + far or value < least - far
    }


def _named(columns: Sequence[TableColumn], found: Sequence[dict[float, int]]) -> tuple[Sentinels, tuple[str, ...]]:
    said = [", ".join(f"{value:.6g} ({count} times)" for value, count in numbers.items()) for numbers in found]
    notes = tuple(
        f"{column.name}: {text} is no value, taken as missing"
        for column, text in zip(columns, said, strict=True)
        if text
    )
    return Sentinels(tuple((place, tuple(numbers)) for place, numbers in enumerate(found) if numbers)), notes

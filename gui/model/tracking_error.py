"""Tracking error x_c - x_m of each actuator: which columns it is of, and its mean square over long spans."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from monitor.messages.blocks import Samples, Stream, units_differ

Difference = tuple[int, int]
"""Columns of command and measured signal."""


def differences(stream: Stream) -> dict[str, Difference]:
    """Return the columns of the tracking error by actuator; none of an actuator with signals in different units."""
    channels = stream.channels
    return {
        pair.actuator: (pair.command, pair.measured)
        for pair in stream.pairs
        if not units_differ(channels[pair.command], channels[pair.measured])
    }


def chosen(samples: Samples, columns: Sequence[int | Difference]) -> Samples:
    """Return columns of samples, (n_rows, n_columns), and differences of two of them."""
    found = [
        samples[:, column] if isinstance(column, int) else samples[:, column[0]] - samples[:, column[1]]
        for column in columns
    ]
    return np.column_stack(found) if found else np.empty((len(samples), 0))


_HOUR, _DAY = 3600, 86_400
_STEP = 64  # bins of the finer level in one of the coarser


class MeanSquares:
    """Mean square of columns in bins of about a second for an hour, and of about a minute for a day.

    Parameters
    ----------
    width : number of columns.
    rate : rows a second.
    """

    def __init__(self, width: int, rate: float) -> None:
        rows = 1 << max(0, round(math.log2(max(rate, 1.0))))
        self._levels = tuple(
            _Bins(width, rows * scale, max(2, math.ceil(seconds * rate / (rows * scale))))
            for scale, seconds in ((1, _HOUR), (_STEP, _DAY))
        )

    @property
    def nbytes(self) -> int:
        """Allocated bytes; constant."""
        return sum(level.nbytes for level in self._levels)

    def append(self, first: int, rows: Samples) -> None:
        """Add rows, (n, width), the first of which has the number `first`; NaN is ignored."""
        known = np.isfinite(rows)
        squares = np.where(known, rows, 0.0) ** 2
        for level in self._levels:
            level.append(first, squares, known)

    def root_mean_square(self, start: float, stop: float, columns: Sequence[int]) -> Samples:
        """Return the rms of the bins from row `start` to `stop`, (n_columns,); NaN where there is none."""
        for level in self._levels:
            if level.begin <= start:
                break
        return level.root_mean_square(start, stop, columns)


class _Bins:
    """Ring of sums of squares, and counts of values, in bins of `rows` rows."""

    def __init__(self, width: int, rows: int, length: int) -> None:
        self.rows, self._length, self._end = rows, length, 0
        self._sums, self._counts = np.zeros((length, width)), np.zeros((length, width), dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """Allocated bytes."""
        return self._sums.nbytes + self._counts.nbytes

    @property
    def begin(self) -> int:
        """Number of the first row of the oldest bin."""
        return max(0, self._end - self._length) * self.rows

    def append(self, first: int, squares: Samples, known: Samples) -> None:
        bins = np.arange(first, first + len(squares)) // self.rows
        begins = np.flatnonzero(np.diff(bins, prepend=bins[0] - 1))
        numbers = bins[begins]
        sums, counts = np.add.reduceat(squares, begins), np.add.reduceat(known, begins, dtype=np.int32)
        kept = slice(max(0, len(numbers) - self._length), None)
        self._clear(int(numbers[-1]) + 1)
        places = numbers[kept] % self._length
        self._sums[places] += sums[kept]
        self._counts[places] += counts[kept]

    def _clear(self, end: int) -> None:
        """Empty the bins up to number `end`."""
        fresh = np.arange(max(self._end, end - self._length), end) % self._length
        self._sums[fresh], self._counts[fresh] = 0.0, 0
        self._end = max(self._end, end)

    def root_mean_square(self, start: float, stop: float, columns: Sequence[int]) -> Samples:
        first = max(math.ceil(start / self.rows - 0.5), self._end - self._length, 0)
        last = min(math.floor(stop / self.rows + 0.5), self._end)
        places = np.arange(first, max(first, last)) % self._length
        wanted = np.array(columns, dtype=np.intp)
        sums = self._sums[places][:, wanted].sum(axis=0)
        counts = self._counts[places][:, wanted].sum(axis=0)
        found: Samples = np.sqrt(np.divide(sums, counts, out=np.full(len(columns), np.nan), where=counts > 0))
        return found

"""The newest buckets of one resolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.messages.blocks import Samples


class Ring:
    """Buckets of `rows` rows each, the newest `length` of them, with the least and greatest value of every column.

    Buckets are numbered: bucket b has the rows from ``b * rows`` on. With one row a bucket both are one array.

    Parameters
    ----------
    width : columns.
    length : buckets that are kept.
    rows : rows a bucket.
    """

    def __init__(self, width: int, length: int, rows: int) -> None:
        self.length, self.rows = length, rows
        self.low: Samples = np.full((length, width), np.nan)
        self.high: Samples = self.low if rows == 1 else np.full((length, width), np.nan)
        self.end = 0  # number of the bucket after the newest

    @property
    def begin(self) -> int:
        """Number of the oldest bucket that is kept."""
        return max(0, self.end - self.length)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, from the start on."""
        return self.low.nbytes * (1 if self.rows == 1 else 2)

    def append(self, first: int, low: Samples, high: Samples) -> None:
        """Take the buckets from `first` on, at least one; the first may go on with the newest that is there.

        Buckets that are left out before `first` are without a number.
        """
        if first < self.end:
            place = first % self.length
            np.fmin(self.low[place], low[0], out=self.low[place])
            np.fmax(self.high[place], high[0], out=self.high[place])
            first, low, high = first + 1, low[1:], high[1:]
        self._clear(max(self.end, first - self.length), first)
        over = max(0, len(low) - self.length)
        self._write(self.low, first + over, low[over:])
        if self.high is not self.low:
            self._write(self.high, first + over, high[over:])
        self.end = first + len(low)

    def renew(self, low: Samples, high: Samples) -> None:
        """Replace the newest bucket: (width,) each."""
        place = (self.end - 1) % self.length
        self.low[place], self.high[place] = low, high

    def read(self, start: int, stop: int, columns: Sequence[int] | None = None) -> tuple[Samples, Samples]:
        """Return copies of low and high of buckets that are kept, up to `stop` - 1; one array where high is low."""
        low = self._read(self.low, start, stop, columns)
        return low, low if self.high is self.low else self._read(self.high, start, stop, columns)

    def _clear(self, start: int, stop: int) -> None:
        for part, _ in self._parts(start, stop):
            self.low[part] = np.nan
            self.high[part] = np.nan

    def _write(self, ring: Samples, start: int, values: Samples) -> None:
        for part, source in self._parts(start, start + len(values)):
            ring[part] = values[source]

    def _read(self, ring: Samples, start: int, stop: int, columns: Sequence[int] | None) -> Samples:
        # take, unlike an index, leaves the rows in one piece, which all that follows wants
        chosen = np.arange(ring.shape[1]) if columns is None else np.array(columns, dtype=np.intp)
        parts = [ring[part].take(chosen, axis=1) for part, _ in self._parts(start, stop)]
        return parts[0] if len(parts) == 1 else np.concatenate([ring[:0].take(chosen, axis=1), *parts])

    def _parts(self, start: int, stop: int) -> list[tuple[slice, slice]]:
        """Return where the buckets ``start .. stop - 1`` are: slices of the ring, and of the buckets themselves."""
        n = stop - start
        if n <= 0:
            return []
        place = start % self.length
        until = min(n, self.length - place)
        whole = [(slice(place, place + until), slice(0, until))]
        return whole if until == n else [*whole, (slice(0, n - until), slice(until, n))]

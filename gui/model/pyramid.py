"""Pyramid of ring buffers: rows as they came, and min/max buckets at coarser resolutions, within bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gui.model.envelope import Envelope, bucket_rows, halved
from monitor.messages.blocks import Samples

_FACTOR = 16
_HOUR, _DAY = 3600.0, 86_400.0
_LEAST_ROWS = 1 << 14
_FOR_COARSE = 8
_NUMBER = 8


def signal_levels(sample_rate: float, width: int, minutes: float, memory: int) -> tuple[int, ...]:
    """Return the rows or buckets of each level: as they came, for an hour by 16, for a day by 256 and by 4096.

    The last makes a view of hours as quick as one of minutes, for a sixteenth of the memory of the one before.
    """
    return _levels(sample_rate, width, minutes, memory, (_HOUR, _DAY, _DAY))


def result_levels(rate: float, width: int, minutes: float, memory: int) -> tuple[int, ...]:
    """Return the instants or buckets of each level: as they came, for two hours by 16, for a day by 256."""
    return _levels(rate, width, minutes, memory, (2.0 * _HOUR, _DAY))


def _levels(rate: float, width: int, minutes: float, memory: int, spans: tuple[float, ...]) -> tuple[int, ...]:
    """Return the lengths of the levels.

    Where memory is short the coarse ones shrink, all by the same share, until an eighth of it is left for them; then
    the finest. A slow stream, of which `minutes` are few rows, is kept as it came for some thousand rows.
    """
    row = _NUMBER * max(1, width)
    wanted = max(round(60.0 * minutes * rate), min(_LEAST_ROWS, round(spans[-1] * rate)))
    finest = max(_FACTOR, min(wanted, (memory - memory // _FOR_COARSE) // row))
    coarse = [span * rate / _FACTOR ** (k + 1) for k, span in enumerate(spans)]
    # each bucket has a least and a greatest value
    share = min(1.0, max(0, memory - finest * row) / (2.0 * row * sum(coarse)))
    return finest, *(max(_FACTOR, int(share * length)) for length in coarse)


class _Ring:
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

    def replace_last(self, low: Samples, high: Samples) -> None:
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


class Pyramid:
    """Rows of numbers in a ring, and beside it coarser rings of the min and max of 16 rows, 256 rows, ...

    All memory is taken at once and never grows.

    Parameters
    ----------
    width : numbers in a row.
    levels : rows (buckets) that each level's ring holds, finest first; at least `factor` in all but the last.
    factor : buckets of a level that make one of the next; a power of two.

    Raises
    ------
    ValueError : the factor is no power of two, there is no level, or a ring is too short.
    """

    def __init__(self, width: int, levels: Sequence[int], factor: int = 16) -> None:
        if factor < 2 or factor & (factor - 1):
            raise ValueError(f"factor {factor}: must be a power of two")
        if not levels or min(levels) < 1 or any(length < factor for length in levels[:-1]):
            raise ValueError(f"levels {tuple(levels)}: one is needed, and {factor} buckets in all but the last")
        self.width = width
        self._factor = factor
        self._rings = tuple(_Ring(width, length, factor**k) for k, length in enumerate(levels))
        self._first = 0

    @property
    def end(self) -> int:
        """Number after the newest row; 0 before the first."""
        return self._rings[0].end

    @property
    def begin(self) -> int:
        """Number of the oldest row that any level still knows."""
        return max(self._first, min(ring.begin * ring.rows for ring in self._rings))

    @property
    def kept(self) -> int:
        """Number of the oldest row that is kept as it came."""
        return max(self._first, self._rings[0].begin)

    @property
    def nbytes(self) -> int:
        """Bytes that all rings hold."""
        return sum(ring.nbytes for ring in self._rings)

    def append(self, first: int, rows: Samples) -> None:
        """Take the rows numbered `first`, `first` + 1 ...

        Numbers left out before `first` become NaN, and those below what is there change nothing.
        """
        end = self.end
        if first < end:
            first, rows = end, rows[end - first :]
        if not len(rows):
            return
        if first - end >= max(ring.length * ring.rows for ring in self._rings) or not end:
            self._first = first
        low = high = rows
        for ring in self._rings:
            if ring.rows > 1:
                low, high = _joined(first, low, high, self._factor)
                first //= self._factor
            ring.append(first, low, high)

    def replace_last(self, row: Samples) -> None:
        """Replace the newest row, (width,), as if it had never been another."""
        finer = self._rings[0]
        finer.replace_last(row, row)
        for ring in self._rings[1:]:
            low, high = finer.read(max(finer.begin, (ring.end - 1) * self._factor), finer.end)
            ring.replace_last(np.fmin.reduce(low), np.fmax.reduce(high))
            finer = ring

    def rows(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Samples:
        """Return (stop - start, n_columns), a copy of the rows as they came; NaN where they are not kept."""
        width = self.width if columns is None else len(columns)
        found = np.full((max(0, stop - start), width), np.nan)
        low, high = max(start, self.kept), min(stop, self.end)
        if low < high:
            found[low - start : high - start], _ = self._rings[0].read(low, high, columns)
        return found

    def envelope(self, start: float, stop: float, n_columns: int, columns: Sequence[int]) -> Envelope:
        """Return what a curve from row `start` to row `stop` is drawn from: at most about `n_columns` buckets.

        A bucket has w rows, a power of two that depends on ``(stop - start) / n_columns`` alone, and begins at a
        multiple of w: while a picture scrolls, nothing changes but the bucket at its live edge. One bucket more on
        either side lets a line run to the edges. Where the finest level that suffices has overwritten, a coarser one
        stands in, its buckets repeated. Edges are numbers of rows.
        """
        w = bucket_rows(stop - start, n_columns)
        first = max(int(start // w) - 1, self.begin // w)
        last = min(int(stop // w) + 2, -(-self.end // w)) if stop >= start else first
        edge, pieces = last, []
        for ring in self._preferred(w):
            oldest = max(first, -(-max(ring.begin * ring.rows, 0) // w))
            if oldest < edge:
                pieces.append(_buckets(ring, oldest, edge, w, columns))
                edge = oldest
        pieces.reverse()
        edges = w * np.arange(edge, max(edge, last) + 1, dtype=float)
        if not pieces:
            nothing = np.empty((0, len(columns)))
            return Envelope(edges, nothing, nothing, w)
        low, high = pieces[0] if len(pieces) == 1 else (np.concatenate(part) for part in zip(*pieces, strict=True))
        return Envelope(edges, low, high, w)

    def _preferred(self, w: int) -> list[_Ring]:
        """Return the coarsest level that suffices for buckets of `w` rows, then finer ones, then coarser ones."""
        enough = [ring for ring in self._rings if ring.rows <= w]
        return [*reversed(enough), *self._rings[len(enough) :]]


def _joined(first: int, low: Samples, high: Samples, factor: int) -> tuple[Samples, Samples]:
    """Return the buckets of the next level that the buckets from `first` on fall into."""
    inside = -first % factor
    starts = np.arange(inside - factor if inside else 0, len(low), factor)
    starts[0] = 0
    return np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def _buckets(ring: _Ring, start: int, stop: int, w: int, columns: Sequence[int]) -> tuple[Samples, Samples]:
    """Return low and high of the buckets ``start .. stop - 1`` of `w` rows from one ring."""
    if ring.rows > w:
        inside = np.arange(start, stop) * w // ring.rows
        low, high = ring.read(int(inside[0]), int(inside[-1]) + 1, columns)
        return low[inside - inside[0]], high[inside - inside[0]]
    per = w // ring.rows
    low, high = ring.read(start * per, min(stop * per, ring.end), columns)
    if missing := (stop - start) * per - len(low):
        nothing = np.full((missing, len(columns)), np.nan)
        one = low is high
        low = np.concatenate([low, nothing])
        high = low if one else np.concatenate([high, nothing])
    return halved(low, high, per.bit_length() - 1)

"""Envelopes of curves, and the pyramid of ring buffers that stores their rows at several resolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gui.model.tracking_error import Difference, chosen
from monitor.messages.blocks import Samples

# tolerance of the logarithm of a ratio: while scrolling, rounding changes the span
_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Envelope:
    """Minimum and maximum of consecutive buckets of equal width.

    Parameters
    ----------
    edges : (n + 1,), of the buckets.
    low, high : (n, n_columns), NaN where a bucket has no valid value; the same array where every bucket is one row.
    rows : rows in a bucket.
    """

    edges: Samples
    low: Samples
    high: Samples
    rows: int = 1

    def __len__(self) -> int:
        return int(self.low.shape[0])

    @property
    def exact(self) -> bool:
        """Whether these are the rows themselves, `low` and `high` being one array."""
        return self.low is self.high

    @property
    def centers(self) -> Samples:
        """(n,), halfway between the first and the last row of each bucket; the row itself, where that is one."""
        left, right = self.edges[:-1], self.edges[1:]
        return left + (right - left) * ((self.rows - 1) / (2 * self.rows))

    def at(self, place: float) -> tuple[Samples, Samples]:
        """Return minimum and maximum, (n_columns,) each, of the bucket at `place`.

        NaN where there is no such bucket.
        """
        found = int(np.searchsorted(self.edges, place, side="right")) - 1
        if not 0 <= found < len(self):
            nothing = np.full(self.low.shape[1], np.nan)
            return nothing, nothing
        return self.low[found], self.high[found]

    def scaled(self, factor: float, origin: float = 0.0) -> Envelope:
        """Return the same values with edges at ``origin + factor * edge``."""
        return Envelope(origin + factor * self.edges, self.low, self.high, self.rows)

    def within(self, begin: float, end: float) -> Envelope:
        """Return the buckets that lie wholly between `begin` and `end`."""
        first = min(int(np.searchsorted(self.edges, begin)), len(self))
        last = max(first, int(np.searchsorted(self.edges, end, side="right")) - 1)
        low = self.low[first:last]
        return Envelope(self.edges[first : last + 1], low, low if self.exact else self.high[first:last], self.rows)


def bucket_rows(span: float, n_columns: int) -> int:
    """Return the rows of a bucket, a power of two, so that `span` rows are at most `n_columns` buckets."""
    ratio = span / max(1, n_columns)
    return 1 << math.ceil(math.log2(ratio) - _SLACK) if ratio > 1.0 + _SLACK else 1


def halved(low: Samples, high: Samples, n_times: int) -> tuple[Samples, Samples]:
    """Join neighbours `n_times`; the number of rows must be divisible by 2**n_times."""
    for _ in range(n_times):
        low, high = np.fmin(low[::2], low[1::2]), np.fmax(high[::2], high[1::2])
    return low, high


def spliced(coarse: Envelope, fine: Envelope) -> Envelope:
    """Return `coarse` with the buckets of `fine` in its range; between the two, the nearest is repeated."""
    if not len(fine):
        return coarse
    begin, end = float(fine.edges[0]), float(fine.edges[-1])
    first = int(np.searchsorted(coarse.edges[1:], begin, side="right"))
    last = max(first, int(np.searchsorted(coarse.edges[:-1], end, side="left")))
    pieces = [
        (coarse.edges[:first], slice(0, first), coarse),
        # the part of a replaced coarse bucket before the fine ones
        (coarse.edges[first : first + 1], slice(0, 1), fine) if first and coarse.edges[first] < begin else None,
        (fine.edges[:-1], slice(None), fine),
        (fine.edges[-1:], slice(-1, None), fine) if last < len(coarse) and coarse.edges[last] > end else None,
        (coarse.edges[last:-1], slice(last, None), coarse),
    ]
    parts = [piece for piece in pieces if piece is not None]
    stop = coarse.edges[-1:] if last < len(coarse) else fine.edges[-1:]
    edges = np.concatenate([*(begins for begins, _, _ in parts), stop])
    low = np.concatenate([source.low[chosen] for _, chosen, source in parts])
    exact = coarse.exact and fine.exact
    high = low if exact else np.concatenate([source.high[chosen] for _, chosen, source in parts])
    # for buckets of several widths the middle is a sufficient approximation of the centre
    return Envelope(edges, low, high, 1 if exact else max(coarse.rows, fine.rows))


_FACTOR = 16
_HOUR, DAY = 3600.0, 86_400.0
_MIN_ROWS = 1 << 14
_COARSE_SHARE = 8  # one part in this many of the memory is for the coarse levels where it is short
_FLOAT_BYTES = 8


def signal_levels(
    sample_rate: float, width: int, minutes: float, memory: int, longest: float = DAY, stored: int = 0
) -> tuple[int, ...]:
    """Return the lengths of the levels: single rows, an hour in buckets of 16, a day in buckets of 256 and of 4096.

    The last makes a view of hours as fast as one of minutes, for a sixteenth of the memory of the level before. A
    recording is stored as a whole, whose length is `longest` s. `stored`: columns of single rows, where not all.
    """
    return _levels(sample_rate, width, minutes, memory, (_HOUR, DAY), longest, stored)


def result_levels(rate: float, width: int, minutes: float, memory: int, longest: float = DAY) -> tuple[int, ...]:
    """Return the lengths of the levels: single rows, two hours in buckets of 16, a day in buckets of 256."""
    return _levels(rate, width, minutes, memory, (2.0 * _HOUR,), longest)


def _levels(
    rate: float, width: int, minutes: float, memory: int, spans: tuple[float, ...], longest: float, stored: int = 0
) -> tuple[int, ...]:
    """Return the lengths of the levels: of single rows, of each of `spans` s, and of all.

    Where memory is short the coarse levels shrink down to an eighth of the memory, of which each has a quarter of
    what coarser ones leave, then the finest level does. Of a slow stream, for which `minutes` are few rows, some
    thousand single rows are stored.
    """
    row, bucket = _FLOAT_BYTES * max(1, stored or width), 2 * _FLOAT_BYTES * max(1, width)
    spans = (*(min(span, longest) for span in spans), longest)
    wanted = max(math.ceil(60.0 * minutes * rate), min(_MIN_ROWS, round(longest * rate)))
    finest = max(_FACTOR, min(wanted, (memory - memory // _COARSE_SHARE) // row))
    left, coarse = max(0, memory - finest * row), list[int]()
    for k, span in reversed(list(enumerate(spans))):
        share = left // 4 if k else left
        coarse.insert(0, max(_FACTOR, min(int(span * rate / _FACTOR ** (k + 1)), share // bucket)))
        left -= coarse[0] * bucket
    return finest, *coarse


class _Ring:
    """Ring buffer of the newest `length` buckets of `rows` rows each: minimum and maximum of every column.

    Bucket b begins at row ``b * rows``. With one row a bucket, `low` and `high` are one array.

    Parameters
    ----------
    width : number of columns.
    length : number of buckets that are stored.
    rows : rows a bucket.
    """

    def __init__(self, width: int, length: int, rows: int) -> None:
        self.length, self.rows = length, rows
        self.low: Samples = np.full((length, width), np.nan)
        self.high: Samples = self.low if rows == 1 else np.full((length, width), np.nan)
        self.end = 0  # number of the bucket after the newest

    @property
    def begin(self) -> int:
        """Number of the oldest stored bucket."""
        return max(0, self.end - self.length)

    @property
    def nbytes(self) -> int:
        """Allocated bytes; constant."""
        return self.low.nbytes * (1 if self.rows == 1 else 2)

    def append(self, first: int, low: Samples, high: Samples) -> None:
        """Append the buckets from number `first` on, at least one; the first is merged into the newest if equal.

        Skipped buckets before `first` are NaN.
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
        """Return copies of low and high of stored buckets, up to `stop` - 1; one array where high is low."""
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
        # take, unlike an index, returns C-contiguous rows
        chosen = np.arange(ring.shape[1]) if columns is None else np.array(columns, dtype=np.intp)
        parts = [ring[part].take(chosen, axis=1) for part, _ in self._parts(start, stop)]
        return parts[0] if len(parts) == 1 else np.concatenate([ring[:0].take(chosen, axis=1), *parts])

    def _parts(self, start: int, stop: int) -> list[tuple[slice, slice]]:
        """Return the slices of the ring that hold the buckets ``start .. stop - 1``, and those of the buckets."""
        n = stop - start
        if n <= 0:
            return []
        place = start % self.length
        until = min(n, self.length - place)
        whole = [(slice(place, place + until), slice(0, until))]
        return whole if until == n else [*whole, (slice(0, n - until), slice(until, n))]


class _RowRing(_Ring):
    """Ring buffer of single rows, some of whose columns are differences of others, and not stored.

    Parameters
    ----------
    sources : what each column is; those that are stored come first.
    length : number of rows.
    """

    def __init__(self, sources: Sequence[int | Difference], length: int) -> None:
        self._sources = sources
        super().__init__(sum(isinstance(source, int) for source in sources), length, 1)

    def append(self, first: int, low: Samples, high: Samples) -> None:
        """Append rows from number `first` on."""
        super().append(first, low[:, : self.low.shape[1]], high)

    def _read(self, ring: Samples, start: int, stop: int, columns: Sequence[int] | None) -> Samples:
        wanted = self._sources if columns is None else [self._sources[column] for column in columns]
        single = [source for source in wanted if isinstance(source, int)]
        if len(single) == len(wanted):
            return super()._read(ring, start, stop, single)
        return chosen(super()._read(ring, start, stop, None), wanted)


class Pyramid:
    """Ring buffer of rows of numbers, with coarser rings of the min and max of 16 rows, 256 rows, ...

    Row r is at x = r / rate. Infinite values are stored as NaN: they cannot be drawn. All memory is allocated at once
    and never grows.

    Parameters
    ----------
    width : numbers in a row.
    levels : rows (buckets) that each level's ring holds, finest first; at least `factor` in all but the last.
    factor : buckets of a level that make one of the next; a power of two.
    rate : rows per unit of x, Hz.
    sources : what the numbers are, where some are differences of others: single rows do not hold these.

    Raises
    ------
    ValueError : the factor is no power of two, there is no level, or a ring is too short.
    """

    def __init__(
        self,
        width: int,
        levels: Sequence[int],
        factor: int = 16,
        rate: float = 1.0,
        sources: Sequence[int | Difference] = (),
    ) -> None:
        if factor < 2 or factor & (factor - 1):
            raise ValueError(f"factor {factor}: must be a power of two")
        if not levels or min(levels) < 1 or any(length < factor for length in levels[:-1]):
            raise ValueError(f"levels {tuple(levels)}: one is needed, and {factor} buckets in all but the last")
        self.width, self.rate = width, rate
        self._factor = factor
        rows = _RowRing(sources or range(width), levels[0])
        self._rings = (rows, *(_Ring(width, length, factor**k) for k, length in enumerate(levels[1:], start=1)))
        self._first = 0

    @property
    def end(self) -> int:
        """Number after the newest row; 0 before the first."""
        return self._rings[0].end

    @property
    def begin(self) -> int:
        """Number of the oldest row that any level has."""
        return max(self._first, min(ring.begin * ring.rows for ring in self._rings))

    @property
    def exact_begin(self) -> int:
        """Number of the oldest row that is stored as received."""
        return max(self._first, self._rings[0].begin)

    @property
    def begin_x(self) -> float:
        """x of the oldest row that any level has; NaN before the first row."""
        return self.begin / self.rate if self.end else math.nan

    @property
    def nbytes(self) -> int:
        """Bytes that all rings hold."""
        return sum(ring.nbytes for ring in self._rings)

    def append(self, x: float, rows: Samples) -> None:
        """Append consecutive rows, (n_rows, width), the first of them at `x`.

        Skipped rows before the first become NaN; rows before the newest stored one are ignored.
        """
        first, end = round(x * self.rate), self.end
        if first < end:
            first, rows = end, rows[end - first :]
        if not len(rows):
            return
        if not np.isfinite(rows).all():
            rows = np.where(np.isfinite(rows), rows, np.nan)
        if first - end >= max(ring.length * ring.rows for ring in self._rings) or not end:
            self._first = first
        low = high = rows
        for ring in self._rings:
            if ring.rows > 1:
                low, high = _joined(first, low, high, self._factor)
                first //= self._factor
            ring.append(first, low, high)

    def replace_last(self, row: Samples) -> None:
        """Replace the newest row, (width,), on all levels."""
        row = np.where(np.isinf(row), np.nan, row)
        finer = self._rings[0]
        finer.replace_last(row, row)
        for ring in self._rings[1:]:
            low, high = finer.read(max(finer.begin, (ring.end - 1) * self._factor), finer.end)
            ring.replace_last(np.fmin.reduce(low), np.fmax.reduce(high))
            finer = ring

    def rows(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Samples:
        """Return (stop - start, n_columns), a copy of the rows as received; NaN where they are not stored."""
        width = self.width if columns is None else len(columns)
        found = np.full((max(0, stop - start), width), np.nan)
        low, high = max(start, self.exact_begin), min(stop, self.end)
        if low < high:
            found[low - start : high - start], _ = self._rings[0].read(low, high, columns)
        return found

    def envelope(self, x0: float, x1: float, n_columns: int, columns: Sequence[int]) -> Envelope:
        """Return the min/max buckets of a curve from `x0` to `x1`, about `n_columns` of them at most.

        A bucket has w rows, a power of two that depends on ``(x1 - x0) / n_columns`` alone, and begins at a multiple
        of w: while a picture scrolls, nothing changes but the bucket at its live edge. One more bucket on either side
        lets a line reach the edges. Where the finest sufficient level is overwritten, buckets of a coarser one are
        repeated.
        """
        start, stop = x0 * self.rate, x1 * self.rate
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
        edges = (1.0 / self.rate) * (w * np.arange(edge, max(edge, last) + 1, dtype=float))
        if not pieces:
            nothing = np.empty((0, len(columns)))
            return Envelope(edges, nothing, nothing, w)
        low, high = pieces[0] if len(pieces) == 1 else (np.concatenate(part) for part in zip(*pieces, strict=True))
        return Envelope(edges, low, high, w)

    def _preferred(self, w: int) -> list[_Ring]:
        """Return the levels by preference: the coarsest for buckets of `w` rows, then finer, then coarser ones."""
        enough = [ring for ring in self._rings if ring.rows <= w]
        return [*reversed(enough), *self._rings[len(enough) :]]


def _joined(first: int, low: Samples, high: Samples, factor: int) -> tuple[Samples, Samples]:
    """Join the buckets from number `first` on into those of the next level."""
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

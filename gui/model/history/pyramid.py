"""Rows of numbers at several resolutions, so that any span is drawn from few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gui.model.history.envelope import Envelope, bucket_rows, halved
from gui.model.history.ring import Ring
from monitor.messages.blocks import Samples

__all__ = ["Envelope", "Pyramid"]


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
        self._rings = tuple(Ring(width, length, factor**k) for k, length in enumerate(levels))
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

    def renew(self, row: Samples) -> None:
        """Replace the newest row, (width,), as if it had never been another."""
        finer = self._rings[0]
        finer.renew(row, row)
        for ring in self._rings[1:]:
            low, high = finer.read(max(finer.begin, (ring.end - 1) * self._factor), finer.end)
            ring.renew(np.fmin.reduce(low), np.fmax.reduce(high))
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
        either side lets a line run to the edges. Where the finest level that suffices has forgotten, a coarser one
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

    def _preferred(self, w: int) -> list[Ring]:
        """Return the coarsest level that suffices for buckets of `w` rows, then finer ones, then coarser ones."""
        enough = [ring for ring in self._rings if ring.rows <= w]
        return [*reversed(enough), *self._rings[len(enough) :]]


def _joined(first: int, low: Samples, high: Samples, factor: int) -> tuple[Samples, Samples]:
    """Return the buckets of the next level that the buckets from `first` on fall into."""
    inside = -first % factor
    starts = np.arange(inside - factor if inside else 0, len(low), factor)
    starts[0] = 0
    return np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def _buckets(ring: Ring, start: int, stop: int, w: int, columns: Sequence[int]) -> tuple[Samples, Samples]:
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

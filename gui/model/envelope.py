"""Envelope of a curve: minimum and maximum of each bucket of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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

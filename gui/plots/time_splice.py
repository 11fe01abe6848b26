"""Finer detail put into a coarser envelope."""

from __future__ import annotations

import numpy as np

from gui.model.history.envelope import Envelope


def spliced(coarse: Envelope, fine: Envelope) -> Envelope:
    """Return `coarse` with the buckets of `fine` where there are such; between the two, the nearest is repeated."""
    if not len(fine):
        return coarse
    begin, end = float(fine.edges[0]), float(fine.edges[-1])
    first = int(np.searchsorted(coarse.edges[1:], begin, side="right"))
    last = max(first, int(np.searchsorted(coarse.edges[:-1], end, side="left")))
    pieces = [
        (coarse.edges[:first], slice(0, first), coarse),
        # what a coarse bucket covers that gives way in part
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
    # of buckets that are not alike the middle is near enough the centre
    return Envelope(edges, low, high, 1 if exact else max(coarse.rows, fine.rows))

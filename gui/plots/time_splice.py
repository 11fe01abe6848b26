"""Finer detail put into a coarser envelope."""

from __future__ import annotations

import numpy as np

from gui.history.envelope import Envelope


def spliced(coarse: Envelope, fine: Envelope) -> Envelope:
    """Return `coarse` with the buckets of `fine` where there are such; between the two, the nearest is repeated."""
    if not len(fine):
        return coarse
    first = int(np.searchsorted(coarse.edges[1:], fine.edges[0], side="right"))
    last = int(np.searchsorted(coarse.edges[:-1], fine.edges[-1], side="left"))
    before, after = slice(0, first), slice(max(first, last), len(coarse))
    edges = [coarse.edges[: first + 1] if first else coarse.edges[:0], fine.edges]
    low, high = [coarse.low[before]], [coarse.high[before]]
    if first:
        low.append(fine.low[:1])
        high.append(fine.high[:1])
    low.append(fine.low)
    high.append(fine.high)
    if after.start < len(coarse):
        low += [fine.low[-1:], coarse.low[after]]
        high += [fine.high[-1:], coarse.high[after]]
        edges.append(coarse.edges[after.start :])
    whole = np.concatenate(low)
    exact = coarse.exact and fine.exact
    return Envelope(np.concatenate(edges), whole, whole if exact else np.concatenate(high), fine.rows if exact else 2)

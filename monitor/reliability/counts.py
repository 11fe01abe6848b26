"""Counts of realizations within the tolerance: at an instant, at every instant so far, and summed over the instants.

All three use the sorted ensemble: binary searches give the ranks of the realizations within the tolerance, and a
sample visits only those outside (or inside, if these are fewer).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble, Flags, Integers, Ranks

SmallIntegers = NDArray[np.int32]


def rank_intervals(
    ensemble: Ensemble, instants: Integers, measured: Samples, tolerance: Samples
) -> tuple[Integers, Integers]:
    """Return the ranks `low` and `high`: the realizations ``order[q, low:high]`` are within the tolerance.

    Parameters
    ----------
    ensemble : the model.
    instants : (n_instants,), rows of the ensemble.
    measured, tolerance : (n_instants, n_replicates), in the unit of the ensemble; finite.

    Returns
    -------
    low, high : (n_instants, n_replicates). "Within" is |Y_M - Y_D| < tolerance, strictly, in floating point as
        written (eq. 4): the count equals that of a scan. Nothing is within a tolerance of zero.
    """
    low: Integers = np.empty(measured.shape, dtype=np.int64)
    high = np.empty_like(low)
    _search_ranks(ensemble.response, ensemble.order, instants, measured, tolerance, low, high)
    return low, high


@kernel
def _search_ranks(
    response: Samples,
    order: Ranks,
    instants: Integers,
    measured: Samples,
    tolerance: Samples,
    low: Integers,
    high: Integers,
) -> None:
    m = response.shape[1]
    # the order of a damaged file may be out of range: never read past the end
    last = m - 1
    for i in range(measured.shape[0]):
        q = instants[i]
        for j in range(measured.shape[1]):
            y, eps = measured[i, j], tolerance[i, j]
            # two interleaved searches: each waits for memory most of the time
            a, b = 0, m
            c, d = 0, m
            while a < b or c < d:
                if a < b:
                    half = (a + b) >> 1
                    if response[q, min(order[q, half], last)] - y > -eps:
                        b = half
                    else:
                        a = half + 1
                if c < d:
                    half = (c + d) >> 1
                    if response[q, min(order[q, half], last)] - y >= eps:
                        d = half
                    else:
                        c = half + 1
            low[i, j] = a
            high[i, j] = max(a, c)


class FirstPassageCounter:
    """Survivors of each replicate: realizations within the tolerance at every instant so far (eq. 12-14, 19).

    A sample visits the realizations outside its tolerance, or the survivors if they are fewer.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements at each instant.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1) -> None:
        self._alive: Flags = np.ones((n_replicates, n_realizations), dtype=np.uint8)
        # indices of the survivors; may contain realizations that failed since the list was last compacted
        self._listed: Ranks = np.tile(np.arange(n_realizations, dtype=np.uint32), (n_replicates, 1))
        self._lengths: Integers = np.full(n_replicates, n_realizations, dtype=np.int64)
        self._survivors = self._lengths.copy()
        # number of replicates that each realization survives, and the sum of its squares
        self._survived: Integers = np.full(n_realizations, n_replicates, dtype=np.int64)
        self._squares: Integers = np.array([n_realizations * n_replicates**2], dtype=np.int64)

    def advance(
        self,
        ensemble: Ensemble,
        instants: Integers,
        measured: Samples,
        tolerance: Samples,
        low: Integers,
        high: Integers,
    ) -> tuple[Integers, Integers]:
        """Process the next instants.

        Parameters
        ----------
        ensemble, instants, measured, tolerance, low, high : see `rank_intervals`.

        Returns
        -------
        survivors : (n_instants, n_replicates), number of survivors.
        squares : (n_instants,), the sum over the realizations of the squared number of replicates they survive.
        """
        survivors = np.empty_like(low)
        squares: Integers = np.empty(len(low), dtype=np.int64)
        _advance_first_passage(
            ensemble.response,
            ensemble.order,
            instants,
            measured,
            tolerance,
            low,
            high,
            self._alive,
            self._listed,
            self._lengths,
            self._survivors,
            self._survived,
            self._squares,
            survivors,
            squares,
        )
        return survivors, squares


@kernel
def _advance_first_passage(
    response: Samples,
    order: Ranks,
    instants: Integers,
    measured: Samples,
    tolerance: Samples,
    low: Integers,
    high: Integers,
    alive: Flags,
    listed: Ranks,
    lengths: Integers,
    survivors: Integers,
    survived: Integers,
    squares: Integers,
    survivors_out: Integers,
    squares_out: Integers,
) -> None:
    m = response.shape[1]
    for i in range(low.shape[0]):
        q = instants[i]
        for j in range(low.shape[1]):
            # the list may be longer than the number of survivors, but its surplus is scanned only once
            if m - (high[i, j] - low[i, j]) <= survivors[j]:
                for side in range(2):
                    start, stop = (0, low[i, j]) if side == 0 else (high[i, j], m)
                    for rank in range(start, stop):
                        k = min(order[q, rank], m - 1)
                        if alive[j, k]:
                            alive[j, k] = 0
                            survivors[j] -= 1
                            # (s - 1)^2 - s^2
                            squares[0] -= 2 * survived[k] - 1
                            survived[k] -= 1
            else:
                y, eps = measured[i, j], tolerance[i, j]
                n_listed = 0
                for place in range(lengths[j]):
                    k = listed[j, place]
                    if not alive[j, k]:
                        continue
                    if np.abs(response[q, k] - y) < eps:
                        listed[j, n_listed] = k
                        n_listed += 1
                    else:
                        alive[j, k] = 0
                        survivors[j] -= 1
                        squares[0] -= 2 * survived[k] - 1
                        survived[k] -= 1
                lengths[j] = n_listed
            survivors_out[i, j] = survivors[j]
        squares_out[i] = squares[0]


# indices into the state
_EVERYWHERE, _SUM, _SQUARES, _ASSESSED, _OLDEST = range(5)


class AccumulatedCounter:
    """Number of instants at which each realization was within the tolerance (eq. 24-26), so far or in a window.

    A sample visits the realizations outside its tolerance, or those inside if they are fewer. The sums alone would
    give the reliability; the count of each realization gives its standard error.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements at each instant.
    window : length in instants of the ensemble, assessed or not; 0: all instants so far.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1, window: int = 0) -> None:
        # count of each realization relative to the one that is common to all
        self._extra: SmallIntegers = np.zeros(n_realizations, dtype=np.int32)
        self._state: Integers = np.zeros(5, dtype=np.int64)
        self._instants: Integers = np.zeros(window, dtype=np.int64)
        self._low: Integers = np.zeros((window, n_replicates), dtype=np.int64)
        self._high = np.zeros_like(self._low)

    def advance(
        self, ensemble: Ensemble, instants: Integers, low: Integers, high: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Process the next instants.

        Parameters
        ----------
        ensemble, instants, low, high : see `rank_intervals`.

        Returns
        -------
        within, squares : (n_instants,), the sum over the realizations of the instants (times replicates) within
            the tolerance, and of its square.
        assessed : (n_instants,), the number of instants in these sums.
        """
        totals: Integers = np.empty((3, len(instants)), dtype=np.int64)
        ring = self._instants, self._low, self._high
        _advance_accumulated(ensemble.order, instants, low, high, self._extra, self._state, *ring, totals)
        return totals[0], totals[1], totals[2]


@part
def _count(
    order: Ranks, instant: int, low: int, high: int, entering: bool, extra: SmallIntegers, state: Integers
) -> None:
    """Count an instant for the realizations ``order[instant, low:high]``, or subtract it."""
    m = order.shape[1]
    inside = 2 * (high - low) <= m
    step = 1 if entering == inside else -1
    squares = 0
    for side in range(1 if inside else 2):
        start = low if inside else (0 if side == 0 else high)
        stop = high if inside else (low if side == 0 else m)
        for rank in range(start, stop):
            k = min(order[instant, rank], m - 1)
            # (e + s)^2 - e^2
            squares += 2 * step * extra[k] + 1
            extra[k] += step
        state[_SUM] += step * (stop - start)
    state[_SQUARES] += squares
    if not inside:
        state[_EVERYWHERE] -= step


@kernel
def _advance_accumulated(
    order: Ranks,
    instants: Integers,
    low: Integers,
    high: Integers,
    extra: SmallIntegers,
    state: Integers,
    ring_instants: Integers,
    ring_low: Integers,
    ring_high: Integers,
    totals: Integers,
) -> None:
    m, window = order.shape[1], ring_instants.shape[0]
    for i in range(low.shape[0]):
        q = instants[i]
        while window and state[_ASSESSED] and ring_instants[state[_OLDEST]] <= q - window:
            oldest = state[_OLDEST]
            for j in range(low.shape[1]):
                _count(order, ring_instants[oldest], ring_low[oldest, j], ring_high[oldest, j], False, extra, state)
            state[_OLDEST] = (oldest + 1) % window
            state[_ASSESSED] -= 1
        for j in range(low.shape[1]):
            _count(order, q, low[i, j], high[i, j], True, extra, state)
        if window:
            newest = (state[_OLDEST] + state[_ASSESSED]) % window
            ring_instants[newest] = q
            ring_low[newest], ring_high[newest] = low[i], high[i]
        state[_ASSESSED] += 1
        everywhere, total = state[_EVERYWHERE], state[_SUM]
        totals[0, i] = m * everywhere + total
        totals[1, i] = m * everywhere**2 + 2 * everywhere * total + state[_SQUARES]
        totals[2, i] = state[_ASSESSED]

"""Counts of realizations within the tolerance, summed over the instants so far or in a window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part
from monitor.reliability.ensemble import Ensemble, Integers, Ranks

SmallIntegers = NDArray[np.int32]

# indices into the state
_EVERYWHERE, _SUM, _SQUARES, _ASSESSED, _OLDEST = range(5)


class Accumulation(NamedTuple):
    """The arrays of `AccumulatedCounter`.

    ``extra`` (n_realizations,): count of each realization relative to the one that is common to all; ``state`` (5,):
    that one, sums and numbers; ``instants`` (window,), ``low`` and ``high`` (window, n_replicates): a ring of the
    instants in the window and their rank intervals.
    """

    extra: SmallIntegers
    state: Integers
    instants: Integers
    low: Integers
    high: Integers


def new_accumulation(n_realizations: int, n_replicates: int, window: int) -> Accumulation:
    """Return the initial arrays."""
    low, high = np.zeros((2, window, n_replicates), dtype=np.int64)
    extra, state = np.zeros(n_realizations, dtype=np.int32), np.zeros(5, dtype=np.int64)
    return Accumulation(extra, state, np.zeros(window, dtype=np.int64), low, high)


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
        self._state = new_accumulation(n_realizations, n_replicates, window)

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
        advance_accumulated(ensemble.order, instants, low, high, *self._state, totals)
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
def advance_accumulated(
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
    """Process the next instants, see `AccumulatedCounter.advance`, and update the arrays of `Accumulation`."""
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

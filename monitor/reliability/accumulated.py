"""Accumulated reliability: the share of instants, of all so far or of the last, that are within the tolerance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.ranks import Integers

# places in the state
_EVERYWHERE, _SUM, _SQUARES, _JUDGED = range(4)


class Accumulated:
    """For each realization, at how many instants it was within the tolerance (eq. 24-26).

    A new sample costs a visit to the realizations outside, or to those inside if they are fewer. The sums alone
    would do for the reliability; that each realization is counted gives the error of its mean.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements that come side by side.
    window : instants after which one is forgotten; 0: never.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1, window: int = 0) -> None:
        # the instants within are those of everybody, plus these
        self._extra: NDArray[np.int32] = np.zeros(n_realizations, dtype=np.int32)
        self._state: Integers = np.zeros(4, dtype=np.int64)
        self._window = window
        self._instants: Integers = np.zeros(window, dtype=np.int64)
        self._low: Integers = np.zeros((window, n_replicates), dtype=np.int64)
        self._high = np.zeros_like(self._low)

    def advance(
        self, ensemble: Ensemble, instants: Integers, low: Integers, high: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Take instants in their order.

        Parameters
        ----------
        ensemble, instants, low, high : see `locate`.

        Returns
        -------
        within, squares : (n_instants,), the sum over the realizations of the instants (times replicates) within
            the tolerance, and of the square of that.
        judged : (n_instants,), how many instants that was of.
        """
        totals: Integers = np.empty((3, len(instants)), dtype=np.int64)
        kept = self._instants, self._low, self._high
        _advance(ensemble.order, instants, low, high, self._extra, self._state, *kept, totals)
        return totals[0], totals[1], totals[2]


@kernel
def _advance(
    order: NDArray[np.uint32],
    instants: Integers,
    low: Integers,
    high: Integers,
    extra: NDArray[np.int32],
    state: Integers,
    kept_instants: Integers,
    kept_low: Integers,
    kept_high: Integers,
    totals: Integers,
) -> None:
    m, window = order.shape[1], kept_instants.shape[0]
    everywhere, total, squares = state[_EVERYWHERE], state[_SUM], state[_SQUARES]
    for i in range(low.shape[0]):
        judged = state[_JUDGED]
        place = judged % window if window else 0
        full = window > 0 and judged >= window
        # first what leaves the window, then what enters it
        for entering in range(0 if full else 1, 2):
            q = instants[i] if entering else kept_instants[place]
            for j in range(low.shape[1]):
                a, b = (low[i, j], high[i, j]) if entering else (kept_low[place, j], kept_high[place, j])
                inside = 2 * (b - a) <= m
                step = 1 if (entering == 1) == inside else -1
                if not inside:
                    everywhere -= step
                for side in range(1 if inside else 2):
                    start = a if inside else (0 if side == 0 else b)
                    stop = b if inside else (a if side == 0 else m)
                    for rank in range(start, stop):
                        k = min(order[q, rank], m - 1)
                        # (e + s)^2 - e^2
                        squares += 2 * step * extra[k] + 1
                        extra[k] += step
                    total += step * (stop - start)
        if window:
            kept_instants[place] = instants[i]
            kept_low[place], kept_high[place] = low[i], high[i]
        state[_JUDGED] = judged + 1
        totals[0, i] = m * everywhere + total
        totals[1, i] = m * everywhere**2 + 2 * everywhere * total + squares
        totals[2, i] = min(judged + 1, window) if window else judged + 1
    state[_EVERYWHERE], state[_SUM], state[_SQUARES] = everywhere, total, squares

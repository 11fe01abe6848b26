"""Accumulated reliability: the share of instants, of all so far or of the last, that are within the tolerance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.ranks import Integers

# places in the state
_EVERYWHERE, _SUM, _SQUARES, _JUDGED, _OLDEST = range(5)


class Accumulated:
    """For each realization, at how many instants it was within the tolerance (eq. 24-26).

    A new sample costs a visit to the realizations outside, or to those inside if they are fewer. The sums alone
    would do for the reliability; that each realization is counted gives the error of its mean.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements that come side by side.
    window : instants of the ensemble after which one is forgotten, judged or not what came since; 0: never.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1, window: int = 0) -> None:
        # the instants within are those of everybody, plus these
        self._extra: NDArray[np.int32] = np.zeros(n_realizations, dtype=np.int32)
        self._state: Integers = np.zeros(5, dtype=np.int64)
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


@part
def _visit(
    order: NDArray[np.uint32],
    instant: int,
    low: int,
    high: int,
    entering: bool,
    extra: NDArray[np.int32],
    state: Integers,
) -> None:
    """Count an instant for the realizations ``order[instant, low:high]``, or take it back."""
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
    for i in range(low.shape[0]):
        q = instants[i]
        while window and state[_JUDGED] and kept_instants[state[_OLDEST]] <= q - window:
            oldest = state[_OLDEST]
            for j in range(low.shape[1]):
                _visit(order, kept_instants[oldest], kept_low[oldest, j], kept_high[oldest, j], False, extra, state)
            state[_OLDEST] = (oldest + 1) % window
            state[_JUDGED] -= 1
        for j in range(low.shape[1]):
            _visit(order, q, low[i, j], high[i, j], True, extra, state)
        if window:
            newest = (state[_OLDEST] + state[_JUDGED]) % window
            kept_instants[newest] = q
            kept_low[newest], kept_high[newest] = low[i], high[i]
        state[_JUDGED] += 1
        everywhere, total = state[_EVERYWHERE], state[_SUM]
        totals[0, i] = m * everywhere + total
        totals[1, i] = m * everywhere**2 + 2 * everywhere * total + state[_SQUARES]
        totals[2, i] = state[_JUDGED]

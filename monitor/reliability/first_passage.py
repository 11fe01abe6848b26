"""First-passage reliability: who of the realizations has been within the tolerance at every instant so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.ranks import Integers


class FirstPassage:
    """The survivors of each replicate (eq. 12-14, 19), which never become more.

    A new sample costs a visit to the realizations outside its tolerance, or to the survivors if they are fewer.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements that come side by side.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1) -> None:
        self._alive = np.ones((n_replicates, n_realizations), dtype=np.uint8)
        # the survivors by name, of which some may have fallen since the list was last gone through
        self._listed = np.tile(np.arange(n_realizations, dtype=np.uint32), (n_replicates, 1))
        self._lengths: Integers = np.full(n_replicates, n_realizations, dtype=np.int64)
        self._survivors = self._lengths.copy()
        # for each realization, of how many replicates it survives, and the sum of the squares of that
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
        """Take instants in their order.

        Parameters
        ----------
        ensemble, instants, measured, tolerance, low, high : see `locate`.

        Returns
        -------
        survivors : (n_instants, n_replicates), how many realizations survive.
        squares : (n_instants,), the sum over the realizations of the square of the replicates they survive.
        """
        survivors = np.empty_like(low)
        squares: Integers = np.empty(len(low), dtype=np.int64)
        _advance(
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
def _advance(
    response: Samples,
    order: NDArray[np.uint32],
    instants: Integers,
    measured: Samples,
    tolerance: Samples,
    low: Integers,
    high: Integers,
    alive: NDArray[np.uint8],
    listed: NDArray[np.uint32],
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
            # the list may be longer than that, but what it is too long by is gone through only once
            if m - (high[i, j] - low[i, j]) <= survivors[j]:
                for part in range(2):
                    start, stop = (0, low[i, j]) if part == 0 else (high[i, j], m)
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
                kept = 0
                for place in range(lengths[j]):
                    k = listed[j, place]
                    if not alive[j, k]:
                        continue
                    if np.abs(response[q, k] - y) < eps:
                        listed[j, kept] = k
                        kept += 1
                    else:
                        alive[j, k] = 0
                        survivors[j] -= 1
                        squares[0] -= 2 * survived[k] - 1
                        survived[k] -= 1
                lengths[j] = kept
            survivors_out[i, j] = survivors[j]
        squares_out[i] = squares[0]

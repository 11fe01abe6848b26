"""Counts of realizations within the tolerance: at an instant, and at every instant so far.

These and the sums of `site` use the sorted ensemble: binary searches give the ranks of the realizations
within the tolerance, and a sample visits only those outside (or inside, if these are fewer).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble, Flags, Integers, Ranks


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
    search_ranks(ensemble.response, ensemble.order, instants, measured, tolerance, low, high)
    return low, high


@kernel
def search_ranks(
    response: Samples,
    order: Ranks,
    instants: Integers,
    measured: Samples,
    tolerance: Samples,
    low: Integers,
    high: Integers,
) -> None:
    """Write the rank intervals, see `rank_intervals`."""
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


class Survivors(NamedTuple):
    """The arrays of `FirstPassageCounter`.

    ``alive`` (n_replicates, n_realizations); ``listed``, likewise: indices of the survivors, which may contain
    realizations that failed since the list was last compacted; ``lengths`` of the lists and ``survivors``
    (n_replicates,); ``survived`` (n_realizations,): number of replicates that each realization survives; ``squares``
    (1,): the sum of its squares.
    """

    alive: Flags
    listed: Ranks
    lengths: Integers
    survivors: Integers
    survived: Integers
    squares: Integers


def new_survivors(n_realizations: int, n_replicates: int) -> Survivors:
    """Return the initial arrays: every realization survives."""
    return Survivors(
        np.ones((n_replicates, n_realizations), dtype=np.uint8),
        np.tile(np.arange(n_realizations, dtype=np.uint32), (n_replicates, 1)),
        np.full(n_replicates, n_realizations, dtype=np.int64),
        np.full(n_replicates, n_realizations, dtype=np.int64),
        np.full(n_realizations, n_replicates, dtype=np.int64),
        np.array([n_realizations * n_replicates**2], dtype=np.int64),
    )


class FirstPassageCounter:
    """Survivors of each replicate: realizations within the tolerance at every instant so far (eq. 12-14, 19).

    A sample visits the realizations outside its tolerance, or the survivors if they are fewer.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements at each instant.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1) -> None:
        self._state = new_survivors(n_realizations, n_replicates)

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
        advance_first_passage(
            ensemble.response,
            ensemble.order,
            instants,
            measured,
            tolerance,
            low,
            high,
            *self._state,
            survivors,
            squares,
        )
        return survivors, squares


@kernel
def advance_first_passage(
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
    """Process the next instants, see `FirstPassageCounter.advance`, and update the arrays of `Survivors`."""
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

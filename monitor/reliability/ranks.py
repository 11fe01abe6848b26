"""Where a measurement's tolerance interval lies among the sorted realizations: two binary searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble

Integers = NDArray[np.int64]


def locate(
    ensemble: Ensemble, instants: Integers, measured: Samples, tolerance: Samples
) -> tuple[Integers, Integers]:
    """Return the ranks `low` and `high`: the realizations ``order[q, low:high]`` are within the tolerance.

    Parameters
    ----------
    ensemble : the model.
    instants : (n_instants,), which rows of the ensemble.
    measured, tolerance : (n_instants, n_replicates), in the ensemble's unit; finite.

    Returns
    -------
    low, high : (n_instants, n_replicates). "Within" is |Y_M - Y_D| < tolerance, strictly, in floating point as it is
        written (eq. 4): so the count is that of a scan. Nothing is within a tolerance of zero.
    """
    low: Integers = np.empty(measured.shape, dtype=np.int64)
    high = np.empty_like(low)
    _locate(ensemble.response, ensemble.order, instants, measured, tolerance, low, high)
    return low, high


@kernel
def _locate(
    response: Samples,
    order: NDArray[np.uint32],
    instants: Integers,
    measured: Samples,
    tolerance: Samples,
    low: Integers,
    high: Integers,
) -> None:
    m = response.shape[1]
    # a damaged file may name a realization that is not there: nothing past the end is touched for it
    last = m - 1
    for i in range(measured.shape[0]):
        q = instants[i]
        for j in range(measured.shape[1]):
            y, eps = measured[i, j], tolerance[i, j]
            # two searches side by side: each waits for memory most of the time
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

"""The distinct minima that the starts of a fit led to."""

from __future__ import annotations

import numpy as np

from sim.identification.least_squares import Minimum
from sim.identification.regression import Samples

# minima whose sums of squares differ by a smaller share are as good as each other
_SAME_SQUARES = 1e-6
# and the same one if they are less than so many standard errors apart
_SAME_PLACE = 0.03
# of the observations' squares: what is less is rounding
_ROUNDING = 1e-20


def distinct(found: Minimum, observed: Samples) -> Samples:
    """Return which of the starts led to minima of their own, (k,) indices, the least sum of squares first.

    Two that are equally good are two minima nevertheless, unless the data do not tell them apart.

    Parameters
    ----------
    found : of one problem from each start.
    observed : (n,).
    """
    order = np.argsort(found.sum_of_squares)
    scale = _ROUNDING * float(observed @ observed)
    kept: list[int] = []
    for i in order[found.converged[order]].tolist():
        if not any(_same(found, i, j, len(observed), scale) for j in kept):
            kept.append(i)
    return np.array(kept, dtype=np.int64)


def _same(found: Minimum, i: int, j: int, n: int, scale: float) -> bool:
    least = found.sum_of_squares[j]
    if found.sum_of_squares[i] - least > _SAME_SQUARES * least + scale:
        return False
    # in directions in which the data tell nothing no distance counts
    apart = found.parameters[i] - found.parameters[j]
    degrees = max(n - len(apart), 1)
    return bool(apart @ found.normal[j] @ apart <= _SAME_PLACE**2 * least / degrees + scale)

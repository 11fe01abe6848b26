"""The distinct minima that the starts of a fit led to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Samples
from sim.identification.least_squares import Minimum

# minima less than so many standard errors apart are the same, if they are as good as each other, too: searches end a
# hundredth beside one that is a kink
_APART = 0.05
# of the observations' squares: what is less is rounding
_ROUNDING = 1e-20


def distinct(found: Minimum, observed: Samples) -> NDArray[np.int64]:
    """Return which of the starts led to minima of their own, (k,) indices, the least sum of squares first.

    The best start stands first, whether it converged or not; of the others those that did.

    Two that are equally good are two minima nevertheless, unless the data do not tell them apart.

    Parameters
    ----------
    found : of one problem from each start.
    observed : (n,).
    """
    order = np.argsort(found.sum_of_squares)
    scale = _ROUNDING * float(observed @ observed)
    kept = order[:1].tolist()
    for i in order[found.converged[order]].tolist():
        if not any(_same(found, i, j, len(observed), scale) for j in kept):
            kept.append(i)
    return np.array(kept, dtype=np.int64)


def _same(found: Minimum, i: int, j: int, n: int, scale: float) -> bool:
    least = found.sum_of_squares[j]
    # in directions in which the data tell nothing no distance counts
    apart = found.parameters[i] - found.parameters[j]
    limit = _APART**2 * least / max(n - len(apart), 1) + scale
    return bool(found.sum_of_squares[i] - least <= limit and apart @ found.normal[j] @ apart <= limit)

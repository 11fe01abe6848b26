"""From counts to a probability and its Monte-Carlo standard error."""

from __future__ import annotations

import numpy as np

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.curves import Curve
from monitor.reliability.ranks import Integers

# integers, or what is too large for them
Counts = Integers | Samples


def share(counts: Counts, squares: Counts, trials: Integers, n_realizations: int) -> Curve:
    """Return the mean share of successes and its standard error.

    Parameters
    ----------
    counts, squares : (n_instants,), the sums over the realizations of c and of c^2, where c is of how many of its
        trials a realization made a success. Realizations are independent of each other; the trials of one are not.
    trials : (n_instants,), of each realization.
    n_realizations : how many there are.
    """
    value = np.empty(len(counts))
    error = np.empty(len(counts))
    _share(counts, squares, trials, n_realizations, value, error)
    return Curve(value, error)


@kernel
def _share(counts: Counts, squares: Counts, trials: Integers, m: int, value: Samples, error: Samples) -> None:
    for i in range(len(counts)):
        # of c, whose mean square and squared mean are integers where all realizations agree
        mean = counts[i] / m
        spread = max(squares[i] / m - mean * mean, 0.0)
        value[i] = mean / trials[i]
        error[i] = np.sqrt(spread / (m - 1)) / trials[i] if m > 1 else np.nan

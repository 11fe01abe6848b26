"""Starts for a fit that may have several minima."""

from __future__ import annotations

import numpy as np

from sim.arrays import Samples


def spread_starts(lower: Samples, upper: Samples, number: int, seed: int = 1) -> Samples:
    """Return (number, p) starts that fill a box evenly: a Latin hypercube.

    Parameters
    ----------
    lower, upper : (p,), of the box.
    number : each parameter has one start in each of so many parts of its side.
    seed : of the random places within.

    Raises
    ------
    ValueError : the box has no inside, or no start is asked for.
    """
    if number < 1 or not (np.isfinite(lower) & np.isfinite(upper) & (lower < upper)).all():
        raise ValueError("fit starts: need one at least, and a box with finite lower and upper ends")
    generator = np.random.default_rng(seed)
    parts = generator.permuted(np.tile(np.arange(number), (len(lower), 1)), axis=1).T
    share = (parts + generator.random(parts.shape)) / number
    return np.asarray(lower + share * (upper - lower))

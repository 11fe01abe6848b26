"""How alike a command and a measured signal are, at every delay: where a fit of an actuator should begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from sim.arrays import Samples

# what varies less than this share of the command, as a variance, is rounding
_STILL = 1e-12


def delay_correlation(command: Samples, measured: Samples, reach: int) -> Samples:
    """Return (2 reach + 1,): the correlation coefficients at delays of -reach to reach samples.

    The same samples of the measured signal, all but `reach` at each end, are compared with the command as it was
    so long before; each time with its own mean and size, so that the square is the share of the variance that a gain,
    an offset and this delay explain.

    Parameters
    ----------
    command, measured : (n_samples,).
    reach : samples, less than half of them.

    Raises
    ------
    ValueError : fewer than two samples are left.
    """
    n = len(command) - 2 * reach
    if reach < 0 or n < 2:
        raise ValueError(f"{len(command)} samples are too few for a delay of up to {reach} samples")
    reference = command - command.mean()
    kept = measured[reach : reach + n] - measured[reach : reach + n].mean()
    # the earliest stretch of the command stands first, which is the longest delay
    length = next_fast_len(len(command), real=True)
    products = irfft(rfft(reference, length) * rfft(kept, length).conj(), length)[2 * reach :: -1]
    sums, squares = (np.concatenate([[0.0], np.cumsum(reference**power)]) for power in (1, 2))
    sizes = ((squares[n:] - squares[:-n]) - (sums[n:] - sums[:-n]) ** 2 / n)[::-1]
    moving = sizes > _STILL * sizes.max()
    size = float(kept @ kept)
    found = np.zeros(2 * reach + 1)
    if size > 0.0:
        np.divide(products, np.sqrt(size * np.where(moving, sizes, 1.0)), out=found, where=moving)
    return found


def peaks(heights: Samples) -> NDArray[np.intp]:
    """Return where a curve is highest locally, the highest first; an end can be such a place."""
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    places = np.flatnonzero((padded[1:-1] > padded[:-2]) & (padded[1:-1] >= padded[2:]))
    return np.asarray(places[np.argsort(-heights[places], kind="stable")])

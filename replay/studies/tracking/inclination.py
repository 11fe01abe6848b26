"""The inclination of the plot of measured against command, which tells overshoot from undershoot."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Samples


def inclination(x_c: Samples, x_m: Samples, n_window: int) -> Samples:
    """Return (n,): rad, of the principal axis over the `n_window` samples up to each; NaN before the first are there.

    A quarter of pi is perfect tracking, more is overshoot. The review shows a theta_pc (Fig. 15c) and refers to
    another paper for it; that it is this angle is our reading.
    """
    pairs = np.stack([x_c - np.mean(x_c), x_m - np.mean(x_m)])
    sums = np.cumsum(np.stack([pairs[0], pairs[1], pairs[0] ** 2, pairs[0] * pairs[1], pairs[1] ** 2]), axis=1)
    sums = np.concatenate([np.zeros((5, 1)), sums], axis=1)
    c, m, cc, cm, mm = (sums[:, n_window:] - sums[:, :-n_window]) / n_window
    found = np.full(len(x_c), np.nan)
    found[n_window - 1 :] = 0.5 * np.arctan2(2.0 * (cm - c * m), (cc - c * c) - (mm - m * m))
    return found

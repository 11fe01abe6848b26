"""TI, NRMSE and peak error from a stored window, as they are printed."""

from __future__ import annotations

import numpy as np


def tracking_indicator(x_c, x_m):
    """Return half the area under the plot of measured against command minus half the area left of it."""
    below = 0.5 * (x_m[1:] + x_m[:-1]) * np.diff(x_c)
    beside = 0.5 * (x_c[1:] + x_c[:-1]) * np.diff(x_m)
    return 0.5 * np.sum(below - beside)


def nrmse(x_c, x_m):
    """Return the root of the squared error over that of the squared command, offset included."""
    return np.sqrt(np.sum((x_m - x_c) ** 2) / np.sum(x_c**2))


def peak_error(x_c, x_m):
    """Return the largest error, and the same over the largest command."""
    largest = np.max(np.abs(x_m - x_c))
    return largest, largest / np.max(np.abs(x_c))


def at_every_sample(definition, x_c, x_m, n_window):
    """Return the definition's values at every sample that has a full window: (n - n_window + 1, ...)."""
    stops = range(n_window, len(x_c) + 1)
    return np.array([definition(x_c[i - n_window : i], x_m[i - n_window : i]) for i in stops], dtype=float)

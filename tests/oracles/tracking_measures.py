"""TI, NRMSE and peak error from a stored window, as they are printed; TI's angle from its definition."""

from __future__ import annotations

import numpy as np

from tests.oracles.swept_area import averages, sine_of_step


def tracking_indicator(x_c, x_m):
    """Return half the area under the plot of measured against command minus half the area left of it."""
    below = 0.5 * (x_m[1:] + x_m[:-1]) * np.diff(x_c)
    beside = 0.5 * (x_c[1:] + x_c[:-1]) * np.diff(x_m)
    return 0.5 * np.sum(below - beside)


def normalized_tracking_indicator(x_c, x_m):
    """Return TI over the square of the largest number in either signal."""
    return tracking_indicator(x_c, x_m) / np.max(np.abs([x_c, x_m])) ** 2


def angle_of_tracking_indicator(x_c, x_m):
    """Return the angle of TI's growth a radian of the command, against the covariance."""
    growth, common, _, _ = averages(x_m, x_c)
    return np.arctan2(growth / sine_of_step(x_c), common)


def nrmse(x_c, x_m):
    """Return the rms error over the command's rms, its deviation, the measured signal's range and its rms."""
    rms = np.sqrt(np.mean((x_m - x_c) ** 2))
    scales = np.sqrt(np.mean(x_c**2)), np.std(x_c), np.ptp(x_m), np.sqrt(np.mean(x_m**2))
    return tuple(rms / scale for scale in scales)


def peak_error(x_c, x_m):
    """Return the largest error, and the same over the largest command."""
    largest = np.max(np.abs(x_m - x_c))
    return largest, largest / np.max(np.abs(x_c))


def at_every_sample(definition, x_c, x_m, n_window):
    """Return the definition's values at every sample that has a full window: (n - n_window + 1, ...)."""
    stops = range(n_window, len(x_c) + 1)
    return np.array([definition(x_c[i - n_window : i], x_m[i - n_window : i]) for i in stops], dtype=float)

"""J1 to J3 of a record, sum by sum."""

from __future__ import annotations

import numpy as np


def delay(x_c, x_m, sample_rate, most):
    """Return in ms the lag within `most` samples at which the correlation is largest."""
    c, m = x_c - np.mean(x_c), x_m - np.mean(x_m)
    lags = range(-most, most + 1)
    common = [np.sum(m[max(k, 0) : len(m) + min(k, 0)] * c[max(-k, 0) : len(c) - max(k, 0)]) for k in lags]
    return 1000.0 * lags[int(np.argmax(common))] / sample_rate


def errors(x_c, x_m):
    """Return J2 and J3 in percent."""
    error = x_m - x_c
    return 100.0 * np.std(error) / np.std(x_c), 100.0 * np.max(np.abs(error)) / np.max(np.abs(x_c))

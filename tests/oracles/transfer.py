"""FEI by sums over explicit transforms, and Welch's averages by scipy."""

from __future__ import annotations

import numpy as np
import scipy.signal


def fei(segments, sample_rate, hann=True):
    """Return (ratio, phase, delay, frequency) of a list of (command, measured) segments, (n,) each."""
    power = by_frequency = cross = 0.0
    for c, m in segments:
        n = len(c)
        taper = scipy.signal.get_window("hann", n) if hann else np.ones(n)
        k = np.arange(1, n // 2 + 1)
        waves = np.exp(-2j * np.pi * np.outer(k, np.arange(n)) / n)
        b_c, b_m = (waves @ (taper * (x - np.mean(x))) for x in (c, m))
        # (O / I) |I|^2, which is 0 where I is
        cross += np.sum(b_m * b_c.conj())
        power += np.sum(np.abs(b_c) ** 2)
        by_frequency += np.sum(np.abs(b_c) ** 2 * k * sample_rate / n)
    phase, frequency = float(np.angle(cross)), by_frequency / power
    return power / abs(cross), phase, -phase / (2.0 * np.pi * frequency), frequency


def welch(x_c, x_m, sample_rate, n):
    """Return frequencies, measured/command and coherence, of Hann segments of n samples with half overlap."""
    settings = {"fs": sample_rate, "window": "hann", "nperseg": n, "noverlap": n - n // 2, "detrend": "constant"}
    frequency, cross = scipy.signal.csd(x_c, x_m, **settings)
    _, power = scipy.signal.welch(x_c, **settings)
    _, coherence = scipy.signal.coherence(x_c, x_m, **settings)
    return frequency, cross / power, coherence

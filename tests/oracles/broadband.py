"""Motions without a dominant tone, delayed exactly, and what cross-correlation and cross-spectrum say of them."""

from __future__ import annotations

import numpy as np

TAPERS = 5


def motion(rng, n, sample_rate, delay, low=0.3, high=5.0, tones=60):
    """Return command and measured, (n,) each, rms about one: a sum of cosines, and the same at t - delay."""
    frequency, phase = rng.uniform(low, high, tones), rng.uniform(0.0, 2.0 * np.pi, tones)
    amplitude = rng.normal(size=tones) / np.sqrt(0.5 * tones)
    t = np.arange(n)[:, None] / sample_rate
    return tuple(np.cos(2.0 * np.pi * frequency * s + phase) @ amplitude for s in (t, t - delay))


def correlations(x_c, x_m, start, n, lags):
    """Return the coefficient of correlation of n samples of measured with the command so many samples earlier."""
    return np.array([np.corrcoef(x_c[start - lag : start - lag + n], x_m[start : start + n])[0, 1] for lag in lags])


def lag_fit(c, m, slope, low, high):
    """Return lag, ratio, coherence, and what each sample of m adds to the lag and to the gain's logarithm.

    By the sums as they are written. `c`, `m` are pieces of n samples, `slope` the command's by its lag; bins are
    multiples of 1 / (n + 1).
    """
    n = len(c)
    at, order = np.arange(1, n + 1), np.arange(1, TAPERS + 1)
    tapers = np.sqrt(2.0 / (n + 1)) * np.sin(np.pi * np.outer(order, at) / (n + 1))
    w = 2.0 * np.pi * np.arange(low, high + 1) / (n + 1)
    waves = np.exp(-1j * np.outer(at, w))
    b_c, b_m, b_slope = ((tapers * (x - np.mean(x))) @ waves for x in (c, m, slope))
    cross, power_c, power_m = (np.sum(x, axis=0) for x in (b_m * b_c.conj(), np.abs(b_c) ** 2, np.abs(b_m) ** 2))
    coherence = np.abs(cross) ** 2 / (power_c * power_m)
    # below a coherence of 0.7 a bin counts for nothing
    trust = np.maximum(0.0, (coherence - 0.7) / 0.3)
    if not trust.any():
        return np.nan, np.nan, np.nan, np.empty(0), np.empty(0)
    gain = np.sum(trust * np.abs(cross)) / np.sum(trust * power_c)
    y = np.sum(trust * w * np.abs(cross) * np.angle(cross))
    by_lag = gain * np.sum(trust * w * np.imag(b_slope * b_c.conj()))
    # what one unit more in a sample of measured adds to sum g w Im S, and to sum g Re S
    of_y = np.einsum("f,kt,tf,kf->t", trust * w, tapers, waves, b_c.conj()).imag
    of_gain = np.einsum("f,kt,tf,kf->t", trust, tapers, waves, b_c.conj()).real
    agreement = np.sum(coherence * np.abs(cross)) / np.sum(np.abs(cross))
    of_y, of_gain = of_y - np.mean(of_y), of_gain - np.mean(of_gain)
    return y / by_lag, 1.0 / gain, agreement, of_y / by_lag, of_gain / np.sum(trust * np.abs(cross))

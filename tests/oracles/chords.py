"""PAEI from the chords of a stored window, by sums written out as they are defined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SPAN = 7


class Reading(NamedTuple):
    """Complex gain measured/command (positive angle: measured leads), amplitude, rad a sample, and how sure it is."""

    gain: complex
    amplitude: float
    turn_rate: float
    sd: float
    noise: float


def lags_of(n, parts=20, ratio=3):
    lags = [max(1, n // parts)]
    while lags[-1] > 2:
        lags.append(max(1, lags[-1] // ratio))
    return lags


def read(x_c, x_m, lags=None, noise_lag=None):
    """Return the reading of a window, or None when it draws no loop."""
    n = len(x_c)
    lags = lags_of(n) if lags is None else lags
    noise_lag = lags[0] if noise_lag is None else noise_lag
    d, e = _chords(x_c, noise_lag), _chords(x_m, noise_lag)
    least = 1e-3 * np.mean(d[2] ** 2)
    usable = [k for k in lags if 12 * k <= n or k == lags[-1]]
    sines = [_near(x_c, k) for k in usable]
    for i, k in enumerate(usable):
        c, m = _chords(x_c, k), _chords(x_m, k)
        near, far = sines[i], np.mean(c[1] * c[4] - c[0] * c[5])
        if near > least and abs(far) < 2.0 * near and all(abs(finer) < 0.3 * near for finer in sines[i + 1 :]):
            break
    else:
        return None
    y = 0.5 * np.arccos(0.5 * far / near)
    cross = 0.5 * np.mean(c[2] * m[3] + c[3] * m[2] - c[1] * m[4] - c[4] * m[1])
    swept = np.mean(c[2] * m[3] - c[3] * m[2])
    square = near / (4.0 * np.sin(y) ** 3 * np.sin(2.0 * y))
    gain = complex(cross / near, -swept / (4.0 * square * np.sin(y) ** 3))
    noise_c = _noise(d)
    noise_e = _noise(e - gain.real * d) + gain.imag**2 * noise_c
    from_motion = 2.0 * noise_e / square
    from_noise = 1.25 * noise_c * noise_e / (square**2 * np.sin(y) ** 6)
    turns = n * y / (2.0 * np.pi * k)
    sd = np.sqrt((from_motion + from_noise) / c.shape[1] * (1.0 + (1.6 / turns) ** 6))
    return Reading(gain, np.sqrt(square), y / k, sd, noise_c / square)


def _chords(x, k):
    n = len(x) - SPAN * k
    return np.array([x[(j + 2) * k : (j + 2) * k + n] - x[j * k : j * k + n] for j in range(6)])


def _near(x, k):
    d = _chords(x, k)
    return np.mean(d[2] * d[3] - d[1] * d[4])


def _noise(d):
    """Return the variance across the line on which d_2 and d_1 + d_3 of a sine lie, halved: each has it twice."""
    smallest = np.linalg.eigvalsh(np.mean(np.stack([d[2], d[1] + d[3]])[:, None] * np.stack([d[2], d[1] + d[3]]), 2))[
        0
    ]
    return 0.5 * max(smallest, 0.0)

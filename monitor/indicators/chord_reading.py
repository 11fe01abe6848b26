"""What the sums of chord products say: the loop's shape, the frequency at which it is drawn, and the noise.

With y = k w, w the angle between samples, A the command's amplitude and p + i q the complex gain of the measured
signal, the sums over N groups of points are

    N 4 A^2 sin^3 y sin 2y,  2 cos 2y times that,  p times that,  -4 N A^2 q sin^3 y,

from which y, p, q and A follow in closed form. The choice and its derivation are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.chord_sums import (
    CROSS,
    FAR,
    FOR_NOISE,
    GROUPS,
    M_UU,
    M_UV,
    M_VV,
    NEAR,
    PER_LAG,
    SPAN,
    SWEPT,
    X_UU,
    X_UV,
    X_VV,
    XM_UU,
    XM_UV,
    XM_VV,
)
from monitor.kernel import part

_SMALLEST = 1e-280
_ROUNDING = 1e-13


class Chords(NamedTuple):
    """A reading: measured over command is ``in_phase + i quadrature``, with the same standard deviation ``sd`` each.

    ``amplitude`` of the command; ``turn_rate`` rad a sample; ``noise`` variance of the command's noise over the
    amplitude squared. ``found`` is False where the points draw no loop.
    """

    found: bool
    in_phase: float
    quadrature: float
    amplitude: float
    turn_rate: float
    sd: float
    noise: float


@part
def read_chords(sums: Samples, lags: NDArray[np.int64], noise_lag: int, n_window: int) -> Chords:
    """Return the reading of the sums over `n_window` samples, those for the noise at `noise_lag`."""
    n_noise = float(n_window - SPAN * noise_lag)
    level = _best_lag(sums, lags, n_noise, n_window)
    if level < 0:
        return Chords(False, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
    at, k = PER_LAG * level, lags[level]
    n = float(n_window - SPAN * k)
    near = sums[at + NEAR]
    cos_2y = 0.5 * sums[at + FAR] / near
    sin_2y = np.sqrt((1.0 - cos_2y) * (1.0 + cos_2y))
    # sin^2 y and cos y by the half angle, of whichever does not cancel
    sin_sq = 0.5 * (1.0 - cos_2y) if cos_2y < 0.0 else 0.5 * sin_2y * sin_2y / (1.0 + cos_2y)
    in_phase, quadrature = sums[at + CROSS] / near, -sums[at + SWEPT] / near * sin_2y
    square = near / (8.0 * n * sin_sq * sin_sq * np.sqrt(1.0 - sin_sq))
    noise_x, noise_e = _noise(sums, n_noise, in_phase)
    noise_e += quadrature * (quadrature * noise_x)
    amplitude = np.sqrt(square)
    turn_rate = 0.5 * np.arctan2(sin_2y, cos_2y) / k
    noise = noise_x / square
    # noise times motion, then noise times noise
    variance = (2.0 + 1.25 * noise / (sin_sq * sin_sq * sin_sq)) / n
    # in less than two turns the window's ends weigh more: fitted to simulations
    short = 1.6 * 2.0 * np.pi / (turn_rate * n_window)
    variance *= 1.0 + (short * short * short) ** 2
    sd = np.sqrt(variance) * np.sqrt(noise_e) / amplitude
    return Chords(True, in_phase, quadrature, amplitude, turn_rate, sd, noise)


@part
def _best_lag(sums: Samples, lags: NDArray[np.int64], n_noise: float, n_window: int) -> int:
    """Return the longest lag whose chords stay on one half turn of the loop; -1 when there is none."""
    found = -1
    # sin^4 y cos y grows with the lag as long as the chords do not wind round the loop
    finer = 0.0
    least = max(1e-3 * sums[sums.shape[0] - FOR_NOISE + X_UU] / n_noise, _SMALLEST)
    for level in range(lags.shape[0] - 1, -1, -1):
        if level < lags.shape[0] - 1 and lags[level] * GROUPS > n_window:
            break
        near, far = sums[PER_LAG * level + NEAR], sums[PER_LAG * level + FAR]
        mean = near / (n_window - SPAN * lags[level])
        if mean > least and abs(far) < 2.0 * near and finer < 0.3 * mean:
            found = level
        finer = max(finer, abs(mean))
    return found


@part
def _noise(sums: Samples, n: float, slope: float) -> tuple[float, float]:
    """Return the variances of the white noise in x and in m - slope x."""
    at = sums.shape[0] - FOR_NOISE
    x_uu, x_uv, x_vv = sums[at + X_UU], sums[at + X_UV], sums[at + X_VV]
    e_uu = sums[at + M_UU] - slope * (2.0 * sums[at + XM_UU] - slope * x_uu)
    e_uv = sums[at + M_UV] - slope * (2.0 * sums[at + XM_UV] - slope * x_uv)
    e_vv = sums[at + M_VV] - slope * (2.0 * sums[at + XM_VV] - slope * x_vv)
    # what the sums themselves are uncertain by is no noise
    rounding_x = _ROUNDING * (x_uu + x_vv)
    rounding_e = slope * (slope * rounding_x) + _ROUNDING * (sums[at + M_UU] + sums[at + M_VV])
    return _off_the_line(x_uu, x_uv, x_vv, rounding_x) / n, _off_the_line(e_uu, e_uv, e_vv, rounding_e) / n


@part
def _off_the_line(uu: float, uv: float, vv: float, rounding: float) -> float:
    """Return half the smaller eigenvalue: of a sine u and v are proportional, noise gives each twice its variance."""
    larger = max(uu, vv)
    if larger <= 0.0:
        return 0.0
    difference, product = (uu - vv) / larger, uv / larger
    smaller = 0.5 * larger * ((uu + vv) / larger - np.sqrt(difference * difference + 4.0 * product * product))
    return 0.5 * smaller if smaller > rounding else 0.0

"""Two sampled curves on one time axis: the lag between them, values between samples, and their correlation.

The window's comparison of recordings and `synchroscope compare` both use it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]

_ON_GRID = 1e-3  # of a sample: a smaller distance from a sample is rounding
_SNAP = 0.02  # of a sample: an estimate this close to a whole number of samples is one
_MOST = 1 << 20  # samples that are correlated at once
_FEWEST = 8
_MOST_STEPS = 200  # samples from the maximum of the cross-correlation to that of the coefficient


def interpolated(values: Samples, places: Samples) -> Samples:
    """Return values, (n,), at places between them, counted from 0; NaN outside."""
    whole = np.round(places)
    places = np.where(np.abs(places - whole) < _ON_GRID, whole, places)
    at = np.floor(places).astype(np.int64)
    share = places - at
    inside = (at >= 0) & (at + (share > 0.0) < len(values))
    found = np.full(len(places), np.nan)
    at, share = at[inside], share[inside]
    low, high = values[at], values[np.minimum(at + 1, len(values) - 1)]
    found[inside] = np.where(share > 0.0, low + share * (high - low), low)
    return found


def estimate_lag(reference: Samples, other: Samples, rate: float, other_rate: float) -> float:
    """Return how much later the motion is in the other curve than in the reference, s, both from their first sample.

    It is the lag at which the coefficient of their correlation is largest; NaN where one of them does not move.

    Parameters
    ----------
    reference, other : (n,), (m,); NaN where a sample is missing.
    rate, other_rate : Hz.
    """
    if other_rate != rate:
        n = max(1, math.floor((len(other) - 1) * rate / other_rate) + 1)
        other = np.interp(np.arange(n) / rate, np.arange(len(other)) / other_rate, other)
    one, two = _centred(reference), _centred(other)
    if not _filled(one).any() or not _filled(two).any():
        return math.nan
    q = -(-max(len(one), len(two)) // _MOST)
    lag = q * _peak(_coarse(one, q), _coarse(two, q), None)
    if q > 1:
        # at full resolution, about the part in which the reference moves most
        n = min(_MOST, len(one))
        energy = np.concatenate([[0.0], np.cumsum(_filled(one) ** 2)])
        start = int(np.argmax(energy[n:] - energy[:-n]))
        begin = min(max(0, start + round(lag) - 2 * q), len(two))
        part = two[begin : begin + n + 4 * q]
        lag = begin - start + _peak(one[start : start + n], part, (0.0, 4.0 * q))
    nearest = round(lag)
    return (nearest if abs(lag - nearest) < _SNAP else lag) / rate


def correlation_coefficient(one: Samples, two: Samples) -> float:
    """Return the correlation coefficient of two curves, (n,), where both have values; NaN where it is unknown."""
    known = np.isfinite(one) & np.isfinite(two)
    a, b = _centred(one[known]), _centred(two[known])
    size = math.sqrt(float(a @ a) * float(b @ b)) if known.any() else 0.0
    return float(a @ b) / size if size > 0.0 else math.nan


def _centred(values: Samples) -> Samples:
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    moved: Samples = np.where(known, values - values[known].mean(), np.nan)
    return moved


def _filled(values: Samples) -> Samples:
    return np.nan_to_num(values, nan=0.0)


def _coarse(values: Samples, q: int) -> Samples:
    n = len(values) // q * q
    found: Samples = values if q == 1 else _filled(values[:n]).reshape(-1, q).mean(axis=1)
    return found


def _peak(one: Samples, two: Samples, within: tuple[float, float] | None) -> float:
    """Return the lag, in samples, with the largest correlation coefficient, by a parabola through three values.

    It is searched from the maximum of the cross-correlation, which decreases with the lag, as curves share less.
    """
    size = 1 << (len(one) + len(two) - 1).bit_length()
    found = np.fft.irfft(np.conj(np.fft.rfft(_filled(one), size)) * np.fft.rfft(_filled(two), size), size)
    lags = np.arange(size)
    lags = np.where(lags >= len(two), lags - size, lags)
    allowed = (lags > -len(one)) if within is None else (lags >= within[0]) & (lags <= within[1])
    best = int(lags[np.argmax(np.where(allowed, found, -np.inf))])
    before, peak, after = (_coefficient(one, two, best + step) for step in (-1, 0, 1))
    for _ in range(_MOST_STEPS):
        if after > max(before, peak):
            best, before, peak, after = best + 1, peak, after, _coefficient(one, two, best + 2)
        elif before > peak:
            best, before, peak, after = best - 1, _coefficient(one, two, best - 2), before, peak
        else:
            break
    # a gap moves the means of what is shared
    before, peak, after = (_coefficient(one, two, best + step, centre=True) for step in (-1, 0, 1))
    bend = before - 2.0 * peak + after
    shift = 0.5 * (before - after) / bend if -math.inf < bend < 0.0 else 0.0
    return float(best + min(max(shift, -0.5), 0.5))


def _coefficient(one: Samples, two: Samples, lag: int, *, centre: bool = False) -> float:
    """Return the correlation coefficient of the samples known in two centred curves at a lag; -inf for too few."""
    begin, end = max(0, -lag), min(len(one), len(two) - lag)
    if end - begin < _FEWEST:
        return -math.inf
    a, b = one[begin:end], two[begin + lag : end + lag]
    known = np.isfinite(a) & np.isfinite(b)
    if not known.all():
        a, b = a[known], b[known]
    if len(a) < _FEWEST:
        return -math.inf
    if centre:
        a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0.0 else -math.inf

"""J1 to J3: tracking criteria of the community's benchmark problem, for a whole record."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.indicators.parts.cross_spectra import fast_length
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Samples


class BenchmarkCriteria(NamedTuple):
    """The three criteria, NaN where undefined.

    ``j1`` delay in ms, in whole samples, positive: measured lags. ``j2`` standard deviation of the error over that
    of the command, percent. ``j3`` largest error over the largest command, percent.
    """

    j1: float
    j2: float
    j3: float


def benchmark_criteria(
    x_c: ArrayLike, x_m: ArrayLike, sample_rate: float, max_delay: float = 1.0
) -> BenchmarkCriteria:
    """Return the tracking criteria of Silva et al. 2020 for one actuator.

    Parameters
    ----------
    x_c, x_m : (n_samples,), command and measured, in one unit.
    sample_rate : Hz.
    max_delay : s; largest delay or lead that is searched.

    Raises
    ------
    ValueError : the signals are not of one length, or the rate or `max_delay` is not a positive number.

    Notes
    -----
    ``J1 = 1000 argmax_k sum m[i + k] c[i] / sample_rate``; ``J2 = 100 std(m - c) / std(c)``;
    ``J3 = 100 max |m - c| / max |c|``.
    The means are removed before the correlation, for sensors with an offset (ours). Samples at which either signal is
    NaN, infinite or beyond 1e50 are excluded from J2 and J3 and count as zero in the correlation.
    J1 of a record that does not start and end at rest is biased towards zero, because the overlap shrinks with the
    lag. J1 and J2 are NaN for a constant command, J3 for a zero one; J1 also for a constant measured signal, or where
    the correlation still increases at `max_delay`.
    """
    c, m = np.asarray(x_c, dtype=np.float64), np.asarray(x_m, dtype=np.float64)
    if c.ndim != 1 or c.shape != m.shape:
        raise ValueError(f"command {c.shape} and measured {m.shape}: both must be (n_samples,)")
    if not (0.0 < sample_rate < np.inf and 0.0 < max_delay < np.inf):
        raise ValueError(f"sample_rate = {sample_rate} Hz, max_delay = {max_delay} s: must be positive numbers")
    valid = (np.abs(c) < LARGEST_SAMPLE) & (np.abs(m) < LARGEST_SAMPLE)
    if not valid.any():
        return BenchmarkCriteria(np.nan, np.nan, np.nan)
    command, error = c[valid], (m - c)[valid]
    peak, moves = float(np.max(np.abs(command))), bool(np.ptp(command) > 0.0)
    max_lag = int(min(max_delay * sample_rate, len(c)))
    return BenchmarkCriteria(
        j1=1000.0 * _delay(c, m, valid, max_lag) / sample_rate if moves and np.ptp(m[valid]) > 0.0 else np.nan,
        j2=float(100.0 * np.std(error) / np.std(command)) if moves else np.nan,
        j3=float(100.0 * np.max(np.abs(error)) / peak) if peak > 0.0 else np.nan,
    )


def _delay(c: Samples, m: Samples, valid: NDArray[np.bool_], max_lag: int) -> float:
    """Return the lag of the largest correlation, samples; NaN when none within `max_lag` samples is a maximum."""
    n = len(c)
    n_transform = fast_length(2 * n - 1)
    spectra = []
    for x in (c, m):
        samples = x[valid]
        centred = np.zeros(n)
        centred[valid] = (samples - np.mean(samples)) / np.ptp(samples)
        spectra.append(np.fft.rfft(centred, n_transform))
    correlation = np.fft.irfft(spectra[1] * spectra[0].conj(), n_transform)
    # one lag more on either side shows whether the last one is a maximum; beyond the record the correlation is zero
    lags = np.arange(-max_lag - 1, max_lag + 2)
    nearby = np.where(np.abs(lags) < n, correlation[lags % n_transform], 0.0)
    peak = int(np.argmax(nearby))
    return float(lags[peak]) if 0 < peak < len(nearby) - 1 else np.nan

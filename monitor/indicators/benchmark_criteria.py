"""J1 to J3: tracking criteria of the community's benchmark problem, for a whole record.

As published, in numpy: `reference.benchmark_criteria`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.indicators.base import as_samples
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
    x_c: ArrayLike, x_m: ArrayLike, sample_rate: float, max_delay: float = 1.0, *, published: bool = True
) -> BenchmarkCriteria:
    """Return the tracking criteria of Silva et al. 2020 for one actuator.

    Parameters
    ----------
    x_c, x_m : (n_samples,), command and measured, in one unit.
    sample_rate : Hz.
    max_delay : s; largest delay or lead that is searched.
    published : J1 as published: of a record that does not start and end at rest it is biased towards zero; without,
        as `assess` has it.

    Raises
    ------
    ValueError : the signals are not of one length, or the rate or `max_delay` is not a positive number.

    Notes
    -----
    J1 unless as published is the maximum of the correlation coefficient next to that one (`LaggedCorrelation`).
    Samples at which either signal is NaN, infinite or beyond 1e50 are excluded. J1 and J2 are NaN for a constant
    command, J3 for a zero one; J1 also for a constant measured signal, or where the correlation still increases at
    `max_delay` (or, not as published, at half of the record).
    """
    c, m = as_samples(x_c, "command"), as_samples(x_m, "measured")
    if c.ndim != 1 or c.shape != m.shape:
        raise ValueError(f"command {c.shape} and measured {m.shape}: both must be (n_samples,)")
    if not (0.0 < sample_rate < np.inf and 0.0 < max_delay < np.inf):
        raise ValueError(f"sample_rate = {sample_rate} Hz, max_delay = {max_delay} s: must be positive numbers")
    valid = (np.abs(c) < LARGEST_SAMPLE) & (np.abs(m) < LARGEST_SAMPLE)
    if not valid.any():
        return BenchmarkCriteria(np.nan, np.nan, np.nan)
    command, error = c[valid], (m - c)[valid]
    peak, moves = float(np.max(np.abs(command))), bool(np.ptp(command) > 0.0)
    correlation = LaggedCorrelation(int(min(max_delay * sample_rate, len(c))), len(c))
    correlation.add(c, m, valid)
    return BenchmarkCriteria(
        j1=1000.0 * correlation.lag(published=published) / sample_rate
        if moves and np.ptp(m[valid]) > 0.0
        else np.nan,
        j2=float(100.0 * np.std(error) / np.std(command)) if moves else np.nan,
        j3=float(100.0 * np.max(np.abs(error)) / peak) if peak > 0.0 else np.nan,
    )


class LaggedCorrelation:
    """Correlation of measured with the command at every lag up to the largest, of signals in blocks.

    The sum that defines J1 shrinks with the lag, because the overlap does: of a record that does not start and end at
    rest its maximum is biased towards zero (half of the delay, in a part of a few cycles). So its maximum selects the
    period only; the lag is that of the maximum of the correlation coefficient of all pairs of good samples so far
    apart, which is next to it and does not depend on the overlap (ours).

    Parameters
    ----------
    max_lag : samples.
    longest : samples of a block, at most.
    """

    def __init__(self, max_lag: int, longest: int) -> None:
        # one lag more on either side shows whether the last one is a maximum
        self._n_before = max_lag + 1
        self._length = fast_length(max(1, longest) + self._n_before)
        # 1, command, measured and their squares, 0 where a sample is not good
        self._before = np.zeros((5, self._n_before))
        self._spectra = np.zeros((2, len(_FIRST), self._length // 2 + 1), dtype=np.complex128)
        self._origin: Samples | None = None

    def skip(self, missing: int) -> None:
        """Pass over samples that are missing between two blocks."""
        if missing:
            gap = np.zeros((5, min(missing, self._n_before)))
            self._before = np.concatenate([self._before, gap], axis=1)[:, -self._n_before :]

    def add(self, x_c: Samples, x_m: Samples, good: NDArray[np.bool_]) -> None:
        """Include the next block, (n,) of each."""
        if self._origin is None:
            if not good.any():
                self.skip(len(good))
                return
            # digits are lost to a mean that is large
            self._origin = np.array([x_c[good].mean(), x_m[good].mean()])
        c, m = (np.where(good, x - mean, 0.0) for x, mean in zip((x_c, x_m), self._origin, strict=True))
        new = np.stack([good.astype(np.float64), c, m, c * c, m * m])
        both = np.concatenate([self._before, new], axis=1)
        self._before = both[:, -self._n_before :]
        of_new, of_both = (np.fft.rfft(each, self._length) for each in (new, both))
        # measured after the command, and before it
        self._spectra[0] += of_both[_FIRST].conj() * of_new[_SECOND]
        self._spectra[1] += of_both[_SECOND].conj() * of_new[_FIRST]

    def lag(self, *, published: bool = False) -> float:
        """Return the samples by which measured lags, NaN when no lag within the largest one is a maximum.

        Parameters
        ----------
        published : of the largest sum of products.
        """
        after, before = np.roll(np.fft.irfft(self._spectra, self._length), self._n_before, axis=2)[
            ..., : self._n_before + 1
        ]
        n, c, m, cc, mm, cm = np.concatenate([before[:, :0:-1], after], axis=1)
        n, zero = np.round(n), self._n_before
        if not n[zero]:
            return np.nan
        mean_c, mean_m = c[zero] / n[zero], m[zero] / n[zero]
        peak = int(np.argmax(np.where(n > 0.0, cm - mean_c * m - mean_m * c + mean_c * mean_m * n, 0.0)))
        if published:
            return float(peak - zero) if 0 < peak < len(n) - 1 else np.nan
        enough = n >= max(2.0, _OVERLAP * n[zero])
        n = np.where(enough, n, 1.0)
        squares = np.maximum(cc - c * c / n, 0.0) * np.maximum(mm - m * m / n, 0.0)
        known = enough & (squares > _ROUNDING * cc[zero] * mm[zero])
        coefficient = np.where(known, (cm - c * m / n) / np.sqrt(np.where(known, squares, 1.0)), -np.inf)
        while 0 < peak < len(n) - 1:
            step = int(np.argmax(coefficient[peak - 1 : peak + 2])) - 1
            if not step or coefficient[peak + step] == coefficient[peak]:
                break
            peak += step
        if not 0 < peak < len(n) - 1 or not np.isfinite(coefficient[peak - 1 : peak + 2]).all():
            return np.nan
        return float(peak - zero)


# of which two signals each sum is, the second one at the later sample
_FIRST, _SECOND = np.array([0, 1, 0, 3, 0, 1]), np.array([0, 0, 2, 0, 4, 2])
# share of the samples that must overlap, and of the largest variance that is rounding
_OVERLAP, _ROUNDING = 0.5, 1e-20

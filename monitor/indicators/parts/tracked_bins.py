"""The few bins of the spectrum around the command's peak, kept from sample to sample.

Eight times a window both signals are transformed as a whole, which finds the peak and makes its bins new. In between
a bin X of a window of n samples, its phase counted from the oldest, goes on as

    X' = (X + newest - oldest) exp(2 pi i k / n).

Rounding has an eighth of a window to add up in. What a spike leaves of itself when it goes stays until the next
transform; `drift_exceeded` tells when that would show. Offsets do not enter: bin 0 is held at zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.fourier import transform
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

N_TRACKED = 8
# of them below the peak
BELOW = 2
# rows of a pair's bins
C_RE, C_IM, M_RE, M_IM = range(4)
# what is kept of the samples since the last transform: the largest squared step of command and measured signal, and
# of the command's steps or range
STEP_C, STEP_M, SPAN = range(3)
# a spike that is so much larger than the bins leaves less than 1e-9 of them
_LARGEST_STEP_RATIO = 1e6


class Bins(NamedTuple):
    """The bins that are known: `low` .. `high` are searched, `first` .. `last` include their neighbours."""

    first: int
    low: int
    high: int
    last: int


def choose_bins(n_window: int, sample_rate: float, band: tuple[float, float] | None) -> Bins:
    """Return the bins for a band in Hz; by default up to a tenth of the sample rate.

    Raises
    ------
    ValueError : the band is not 0 <= low < high <= 0.4 times the sample rate, or holds no bin of the window.
    """
    resolution = sample_rate / n_window
    f_low, f_high = band if band is not None else (0.0, max(0.1 * sample_rate, 3.0 * resolution))
    if not 0.0 <= f_low < f_high <= 0.4 * sample_rate:
        raise ValueError(
            f"band = ({f_low:g}, {f_high:g}) Hz: must rise, within 0 and {0.4 * sample_rate:g} Hz"
            " (0.4 times the sample rate)"
        )
    low = max(1, int(np.ceil(f_low / resolution - 1e-9)))
    high = int(np.floor(f_high / resolution + 1e-9))
    if high < low:
        raise ValueError(
            f"band = ({f_low:g}, {f_high:g}) Hz: holds no multiple of {resolution:g} Hz, the resolution of the"
            " window; widen the band or lengthen the window"
        )
    # bin -1 is kept for the wide tapers' bin 1
    return Bins(max(-1, low - BELOW), low, high, high + N_TRACKED - BELOW - 1)


def half_angles(n_window: int, bins: Bins) -> Samples:
    """Return (2, n_bins): sine and cosine of half the angle that each bin turns in a sample."""
    half = np.pi * np.arange(bins.first, bins.last + 1) / n_window
    return np.stack([np.sin(half), np.cos(half)])


def turns_of(n_window: int) -> Samples:
    """Return (2, n_window): cosine and sine of the parts of a turn."""
    turn = 2.0 * np.pi * np.arange(n_window) / n_window
    return np.stack([np.cos(turn), np.sin(turn)])


@part
def slide(bins: Samples, bin_number: int, turns: Samples, d_c: float, d_m: float) -> None:
    """Let one sample of both signals in and the oldest out, of which they differ by `d_c` and `d_m`.

    Parameters
    ----------
    bins : (4, 8), of one pair.
    bin_number : of the first of them.
    """
    n = turns.shape[1]
    for j in range(N_TRACKED):
        at = bin_number + j if bin_number + j >= 0 else bin_number + j + n
        cosine, sine = turns[0, at], turns[1, at]
        c_re, c_im, m_re, m_im = bins[C_RE, j] + d_c, bins[C_IM, j], bins[M_RE, j] + d_m, bins[M_IM, j]
        bins[C_RE, j], bins[C_IM, j] = c_re * cosine - c_im * sine, c_re * sine + c_im * cosine
        bins[M_RE, j], bins[M_IM, j] = m_re * cosine - m_im * sine, m_re * sine + m_im * cosine
    _hold_zero(bins, bin_number)


@part
def _hold_zero(bins: Samples, bin_number: int) -> None:
    if bin_number <= 0:
        for row in range(4):
            bins[row, -bin_number] = 0.0


@kernel
def transform_both(
    c: Samples,
    m: Samples,
    radices: NDArray[np.int64],
    table: Samples,
    chirp: Samples,
    chirp_spectrum: Samples,
    buffers: Samples,
) -> tuple[float, float, float]:
    """Transform two signals at once, (n,) each: as real and imaginary part, both over their sizes.

    Returns
    -------
    size_c, size_m : by which the bins are multiplied; 0 for a signal that does not move.
    span : squared range of the command.
    """
    n = c.shape[0]
    low = high = size_m = 0.0
    for t in range(n):
        low, high = min(low, c[t] - c[0]), max(high, c[t] - c[0])
        size_m = max(size_m, abs(m[t] - m[0]))
    size_c = max(-low, high)
    by_c, by_m = 1.0 / size_c if size_c > 0.0 else 0.0, 1.0 / size_m if size_m > 0.0 else 0.0
    for t in range(n):
        buffers[0, t], buffers[1, t] = (c[t] - c[0]) * by_c, (m[t] - m[0]) * by_m
    transform(n, radices, table, chirp, chirp_spectrum, buffers)
    return size_c, size_m, (high - low) * (high - low)


@part
def bin_of_command(buffers: Samples, n: int, k: int, size: float) -> complex:
    """Return bin k of the command."""
    at, mirrored = k if k >= 0 else k + n, n - k if k > 0 else -k
    re, im = buffers[0, at] + buffers[0, mirrored], buffers[1, at] - buffers[1, mirrored]
    return 0.5 * size * complex(re, im) if k != 0 else 0.0j


@part
def bin_of_measured(buffers: Samples, n: int, k: int, size: float) -> complex:
    """Return bin k of the measured signal."""
    at, mirrored = k if k >= 0 else k + n, n - k if k > 0 else -k
    re, im = buffers[1, at] + buffers[1, mirrored], buffers[0, mirrored] - buffers[0, at]
    return 0.5 * size * complex(re, im) if k != 0 else 0.0j


@kernel
def spread(buffers: Samples, n: int, bin_number: int, count: int, size: float, measured: bool) -> None:
    """Put bins of one signal, from number `bin_number` on, in buffers 2 and 3, real and imaginary parts."""
    for j in range(count):
        x, y = bin_of_command(buffers, n, bin_number + j, size), bin_of_measured(buffers, n, bin_number + j, size)
        buffers[2, j], buffers[3, j] = (y.real, y.imag) if measured else (x.real, x.imag)


@kernel
def track(bins: Samples, bin_number: int, buffers: Samples, n: int, size_c: float, size_m: float) -> None:
    """Make the bins from number `bin_number` on new from the transform of both signals."""
    for j in range(N_TRACKED):
        x, y = bin_of_command(buffers, n, bin_number + j, size_c), bin_of_measured(buffers, n, bin_number + j, size_m)
        bins[C_RE, j], bins[C_IM, j], bins[M_RE, j], bins[M_IM, j] = x.real, x.imag, y.real, y.imag


@part
def drift_exceeded(largest_step: float, power: float) -> bool:
    """Whether a squared step since the last transform is so large that its rounding shows beside a bin's power."""
    return bool(largest_step > _LARGEST_STEP_RATIO * _LARGEST_STEP_RATIO * power)

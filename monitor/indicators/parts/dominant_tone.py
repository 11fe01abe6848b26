"""DOC"""

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


class Taper(NamedTuple):
    """Weights of the next and next but one bins, that of the bin itself being 1."""

    near: float
    far: float


HANN = Taper(-0.5, 0.0)
TAPERS = {
    "hann": HANN,
    "hamming": Taper(-0.23 / 0.54, 0.0),
    "blackman": Taper(-0.25 / 0.42, 0.04 / 0.42),
    "rectangular": Taper(0.0, 0.0),
}


@part
def tapered(re: Samples, im: Samples, k: int, near: float, far: float) -> complex:
    """Return the tapered bin `k`, its phase counted from the oldest sample."""
    h_re, h_im = re[k] + near * (re[k - 1] + re[k + 1]), im[k] + near * (im[k - 1] + im[k + 1])
    if far != 0.0:
        h_re, h_im = h_re + far * (re[k - 2] + re[k + 2]), h_im + far * (im[k - 2] + im[k + 2])
    return complex(h_re, h_im)


@kernel
def tapered_peak(re: Samples, im: Samples, low: int, high: int, near: float, far: float) -> int:
    """Return which bin from `low` to `high` is the largest when tapered; the first of several.

    Parameters
    ----------
    re, im : (n_bins,), with two neighbours on both sides; phases are counted from the oldest sample.
    """
    peak, largest = low, -1.0
    for k in range(low, high + 1):
        h = tapered(re, im, k, near, far)
        power = h.real * h.real + h.imag * h.imag
        if power > largest:
            peak, largest = k, power
    return peak


_NEAR = HANN.near


@part
def tone_between_bins(
    bins: Samples, bin_number: int, peak: int, first_bin: int, half: Samples, turns: Samples
) -> tuple[float, float]:
    """Find the tone near the command's peak.

    Parameters
    ----------
    bins, bin_number : those that are tracked, and the number of the first of them.
    peak : number of the peak's bin.
    first_bin : number of the first bin of `half`.

    Returns
    -------
    frequency in cycles a window, and the sine of half its angle a sample.
    """
    # bin 1 has bin 0 for a neighbour, whose value the offset hides
    low = max(peak - 1, 2)
    square = half[0, max(peak, low) - first_bin] ** 2
    shift = _cosine_shift(bins, bin_number, low, square, first_bin, half, turns)
    # sin^2(theta/2), kept within one bin of the peak: noise or several tones must not throw it out
    at = peak - first_bin
    square = min(max(square + 0.5 * shift, half[0, at - 1] ** 2), half[0, at + 1] ** 2)
    sine = np.sqrt(square)
    return turns.shape[1] / np.pi * np.arcsin(sine), sine


@part
def _cosine_shift(
    bins: Samples, bin_number: int, low: int, square: float, first_bin: int, half: Samples, turns: Samples
) -> float:
    """Return cos(lambda) - cos(theta) for the bin whose sin^2(lambda/2) is `square`, from three bins."""
    sum_hh = sum_vh = sum_h = sum_v = sum_hh_im = sum_vh_im = 0.0
    for k in range(low, low + 3):
        j, at = k - bin_number, k - first_bin
        middle = 2.0 * (square - half[0, at] ** 2)
        left, right = half[0, at - 1] ** 2 - square, half[0, at + 1] ** 2 - square
        x = complex(bins[C_RE, j], bins[C_IM, j])
        before, after = complex(bins[C_RE, j - 1], bins[C_IM, j - 1]), complex(bins[C_RE, j + 1], bins[C_IM, j + 1])
        # counted from the newest sample
        newest = complex(turns[0, k], -turns[1, k])
        h, v = (x + _NEAR * (before + after)) * newest, (middle * x + left * before + right * after) * newest
        sum_h += h.real
        sum_v += v.real
        sum_hh += h.real * h.real
        sum_vh += v.real * h.real
        sum_hh_im += h.imag * h.imag
        sum_vh_im += v.imag * h.imag
    norm = sum_hh - sum_h * sum_h / 3.0 + sum_hh_im
    return -(sum_vh - sum_h * sum_v / 3.0 + sum_vh_im) / norm if norm > 0.0 else 0.0

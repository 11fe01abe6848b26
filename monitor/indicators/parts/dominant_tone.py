"""The dominant tone: the bins around the command's peak, tracked from sample to sample, and its exact frequency.

Eight times a window both signals are transformed as a whole, which finds the peak and resets its bins. In between a
bin X of a window of n samples, its phase counted from the oldest, is updated by the sliding DFT

    X' = (X + newest - oldest) exp(2 pi i k / n).

Rounding errors accumulate over an eighth of a window at most. A spike that leaves the window leaves a rounding error
until the next transform; `drift_exceeded` detects when that matters. Bin 0 is held at zero, so that offsets have no
influence, and the gains of `bin_reading.tone_gains` take that into account: bin 1 can be read too.

A taper ``1 + 2 near cos(2 pi n/N) + 2 far cos(4 pi n/N)`` weights the bins k-1 and k+1 with `near`, k-2 and k+2 with
`far`.

A sampled tone obeys ``x[n+1] + x[n-1] = 2 cos(theta) x[n]``; in a window the relation fails only where its ends meet,
so that its spectrum S satisfies, for every bin k but 0 (where the offset is),

    S[k] (cos(lambda_k) - cos(theta)) = p + q exp(-i lambda_k),     lambda_k = 2 pi k / N,   p, q real,

counted from the newest sample. The Hann combination of three neighbours removes one of the two terms and leaves the
other times a constant: linear equations for it and cos(theta), solved by least squares over three bins. There is no
iteration, and no bias from the negative-frequency image, the start phase or the offset. The derivation is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.fourier import Transform, split_bin, transform
from monitor.kernel import inlined, kernel, part
from monitor.messages.blocks import Samples

N_TRACKED = 8
# tracked bins below the peak
BELOW = 2
# rows of a pair's bins
C_RE, C_IM, M_RE, M_IM = range(4)
# since the last transform: the largest squared step of command and measured signal, and of the command's steps or
# range
STEP_C, STEP_M, SPAN = range(3)
# a spike larger than the bins by this ratio leaves an error below 1e-9 of them
_LARGEST_STEP_RATIO = 1e6


class Bins(NamedTuple):
    """Bins of a band: `low` .. `high` are searched, `first` .. `last` include their neighbours."""

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
    # the wide tapers need bin -1 at bin 1
    return Bins(max(-1, low - BELOW), low, high, high + N_TRACKED - BELOW - 1)


def half_angles(n_window: int, bins: Bins) -> Samples:
    """Return (2, n_bins): sine and cosine of half the angle of each bin in a sample."""
    half = np.pi * np.arange(bins.first, bins.last + 1) / n_window
    return np.stack([np.sin(half), np.cos(half)])


def unit_circle(n_window: int) -> Samples:
    """Return (2, n_window): cosine and sine of equally spaced angles of a full turn."""
    turn = 2.0 * np.pi * np.arange(n_window) / n_window
    return np.stack([np.cos(turn), np.sin(turn)])


@inlined
def slide_bins(bins: Samples, bin_number: int, circle: Samples, d_c: float, d_m: float) -> None:
    """Slide the bins by one sample of both signals.

    Parameters
    ----------
    bins : (4, 8), of one pair.
    bin_number : of the first bin.
    d_c, d_m : newest minus oldest sample of command and measured.
    """
    n = circle.shape[1]
    for j in range(N_TRACKED):
        at = bin_number + j if bin_number + j >= 0 else bin_number + j + n
        cosine, sine = circle[0, at], circle[1, at]
        c_re, c_im, m_re, m_im = bins[C_RE, j] + d_c, bins[C_IM, j], bins[M_RE, j] + d_m, bins[M_IM, j]
        bins[C_RE, j], bins[C_IM, j] = c_re * cosine - c_im * sine, c_re * sine + c_im * cosine
        bins[M_RE, j], bins[M_IM, j] = m_re * cosine - m_im * sine, m_re * sine + m_im * cosine
    _clear_bin_zero(bins, bin_number)


@part
def _clear_bin_zero(bins: Samples, bin_number: int) -> None:
    if bin_number <= 0:
        for row in range(4):
            bins[row, -bin_number] = 0.0


@kernel
def transform_both(
    c: Samples,
    m: Samples,
    plan: Transform,
) -> tuple[float, float, float]:
    """Transform two signals, (n,) each, as real and imaginary part of one, both scaled by their sizes.

    Returns
    -------
    size_c, size_m : factors of the bins; 0 for a constant signal.
    span : squared range of the command.
    """
    n, buffers = c.shape[0], plan.buffers
    low = high = size_m = 0.0
    for t in range(n):
        low, high = min(low, c[t] - c[0]), max(high, c[t] - c[0])
        size_m = max(size_m, abs(m[t] - m[0]))
    size_c = max(-low, high)
    by_c, by_m = 1.0 / size_c if size_c > 0.0 else 0.0, 1.0 / size_m if size_m > 0.0 else 0.0
    for t in range(n):
        buffers[0, t], buffers[1, t] = (c[t] - c[0]) * by_c, (m[t] - m[0]) * by_m
    transform(plan)
    return size_c, size_m, (high - low) * (high - low)


@kernel
def unpack_bins(buffers: Samples, n: int, bin_number: int, count: int, size: float, measured: bool) -> None:
    """Write bins of one signal, from number `bin_number` on, to buffers 2 and 3, real and imaginary parts."""
    for j in range(count):
        of_c, of_m = _visible_bin(buffers, n, bin_number + j)
        x = of_m if measured else of_c
        buffers[2, j], buffers[3, j] = size * x.real, size * x.imag


@kernel
def set_bins(bins: Samples, bin_number: int, buffers: Samples, n: int, size_c: float, size_m: float) -> None:
    """Set the tracked bins, from number `bin_number` on, from the transform of both signals."""
    for j in range(N_TRACKED):
        x, y = _visible_bin(buffers, n, bin_number + j)
        bins[C_RE, j], bins[C_IM, j] = size_c * x.real, size_c * x.imag
        bins[M_RE, j], bins[M_IM, j] = size_m * y.real, size_m * y.imag


@part
def _visible_bin(buffers: Samples, n: int, k: int) -> tuple[complex, complex]:
    """Return bin k of command and measured; bin 0, the offset, is not shown."""
    if k == 0:
        return 0.0j, 0.0j
    return split_bin(buffers, n, k)


@part
def drift_exceeded(largest_step: float, power: float) -> bool:
    """Whether the rounding error of the largest squared step since the last transform matters at a bin's power."""
    return bool(largest_step > _LARGEST_STEP_RATIO * _LARGEST_STEP_RATIO * power)


class Taper(NamedTuple):
    """Weights of the neighbouring bins at distances 1 and 2; the bin itself has weight 1."""

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
def tapered(re: Samples, im: Samples, k: int, taper: Taper) -> complex:
    """Return the tapered bin `k`, its phase counted from the oldest sample."""
    h_re, h_im = re[k] + taper.near * (re[k - 1] + re[k + 1]), im[k] + taper.near * (im[k - 1] + im[k + 1])
    if taper.far != 0.0:
        h_re, h_im = h_re + taper.far * (re[k - 2] + re[k + 2]), h_im + taper.far * (im[k - 2] + im[k + 2])
    return complex(h_re, h_im)


@kernel
def tapered_peak(re: Samples, im: Samples, low: int, high: int, taper: Taper) -> int:
    """Return the bin from `low` to `high` with the largest tapered power; the first of several.

    Parameters
    ----------
    re, im : (n_bins,), with two neighbours on both sides; phases are counted from the oldest sample.
    """
    peak, largest = low, -1.0
    for k in range(low, high + 1):
        h = tapered(re, im, k, taper)
        power = h.real * h.real + h.imag * h.imag
        if power > largest:
            peak, largest = k, power
    return peak


_NEAR = HANN.near


@inlined
def tone_between_bins(
    bins: Samples, bin_number: int, peak: int, first_bin: int, half: Samples, circle: Samples
) -> tuple[float, float]:
    """Return the exact frequency of the tone near the command's peak.

    Parameters
    ----------
    bins, bin_number : the tracked bins, and the number of the first.
    peak : number of the peak's bin.
    first_bin : number of the first bin of `half`.

    Returns
    -------
    frequency in cycles a window, and the sine of half its angle a sample.
    """
    # bin 0, which the offset hides, is a neighbour of bin 1
    low = max(peak - 1, 2)
    square = half[0, max(peak, low) - first_bin] ** 2
    shift = _cosine_shift(bins, bin_number, low, square, first_bin, half, circle)
    # sin^2(theta/2), limited to one bin from the peak, whatever noise or other tones do
    at = peak - first_bin
    square = min(max(square + 0.5 * shift, half[0, at - 1] ** 2), half[0, at + 1] ** 2)
    sine = np.sqrt(square)
    return circle.shape[1] / np.pi * np.arcsin(sine), sine


@inlined
def _cosine_shift(
    bins: Samples, bin_number: int, low: int, square: float, first_bin: int, half: Samples, circle: Samples
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
        newest = complex(circle[0, k], -circle[1, k])
        h, v = (x + _NEAR * (before + after)) * newest, (middle * x + left * before + right * after) * newest
        sum_h += h.real
        sum_v += v.real
        sum_hh += h.real * h.real
        sum_vh += v.real * h.real
        sum_hh_im += h.imag * h.imag
        sum_vh_im += v.imag * h.imag
    norm = sum_hh - sum_h * sum_h / 3.0 + sum_hh_im
    return -(sum_vh - sum_h * sum_v / 3.0 + sum_vh_im) / norm if norm > 0.0 else 0.0

"""The dominant tone of a spectrum: the peak bin under a cosine-sum taper, and the exact frequency near it.

A taper ``1 + 2 near cos(2 pi n/N) + 2 far cos(4 pi n/N)`` weights the bins k-1 and k+1 with `near`, k-2 and k+2 with
`far`. Bin 0, where the offset is, is held at zero, and the gains of `bin_reading.tone_gains` know it: so bin 1 can be
read too.

A sampled tone obeys ``x[n+1] + x[n-1] = 2 cos(theta) x[n]``; cut to a window it breaks the rule only where the
window's ends meet, so its spectrum S satisfies, for every bin k but 0 (where the offset is),

    S[k] (cos(lambda_k) - cos(theta)) = p + q exp(-i lambda_k),     lambda_k = 2 pi k / N,   p, q real,

counted from the newest sample. Hann's combination of three neighbours removes one of the two terms and leaves
the other times a constant: linear equations for it and cos(theta), solved by least squares over three bins. No
iteration, no bias from the image at the negative frequency, from the start phase or from the offset. The
derivation is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.tracked_bins import C_IM, C_RE
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples


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

"""Where between the bins a tone lies, exactly, from the few bins around its peak.

A sampled tone obeys ``x[n+1] + x[n-1] = 2 cos(theta) x[n]``; cut to a window it breaks the rule only where the
window's ends meet, so its spectrum S satisfies, for every bin k but 0 (where the offset is),

    S[k] (cos(lambda_k) - cos(theta)) = p + q exp(-i lambda_k),     lambda_k = 2 pi k / N,   p, q real,

counted from the newest sample. Hann's combination of three neighbours removes one of the two terms and leaves
the other times a constant: linear equations for it and cos(theta), solved by least squares over three bins. No
iteration, no bias from the image at the negative frequency, from the start phase or from the offset. The
derivation is ours.
"""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from monitor.indicators.tapers import HANN, Turn, tapered
from monitor.kernel import part

_NEAR, _FAR = HANN


@part
def tone_between_bins(
    sums: Samples,
    pair: int,
    row: int,
    peak: int,
    first_bin: int,
    turn: Turn,
    half: Samples,
    factors: Samples,
    n_window: int,
) -> tuple[float, float]:
    """Find the tone near the stored bin `peak`; stored bin 0 is bin `first_bin`.

    Returns
    -------
    frequency in cycles a window, and the sine of half its angle a sample.
    """
    # bin 1 has bin 0 for a neighbour, whose value the offset hides
    low = max(peak - 1, 2 - first_bin)
    square = half[0, max(peak, low)] ** 2
    shift = _cosine_shift(sums, pair, row, low, square, turn, half, factors)
    # sin^2(theta/2), kept within one bin of the peak: noise or several tones must not throw it out
    square = min(max(square + 0.5 * shift, half[0, peak - 1] ** 2), half[0, peak + 1] ** 2)
    sine = np.sqrt(square)
    return n_window / np.pi * np.arcsin(sine), sine


@part
def _cosine_shift(
    sums: Samples,
    pair: int,
    row: int,
    low: int,
    square: float,
    turn: Turn,
    half: Samples,
    factors: Samples,
) -> float:
    """Return cos(lambda) - cos(theta) for the bin whose sin^2(lambda/2) is `square`, from three bins."""
    cos, sin = turn
    sum_hh = sum_vh = sum_h = sum_v = sum_hh_im = sum_vh_im = 0.0
    for k in range(low, low + 3):
        i = sums.shape[2] // 2 + k
        middle = 2.0 * (square - half[0, k] ** 2)
        left = half[0, k - 1] ** 2 - square
        right = half[0, k + 1] ** 2 - square
        l_re, l_im = left * sums[pair, row, k - 1], left * sums[pair, row, i - 1]
        r_re, r_im = right * sums[pair, row, k + 1], right * sums[pair, row, i + 1]
        v = complex(
            middle * sums[pair, row, k] + cos * (l_re + r_re) + sin * (l_im - r_im),
            middle * sums[pair, row, i] + cos * (l_im + r_im) + sin * (r_re - l_re),
        )
        newest = complex(factors[k], -factors[i])
        h = tapered(sums, pair, row, k, turn, _NEAR, _FAR) * newest
        v *= newest
        sum_h += h.real
        sum_v += v.real
        sum_hh += h.real * h.real
        sum_vh += v.real * h.real
        sum_hh_im += h.imag * h.imag
        sum_vh_im += v.imag * h.imag
    norm = sum_hh - sum_h * sum_h / 3.0 + sum_hh_im
    return -(sum_vh - sum_h * sum_v / 3.0 + sum_vh_im) / norm if norm > 0.0 else 0.0

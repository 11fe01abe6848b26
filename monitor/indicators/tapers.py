"""Reading a sliding spectrum through a cosine-sum taper: in the frequency domain, a few neighbouring bins.

A taper ``1 + 2 near cos(2 pi n/N) + 2 far cos(4 pi n/N)`` weights the bins k-1 and k+1 with `near`, k-2 and k+2
with `far`. Bin 0, where the offset is, is held at zero, and the gains of `delayed_bin.tone_gains` know it: so bin 1
can be read too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.blocks import Samples
from monitor.kernel import kernel, part

# cosine and sine of the turn from the start of the sums, slot 0, to the start of the window, the oldest sample
Turn = tuple[float, float]


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
def tapered(sums: Samples, pair: int, row: int, k: int, turn: Turn, near: float, far: float) -> complex:
    """Return stored bin `k` of the signal in `row` of the sums, tapered, its phase counted from slot 0."""
    i = sums.shape[2] // 2 + k
    cos, sin = near * turn[0], near * turn[1]
    re_l, re_r = sums[pair, row, k - 1], sums[pair, row, k + 1]
    im_l, im_r = sums[pair, row, i - 1], sums[pair, row, i + 1]
    re = sums[pair, row, k] + cos * (re_l + re_r) + sin * (im_l - im_r)
    im = sums[pair, row, i] + cos * (im_l + im_r) + sin * (re_r - re_l)
    if far != 0.0:
        cos, sin = far * (turn[0] * turn[0] - turn[1] * turn[1]), 2.0 * far * turn[0] * turn[1]
        re_l, re_r = sums[pair, row, k - 2], sums[pair, row, k + 2]
        im_l, im_r = sums[pair, row, i - 2], sums[pair, row, i + 2]
        re += cos * (re_l + re_r) + sin * (im_l - im_r)
        im += cos * (im_l + im_r) + sin * (re_r - re_l)
    return complex(re, im)


@kernel
def tapered_peak(
    sums: Samples, pair: int, row: int, low: int, high: int, turn: Turn, near: float, far: float, power: Samples
) -> int:
    """Fill power[0 .. high - low] with squared magnitudes of tapered bins; return the bin of the largest."""
    cos, sin, count, n_bins = near * turn[0], near * turn[1], high - low + 1, sums.shape[2] // 2
    # cut so that indices begin at zero: those that might be negative are looked at one by one
    re = sums[pair, row, low - 2 : high + 3]
    im = sums[pair, row, n_bins + low - 2 : n_bins + high + 3]
    if far == 0.0:
        for k in range(count):
            h_re = re[k + 2] + cos * (re[k + 1] + re[k + 3]) + sin * (im[k + 1] - im[k + 3])
            h_im = im[k + 2] + cos * (im[k + 1] + im[k + 3]) + sin * (re[k + 3] - re[k + 1])
            power[k] = h_re * h_re + h_im * h_im
    else:
        cos_2, sin_2 = far * (turn[0] * turn[0] - turn[1] * turn[1]), 2.0 * far * turn[0] * turn[1]
        for k in range(count):
            h_re = re[k + 2] + cos * (re[k + 1] + re[k + 3]) + sin * (im[k + 1] - im[k + 3])
            h_im = im[k + 2] + cos * (im[k + 1] + im[k + 3]) + sin * (re[k + 3] - re[k + 1])
            h_re += cos_2 * (re[k] + re[k + 4]) + sin_2 * (im[k] - im[k + 4])
            h_im += cos_2 * (im[k] + im[k + 4]) + sin_2 * (re[k + 4] - re[k])
            power[k] = h_re * h_re + h_im * h_im
    # doubles that are not negative sort like their bits, and integers are compared many at a time
    bits = power.view(np.int64)
    largest = np.int64(0)
    for k in range(count):
        largest = max(largest, bits[k])
    for k in range(count):
        if bits[k] == largest:
            return low + k
    return low

"""Reading a sliding spectrum through a Hann window, which in the frequency domain is three neighbours."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from monitor.indicators.kernel import part

# cosine and sine of the turn from the start of the sums, slot 0, to the start of the window, the oldest sample
Turn = tuple[float, float]


@part
def hann(sums: Samples, pair: int, row: int, k: int, turn: Turn) -> complex:
    """Return bin `k` of the signal in `row` of the sums, under a Hann window, its phase counted from slot 0."""
    cos, sin = turn
    i = sums.shape[2] // 2 + k
    re_l, re_r = sums[pair, row, k - 1], sums[pair, row, k + 1]
    im_l, im_r = sums[pair, row, i - 1], sums[pair, row, i + 1]
    return complex(
        sums[pair, row, k] - 0.5 * (cos * (re_l + re_r) + sin * (im_l - im_r)),
        sums[pair, row, i] - 0.5 * (cos * (im_l + im_r) + sin * (re_r - re_l)),
    )


@part
def from_start(h: complex, k: int, steps: Samples, factors: Samples) -> complex:
    """Return the bin `h` with its phase counted from the oldest sample instead of slot 0."""
    i = factors.shape[0] // 2 + k
    return h * (complex(factors[k], -factors[i]) * complex(steps[k], -steps[i]))


@part
def hann_peak(sums: Samples, pair: int, row: int, low: int, high: int, turn: Turn, power: Samples) -> int:
    """Fill power[0 .. high - low] with squared magnitudes under a Hann window; return the bin of the largest."""
    cos, sin, count, n_bins = 0.5 * turn[0], 0.5 * turn[1], high - low + 1, sums.shape[2] // 2
    # cut so that indices begin at zero: those that might be negative are looked at one by one
    re = sums[pair, row, low - 1 : high + 2]
    im = sums[pair, row, n_bins + low - 1 : n_bins + high + 2]
    for k in range(count):
        h_re = re[k + 1] - cos * (re[k] + re[k + 2]) - sin * (im[k] - im[k + 2])
        h_im = im[k + 1] - cos * (im[k] + im[k + 2]) - sin * (re[k + 2] - re[k])
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

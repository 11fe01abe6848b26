"""Reading a sliding spectrum through a Hann window, which in the frequency domain is three neighbours."""

from __future__ import annotations

from monitor.blocks import Samples
from monitor.indicators.kernel import kernel

# cosine and sine of the turn from the start of the sums, slot 0, to the start of the window, the oldest sample
Turn = tuple[float, float]


@kernel
def hann(sums: Samples, pair: int, row: int, k: int, turn: Turn) -> complex:
    """Return bin `k` of the signal whose sums begin at `row`, under a Hann window, phase counted from slot 0."""
    cos, sin = turn
    re_l, re_r = sums[pair, row, k - 1], sums[pair, row, k + 1]
    im_l, im_r = sums[pair, row + 1, k - 1], sums[pair, row + 1, k + 1]
    return complex(
        sums[pair, row, k] - 0.5 * (cos * (re_l + re_r) + sin * (im_l - im_r)),
        sums[pair, row + 1, k] - 0.5 * (cos * (im_l + im_r) + sin * (re_r - re_l)),
    )


@kernel
def from_start(h: complex, k: int, steps: Samples, factors: Samples) -> complex:
    """Return the bin `h` with its phase counted from the oldest sample instead of slot 0."""
    newest = complex(factors[0, k], -factors[1, k])
    return h * (newest * complex(steps[0, k], -steps[1, k]))


@kernel
def hann_peak(sums: Samples, pair: int, row: int, low: int, high: int, turn: Turn, power: Samples) -> int:
    """Fill power[0 .. high - low] with squared magnitudes under a Hann window; return the bin of the largest."""
    cos, sin, count = 0.5 * turn[0], 0.5 * turn[1], high - low + 1
    # cut so that indices begin at zero: those that might be negative are looked at one by one
    re, im = sums[pair, row, low - 1 : high + 2], sums[pair, row + 1, low - 1 : high + 2]
    for k in range(count):
        h_re = re[k + 1] - cos * (re[k] + re[k + 2]) - sin * (im[k] - im[k + 2])
        h_im = im[k + 1] - cos * (im[k] + im[k + 2]) - sin * (re[k + 2] - re[k])
        power[k] = h_re * h_re + h_im * h_im
    # four maxima side by side: a comparison need not wait for the one before it
    a = b = c = d = 0.0
    k = 0
    while k + 3 < count:
        a = power[k] if power[k] > a else a
        b = power[k + 1] if power[k + 1] > b else b
        c = power[k + 2] if power[k + 2] > c else c
        d = power[k + 3] if power[k + 3] > d else d
        k += 4
    while k < count:
        a = power[k] if power[k] > a else a
        k += 1
    largest = max(max(a, b), max(c, d))
    for k in range(count):
        if power[k] >= largest:
            return low + k
    return low

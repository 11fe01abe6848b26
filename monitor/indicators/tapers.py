"""Reading a sliding spectrum through a cosine-sum taper: in the frequency domain, a few neighbouring bins.

A taper ``1 + 2 near cos(2 pi n/N) + 2 far cos(4 pi n/N)`` weights the bins k-1 and k+1 with `near`, k-2 and k+2
with `far`. Bin 0, where the offset is, is held at zero, and the gains below know it: so bin 1 can be read too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.blocks import Samples
from monitor.kernel import part

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


class Gains(NamedTuple):
    """What a tapered bin makes of a tone and of its image: ``bin = kernel (tone b - image conj(b))``.

    ``b`` is half the tone's amplitude with its phase, or the opposite one, at the middle of the window; ``kernel``
    the real Dirichlet kernel at the bin next to the tone; ``beside`` sin(pi (f - that bin)), f in cycles a window;
    ``noise`` the bin's gain for the power of white noise.
    """

    tone: complex
    image: complex
    kernel: float
    beside: float
    noise: float


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


@part
def from_start(h: complex, k: int, steps: Samples, factors: Samples) -> complex:
    """Return the bin `h` with its phase counted from the oldest sample instead of slot 0."""
    i = factors.shape[0] // 2 + k
    return h * (complex(factors[k], -factors[i]) * complex(steps[k], -steps[i]))


@part
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


@part
def gains_at(
    k: int, first_bin: int, frequency: float, sine: float, half: Samples, near: float, far: float, n_window: int
) -> Gains:
    """Return the exact gains of stored bin `k` for a tone of `frequency` cycles, `sine` = sin(pi frequency / N).

    From the oldest sample on, bin j of a tone ``b exp(i (theta n - pi f))`` is
    ``sin(pi f) (cot(pi (f - j)/N) - i) b``, of its image ``-sin(pi f) (cot(pi (-f - j)/N) - i) conj(b)``; the taper
    adds neighbours (ours).
    """
    nearest = int(np.rint(frequency))
    cosine = np.sqrt(1.0 - sine * sine)
    # all cotangents are multiplied by this sine, which is the pole of one of them
    angle = np.pi / n_window * (frequency - nearest)
    square = angle * angle
    pole = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)))
    beside = np.sin(n_window * angle)
    tone = image = edge = noise = 0.0
    for d in range(-2, 3):
        weight = 1.0 if d == 0 else near if abs(d) == 1 else far
        j = first_bin + k + d
        if weight != 0.0 and j != 0:
            sin_j, cos_j = half[0, k + d], half[1, k + d]
            to_tone = 1.0 if j == nearest else pole / (sine * cos_j - cosine * sin_j)
            to_image = 1.0 if j == -nearest else pole / (sine * cos_j + cosine * sin_j)
            tone += weight * (cosine * cos_j + sine * sin_j) * to_tone
            image -= weight * (cosine * cos_j - sine * sin_j) * to_image
            edge += weight * pole
            noise += weight * weight
    kernel = beside / pole if pole != 0.0 else float(n_window)
    return Gains(complex(tone, -edge), complex(image, -edge), kernel, beside, noise)

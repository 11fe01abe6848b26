"""Reading a spectrum through a cosine-sum taper: in the frequency domain, a few neighbouring bins.

A taper ``1 + 2 near cos(2 pi n/N) + 2 far cos(4 pi n/N)`` weights the bins k-1 and k+1 with `near`, k-2 and k+2
with `far`. Bin 0, where the offset is, is held at zero, and the gains of `delayed_bin.tone_gains` know it: so bin 1
can be read too.
"""

from __future__ import annotations

from typing import NamedTuple

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

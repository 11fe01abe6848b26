"""Spectra of command and measured signal together: segments under a Hann taper, and the bins of a band."""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from monitor.kernel import reduction
from monitor.messages.blocks import Samples

Spectrum = NDArray[np.complex128]


def bins_of_band(n: int, sample_rate: float, band: tuple[float, float] | None) -> tuple[int, int]:
    """Return the first and the last of the bins of `n` samples that cover a band in Hz, bin 0 left out.

    By default the band reaches up to a tenth of the sample rate.

    Raises
    ------
    ValueError : the band is not 0 <= low < high <= 0.4 times the sample rate.
    """
    f_low, f_high = band if band is not None else (0.0, 0.1 * sample_rate)
    if not 0.0 <= f_low < f_high <= 0.4 * sample_rate:
        raise ValueError(
            f"band = ({f_low:g}, {f_high:g}) Hz: must rise, within 0 and {0.4 * sample_rate:g} Hz"
            " (0.4 times the sample rate)"
        )
    resolution = sample_rate / n
    low = max(1, int(np.floor(f_low / resolution + 1e-9)))
    return low, max(low, int(np.ceil(f_high / resolution - 1e-9)))


@reduction
def centred(x: Samples) -> tuple[Samples, float]:
    """Return the samples without their mean, over the largest of them, and that largest: 0 for a constant."""
    n = len(x)
    total, lowest, highest = 0.0, x[0], x[0]
    # by itself, so that several are added at a time
    for i in range(n):
        total += x[i] - x[0]
    for i in range(n):
        lowest, highest = min(lowest, x[i]), max(highest, x[i])
    mean = x[0] + total / n
    size = max(highest - mean, mean - lowest) if highest > lowest else 0.0
    scaled = np.zeros(n)
    if size > 0.0:
        for i in range(n):
            scaled[i] = (x[i] - mean) / size
    return scaled, size


def periodic_hann(n: int) -> Samples:
    """Return (n,): the Hann taper of which `n` more samples would be the next period."""
    return np.asarray(0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n))


def segment_spectrum(x: Samples, taper: Samples, low: int, high: int) -> Spectrum:
    """Return bins `low` .. `high` of the (n,) samples without their mean, under a taper."""
    spectrum: Spectrum = scipy.fft.rfft(taper * (x - x.sum() / len(x)))
    return spectrum[low : high + 1]


def power_of(spectrum: Spectrum) -> Samples:
    """Return the squares of the magnitudes."""
    return np.asarray(spectrum.real**2 + spectrum.imag**2)

"""Cross-spectra of command and measured: of Hann segments, and under sine tapers with the lag that the phases show.

A sine taper is two turns of the spectrum by half bins (Riedel and Sidorenko 1995): one transform of the piece with as
many zeros behind it serves all tapers, and one back takes a sum over them all to the samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part, reduction
from monitor.messages.blocks import Samples

Spectrum = NDArray[np.complex128]


def fast_length(n: int) -> int:
    """Return the smallest length of `n` or more whose transform is fast: a product of twos, threes and fives."""
    best = 1 << max(n - 1, 0).bit_length()
    fives = 1
    while fives < best:
        product = fives
        while product < best:
            # the smallest power of two that makes it long enough
            best = min(best, product << max(-(-n // product) - 1, 0).bit_length())
            product *= 3
        fives *= 5
    return best


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
    spectrum: Spectrum = np.fft.rfft(taper * (x - x.sum() / len(x)))
    return spectrum[low : high + 1]


def power_of(spectrum: Spectrum) -> Samples:
    """Return the squares of the magnitudes."""
    return np.asarray(spectrum.real**2 + spectrum.imag**2)


_TAPERS = 5
# five tapers give noise this much coherence once in a hundred times; such bins say nothing
_INCOHERENT = 0.7


class LagFit(NamedTuple):
    """How one piece follows another; NaN where they have nothing in common.

    ``lag`` samples; ``ratio`` first over second; ``coherence`` squared, 0 .. 1. ``by_lag`` and ``by_gain`` (n,): what
    each sample of the second adds to the lag, and to the logarithm of the gain.
    """

    lag: float
    ratio: float
    coherence: float
    by_lag: Samples
    by_gain: Samples


NO_FIT = LagFit(np.nan, np.nan, np.nan, np.empty(0), np.empty(0))


def multitaper_length(n: int) -> int:
    """Return the largest number of samples up to `n` of which the transform is fast."""
    return next(k - 1 for k in range(n + 1, 0, -1) if fast_length(k) == k)


class MultitaperFit:
    """Compares pieces of `n` samples, at the bins that cover a band in Hz.

    Raises
    ------
    ValueError : the band is out of range, see `bins_of_band`.
    """

    def __init__(self, n: int, sample_rate: float, band: tuple[float, float] | None) -> None:
        self._n = n
        self._low, self._high = bins_of_band(n + 1, sample_rate, band)

    def spectrum(self, x: Samples) -> Spectrum:
        """Return the half bins of the (n,) samples without their mean."""
        padded = np.zeros(2 * (self._n + 1))
        padded[1 : self._n + 1] = x - x.sum() / self._n
        result: Spectrum = np.fft.rfft(padded)
        return result

    def fit(self, c: Spectrum, m: Spectrum, slope: Samples) -> LagFit:
        """Return how the piece of spectrum `m` follows that of `c`, whose (n,) slope by its own lag is given.

        With S the cross-spectrum, summed over the tapers, and g2 the coherence, a lag shows as

            ``y = sum g w Im S = sum q[t] m[t]``,    w the angle a sample,

        where Im S stands for |S| times the phase, and g grows from 0 at a coherence of 0.7, which noise may reach, to
        1: hundreds of bins without command would else draw the lag towards zero. What a small lag changes in y is the
        sum over q times the slope; the plain ``sum g |S| w^2`` would be too much, for tapers spread strong bins over
        their neighbours with the phase of the strong. The gain is ``sum g |S| / sum g |C|^2``, by the same token a
        sum over m.
        """
        back = np.zeros((2, self._n + 2), dtype=np.complex128)
        y, both, command, agreement, size = _compare(c, m, self._low, self._high, self._n, back)
        if not both > 0.0:
            return NO_FIT
        of_y, of_gain, by_slope = _weights(np.fft.irfft(back, 2 * (self._n + 1)), slope)
        by_lag = both / command * by_slope
        if by_lag == 0.0:
            return NO_FIT
        return LagFit(y / by_lag, command / both, agreement / size, of_y / by_lag, of_gain / both)


@reduction
def _weights(back: Samples, slope: Samples) -> tuple[Samples, Samples, float]:
    """Return q of y and q of the gain, (n,) each without their means, and the first times the slope."""
    n, scale = len(slope), 0.5 * back.shape[1]
    y, gain = scale * back[0, 1 : n + 1], scale * back[1, 1 : n + 1]
    mean_y = mean_gain = 0.0
    for i in range(n):
        mean_y += y[i]
        mean_gain += gain[i]
    mean_y, mean_gain = mean_y / n, mean_gain / n
    by_slope = 0.0
    for i in range(n):
        y[i] -= mean_y
        gain[i] -= mean_gain
        by_slope += y[i] * slope[i]
    return y, gain, by_slope


@part
def _half_bin(spectrum: Spectrum, at: int) -> complex:
    # the spectrum of what is real goes on as its own mirror image, at both ends
    end = spectrum.shape[0] - 1
    if at < 0 or at > end:
        return complex(spectrum[-at if at < 0 else 2 * end - at].conjugate())
    return complex(spectrum[at])


@part
def _add(spectrum: Spectrum, at: int, value: complex) -> None:
    end = spectrum.shape[0] - 1
    if at in (0, end):
        # these have no twin at a negative frequency
        spectrum[at] += 2.0 * value.real
    elif at < 0 or at > end:
        spectrum[-at if at < 0 else 2 * end - at] += value.conjugate()
    else:
        spectrum[at] += value


@kernel
def _compare(
    c: Spectrum, m: Spectrum, low: int, high: int, n: int, back: NDArray[np.complex128]
) -> tuple[float, float, float, float, float]:
    """Return y; the sums of g |S|, of g times the command's power, of coherence times |S|, of |S|.

    ``back`` takes the spectra of what the first two sums take from every sample.
    """
    scale = np.sqrt(0.5 / (n + 1))
    tapered = np.empty(_TAPERS, dtype=np.complex128)
    y, both, command, agreement, size = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(low, high + 1):
        power_c, power_m, cross = 0.0, 0.0, 0.0j
        for k in range(_TAPERS):
            below, above = 2 * j - k - 1, 2 * j + k + 1
            b_c = scale * (_half_bin(c, below) - _half_bin(c, above))
            b_m = scale * (_half_bin(m, below) - _half_bin(m, above))
            tapered[k] = b_c
            power_c += b_c.real**2 + b_c.imag**2
            power_m += b_m.real**2 + b_m.imag**2
            cross += b_m * b_c.conjugate()
        square = cross.real**2 + cross.imag**2
        if not (power_c * power_m > 0.0 and square > 0.0):
            continue
        coherence, strength = min(square / (power_c * power_m), 1.0), np.sqrt(square)
        agreement += coherence * strength
        size += strength
        trust = (coherence - _INCOHERENT) / (1.0 - _INCOHERENT)
        if trust <= 0.0:
            continue
        weight = trust * 2.0 * np.pi * j / (n + 1)
        y += weight * strength * np.arctan2(cross.imag, cross.real)
        both += trust * strength
        command += trust * power_c
        for k in range(_TAPERS):
            for row, turned in ((0, -1j * scale * weight * tapered[k]), (1, -scale * trust * tapered[k])):
                _add(back[row], 2 * j + k + 1, turned)
                _add(back[row], 2 * j - k - 1, -turned)
    return y, both, command, agreement, size

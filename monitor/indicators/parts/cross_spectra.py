"""Cross-spectra of command and measured: of Hann segments, and multitaper with the lag from its phases.

A sine taper is the difference of the spectrum shifted by half bins up and down (Riedel and Sidorenko 1995): one
zero-padded transform serves all tapers, and one inverse transform a sum over all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.fourier import Transform, new_transform, split_bin, transform
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


def band_bins(n: int, sample_rate: float, band: tuple[float, float] | None) -> tuple[int, int]:
    """Return the first and last of the bins of `n` samples that cover a band in Hz, without bin 0.

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
    """Return the samples without their mean, scaled by their largest size, and that size: 0 for a constant."""
    n = len(x)
    total, lowest, highest = 0.0, x[0], x[0]
    # a loop of its own, which is vectorised
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
    """Return (n,): the periodic Hann taper."""
    return np.asarray(0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n))


def segment_spectrum(x: Samples, taper: Samples, low: int, high: int) -> Spectrum:
    """Return bins `low` .. `high` of the tapered (n,) samples without their mean."""
    spectrum: Spectrum = np.fft.rfft(taper * (x - x.sum() / len(x)))
    return spectrum[low : high + 1]


def squared_magnitudes(spectrum: Spectrum) -> Samples:
    """Return the power of each bin."""
    return np.asarray(spectrum.real**2 + spectrum.imag**2)


_TAPERS = 5
# noise exceeds this coherence once in a hundred times with five tapers
_INCOHERENT = 0.7


class LagFit(NamedTuple):
    """Lag and ratio of two pieces; NaN where they are incoherent.

    ``lag`` samples; ``ratio`` first over second; ``coherence`` squared, 0 .. 1. ``by_lag`` and ``by_gain`` (n,):
    derivatives of the lag, and of the logarithm of the gain, by each sample of the second.
    """

    lag: float
    ratio: float
    coherence: float
    by_lag: Samples
    by_gain: Samples


def multitaper_length(n: int) -> int:
    """Return the largest number of samples up to `n` whose padded transform is fast."""
    return next(k - 1 for k in range(n + 1, 0, -1) if fast_length(k) == k)


class TaperPlan(NamedTuple):
    """What is compared: the bins from ``low`` to ``high`` of pieces of ``n`` samples."""

    n: int
    low: int
    high: int
    transform: Transform


def plan_tapers(n: int, sample_rate: float, band: tuple[float, float] | None) -> TaperPlan:
    """Return the plan of a comparison of pieces of `n` samples, at the bins that cover a band in Hz.

    Raises
    ------
    ValueError : the band is out of range, see `band_bins`.
    """
    return TaperPlan(n, *band_bins(n + 1, sample_rate, band), new_transform(2 * (n + 1)))


@kernel
def fit_lag(c: Samples, m: Samples, slope: Samples, plan: TaperPlan) -> LagFit:
    """Return lag and ratio of the piece `m` of measured behind that of the command, (n,) each.

    With S the cross-spectrum, summed over the tapers, w the angular frequency of a bin in rad a sample, and g a
    weight that grows from 0 at a coherence of 0.7, which noise may reach, to 1, the lag follows from

        ``y = sum g w |S| arg(S) = sum q[t] m[t]``.

    Without g, hundreds of bins without command would bias the lag towards zero. The derivative of y by a small lag is
    the sum over q times the slope; ``sum g |S| w^2`` would be too large, because tapers spread strong bins over their
    neighbours with the phase of the strong one. The gain is ``sum g |S| / sum g |C|^2``, likewise a sum over m.

    Parameters
    ----------
    slope : (n,), derivative of the command by its lag.
    """
    n, padded, buffers, none = plan.n, 2 * (plan.n + 1), plan.transform.buffers, np.empty(0)
    mean_c = mean_m = 0.0
    for t in range(n):
        mean_c, mean_m = mean_c + c[t], mean_m + m[t]
    mean_c, mean_m = mean_c / n, mean_m / n
    buffers[:2] = 0.0
    for t in range(n):
        buffers[0, t + 1], buffers[1, t + 1] = c[t] - mean_c, m[t] - mean_m
    transform(plan.transform)
    of_c, of_m = np.empty(n + 2, dtype=np.complex128), np.empty(n + 2, dtype=np.complex128)
    for k in range(n + 2):
        of_c[k], of_m[k] = split_bin(buffers, padded, k)
    back = np.zeros((2, n + 2), dtype=np.complex128)
    y_sum, both, command, agreement, size = _sum_cross_spectra(of_c, of_m, plan.low, plan.high, n, back)
    if not both > 0.0:
        return LagFit(np.nan, np.nan, np.nan, none, none)
    # the conjugate of the sum of the first spectrum and i times the second, whose transform is that of both back
    for k in range(n + 2):
        at, y, gain = padded - k if k > 0 else 0, back[0, k], back[1, k]
        buffers[0, at], buffers[1, at] = y.real + gain.imag, y.imag - gain.real
        buffers[0, k], buffers[1, k] = y.real - gain.imag, -y.imag - gain.real
    transform(plan.transform)
    of_y, of_gain = np.empty(n), np.empty(n)
    by_slope = _weights(buffers, slope, of_y, of_gain)
    by_lag = both / command * by_slope
    if by_lag == 0.0:
        return LagFit(np.nan, np.nan, np.nan, none, none)
    for t in range(n):
        of_y[t], of_gain[t] = of_y[t] / by_lag, of_gain[t] / both
    return LagFit(y_sum / by_lag, command / both, agreement / size, of_y, of_gain)


@reduction
def _weights(back: Samples, slope: Samples, y: Samples, gain: Samples) -> float:
    """Write the weights of y and of the gain, (n,) each without their means; return the first times slope."""
    n = len(slope)
    mean_y = mean_gain = 0.0
    for i in range(n):
        y[i], gain[i] = 0.5 * back[0, 1 + i], -0.5 * back[1, 1 + i]
        mean_y, mean_gain = mean_y + y[i], mean_gain + gain[i]
    mean_y, mean_gain = mean_y / n, mean_gain / n
    by_slope = 0.0
    for i in range(n):
        y[i], gain[i] = y[i] - mean_y, gain[i] - mean_gain
        by_slope += y[i] * slope[i]
    return by_slope


@part
def _half_bin(spectrum: Spectrum, at: int) -> complex:
    # the spectrum of a real signal is conjugate symmetric about both ends
    end = spectrum.shape[0] - 1
    if at < 0 or at > end:
        return complex(spectrum[-at if at < 0 else 2 * end - at].conjugate())
    return complex(spectrum[at])


@part
def _add_to_bin(spectrum: Spectrum, at: int, value: complex) -> None:
    end = spectrum.shape[0] - 1
    if at in (0, end):
        # bins without a counterpart at a negative frequency
        spectrum[at] += 2.0 * value.real
    elif at < 0 or at > end:
        spectrum[-at if at < 0 else 2 * end - at] += value.conjugate()
    else:
        spectrum[at] += value


@kernel
def _sum_cross_spectra(
    c: Spectrum, m: Spectrum, low: int, high: int, n: int, back: NDArray[np.complex128]
) -> tuple[float, float, float, float, float]:
    """Return y; the sums of g |S|, of g times the command's power, of coherence times |S|, of |S|.

    ``back`` receives the spectra of the weights of the samples in the first two sums.
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
                _add_to_bin(back[row], 2 * j + k + 1, turned)
                _add_to_bin(back[row], 2 * j - k - 1, -turned)
    return y, both, command, agreement, size

"""Every measure by its definition: plain numpy over one window or record, with its source and an example.

The indicators compute the same after every sample; the tests compare them with these, which share no code with them.
Phases are positive where measured leads, delays where it lags, ratios are command over measured, whatever the source
prints; "the review" is Mirza Hessabi and Mercan, "Assessment measures for hybrid simulation: a discussion of recent
developments", NEEShub 2015, resource 13483.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

TAPERS = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08), "rectangular": (1.0,)}
"""Terms of the periodic tapers: Harris 1978, doi:10.1109/PROC.1978.10837."""


def tone() -> tuple[Vector, Vector]:
    """Return command and measured of the examples, (400,) each: 1.5 Hz at 200 Hz, 12 ms late, ratio 1.25."""
    t = np.arange(400) / 200.0
    return np.sin(3.0 * np.pi * t), 0.8 * np.sin(3.0 * np.pi * (t - 0.012))


def frequency_domain(
    x_c: Vector,
    x_m: Vector,
    sample_rate: float,
    band: tuple[float, float] | None = None,
    *,
    taper: str = "hann",
    peak: Literal["command", "own"] = "command",
    image_correction: bool = True,
) -> tuple[float, float, float, float]:
    """Return FDB's ratio, phase in rad, delay of the tone in s, and dominant frequency in Hz.

    Eqs. 4 and 5 of the review: ``ratio = |C(k)| / |M(k)|``, ``phase = arg M(k) - arg C(k)``. Printed is each signal
    at its own peak, and command minus measured. Mirza Hessabi, Ashasi-Sorkhabi and Mercan 2014,
    doi:10.1177/1077546314548205. The frequency between the bins and the correction are ours.

    Parameters
    ----------
    x_c, x_m : (n,), command and measured, of one cycle or more.
    sample_rate : Hz.
    band : Hz, searched for the peak; by default up to a tenth of the rate.
    taper : of `TAPERS`.
    peak, image_correction : as in `FrequencyDomainSettings`; own peaks are not corrected.

    Examples
    --------
    >>> ratio, phase, delay, frequency = frequency_domain(*tone(), 200.0)
    >>> print(f"{ratio:.4f} {phase:.4f} rad {1e3 * delay:.2f} ms {frequency:.3f} Hz")
    1.2500 -0.1131 rad 12.00 ms 1.500 Hz
    """
    n = len(x_c)
    resolution = sample_rate / n
    f_low, f_high = band or (0.0, max(0.1 * sample_rate, 3.0 * resolution))
    low, high = max(1, int(np.ceil(f_low / resolution - 1e-9))), int(f_high / resolution + 1e-9)
    spectra = tapered_spectrum(x_c, taper), tapered_spectrum(x_m, taper)
    k, own = (low + int(np.argmax(np.abs(each[low : high + 1]))) for each in spectra)
    theta = _tone_angle(x_c, k)
    b_c, b_m = complex(spectra[0][k]), complex(spectra[1][own if peak == "own" else k])
    if image_correction and peak != "own":
        # what tone and image, their means removed, put into the bin
        wave = np.exp(1j * theta * np.arange(n))
        of_tone, of_image = tapered_spectrum(wave, taper)[k], tapered_spectrum(wave.conj(), taper)[k]
        both, difference = of_tone + of_image, of_tone - of_image
        matrix = [[both.real, -difference.imag], [both.imag, difference.real]]
        b_c, b_m = (complex(*np.linalg.solve(matrix, [each.real, each.imag])) for each in (b_c, b_m))
    phase, frequency = float(np.angle(b_m * b_c.conjugate())), theta * sample_rate / (2.0 * np.pi)
    return abs(b_c) / abs(b_m), phase, -phase / (2.0 * np.pi * frequency), frequency


def tapered_spectrum(x: NDArray[np.inexact], taper: str = "hann") -> Spectrum:
    """Return the spectrum, (n,), of samples without their mean, under a taper of mean one.

    >>> abs(tapered_spectrum(tone()[0]))[[2, 3, 4]].round(1).tolist()
    [100.0, 200.0, 100.0]
    """
    terms, turns = TAPERS[taper], 2.0 * np.pi * np.arange(len(x)) / len(x)
    weights = sum((-1) ** j * a * np.cos(j * turns) for j, a in enumerate(terms)) / terms[0]
    return np.fft.fft((x - np.mean(x)) * weights)


def _tone_angle(x: Vector, k: int) -> float:
    """Return what the tone whose peak is bin `k` turns in a sample, rad.

    A tone obeys x[i+1] + x[i-1] = 2 cos(theta) x[i] but at the window's ends, whose part a Hann window turns into one
    number, the same for all bins when phases are counted from the newest sample: three bins give cos(theta).
    """
    n = len(x)
    bins, centred = max(k - 1, 2) + np.arange(3), x - np.mean(x)
    bent = 0.5 * (np.roll(centred, 1) + np.roll(centred, -1))
    hann = 1.0 - np.cos(2.0 * np.pi * np.arange(n) / n)
    from_newest = np.exp(2j * np.pi * np.outer(bins, np.arange(n - 1, -1, -1)) / n)
    h, v = from_newest @ (hann * centred), from_newest @ (hann * bent)
    # v - cos(theta) h is one real number: least squares for it and the cosine
    left = np.concatenate([np.stack([h.real, np.ones(3)], axis=1), np.stack([h.imag, np.zeros(3)], axis=1)])
    cosine = np.linalg.lstsq(left, np.concatenate([v.real, v.imag]), rcond=None)[0][0]
    theta = np.arccos(np.clip(cosine, -1.0, 1.0))
    return float(np.clip(theta, 2.0 * np.pi * (k - 1) / n, 2.0 * np.pi * (k + 1) / n))


class Ellipse(NamedTuple):
    """Ratio and phase of PAEI; centre of both signals; half-width, the command's amplitude.

    ``opening`` is 4ac - b^2 over 4, of both signals in standard deviations, over what one does not explain of the
    other: above zero for an ellipse.
    """

    ratio: float
    phase: float
    centre: tuple[float, float]
    half_width: float
    opening: float

    @property
    def amplitude_error(self) -> float:
        """Command's minus measured's amplitude."""
        return self.half_width * (1.0 - 1.0 / self.ratio)


def phase_amplitude(x_c: Vector, x_m: Vector) -> Ellipse:
    """Return PAEI: the ellipse of measured against command, and what it says of phase and amplitude.

    Eq. 1 of the review with a = 1, ``c^2 + b c m + g m^2 + d c + e m + f = 0``, by least squares, centred and scaled;
    eq. 2 with the minus sign that its print lost, ``cos(phase) = -b / (2 sqrt(g))``, its sign by the loop's
    direction; of eq. 3, a difference of amplitudes, the ratio ``sqrt(g)`` and the difference. Mirza Hessabi and
    Mercan 2012, doi:10.1002/eqe.1186. The indicator does this without noise correction; with it, of a tone the same.

    Parameters
    ----------
    x_c, x_m : (n,), command and measured, of one cycle or more.

    Examples
    --------
    >>> found = phase_amplitude(*tone())
    >>> print(f"{found.ratio:.4f} {found.phase:.4f} rad, {found.amplitude_error:.3f} of {found.half_width:.3f}")
    1.2500 -0.1131 rad, 0.200 of 1.000
    """
    mid, scale = np.mean([x_c, x_m], axis=1), np.std([x_c, x_m], axis=1)
    c, m = (x_c - mid[0]) / scale[0], (x_m - mid[1]) / scale[1]
    columns = np.stack([c * m, m * m, c, m, np.ones(len(c))], axis=1)
    b, g, d, e, f = np.linalg.lstsq(columns, -c * c, rcond=None)[0]
    opening = g - 0.25 * b * b
    # what is no more than a line has its middle for a centre, and the width of a sine
    centre, square = np.zeros(2), 2.0
    if opening > 0.0:
        found = np.linalg.solve([[2.0, b], [b, 2.0 * g]], [-d, -e])
        at_centre = -(f + 0.5 * (d * found[0] + e * found[1])) * g / opening
        if 0.25 < at_centre < 8.0:
            centre, square = found, at_centre
    # of an ellipse |gain| is 1/sqrt(g); what is no ellipse is read as a line
    gain = complex(-b, np.sqrt(max(4.0 * opening, 0.0)) * loop_direction(c, m)) / (2.0 * g) * scale[1] / scale[0]
    left = 1.0 - np.mean(c * m) ** 2
    middle_c, middle_m = mid + scale * centre
    return Ellipse(
        1.0 / abs(gain),
        float(np.angle(gain)),
        (float(middle_c), float(middle_m)),
        float(np.sqrt(square) * scale[0]),
        float(opening / g**2 / left) if g > 0.0 else -np.inf,
    )


def loop_direction(c: Vector, m: Vector) -> float:
    """Return 1 for a loop that is walked clockwise, as when measured leads, and -1, by the area it sweeps.

    >>> loop_direction(*tone())
    -1.0
    """
    return 1.0 if np.sum(c[:-1] * m[1:] - c[1:] * m[:-1]) < 0.0 else -1.0


def tracking_indicator(x_c: Vector, x_m: Vector) -> float:
    """Return TI: half the area under the plot of measured against command minus half the area left of it.

    Mercan and Ricles 2007, doi:10.1002/eqe.701; the review states the opposite sign. A lead increases it, a tone by
    ``pi A_c A_m sin(phase)`` a cycle.

    >>> x_c, x_m = tone()
    >>> print(f"{tracking_indicator(x_c, x_m):.4f}, of three cycles {3 * np.pi * 0.8 * np.sin(-0.1131):.4f}")
    -0.8485, of three cycles -0.8509
    """
    below = 0.5 * (x_m[1:] + x_m[:-1]) * np.diff(x_c)
    beside = 0.5 * (x_c[1:] + x_c[:-1]) * np.diff(x_m)
    return float(0.5 * np.sum(below - beside))


def normalized_tracking_indicator(x_c: Vector, x_m: Vector) -> float:
    """Return TI over the square of the largest number in either signal, as OpenFresco plots it of a record.

    >>> print(f"{normalized_tracking_indicator(*tone()):.4f}")
    -0.8485
    """
    return tracking_indicator(x_c, x_m) / float(np.max(np.abs([x_c, x_m]))) ** 2


def tracking_angle(x_c: Vector, x_m: Vector) -> float:
    """Return the angle of TI's growth a radian of the command, against the covariance, rad (ours): a tone's phase.

    >>> print(f"{tracking_angle(*tone()):.4f}")
    -0.1131
    """
    growth, common, _, _ = hann_averages(x_m, x_c)
    return float(np.arctan2(growth / sine_of_step(x_c), common))


def nrmse(x_c: Vector, x_m: Vector) -> tuple[float, float, float, float]:
    """Return the rms error over the command's rms, its deviation, the measured signal's range, and its rms.

    The first as Phillips and Spencer 2011 (NSEL report 28, University of Illinois) have it.

    >>> print(*(f"{value:.4f}" for value in nrmse(*tone())))
    0.2241 0.2241 0.0990 0.2801
    """
    rms = np.sqrt(np.mean((x_m - x_c) ** 2))
    scales = np.sqrt(np.mean(x_c**2)), np.std(x_c), np.ptp(x_m), np.sqrt(np.mean(x_m**2))
    of_command, of_deviation, of_range, of_measured = (float(rms / scale) for scale in scales)
    return of_command, of_deviation, of_range, of_measured


def peak_error(x_c: Vector, x_m: Vector) -> tuple[float, float]:
    """Return the largest error, and the same over the largest command.

    >>> print(*(f"{value:.4f}" for value in peak_error(*tone())))
    0.2241 0.2241
    """
    largest = float(np.max(np.abs(x_m - x_c)))
    return largest, largest / float(np.max(np.abs(x_c)))


def hann_averages(a: Vector, b: Vector) -> tuple[float, float, float, float]:
    """Return the area that b sweeps about a in a sample, and the averages of ab, aa and bb, about their means.

    >>> print(*(f"{value:.3f}" for value in hann_averages(*tone())))
    0.002 0.397 0.500 0.320
    """
    weights = np.hanning(2 * len(a) + 1)[1::2]
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    swept = np.average(0.5 * (a[:-1] * b[1:] - b[:-1] * a[1:]), weights=weights[1:] + weights[:-1])
    common, square_a, square_b = (float(np.average(x, weights=weights)) for x in (a * b, a * a, b * b))
    return float(swept), common, square_a, square_b


def sine_of_step(x: Vector) -> float:
    """Return the sine of what a signal turns in a sample.

    >>> print(f"{sine_of_step(tone()[0]):.4f} {np.sin(3.0 * np.pi / 200.0):.4f}")
    0.0471 0.0471
    """
    return float(np.sin(2.0 * np.pi * crossing_frequency(x, 0.3 * np.sqrt(hann_averages(x, x)[1]))))


def crossing_frequency(x: Vector, margin: float) -> float:
    """Return cycles a sample, from the crossings of the middle of the range that go beyond `margin` on both sides.

    >>> print(f"{200.0 * crossing_frequency(tone()[0], 0.2):.3f} Hz")
    1.500 Hz
    """
    height = x - 0.5 * (np.max(x) + np.min(x))
    changes = np.flatnonzero((height[1:] < 0.0) != (height[:-1] < 0.0)) + 1
    beyond = np.flatnonzero(np.abs(height) > margin)
    found: dict[bool, list[float]] = {True: [], False: []}
    for i, j in itertools.pairwise(beyond):
        if height[i] * height[j] < 0.0:
            at = changes[changes <= j][-1]
            found[bool(height[j] > 0.0)].append(at - height[at] / (height[at] - height[at - 1]))
    cycles = sum(max(len(times) - 1, 0) for times in found.values())
    return cycles / sum(times[-1] - times[0] for times in found.values() if len(times) > 1)


def lagged_correlation(x_c: Vector, x_m: Vector, start: int, n: int, lags: Iterable[int]) -> Vector:
    """Return the coefficients of correlation of n samples of measured with the command so many samples earlier.

    Its peak is where `broadband_lag` begins: Knapp and Carter 1976, doi:10.1109/TASSP.1976.1162830.

    >>> int(np.argmax(lagged_correlation(*tone(), 20, 360, range(5))))
    2
    """
    return np.array([np.corrcoef(x_c[start - lag : start - lag + n], x_m[start : start + n])[0, 1] for lag in lags])


class BroadbandLag(NamedTuple):
    """Lag in samples, ratio, coherence; what each sample of measured adds to the lag, and to the gain's logarithm."""

    lag: float
    ratio: float
    coherence: float
    by_lag: Vector
    by_gain: Vector


def broadband_lag(c: Vector, m: Vector, slope: Vector, low: int, high: int) -> BroadbandLag:
    """Return the lag of measured behind the command that phases of the cross-spectrum over a band give.

    ``lag = sum g w |S| arg(S) / (gain sum g w Im(S'))``: S the cross-spectrum, summed over five sine tapers (Riedel
    and Sidorenko 1995, doi:10.1109/78.365298), S' that with the command's slope, w the angular frequency, g a weight
    that grows from 0 at a coherence of 0.7 to 1. Ours.

    Parameters
    ----------
    c, m : (n,), pieces of command, delayed as far as the lag is known, and measured.
    slope : (n,), the command's derivative by its lag, per sample.
    low, high : bins, multiples of ``1 / (n + 1)`` a sample.

    Examples
    --------
    >>> x_c, x_m = tone()
    >>> found = broadband_lag(x_c, x_m, -np.gradient(x_c), 1, 8)
    >>> print(f"{1e3 * found.lag / 200.0:.1f} ms {found.ratio:.3f}")
    12.0 ms 1.251
    """
    n = len(c)
    at, order = np.arange(1, n + 1), np.arange(1, 6)
    tapers = np.sqrt(2.0 / (n + 1)) * np.sin(np.pi * np.outer(order, at) / (n + 1))
    w = 2.0 * np.pi * np.arange(low, high + 1) / (n + 1)
    waves = np.exp(-1j * np.outer(at, w))
    b_c, b_m, b_slope = ((tapers * (x - np.mean(x))) @ waves for x in (c, m, slope))
    cross, power_c, power_m = (np.sum(x, axis=0) for x in (b_m * b_c.conj(), np.abs(b_c) ** 2, np.abs(b_m) ** 2))
    coherence = np.abs(cross) ** 2 / (power_c * power_m)
    trust = np.maximum(0.0, (coherence - 0.7) / 0.3)
    if not trust.any():
        return BroadbandLag(np.nan, np.nan, np.nan, np.empty(0), np.empty(0))
    gain = np.sum(trust * np.abs(cross)) / np.sum(trust * power_c)
    y = np.sum(trust * w * np.abs(cross) * np.angle(cross))
    by_lag = gain * np.sum(trust * w * np.imag(b_slope * b_c.conj()))
    # what one unit more in a sample of measured adds to sum g w Im S, and to sum g Re S
    of_y = np.einsum("f,kt,tf,kf->t", trust * w, tapers, waves, b_c.conj()).imag
    of_gain = np.einsum("f,kt,tf,kf->t", trust, tapers, waves, b_c.conj()).real
    agreement = float(np.sum(coherence * np.abs(cross)) / np.sum(np.abs(cross)))
    of_y, of_gain = of_y - np.mean(of_y), of_gain - np.mean(of_gain)
    in_all = np.sum(trust * np.abs(cross))
    return BroadbandLag(float(y / by_lag), float(1.0 / gain), agreement, of_y / by_lag, of_gain / in_all)


def frequency_evaluation(
    stretches: Iterable[tuple[Vector, Vector]], sample_rate: float, taper: str = "rectangular"
) -> tuple[float, float, float, float]:
    """Return FEI's ratio, phase in rad, delay in s and equivalent frequency in Hz, of stretches with their energy.

    ``FEI = sum (O / I) |I|^2 / sum |I|^2`` and ``f_eq = sum |I|^2 f / sum |I|^2`` over one-sided spectra without
    their bin 0; its amplitude is printed as measured over command. Guo, Chen, Xu and Sanchez 2014,
    doi:10.1088/0964-1726/23/4/045042.

    Parameters
    ----------
    stretches : command and measured, (n,) each: the whole record, or segments.
    taper : of `TAPERS`; rectangular as defined.

    Examples
    --------
    >>> ratio, phase, delay, frequency = frequency_evaluation([tone()], 200.0)
    >>> print(f"{ratio:.4f} {phase:.4f} rad {1e3 * delay:.2f} ms {frequency:.3f} Hz")
    1.2500 -0.1131 rad 12.00 ms 1.500 Hz
    """
    power = by_frequency = 0.0
    cross = 0.0j
    for x_c, x_m in stretches:
        n = len(x_c)
        k = np.arange(1, n // 2 + 1)
        b_c, b_m = (tapered_spectrum(x, taper)[k] for x in (x_c, x_m))
        # (O / I) |I|^2, which is 0 where I is
        cross += np.sum(b_m * b_c.conj()) / n
        power += float(np.sum(np.abs(b_c) ** 2)) / n
        by_frequency += float(np.sum(np.abs(b_c) ** 2 * k * sample_rate / n)) / n
    phase, frequency = float(np.angle(cross)), by_frequency / power
    return power / abs(cross), phase, -phase / (2.0 * np.pi * frequency), frequency


def transfer_function(x_c: Vector, x_m: Vector, sample_rate: float, n: int) -> tuple[Vector, Spectrum, Vector]:
    """Return frequencies in Hz, measured over command, and coherence, of Hann segments of n samples, half overlapped.

    ``H = S_cm / S_cc``: Welch 1967, doi:10.1109/TAU.1967.1161901.

    >>> frequency, response, coherence = transfer_function(*tone(), 200.0, 200)
    >>> print(f"{frequency[2]:.0f} Hz: {1.0 / abs(response[2]):.4f}, coherence {coherence[2]:.3f}")
    2 Hz: 1.2501, coherence 1.000
    """
    starts = range(0, len(x_c) - n + 1, n // 2)
    b_c, b_m = (np.array([tapered_spectrum(x[i : i + n])[: n // 2 + 1] for i in starts]) for x in (x_c, x_m))
    power_c, power_m, cross = np.sum(abs(b_c) ** 2, 0), np.sum(abs(b_m) ** 2, 0), np.sum(b_m * b_c.conj(), 0)
    frequency: Vector = np.arange(n // 2 + 1) * sample_rate / n
    return frequency, cross / power_c, abs(cross) ** 2 / (power_c * power_m)


def benchmark_criteria(x_c: Vector, x_m: Vector, sample_rate: float, max_delay: float) -> tuple[float, float, float]:
    """Return J1 in ms, J2 and J3 in percent, as published.

    The lag within `max_delay` s of the largest correlation, the error's deviation over the command's, and the largest
    error over the largest command: Silva, Gomez, Maghareh, Dyke and Spencer 2020, doi:10.1016/j.ymssp.2019.106381.

    >>> print(*(f"{value:.2f}" for value in benchmark_criteria(*tone(), 200.0, 0.1)))
    10.00 22.41 22.41
    """
    c, m, most = x_c - np.mean(x_c), x_m - np.mean(x_m), round(max_delay * sample_rate)
    lags = range(-most, most + 1)
    common = [np.sum(m[max(k, 0) : len(m) + min(k, 0)] * c[max(-k, 0) : len(c) - max(k, 0)]) for k in lags]
    error, delay = x_m - x_c, 1e3 * lags[int(np.argmax(common))] / sample_rate
    return delay, float(100.0 * np.std(error) / np.std(x_c)), 100.0 * peak_error(x_c, x_m)[1]

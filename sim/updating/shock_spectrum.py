"""Shock response spectra: the largest response of oscillators to a record of acceleration, by natural frequency.

The record is the acceleration of the base on which each oscillator rests, straight between its samples: Smallwood's
ramp-invariant filter (1981, "An improved recursive formula for calculating shock response spectra"), here as one
complex recursion, which keeps its digits at low frequencies. Maxima between samples are found as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples, check_positive
from sim.kernels import inlined, kernel

Part = Literal["primary", "residual", "overall"]
# columns of the largest and of the least responses
_COLUMNS: dict[Part, tuple[list[int], list[int]]] = {
    "primary": ([0], [1]), "residual": ([2], [3]), "overall": ([0, 2], [1, 3])
}  # fmt: skip

# samples in a cycle of the highest natural frequency; ISO 18431-4
_SAMPLES_PER_CYCLE = 10.0
_FEWEST = 4
# of a cycle, the longest step in which a maximum is looked for
_LONGEST_STEP = 0.125
_SERIES = 0.5


def octave_frequencies(lowest: float, highest: float, per_octave: int = 6) -> Samples:
    """Return (k,) frequencies, lowest 2^(i / per_octave), up to the highest.

    Raises
    ------
    ValueError : a frequency or their number is not positive, or the highest is below the lowest.
    """
    check_positive("octave", lowest=lowest, highest=highest, per_octave=per_octave)
    if highest < lowest:
        raise ValueError(f"octave frequencies from {lowest:g} to {highest:g} Hz: the highest is below the lowest")
    number = int(np.floor(per_octave * np.log2(highest / lowest) + 1e-9)) + 1
    return np.asarray(lowest * 2.0 ** (np.arange(number) / per_octave))


@dataclass(frozen=True, slots=True, eq=False)
class ShockSpectrum:
    """Extremes of the absolute accelerations of oscillators, in the unit of the record.

    Parameters
    ----------
    frequencies : (k,), Hz.
    damping : ratio.
    extremes : (..., k, 4): largest and least while the record lasts, largest and least after it.
    """

    frequencies: Samples
    damping: float
    extremes: Samples

    def positive(self, part: Part = "overall") -> Samples:
        """Return (..., k): the largest response, zero or more."""
        return np.asarray(self.extremes[..., _COLUMNS[part][0]].max(axis=-1))

    def negative(self, part: Part = "overall") -> Samples:
        """Return (..., k): the size of the least response, zero or more."""
        return np.asarray(-self.extremes[..., _COLUMNS[part][1]].min(axis=-1))

    def maximax(self, part: Part = "overall") -> Samples:
        """Return (..., k): the largest size of the response, of either sign."""
        return np.maximum(self.positive(part), self.negative(part))


def shock_spectrum(
    record: ArrayLike, sample_rate: float, frequencies: ArrayLike | None = None, damping: float = 0.05
) -> ShockSpectrum:
    """Return the shock response spectrum of a record, or of many.

    Fewer than ten samples in a cycle of the highest frequency are refused: a straight line between samples makes a
    sine too small by 3.3 % at 10, by 13 % at 5.

    Parameters
    ----------
    record : (..., n), acceleration of the base; the oscillators are at rest at the first sample, which may be other
        than zero: a step. After the last sample the base moves without acceleration.
    sample_rate : Hz.
    frequencies : (k,), Hz, natural frequencies; by default six in an octave, from one cycle in the record to the
        highest that the sample rate allows.
    damping : ratio, from zero to less than one; Q = 1 / (2 damping).

    Raises
    ------
    ValueError : the record is too short, or has a sample that is not finite, or a setting is out of its range.
    """
    try:
        record = np.asarray(record, dtype=np.float64)
    except ValueError:
        raise ValueError("shock spectrum: records of unequal lengths: give one after the other") from None
    check_positive("shock spectrum", sample_rate=sample_rate)
    n = _check_record(record)
    if frequencies is None:
        lowest, highest = sample_rate / (n - 1), sample_rate / _SAMPLES_PER_CYCLE
        if highest < lowest:
            raise ValueError(
                f"shock spectrum: {n} samples are less than a cycle of {highest:g} Hz, the highest frequency that "
                f"{sample_rate:g} Hz allows: give frequencies"
            )
        frequencies = octave_frequencies(lowest, highest)
    frequencies = np.atleast_1d(np.asarray(frequencies, dtype=np.float64))
    if frequencies.ndim != 1 or not len(frequencies):
        raise ValueError(f"shock spectrum frequencies of shape {frequencies.shape}: must be a list of one or more")
    check_positive("shock spectrum", frequency=frequencies)
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"shock spectrum damping {damping:g}: must be a ratio from 0 to less than 1")
    highest = float(frequencies.max())
    if highest * _SAMPLES_PER_CYCLE > sample_rate * (1.0 + 1e-9):
        raise ValueError(
            f"shock spectrum at {highest:g} Hz: {sample_rate:g} Hz has {sample_rate / highest:.3g} samples in a "
            f"cycle, needs {_SAMPLES_PER_CYCLE:g}: end at {sample_rate / _SAMPLES_PER_CYCLE:g} Hz, or sample faster"
        )
    omega = 2.0 * np.pi * frequencies
    poles: Response = np.asarray(omega * complex(-damping, sqrt(1.0 - damping**2)), dtype=np.complex128)
    # z = -Im(w) / omega_d; z'' + u = -(2 zeta omega z' + omega^2 z), and pole^2 + 2 zeta omega pole + omega^2 = 0
    outputs: Response = np.asarray(-(poles**2) / poles.imag, dtype=np.complex128)
    rows = np.ascontiguousarray(record.reshape(-1, n))
    extremes = np.empty((len(rows), len(frequencies), 4))
    _peaks(rows, 1.0 / sample_rate, poles, outputs, extremes)
    return ShockSpectrum(frequencies, damping, extremes.reshape(*record.shape[:-1], len(frequencies), 4))


def _check_record(record: Samples) -> int:
    """Return the number of samples; raise ValueError where they are too few or one is not finite."""
    n = record.shape[-1] if record.ndim else 0
    if n < _FEWEST or not record.size:
        turned = (
            f"; time is the last axis: transpose {record.shape}" if max(record.shape, default=0) >= _FEWEST else ""
        )
        raise ValueError(f"shock spectrum of {n} samples: needs {_FEWEST} or more{turned}")
    bad = np.argwhere(~np.isfinite(record))
    if len(bad):
        where = f" of record {'-'.join(str(i + 1) for i in bad[0][:-1])}" if record.ndim > 1 else ""
        raise ValueError(
            f"shock spectrum: sample {bad[0][-1] + 1}{where} is {record[tuple(bad[0])]}: cut or bridge it first"
        )
    return n


@inlined
def _advanced(w: complex, u: float, slope: float, pole: complex, step: float) -> complex:
    """Return w a step later, e^x w + step phi1(x) u + step^2 phi2(x) slope: the base acceleration is u + slope t."""
    x = pole * step
    grown = np.exp(x)
    if abs(x) < _SERIES:
        # (e^x - 1 - x) / x^2 loses its digits where x is small
        second = 1.0 + 0.0j
        for k in range(14, 0, -1):
            second = 1.0 + second * x / (k + 2.0)
        second = 0.5 * second
        first = 1.0 + x * second
    else:
        first = (grown - 1.0) / x
        second = (first - 1.0) / x
    later: complex = grown * w + step * first * u + step * step * second * slope
    return later


@inlined
def _extreme_within(
    w: complex, u: float, slope: float, pole: complex, output: complex, rate: float, step: float
) -> float:
    """Return when, within a step, the response has an extreme; `rate` is that of the response at its beginning."""
    left, right = 0.0, step
    while right - left > 1e-7 * step:
        middle = 0.5 * (left + right)
        there = _advanced(w, u, slope, pole, middle)
        if ((output * pole * there).imag + (u + slope * middle) * output.imag) * rate > 0.0:
            left = middle
        else:
            right = middle
    return left


@kernel
def _peaks(records: Samples, dt: float, poles: Response, outputs: Response, extremes: Samples) -> None:
    """Find the largest and the least response of each oscillator to each record, during it and afterwards.

    The response between samples is searched too, and the free motion afterwards is in closed form: with the pole
    alone the extremes are half a period apart, so that the first two are the largest.

    Parameters
    ----------
    records : (m, n), base accelerations; the oscillators are at rest at the first sample.
    dt : s.
    poles, outputs : (k,).
    extremes : (m, k, 4), filled: largest and least during the record, largest and least after it.
    """
    m, n = records.shape
    for j in range(len(poles)):
        pole, output = poles[j], outputs[j]
        turn = pole.imag
        parts = max(1, int(np.ceil(abs(pole) * dt / (2.0 * np.pi * _LONGEST_STEP))))
        step = dt / parts
        on_u, on_slope = _advanced(0.0j, 1.0, 0.0, pole, step), _advanced(0.0j, 0.0, 1.0, pole, step)
        grown = np.exp(pole * step)
        sloped = output * pole
        for i in range(m):
            w = 0.0j
            high = low = 0.0
            for sample in range(n - 1):
                slope = (records[i, sample + 1] - records[i, sample]) / dt
                for k in range(parts):
                    u = records[i, sample] + slope * k * step
                    rate = (sloped * w).imag + u * output.imag
                    if rate == 0.0:
                        # from rest: the direction in which it leaves
                        shortly = _advanced(w, u, slope, pole, 1e-3 * step)
                        rate = (sloped * shortly).imag + (u + slope * 1e-3 * step) * output.imag
                    later = grown * w + on_u * u + on_slope * slope
                    response = (output * later).imag
                    high, low = max(high, response), min(low, response)
                    if rate * ((sloped * later).imag + (u + slope * step) * output.imag) < 0.0:
                        before, reach = (output * w).imag, abs(rate) * step
                        if before + reach > high or before - reach < low:
                            left = _extreme_within(w, u, slope, pole, output, rate, step)
                            response = (output * _advanced(w, u, slope, pole, left)).imag
                            high, low = max(high, response), min(low, response)
                    w = later
            extremes[i, j, 0], extremes[i, j, 1] = high, low
            # free motion: Im(output e^(pole t) w) is extreme where Im(output pole e^(pole t) w) is zero
            now = (output * w).imag
            high, low = max(now, 0.0), min(now, 0.0)
            angle = np.angle(sloped * w)
            first = (-angle if angle <= 0.0 else np.pi - angle) / turn
            for half in range(2):
                at = first + half * np.pi / turn
                free = (output * np.exp(pole * at) * w).imag
                high, low = max(high, free), min(low, free)
            extremes[i, j, 2], extremes[i, j, 3] = high, low

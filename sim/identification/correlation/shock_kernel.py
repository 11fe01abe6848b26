"""Oscillators under a base acceleration that is straight between samples: exact recursions, compiled.

An oscillator at natural frequency omega and damping ratio zeta has one complex state, w' = pole w + u, with
pole = omega (-zeta + i sqrt(1 - zeta^2)) and u the base acceleration; every response is Im(output w).
"""

from __future__ import annotations

import numpy as np

from sim.arrays import Response, Samples
from sim.kernels import inlined_part, kernel

# of a cycle, the longest step in which a maximum is looked for
LONGEST_STEP = 0.125
_SERIES = 0.5


@inlined_part
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


@kernel
def peaks(
    records: Samples, dt: float, poles: Response, outputs: Response, extremes: Samples, instants: Samples
) -> None:
    """Find the largest and the least response of each oscillator to each record, during it and afterwards.

    The response between samples is searched too, and the free motion afterwards is in closed form: with the pole
    alone the extremes are half a period apart, so that the first two are the largest.

    Parameters
    ----------
    records : (m, n), base accelerations; the oscillators are at rest at the first sample.
    dt : s.
    poles, outputs : (k,).
    extremes : (m, k, 4), filled: largest and least during the record, largest and least after it.
    instants : (m, k, 4), s, filled: when.
    """
    m, n = records.shape
    for j in range(len(poles)):
        pole, output = poles[j], outputs[j]
        turn = pole.imag
        parts = max(1, int(np.ceil(abs(pole) * dt / (2.0 * np.pi * LONGEST_STEP))))
        step = dt / parts
        on_u, on_slope = _advanced(0.0j, 1.0, 0.0, pole, step), _advanced(0.0j, 0.0, 1.0, pole, step)
        grown = np.exp(pole * step)
        sloped = output * pole
        for i in range(m):
            w = 0.0j
            high = low = 0.0
            high_at = low_at = 0.0
            for sample in range(n - 1):
                slope = (records[i, sample + 1] - records[i, sample]) / dt
                for k in range(parts):
                    u = records[i, sample] + slope * k * step
                    start = (sample * parts + k) * step
                    rate = (sloped * w).imag + u * output.imag
                    if rate == 0.0:
                        # from rest: the direction in which it leaves
                        shortly = _advanced(w, u, slope, pole, 1e-3 * step)
                        rate = (sloped * shortly).imag + (u + slope * 1e-3 * step) * output.imag
                    later = grown * w + on_u * u + on_slope * slope
                    response = (output * later).imag
                    if response > high:
                        high, high_at = response, start + step
                    if response < low:
                        low, low_at = response, start + step
                    if rate * ((sloped * later).imag + (u + slope * step) * output.imag) < 0.0:
                        before, reach = (output * w).imag, abs(rate) * step
                        if before + reach > high or before - reach < low:
                            left, right = 0.0, step
                            while right - left > 1e-7 * step:
                                middle = 0.5 * (left + right)
                                there = _advanced(w, u, slope, pole, middle)
                                if ((sloped * there).imag + (u + slope * middle) * output.imag) * rate > 0.0:
                                    left = middle
                                else:
                                    right = middle
                            response = (output * _advanced(w, u, slope, pole, left)).imag
                            if response > high:
                                high, high_at = response, start + left
                            if response < low:
                                low, low_at = response, start + left
                    w = later
            extremes[i, j, 0], extremes[i, j, 1] = high, low
            instants[i, j, 0], instants[i, j, 1] = high_at, low_at
            # free motion: Im(output e^(pole t) w) is extreme where Im(output pole e^(pole t) w) is zero
            end = (n - 1) * dt
            now = (output * w).imag
            high, low = max(now, 0.0), min(now, 0.0)
            high_at = low_at = end
            angle = np.angle(sloped * w)
            first = (-angle if angle <= 0.0 else np.pi - angle) / turn
            for half in range(2):
                at = first + half * np.pi / turn
                free = (output * np.exp(pole * at) * w).imag
                if free > high:
                    high, high_at = free, end + at
                if free < low:
                    low, low_at = free, end + at
            extremes[i, j, 2], extremes[i, j, 3] = high, low
            instants[i, j, 2], instants[i, j, 3] = high_at, low_at


@kernel
def responses_at(
    records: Samples, dt: float, poles: Response, outputs: Response, instants: Samples, found: Samples
) -> None:
    """Find the response of each oscillator to each record at an instant of its own.

    Parameters
    ----------
    records : (m, n).
    dt : s.
    poles, outputs : (k,).
    instants : (m, k), s; after the record the base rests.
    found : (m, k), filled.
    """
    m, n = records.shape
    for j in range(len(poles)):
        pole, output = poles[j], outputs[j]
        on_u, on_slope = _advanced(0.0j, 1.0, 0.0, pole, dt), _advanced(0.0j, 0.0, 1.0, pole, dt)
        grown = np.exp(pole * dt)
        for i in range(m):
            last = min(int(instants[i, j] / dt), n - 1)
            w = 0.0j
            for k in range(last):
                w = grown * w + on_u * records[i, k] + on_slope * (records[i, k + 1] - records[i, k]) / dt
            rest = instants[i, j] - last * dt
            if last < n - 1:
                slope = (records[i, last + 1] - records[i, last]) / dt
                w = _advanced(w, records[i, last], slope, pole, rest)
            else:
                w = np.exp(pole * rest) * w
            found[i, j] = (output * w).imag

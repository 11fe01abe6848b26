"""FDB of a tone: by least squares, the image in its bin, and the least deviations that it can have."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from monitor.indicators.reference import tapered_spectrum


def image_share(cycles, n, kind="hann"):
    """Return the image over the tone in the plain reading at the bin next to a tone that is `cycles` long."""
    wave = np.exp(2j * np.pi * cycles * np.arange(n) / n)
    k = int(np.argmax(np.abs(tapered_spectrum(wave, kind)[1 : n // 2]))) + 1
    return abs(tapered_spectrum(wave.conj(), kind)[k] / tapered_spectrum(wave, kind)[k])


def exact_tone(x_c, x_m, guess):
    """Return (ratio, phase, cycles a sample) by nonlinear least squares of one tone and an offset to the command.

    Both signals are then fitted linearly at that frequency. `guess` is in cycles a sample.
    """
    n = np.arange(len(x_c)) - 0.5 * (len(x_c) - 1)

    def columns(frequency):
        angle = 2.0 * np.pi * frequency * n
        return np.stack([np.cos(angle), np.sin(angle), np.ones(len(n))], axis=1)

    def misfit(frequency):
        a = columns(frequency[0])
        return a @ np.linalg.lstsq(a, x_c, rcond=None)[0] - x_c

    scale = np.ptp(x_c)
    found = least_squares(
        lambda f: misfit(f) / scale, [guess], x_scale=1.0 / len(n), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    a = columns(found.x[0])
    parts = [np.linalg.lstsq(a, x, rcond=None)[0] for x in (x_c, x_m)]
    b_c, b_m = (complex(p[0], -p[1]) for p in parts)
    return abs(b_c / b_m), float(np.angle(b_m / b_c)), float(found.x[0])


def cramer_rao(cycles, n, start, gain, phase, noise_c, noise_m):
    """Return the least standard deviations of phase and of log ratio that any unbiased estimate can have.

    Command ``cos(w n + start) + offset``, measured ``gain cos(w n + start + phase) + offset`` in independent white
    noise, all seven parameters unknown: the inverse of the Fisher matrix of frequency, two amplitudes, two phases
    and two offsets.
    """
    samples = np.arange(n)
    angle = 2.0 * np.pi * cycles * samples / n
    slopes = np.zeros((7, 2, n))
    for signal, (amplitude, at, noise) in enumerate(((1.0, start, noise_c), (gain, start + phase, noise_m))):
        slopes[0, signal] = -amplitude * np.sin(angle + at) * samples / noise
        slopes[1 + 3 * signal, signal] = np.cos(angle + at) / noise
        slopes[2 + 3 * signal, signal] = -amplitude * np.sin(angle + at) / noise
        slopes[3 + 3 * signal, signal] = 1.0 / noise
    slopes = slopes.reshape(7, -1)
    # the frequency's unit is chosen such that the matrix is well scaled
    slopes[0] /= n
    covariance = np.linalg.inv(slopes @ slopes.T)
    of_phase = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0])
    of_ratio = np.array([0.0, 1.0, 0.0, 0.0, -1.0 / gain, 0.0, 0.0])
    return np.sqrt(of_phase @ covariance @ of_phase), np.sqrt(of_ratio @ covariance @ of_ratio)


def added_damping(gain, phase):
    """Return what an elastic specimen that is all of the structure adds to the damping, by the work in one cycle."""
    angle = 2.0 * np.pi * np.arange(4096) / 4096
    force = gain * np.cos(angle + phase)
    energy = np.sum(force * -np.sin(angle)) * 2.0 * np.pi / 4096
    return energy / (4.0 * np.pi * 0.5)

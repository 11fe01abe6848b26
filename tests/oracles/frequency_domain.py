"""FDB from a stored window, by its definition: `numpy.fft` for the bins, least squares for the exact tone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

# the terms of the periodic windows as the textbooks print them (Harris 1978)
COSINES = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08), "rectangular": (1.0,)}


def taper(n, kind="hann"):
    """Return a periodic taper of mean one, (n,)."""
    terms = COSINES[kind]
    turns = 2.0 * np.pi * np.arange(n) / n
    return sum((-1) ** j * a * np.cos(j * turns) for j, a in enumerate(terms)) / terms[0]


def spectrum(x, kind="hann"):
    """Return the spectrum of a window without its mean, tapered."""
    return np.fft.fft((x - np.mean(x)) * taper(len(x), kind))


def peak_bin(x, low, high, kind="hann"):
    """Return the bin of the largest magnitude among low .. high."""
    return low + int(np.argmax(np.abs(spectrum(x, kind)[low : high + 1])))


def at_common_bin(x_c, x_m, low, high, kind="hann"):
    """Return (ratio, phase) with both signals read at the command's peak bin, as it stands."""
    k = peak_bin(x_c, low, high, kind)
    return _compare(spectrum(x_c, kind)[k], spectrum(x_m, kind)[k])


def at_own_peaks(x_c, x_m, low, high):
    """Return (ratio, phase) with each signal read at its own peak bin, as the paper prints it."""
    return _compare(spectrum(x_c)[peak_bin(x_c, low, high)], spectrum(x_m)[peak_bin(x_m, low, high)])


def image_share(cycles, n, kind="hann"):
    """Return the image over the tone in the plain reading at the bin next to a tone that is `cycles` long."""
    wave = np.exp(2j * np.pi * cycles * np.arange(n) / n)
    k = int(np.argmax(np.abs(spectrum(wave, kind)[1 : n // 2]))) + 1
    return abs(spectrum(wave.conj(), kind)[k] / spectrum(wave, kind)[k])


def between_bins(x_c, x_m, low, high, kind="hann"):
    """Return (ratio, phase, cycles in the window) of the tone between the bins.

    A tone obeys x[n+1] + x[n-1] = 2 cos(theta) x[n] but at the window's ends, whose part a Hann window turns
    into one number, the same for all bins when phases are counted from the newest sample: three bins give
    cos(theta). The two signals' peak bin is then split into what the tone and its image put there, mean removed.
    """
    n = len(x_c)
    k = peak_bin(x_c, low, high, kind)
    bins = max(k - 1, 2) + np.arange(3)
    centred = x_c - np.mean(x_c)
    bent = 0.5 * (np.roll(centred, 1) + np.roll(centred, -1))
    hann = 1.0 - np.cos(2.0 * np.pi * np.arange(n) / n)
    from_newest = np.exp(2j * np.pi * np.outer(bins, -np.arange(n - 1, -1, -1)) / n).conj()
    h, v = from_newest @ (hann * centred), from_newest @ (hann * bent)
    # v - cos(theta) h is one real number: least squares for it and the cosine
    left = np.concatenate([np.stack([h.real, np.ones(3)], axis=1), np.stack([h.imag, np.zeros(3)], axis=1)])
    cosine = np.linalg.lstsq(left, np.concatenate([v.real, v.imag]), rcond=None)[0][0]
    lowest, highest = 2.0 * np.pi * (k - 1) / n, 2.0 * np.pi * (k + 1) / n
    theta = np.clip(np.arccos(np.clip(cosine, -1.0, 1.0)), lowest, highest)
    wave = np.exp(1j * theta * np.arange(n))
    tone, image = spectrum(wave, kind)[k], spectrum(wave.conj(), kind)[k]
    matrix = np.array([[(tone + image).real, (image - tone).imag], [(tone + image).imag, (tone - image).real]])
    parts = [np.linalg.solve(matrix, [s.real, s.imag]) for s in (spectrum(x, kind)[k] for x in (x_c, x_m))]
    return (*_compare(*(complex(re, im) for re, im in parts)), theta * n / (2.0 * np.pi))


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
    return (*_compare(*(complex(p[0], -p[1]) for p in parts)), float(found.x[0]))


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


def _compare(b_c, b_m):
    return abs(b_c) / abs(b_m), float(np.angle(b_m * np.conj(b_c)))

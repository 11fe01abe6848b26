"""FDB from a stored window, by its definition: `numpy.fft` for the bins, least squares for the exact tone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares


def hann_spectrum(x):
    """Return the spectrum of a window without its mean, under a periodic Hann window of mean one."""
    n = len(x)
    return np.fft.fft((x - np.mean(x)) * (1.0 - np.cos(2.0 * np.pi * np.arange(n) / n)))


def peak_bin(x, low, high):
    """Return the bin of the largest magnitude among low .. high."""
    return low + int(np.argmax(np.abs(hann_spectrum(x)[low : high + 1])))


def at_common_bin(x_c, x_m, low, high):
    """Return (ratio, phase) with both signals read at the command's peak bin, as it stands."""
    k = peak_bin(x_c, low, high)
    return _compare(hann_spectrum(x_c)[k], hann_spectrum(x_m)[k])


def at_own_peaks(x_c, x_m, low, high):
    """Return (ratio, phase) with each signal read at its own peak bin, as the paper prints it."""
    return _compare(hann_spectrum(x_c)[peak_bin(x_c, low, high)], hann_spectrum(x_m)[peak_bin(x_m, low, high)])


def between_bins(x_c, x_m, low, high):
    """Return (ratio, phase, cycles in the window) of the tone between the bins.

    A tone obeys x[n+1] + x[n-1] = 2 cos(theta) x[n] but at the window's ends, whose part a Hann window turns
    into one number, the same for all bins when phases are counted from the newest sample: three bins give
    cos(theta). The two signals are then projected on the tone and its image.
    """
    n = len(x_c)
    k = peak_bin(x_c, low, high)
    at = max(k, 2)
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
    wave, probe = np.exp(1j * theta * np.arange(n)), hann * np.exp(-2j * np.pi * at * np.arange(n) / n)
    tone, image = probe @ wave, probe @ wave.conj()
    matrix = np.array([[(tone + image).real, (image - tone).imag], [(tone + image).imag, (tone - image).real]])
    parts = [np.linalg.solve(matrix, [s.real, s.imag]) for s in (probe @ x_c, probe @ x_m)]
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


def _compare(b_c, b_m):
    return abs(b_c) / abs(b_m), float(np.angle(b_m * np.conj(b_c)))

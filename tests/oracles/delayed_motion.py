"""Motions that can be evaluated at any time, and what a window of them says by numpy alone when they are delayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks import motions
from sim.arrays import Samples

Motion = Callable[[Samples], Samples]


class Components(NamedTuple):
    """A sum of cosines: Hz, sizes and start phases."""

    frequencies: Samples
    sizes: Samples
    starts: Samples

    def __call__(self, t):
        return np.cos(2.0 * np.pi * np.outer(t, self.frequencies) + self.starts) @ self.sizes

    def slope(self, t):
        """Return the derivative by time."""
        turn = 2.0 * np.pi * self.frequencies
        return -np.sin(np.outer(t, turn) + self.starts) @ (turn * self.sizes)

    def lagged(self, t, time_constant):
        """Return what a first-order lag makes of it, in the steady state."""
        transfer = 1.0 / (1.0 + 2j * np.pi * self.frequencies * time_constant)
        return Components(self.frequencies, self.sizes * np.abs(transfer), self.starts + np.angle(transfer))(t)


def two_tones(rng, first=(1.2, 3.0), ratio=(1.6, 3.0)):
    low = rng.uniform(*first)
    frequencies = np.array([low, low * rng.uniform(*ratio)])
    return Components(frequencies, np.array([1.0, rng.uniform(0.3, 0.8)]), rng.uniform(0.0, 2.0 * np.pi, 2))


def band_noise(rng, low=0.3, high=12.0, number=120):
    frequencies = np.linspace(low, high, number) + rng.uniform(0.0, 0.04, number)
    return Components(frequencies, np.full(number, np.sqrt(2.0 / number)), rng.uniform(0.0, 2.0 * np.pi, number))


MOTIONS: dict[str, Callable[[np.random.Generator], Motion]] = {
    "two tones": two_tones,
    "band noise": band_noise,
    "earthquake": motions.two_modes,
}


def hann_bin(x, k):
    """Return bin `k` of a window without its mean, under Hann's taper."""
    n = len(x)
    hann = 1.0 - np.cos(2.0 * np.pi * np.arange(n) / n)
    return np.sum(hann * (x - np.mean(x)) * np.exp(-2j * np.pi * k * np.arange(n) / n))


def peak_bin(x, highest):
    """Return the bin of the largest magnitude from 1 to `highest`."""
    return 1 + int(np.argmax([abs(hann_bin(x, k)) for k in range(1, highest + 1)]))


def effective_frequency(motion, t, k):
    """Return w_eff = Im(C'/C) in rad/s, C being the bin of the motion and C' of its derivative."""
    return float((hann_bin(motion.slope(t), k) / hann_bin(motion(t), k)).imag)


def chord_sums(c, m, k):
    """Return the swept area and the common motion of groups of eight points that are `k` samples apart."""
    n = len(c) - 7 * k
    d, e = (np.array([x[(j + 2) * k : (j + 2) * k + n] - x[j * k : j * k + n] for j in range(6)]) for x in (c, m))
    swept = np.sum(d[2] * e[3] - d[3] * e[2])
    return swept, 0.5 * np.sum(d[2] * e[3] + d[3] * e[2] - d[1] * e[4] - d[4] * e[1])


def root(function, low, high):
    """Return where a function that changes sign once between two numbers is nil, by halving."""
    at_low = function(low)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (function(middle) > 0.0) == (at_low > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)

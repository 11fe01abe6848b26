"""What every indicator must say of pure tones, in closed form, and signals to ask it about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tones(NamedTuple):
    """Command ``offset + amplitude cos(2 pi f t + start)``; measured the same times `gain`, ahead by `phase` rad."""

    frequency: float
    amplitude: float = 1.0
    gain: float = 1.0
    phase: float = 0.0
    start: float = 0.0
    offset_c: float = 0.0
    offset_m: float = 0.0

    @property
    def ratio(self):
        return 1.0 / self.gain

    @property
    def amplitude_error(self):
        return self.amplitude * (1.0 - self.gain)

    @property
    def delay(self):
        return -self.phase / (2.0 * np.pi * self.frequency)

    def signals(self, n, sample_rate):
        """Return command and measured, (n,) each."""
        angle = 2.0 * np.pi * self.frequency * np.arange(n) / sample_rate + self.start
        x_c = self.amplitude * np.cos(angle) + self.offset_c
        x_m = self.gain * self.amplitude * np.cos(angle + self.phase) + self.offset_m
        return x_c, x_m


def area_per_radian(tones):
    """Return what TI gains for every radian of the tone: a lead makes it grow."""
    return 0.5 * tones.amplitude**2 * tones.gain * np.sin(tones.phase)


def several_tones(rng, n, sample_rate, noise=0.05, lag=(0.1, 0.4)):
    """Return command and measured of three tones, the second one dominant, in white noise."""
    t = np.arange(n) / sample_rate
    x_c = np.full(n, rng.normal())
    x_m = np.full(n, rng.normal())
    for amplitude, low, high in ((0.25, 0.02, 0.03), (1.0, 0.035, 0.045), (0.15, 0.06, 0.09)):
        angle = 2.0 * np.pi * rng.uniform(low, high) * sample_rate * t + rng.uniform(0.0, 6.0)
        x_c += amplitude * np.cos(angle)
        x_m += amplitude * rng.uniform(0.85, 1.1) * np.cos(angle - rng.uniform(*lag))
    return x_c + noise * rng.normal(size=n), x_m + noise * rng.normal(size=n)


def at_every_sample(definition, x_c, x_m, n_window):
    """Return the definition's values at every sample that has a full window: (n - n_window + 1, ...)."""
    stops = range(n_window, len(x_c) + 1)
    return np.array([definition(x_c[i - n_window : i], x_m[i - n_window : i]) for i in stops], dtype=float)

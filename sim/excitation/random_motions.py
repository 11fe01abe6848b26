"""Random motions: sums of cosines of random phase and frequency.

So a seed gives the same motion at every sample rate, and the motion does not repeat itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from sim.arrays import Samples
from sim.excitation.base import Excitation, require, require_positive

COMPONENTS = 200


@dataclass(frozen=True, kw_only=True)
class BandNoise(Excitation):
    """Gaussian noise of constant density from `low` to `high` [Hz], with the given long-time `rms`."""

    rms: float
    low: float
    high: float
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.rms) and self.rms >= 0.0, "rms", self.rms, "zero or more")
        require_positive(self, "high")
        require(0.0 <= self.low < self.high, "low", self.low, f"from 0 Hz to under {self.high} Hz")

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) noise."""
        frequencies, phases = _draw(self.low, self.high, self.seed)
        return self.rms * _superpose(time, frequencies, np.ones(COMPONENTS), phases)


@dataclass(frozen=True, kw_only=True)
class Earthquake(Excitation):
    """A ground motion after Kanai and Tajimi, its drift taken out (Clough and Penzien), under an envelope.

    Parameters
    ----------
    rms : of the strong phase, m/s^2.
    ground_frequency, ground_damping : of the soil layer, Hz and ratio.
    rise, strong, decay : the envelope, s: grows as t^2, stays, then falls by e every `decay` seconds.
    seed : of the random phases.
    """

    rms: float
    ground_frequency: float = 2.5
    ground_damping: float = 0.6
    rise: float = 4.0
    strong: float = 10.0
    decay: float = 5.0
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.rms) and self.rms >= 0.0, "rms", self.rms, "zero or more")
        require_positive(self, "ground_frequency", "ground_damping", "rise", "strong", "decay")

    def envelope(self, time: Samples) -> Samples:
        """Return the (n,) envelope, 1 in the strong phase."""
        grown = np.clip(time / self.rise, 0.0, 1.0) ** 2
        return grown * np.exp(-np.maximum(time - self.rise - self.strong, 0.0) / self.decay)

    def density(self, frequencies: Samples) -> Samples:
        """Return the power spectral density at the frequencies, not scaled."""
        squared = (frequencies / self.ground_frequency) ** 2
        damped = 4.0 * self.ground_damping**2 * squared
        slow = (frequencies / (0.1 * self.ground_frequency)) ** 2
        drift = slow**2 / ((1.0 - slow) ** 2 + 4.0 * self.ground_damping**2 * slow)
        return drift * (1.0 + damped) / ((1.0 - squared) ** 2 + damped)

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) ground acceleration under its envelope."""
        frequencies, phases = _draw(0.02 * self.ground_frequency, 8.0 * self.ground_frequency, self.seed)
        sizes = np.sqrt(self.density(frequencies))
        return self.rms * self.envelope(time) * _superpose(time, frequencies, sizes, phases)


def _draw(low: float, high: float, seed: int) -> tuple[Samples, Samples]:
    """Return one frequency in each of equal slices of the band, and its phase."""
    rng = np.random.default_rng(seed)
    slices = np.arange(COMPONENTS) + rng.uniform(size=COMPONENTS)
    return low + (high - low) / COMPONENTS * slices, rng.uniform(0.0, 2.0 * pi, COMPONENTS)


def _superpose(time: Samples, frequencies: Samples, sizes: Samples, phases: Samples) -> Samples:
    total = np.zeros(len(time))
    # one component at a time: the whole table would be gigabytes for a long run
    for frequency, size, phase in zip(frequencies, sizes, phases, strict=True):
        total += size * np.cos(2.0 * pi * frequency * time + phase)
    total *= np.sqrt(2.0 / np.sum(sizes**2))
    return total

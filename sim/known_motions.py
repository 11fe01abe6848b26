"""Motions in closed form, of random shape: they can be evaluated at any time, so that a delay of them is exact.

Each function draws one motion of a class; its amplitude is about one. Frequencies are those of structures in a
laboratory, 1 to 8 Hz.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.arrays import Samples
from sim.excitation import Earthquake

Motion = Callable[[Samples], Samples]

# s: every motion is that of this stretch of a test
DURATION = 6.0
_COMPONENTS = 160


def tone(rng: np.random.Generator) -> Motion:
    """One frequency, 1 to 6 Hz."""
    turn, start = 2.0 * np.pi * rng.uniform(1.0, 6.0), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: np.cos(turn * t + start)


def decay(rng: np.random.Generator) -> Motion:
    """A free decay of 1 to 5 % damping."""
    carrier, rate = tone(rng), 2.0 * np.pi * rng.uniform(1.0, 4.0) * rng.uniform(0.01, 0.05)
    return lambda t: np.exp(-rate * t) * carrier(t)


def chirp(rng: np.random.Generator) -> Motion:
    """A sine whose frequency goes evenly from one of 1 to 6 Hz to another."""
    first, last, start = *rng.uniform(1.0, 6.0, 2), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: np.cos(2.0 * np.pi * (first * t + (last - first) * t**2 / (2.0 * DURATION)) + start)


def modulated(rng: np.random.Generator) -> Motion:
    """A tone whose amplitude swings by 20 to 80 %."""
    carrier, depth = tone(rng), rng.uniform(0.2, 0.8)
    turn, start = 2.0 * np.pi * rng.uniform(0.1, 0.8), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: (1.0 + depth * np.cos(turn * t + start)) * carrier(t)


def five_tones(rng: np.random.Generator) -> Motion:
    """Five frequencies of 0.8 to 8 Hz."""
    return _sum_of_cosines(rng.uniform(0.8, 8.0, 5), rng.uniform(0.2, 1.0, 5), rng)


def one_mode(rng: np.random.Generator) -> Motion:
    """The response of a single-degree structure to an earthquake (Kanai and Tajimi)."""
    return _response(rng, ((rng.uniform(1.0, 4.0), 1.0),))


def two_modes(rng: np.random.Generator) -> Motion:
    """The response of two modes, the second of 10 to 60 % of the first's size."""
    first = rng.uniform(1.0, 2.5)
    return _response(rng, ((first, 1.0), (first * rng.uniform(2.2, 3.5), rng.uniform(0.1, 0.6))))


def ramps_and_steps(rng: np.random.Generator) -> Motion:
    """Levels that are gone to in 0.05 to 0.6 s each, smoothly, with pauses between: a quasi-static test in haste."""
    times = np.cumsum(rng.uniform(0.15, 0.7, 24)) - 1.0
    rises, heights = rng.uniform(0.05, 0.6, 24), rng.uniform(-1.0, 1.0, 24)

    def motion(t: Samples) -> Samples:
        total = np.zeros_like(t)
        for time, rise, height in zip(times, rises, heights, strict=True):
            x = np.clip((t - time) / rise, 0.0, 1.0)
            total += height * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        return total

    return motion


def pink_noise(rng: np.random.Generator) -> Motion:
    """Noise of a density of 1/f from 0.3 to 40 Hz."""
    frequencies = np.exp(np.linspace(np.log(0.3), np.log(40.0), _COMPONENTS) + rng.uniform(0.0, 0.02, _COMPONENTS))
    # evenly spaced in the logarithm, components of one size make 1/f
    return _sum_of_cosines(frequencies, np.full(_COMPONENTS, 1.0), rng)


def band_noise(rng: np.random.Generator) -> Motion:
    """Noise of even density from 0.3 to 12 Hz."""
    frequencies = np.linspace(0.3, 12.0, _COMPONENTS) + rng.uniform(0.0, 0.04, _COMPONENTS)
    return _sum_of_cosines(frequencies, np.full(_COMPONENTS, 1.0), rng)


def _response(rng: np.random.Generator, modes: tuple[tuple[float, float], ...]) -> Motion:
    """Return what modes, of frequency in Hz and relative size, make of one ground motion, as displacement."""
    ground = Earthquake(rms=1.0, ground_frequency=rng.uniform(1.5, 4.0), seed=0)
    frequencies = np.linspace(0.1, 16.0, _COMPONENTS) + rng.uniform(0.0, 0.06, _COMPONENTS)
    sizes = np.zeros(_COMPONENTS, dtype=np.complex128)
    for natural, size in modes:
        # a mode's own components are dense, so that its motion does not repeat itself
        ratio, damping = frequencies / natural, rng.uniform(0.02, 0.06)
        transfer = 1.0 / (1.0 - ratio**2 + 2j * damping * ratio)
        power = ground.density(frequencies) * np.abs(transfer) ** 2
        sizes += size * transfer / np.sqrt(power.sum())
    sizes *= np.sqrt(ground.density(frequencies))
    steady = _sum_of_cosines(frequencies, np.abs(sizes), rng)
    peak, width = rng.uniform(0.0, DURATION), rng.uniform(2.0, 8.0)
    return lambda t: steady(t) / (1.0 + ((t - peak) / width) ** 2)


def _sum_of_cosines(frequencies: Samples, sizes: Samples, rng: np.random.Generator) -> Motion:
    starts = rng.uniform(0.0, 2.0 * np.pi, len(frequencies))
    sizes = sizes * np.sqrt(2.0 / np.sum(sizes**2))

    def motion(t: Samples) -> Samples:
        angles = 2.0 * np.pi * np.outer(t, frequencies) + starts
        return np.asarray(np.cos(angles) @ sizes)

    return motion

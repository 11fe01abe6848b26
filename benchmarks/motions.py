"""Random motions of actuators in closed form, so that their delayed values are exact; amplitudes are about one.

Frequencies are those of structures in a laboratory, 1 to 8 Hz.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.excitation import Earthquake

Motion = Callable[[Samples], Samples]
"""Displacement at instants, (n,) s."""

DURATION = 6.0
"""s: of what is drawn."""
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
    """A sine whose frequency changes linearly between two of 1 to 6 Hz."""
    first, last, start = *rng.uniform(1.0, 6.0, 2), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: np.cos(2.0 * np.pi * (first * t + (last - first) * t**2 / (2.0 * DURATION)) + start)


def modulated(rng: np.random.Generator) -> Motion:
    """A tone whose amplitude varies by 20 to 80 %."""
    carrier, depth = tone(rng), rng.uniform(0.2, 0.8)
    turn, start = 2.0 * np.pi * rng.uniform(0.1, 0.8), rng.uniform(0.0, 2.0 * np.pi)
    return lambda t: (1.0 + depth * np.cos(turn * t + start)) * carrier(t)


def five_tones(rng: np.random.Generator) -> Motion:
    """Five frequencies of 0.8 to 8 Hz."""
    return _sum_of_cosines(rng.uniform(0.8, 8.0, 5), rng.uniform(0.2, 1.0, 5), rng)


def one_mode(rng: np.random.Generator) -> Motion:
    """The response of a single-degree structure to an earthquake (Kanai and Tajimi)."""
    return _earthquake_response(rng, ((rng.uniform(1.0, 4.0), 1.0),))


def two_modes(rng: np.random.Generator) -> Motion:
    """The response of two modes, the second of 10 to 60 % of the first's size."""
    first = rng.uniform(1.0, 2.5)
    return _earthquake_response(rng, ((first, 1.0), (first * rng.uniform(2.2, 3.5), rng.uniform(0.1, 0.6))))


def ramps_and_steps(rng: np.random.Generator) -> Motion:
    """Smooth ramps of 0.05 to 0.6 s between random levels, with pauses: a fast quasi-static test."""
    times = np.cumsum(rng.uniform(0.15, 0.7, 24)) - 1.0
    rises, heights = rng.uniform(0.05, 0.6, 24), rng.uniform(-1.0, 1.0, 24)

    def motion(t: Samples) -> Samples:
        total = np.zeros_like(t)
        for time, rise, height in zip(times, rises, heights, strict=True):
            total += height * _smooth_step((t - time) / rise)
        return total

    return motion


def fast_sweep(rng: np.random.Generator) -> Motion:
    """A sine that sweeps through 8 to 16 Hz in the whole time, up or down."""
    low, span, start = rng.uniform(0.5, 2.0), rng.uniform(8.0, 16.0), rng.uniform(0.0, 2.0 * np.pi)
    first, last = (low, low + span) if rng.random() < 0.5 else (low + span, low)
    return lambda t: np.cos(2.0 * np.pi * (first * t + (last - first) * t**2 / (2.0 * DURATION)) + start)


def impacts(rng: np.random.Generator) -> Motion:
    """Half sines of 0.05 to 0.4 s, one in 2 s."""
    times, width = 2.0 * np.arange(-1.0, 5.0) + rng.uniform(0.0, 2.0), rng.uniform(0.05, 0.4)
    heights = rng.uniform(0.5, 1.0, len(times)) * rng.choice([-1.0, 1.0], len(times))

    def motion(t: Samples) -> Samples:
        turns = np.clip((t[:, None] - times) / width, 0.0, 1.0)
        return np.asarray(np.sin(np.pi * turns) @ heights)

    return motion


def ramps_and_holds(rng: np.random.Generator) -> Motion:
    """Ramps of constant velocity, 0.1 to 1 s, between levels that are held for 0.2 to 1 s."""
    rises, holds, levels = rng.uniform(0.1, 1.0, 24), rng.uniform(0.2, 1.0, 24), rng.uniform(-1.0, 1.0, 25)
    begins = np.cumsum(rises + holds) - rises - 2.0
    times, values = np.stack([begins, begins + rises], axis=1).ravel(), np.stack([levels[:-1], levels[1:]], 1).ravel()
    return lambda t: np.asarray(np.interp(t, times, values))


def pink_noise(rng: np.random.Generator) -> Motion:
    """Noise of a density of 1/f from 0.3 to 40 Hz."""
    frequencies = np.exp(np.linspace(np.log(0.3), np.log(40.0), _COMPONENTS) + rng.uniform(0.0, 0.02, _COMPONENTS))
    # evenly spaced in the logarithm, components of one size make 1/f
    return _sum_of_cosines(frequencies, np.full(_COMPONENTS, 1.0), rng)


def band_noise(rng: np.random.Generator) -> Motion:
    """White noise from 0.3 to 12 Hz."""
    frequencies = np.linspace(0.3, 12.0, _COMPONENTS) + rng.uniform(0.0, 0.04, _COMPONENTS)
    return _sum_of_cosines(frequencies, np.full(_COMPONENTS, 1.0), rng)


def late_motion(rng: np.random.Generator) -> Motion:
    """A structure that is at rest for 2 to 5.5 s."""
    inner, begin = two_modes(rng), rng.uniform(2.0, 5.5)
    return lambda t: inner(t) * _smooth_step((t - begin) / 0.2)


def early_motion(rng: np.random.Generator) -> Motion:
    """A structure that comes to rest after 1.5 to 5 s."""
    inner, end = two_modes(rng), rng.uniform(1.5, 5.0)
    return lambda t: inner(t) * _smooth_step((end - t) / 0.2)


@dataclass(frozen=True)
class Resonance:
    """One lightly damped mode under steady noise: a tone whose size and phase wander slowly.

    Parameters
    ----------
    frequency : Hz.
    damping : ratio.
    noise : seed of what excites it.
    """

    frequency: float
    damping: float
    noise: int

    def __call__(self, t: Samples) -> Samples:
        """Return the displacement at instants, (n,)."""
        rng, width = np.random.default_rng(self.noise), self.damping * self.frequency
        offsets = 10.0 * width * (np.linspace(-1.0, 1.0, _COMPONENTS) + rng.uniform(0.0, 0.01, _COMPONENTS))
        sizes = np.sqrt(rng.exponential(size=_COMPONENTS) / (offsets**2 + width**2))
        return _sum_of_cosines(self.frequency + offsets, sizes, rng)(t)


def resonance(rng: np.random.Generator) -> Resonance:
    """One mode of 1 to 4 Hz, 0.5 to 3 % of critical damping."""
    return Resonance(rng.uniform(1.0, 4.0), 10.0 ** rng.uniform(-2.3, -1.5), int(rng.integers(1 << 32)))


@dataclass(frozen=True)
class TwoTones:
    """Two tones of sizes 1 and `size`, each behind by a delay of its own.

    Parameters
    ----------
    frequencies : Hz.
    starts : rad.
    size : of the second.
    delays : s.
    """

    frequencies: tuple[float, float]
    starts: tuple[float, float]
    size: float
    delays: tuple[float, float] = (0.0, 0.0)

    def __call__(self, t: Samples) -> Samples:
        """Return the displacement at instants, (n,)."""
        one, two = (
            np.cos(2.0 * np.pi * frequency * (t - delay) + start)
            for frequency, delay, start in zip(self.frequencies, self.delays, self.starts, strict=True)
        )
        return np.asarray(one + self.size * two)


def two_tones(rng: np.random.Generator) -> TwoTones:
    """A tone of 1 to 2.5 Hz and one of 1.6 to 3 times that, of 30 to 80 % of the first's size."""
    low, one, two = rng.uniform(1.0, 2.5), *rng.uniform(0.0, 2.0 * np.pi, 2)
    return TwoTones((low, low * rng.uniform(1.6, 3.0)), (one, two), rng.uniform(0.3, 0.8))


def _earthquake_response(rng: np.random.Generator, modes: tuple[tuple[float, float], ...]) -> Motion:
    """Return the displacement of modes, of frequency in Hz and relative size, under one ground motion."""
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


def _smooth_step(x: Samples) -> Samples:
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x**3 * (10.0 - 15.0 * x + 6.0 * x**2))

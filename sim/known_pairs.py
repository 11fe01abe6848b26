"""Pairs of signals with a known delay and ratio: a random motion, and the same after an actuator with usual faults.

Each motion is drawn from a class and given in closed form, so that its delayed values are exact; its amplitude is
about one. Frequencies are those of structures in a laboratory, 1 to 8 Hz.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.excitation import Earthquake

Motion = Callable[[Samples], Samples]
Fault = Callable[[Samples, Samples, Samples, np.random.Generator], tuple[Samples, Samples]]

# s
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
    """White noise from 0.3 to 12 Hz."""
    frequencies = np.linspace(0.3, 12.0, _COMPONENTS) + rng.uniform(0.0, 0.04, _COMPONENTS)
    return _sum_of_cosines(frequencies, np.full(_COMPONENTS, 1.0), rng)


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


def _nothing(_: Samples, c: Samples, m: Samples, __: np.random.Generator) -> tuple[Samples, Samples]:
    """Leave both as they are."""
    return c, m


def _noise_on_both(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Add white noise of 0.3 to 5 % of the motion's rms to both."""
    level = 10.0 ** rng.uniform(-2.5, -1.3)
    return tuple(x + level * x.std() * rng.standard_normal(len(x)) for x in (c, m))


def _quantised(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Round both to steps of 1/50 to 1/2000 of their largest value."""
    step = 10.0 ** -rng.uniform(1.7, 3.3)
    return tuple(np.round(x / (step * np.ptp(x))) * step * np.ptp(x) for x in (c, m))


def _clipped(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal stop at 70 to 95 % of its largest value."""
    limit = rng.uniform(0.7, 0.95) * np.max(np.abs(m))
    return c, np.clip(m, -limit, limit)


def _backlash(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal follow with a play of 0.1 to 1 % of its range."""
    play, at = 0.5 * 10.0 ** rng.uniform(-3.0, -2.0) * np.ptp(m), m[0]
    follows = np.empty_like(m)
    for i, x in enumerate(m):
        at = min(max(at, x - play), x + play)
        follows[i] = at
    return c, follows


def _hum(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Add mains hum of 0.3 to 3 % to the measured signal, of 50 or 60 Hz."""
    turn, size = 2.0 * np.pi * rng.choice([50.0, 60.0]), 10.0 ** rng.uniform(-2.5, -1.5)
    return c, m + size * m.std() * np.sin(turn * t + rng.uniform(0.0, 2.0 * np.pi))


def _drift(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal's zero drift by up to 10 % of its range in the whole time, and be elsewhere."""
    slope = rng.uniform(-0.1, 0.1) * np.ptp(m) / np.ptp(t)
    return c + rng.uniform(-1.0, 1.0), m + slope * t + rng.uniform(-1.0, 1.0)


Draw = Callable[[np.random.Generator], Motion]


@dataclass(frozen=True)
class Recipe:
    """How pairs of a class are drawn.

    Parameters
    ----------
    motion : of the command.
    fault : what disturbs the pair, besides delay, gain and white noise on the measured signal.
    jitter : the instants of the measured samples are off, by 0.1 ms.
    other : another motion, which is measured in place of the command's.
    """

    motion: Draw
    fault: Fault = _nothing
    jitter: bool = False
    other: Draw | None = None


CLASSES = {
    "tone": Recipe(tone),
    "tone, noise on both": Recipe(tone, _noise_on_both),
    "decay": Recipe(decay),
    "chirp": Recipe(chirp),
    "amplitude modulation": Recipe(modulated),
    "five tones": Recipe(five_tones),
    "earthquake, one mode": Recipe(one_mode),
    "earthquake, two modes": Recipe(two_modes),
    "earthquake, noise on both": Recipe(two_modes, _noise_on_both),
    "ramps and steps": Recipe(ramps_and_steps),
    "1/f noise": Recipe(pink_noise),
    "band noise": Recipe(band_noise),
    "quantised": Recipe(two_modes, _quantised),
    "clipped": Recipe(two_modes, _clipped),
    "backlash": Recipe(two_modes, _backlash),
    "hum": Recipe(two_modes, _hum),
    "clock jitter": Recipe(two_modes, jitter=True),
    "drift": Recipe(two_modes, _drift),
}
"""Where the delay is known."""

UNRELATED = {
    "unrelated earthquakes": Recipe(two_modes, other=two_modes),
    "unrelated noise": Recipe(band_noise, other=band_noise),
    "unrelated 1/f noise": Recipe(pink_noise, other=pink_noise),
    "unrelated tones": Recipe(five_tones, other=five_tones),
}
"""Pairs without a delay and ratio."""


DELAYS = (-0.004, 0.035)
"""s: from and to which delays are drawn, evenly."""
RATIOS = (0.8, 1.25)
NOISE = (1e-3, 1e-1)
"""Of the measured motion's rms, white, drawn evenly in the logarithm: 60 to 20 dB."""
_JITTER = 1e-4


@dataclass(frozen=True, eq=False)
class KnownPair:
    """A command and what was measured of it.

    Parameters
    ----------
    command, measured : (n,).
    clean_command, clean : (n,), both without what disturbs them.
    delay : s, positive: measured lags; NaN for two signals that have nothing to do with each other.
    ratio : command over measured.
    """

    command: Samples
    measured: Samples
    clean_command: Samples
    clean: Samples
    delay: float
    ratio: float


def known_pair(
    name: str,
    rng: np.random.Generator,
    sample_rate: float = 1024.0,
    *,
    noise: tuple[float, float] = NOISE,
) -> KnownPair:
    """Draw one pair of a class.

    Parameters
    ----------
    name : one of `CLASSES` or `UNRELATED`.
    rng : what is random is drawn from it, in the same order at every rate.
    sample_rate : Hz.
    noise : of the measured signal, smallest and largest, of its rms.

    Raises
    ------
    KeyError : there is no such class.
    """
    t = np.arange(round(DURATION * sample_rate)) / sample_rate
    recipe: Recipe = {**CLASSES, **UNRELATED}[name]
    motion = recipe.motion(rng)
    delay, ratio = float(rng.uniform(*DELAYS)), float(np.exp(rng.uniform(*np.log(RATIOS))))
    level = float(np.exp(rng.uniform(*np.log(noise))))
    clean_command = motion(t)
    follows = motion if recipe.other is None else recipe.other(rng)
    clean = follows(t - delay) / ratio
    jitter = _JITTER * rng.standard_normal(len(t)) if recipe.jitter else 0.0
    measured = follows(t - delay + jitter) / ratio
    measured = measured + level * clean.std() * rng.standard_normal(len(t))
    command, measured = recipe.fault(t, clean_command, measured, rng)
    if recipe.other is not None:
        delay = ratio = float("nan")
    return KnownPair(command, measured, clean_command, clean, delay, ratio)


def known_pairs(
    name: str, number: int, seed: int = 0, sample_rate: float = 1024.0, *, noise: tuple[float, float] = NOISE
) -> list[KnownPair]:
    """Draw pairs of a class, each from a generator of its own: pair i is the same whatever the number."""
    seeds: Sequence[np.random.SeedSequence] = np.random.SeedSequence([seed, *name.encode()]).spawn(number)
    draw: Callable[[np.random.SeedSequence], KnownPair] = lambda child: known_pair(  # noqa: E731
        name, np.random.default_rng(child), sample_rate, noise=noise
    )
    return [draw(child) for child in seeds]

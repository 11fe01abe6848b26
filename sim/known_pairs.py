"""Pairs of signals whose delay and ratio are known: a command, and what an actuator with usual faults makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim import known_motions as motions
from sim.arrays import Samples
from sim.known_motions import DURATION, Motion

Fault = Callable[[Samples, Samples, Samples, np.random.Generator], tuple[Samples, Samples]]


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
    fault : what disturbs the pair, beside delay, gain and white noise on the measured signal.
    jitter : the instants of the measured samples are off, by 0.1 ms.
    other : another motion, which is measured in place of the command's.
    """

    motion: Draw
    fault: Fault = _nothing
    jitter: bool = False
    other: Draw | None = None


CLASSES = {
    "tone": Recipe(motions.tone),
    "tone, noise on both": Recipe(motions.tone, _noise_on_both),
    "decay": Recipe(motions.decay),
    "chirp": Recipe(motions.chirp),
    "amplitude modulation": Recipe(motions.modulated),
    "five tones": Recipe(motions.five_tones),
    "earthquake, one mode": Recipe(motions.one_mode),
    "earthquake, two modes": Recipe(motions.two_modes),
    "earthquake, noise on both": Recipe(motions.two_modes, _noise_on_both),
    "ramps and steps": Recipe(motions.ramps_and_steps),
    "1/f noise": Recipe(motions.pink_noise),
    "band noise": Recipe(motions.band_noise),
    "quantised": Recipe(motions.two_modes, _quantised),
    "clipped": Recipe(motions.two_modes, _clipped),
    "backlash": Recipe(motions.two_modes, _backlash),
    "hum": Recipe(motions.two_modes, _hum),
    "clock jitter": Recipe(motions.two_modes, jitter=True),
    "drift": Recipe(motions.two_modes, _drift),
}
"""Where the delay is known."""

UNRELATED = {
    "unrelated earthquakes": Recipe(motions.two_modes, other=motions.two_modes),
    "unrelated noise": Recipe(motions.band_noise, other=motions.band_noise),
    "unrelated 1/f noise": Recipe(motions.pink_noise, other=motions.pink_noise),
    "unrelated tones": Recipe(motions.five_tones, other=motions.five_tones),
}
"""Where there is none."""


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
    duration: float = DURATION,
    noise: tuple[float, float] = NOISE,
) -> KnownPair:
    """Draw one pair of a class.

    Parameters
    ----------
    name : one of `CLASSES` or `UNRELATED`.
    rng : what is random is drawn from it, in the same order at every rate.
    sample_rate : Hz.
    duration : s.
    noise : of the measured signal, smallest and largest, of its rms.

    Raises
    ------
    KeyError : there is no such class.
    """
    t = np.arange(round(duration * sample_rate)) / sample_rate
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

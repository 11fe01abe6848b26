"""One command, and the same motion later and of another size, with what disturbs it: the delay is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.known_pairs.classes import CLASSES, UNRELATED, Recipe
from sim.known_pairs.motions import DURATION

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

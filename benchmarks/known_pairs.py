"""Pairs of signals with a known delay and ratio: a random motion, and the same after an actuator with usual faults.

Each motion is drawn from a class (`motions`) and given in closed form, so that its delayed values are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import roots_genlaguerre

from benchmarks.motions import (
    DURATION,
    Motion,
    Resonance,
    TwoTones,
    band_noise,
    chirp,
    decay,
    early_motion,
    fast_sweep,
    five_tones,
    impacts,
    late_motion,
    modulated,
    one_mode,
    pink_noise,
    ramps_and_holds,
    ramps_and_steps,
    resonance,
    tone,
    two_modes,
    two_tones,
)
from sim.arrays import Samples


class Disturbed(NamedTuple):
    """A pair after a fault: both signals, (n,), and the delay that the fault adds, s."""

    command: Samples
    measured: Samples
    delay: float = 0.0


Draw = Callable[[np.random.Generator], Motion]
Fault = Callable[[Samples, Samples, Samples, np.random.Generator], Disturbed]


def _nothing(_: Samples, c: Samples, m: Samples, __: np.random.Generator) -> Disturbed:
    """Leave both as they are."""
    return Disturbed(c, m)


def _noise_on_both(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Add white noise of 0.3 to 5 % of the motion's rms to both."""
    level = 10.0 ** rng.uniform(-2.5, -1.3)
    noisy_c, noisy_m = (x + level * x.std() * rng.standard_normal(len(x)) for x in (c, m))
    return Disturbed(noisy_c, noisy_m)


def _quantised(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Round both to steps of 1/50 to 1/2000 of their largest value."""
    step = 10.0 ** -rng.uniform(1.7, 3.3)
    rounded_c, rounded_m = (np.round(x / (step * np.ptp(x))) * step * np.ptp(x) for x in (c, m))
    return Disturbed(rounded_c, rounded_m)


def _clipped(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Let the measured signal stop at 70 to 95 % of its largest value."""
    limit = rng.uniform(0.7, 0.95) * np.max(np.abs(m))
    return Disturbed(c, np.clip(m, -limit, limit))


def _backlash(smallest: float, largest: float) -> Fault:
    """Return a fault: measured follows with a play of a share of its range between these."""

    def fault(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
        play, at = 0.5 * np.exp(rng.uniform(np.log(smallest), np.log(largest))) * np.ptp(m), m[0]
        follows = np.empty_like(m)
        for i, x in enumerate(m):
            at = min(max(at, x - play), x + play)
            follows[i] = at
        return Disturbed(c, follows)

    return fault


def _hum(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Add mains hum of 0.3 to 3 % to the measured signal, of 50 or 60 Hz."""
    turn, size = 2.0 * np.pi * rng.choice([50.0, 60.0]), 10.0 ** rng.uniform(-2.5, -1.5)
    return Disturbed(c, m + size * m.std() * np.sin(turn * t + rng.uniform(0.0, 2.0 * np.pi)))


def _drift(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Let the measured signal's zero drift by up to 10 % of its range in the whole time, and be elsewhere."""
    slope = rng.uniform(-0.1, 0.1) * np.ptp(m) / np.ptp(t)
    return Disturbed(c + rng.uniform(-1.0, 1.0), m + slope * t + rng.uniform(-1.0, 1.0))


def _different_drifts(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Let the zeros of both drift by up to half of their range in the whole time, each its own way."""
    x = t / np.ptp(t)
    drifts = (rng.uniform(-0.5, 0.5) * x + rng.uniform(-0.5, 0.5) * x**2 for _ in range(2))
    drifting_c, drifting_m = (signal + drift * np.ptp(signal) for signal, drift in zip((c, m), drifts, strict=True))
    return Disturbed(drifting_c, drifting_m)


def _wander(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Let the measured signal's zero wander at 0.05 to 0.3 Hz, by 3 to 30 % of the motion's rms."""
    size, turn = 10.0 ** rng.uniform(-1.5, -0.5), 2.0 * np.pi * rng.uniform(0.05, 0.3)
    return Disturbed(c, m + size * m.std() * np.sin(turn * t + rng.uniform(0.0, 2.0 * np.pi)))


def _coloured_noise(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Add autoregressive noise of 0.1 to 3 % to measured, whose samples at 1024 Hz correlate by 0.9 to 0.995."""
    size, memory = 10.0 ** rng.uniform(-3.0, -1.5), 1.0 - 10.0 ** rng.uniform(-2.3, -1.0)
    per_sample = memory ** (1024.0 * (t[1] - t[0]))
    start = [per_sample * rng.standard_normal() / np.sqrt(1.0 - per_sample**2)]
    noise = lfilter([1.0], [1.0, -per_sample], rng.standard_normal(len(t)), zi=start)[0]
    return Disturbed(c, m + size * m.std() * np.sqrt(1.0 - per_sample**2) * noise)


def _added(motion: Draw, smallest: float, largest: float) -> Fault:
    """Return a fault: measured contains another motion too, of a share of its rms between these."""

    def fault(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
        size, other = np.exp(rng.uniform(np.log(smallest), np.log(largest))), motion(rng)(t)
        return Disturbed(c, m + size * m.std() / other.std() * other)

    return fault


def _held(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Hold measured for 2 to 8 samples: a slower converter."""
    period = int(rng.integers(2, 9))
    start = int(rng.integers(period))
    at = np.maximum(np.arange(len(t)) - (np.arange(len(t)) + start) % period, 0)
    return Disturbed(c, m[at], 0.5 * (period - 1) * (t[1] - t[0]))


def _repeated(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Let 3 to 30 % of measured's samples repeat the one before."""
    share = 10.0 ** rng.uniform(-1.5, -0.5)
    at = np.where(rng.random(len(t)) < share, 0, np.arange(len(t)))
    return Disturbed(c, m[np.maximum.accumulate(at)], share / (1.0 - share) * (t[1] - t[0]))


def _spikes(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> Disturbed:
    """Put spikes of one to three samples on measured, of 1 to 5 times its rms, about one a second."""
    m = m.copy()
    for first in rng.integers(0, len(t), int(rng.integers(4, 9))):
        m[first : first + int(rng.integers(1, 4))] += rng.choice([-1.0, 1.0]) * rng.uniform(1.0, 5.0) * m.std()
    return Disturbed(c, m)


Follow = Callable[[Motion, np.random.Generator], Motion]


def _same(motion: Motion, _: np.random.Generator) -> Motion:
    """Measured follows the command."""
    return motion


def _unrelated(draw: Draw) -> Follow:
    """Measured has nothing to do with the command."""
    return lambda _, rng: draw(rng)


def _independent_noise(motion: Motion, rng: np.random.Generator) -> Motion:
    """Measured is the same mode under noise of its own."""
    assert isinstance(motion, Resonance)
    return replace(motion, noise=int(rng.integers(1 << 32)))


def _two_delays(motion: Motion, rng: np.random.Generator) -> Motion:
    """The second tone is later or earlier by up to 5 ms."""
    assert isinstance(motion, TwoTones)
    return replace(motion, delays=(0.0, rng.uniform(-0.005, 0.005)))


def _low_pass(motion: Motion, rng: np.random.Generator) -> Motion:
    """Measured has passed two poles of 20 to 100 Hz: a weighted mean of delays, whose weight is t exp(-t)."""
    delays, weights = roots_genlaguerre(12, 1.0)
    lag = 1.0 / (2.0 * np.pi * 10.0 ** rng.uniform(1.3, 2.0))
    return lambda t: np.asarray(sum(w * motion(t - lag * x) for x, w in zip(delays, weights, strict=True)))


@dataclass(frozen=True)
class Recipe:
    """How pairs of a class are drawn.

    Parameters
    ----------
    motion : of the command.
    fault : what disturbs the pair, besides delay, gain and white noise on the measured signal.
    jitter : s by which the instants of the measured samples are off, rms.
    follow : what motion measured has, of that of the command.
    several_delays : each frequency has its own delay and ratio.
    """

    motion: Draw
    fault: Fault = _nothing
    jitter: float = 0.0
    follow: Follow = _same
    several_delays: bool = False


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
    "backlash": Recipe(two_modes, _backlash(0.001, 0.01)),
    "hum": Recipe(two_modes, _hum),
    "clock jitter": Recipe(two_modes, jitter=1e-4),
    "drift": Recipe(two_modes, _drift),
    "different drifts": Recipe(two_modes, _different_drifts),
    "slow wander": Recipe(two_modes, _wander),
    "coloured noise": Recipe(two_modes, _coloured_noise),
    "tone, coloured noise": Recipe(tone, _coloured_noise),
    "1/f error": Recipe(two_modes, _added(pink_noise, 1e-3, 3e-2)),
    "cross-talk": Recipe(two_modes, _added(two_modes, 2e-2, 1e-1)),
    "impact": Recipe(impacts),
    "play": Recipe(two_modes, _backlash(0.01, 0.05)),
    "tone with play": Recipe(tone, _backlash(0.01, 0.05)),
    "held samples": Recipe(two_modes, _held),
    "repeated samples": Recipe(two_modes, _repeated),
    "jittering stamps": Recipe(two_modes, jitter=1e-3),
    "spikes": Recipe(two_modes, _spikes),
    "low-pass": Recipe(two_modes, follow=_low_pass, several_delays=True),
    "two tones, two delays": Recipe(two_tones, follow=_two_delays, several_delays=True),
    "ramps and holds": Recipe(ramps_and_holds),
    "fast sweep": Recipe(fast_sweep),
    "silence, then motion": Recipe(late_motion),
    "motion, then silence": Recipe(early_motion),
}
"""Where the delay is known."""

UNRELATED = {
    "unrelated earthquakes": Recipe(two_modes, follow=_unrelated(two_modes)),
    "unrelated noise": Recipe(band_noise, follow=_unrelated(band_noise)),
    "unrelated 1/f noise": Recipe(pink_noise, follow=_unrelated(pink_noise)),
    "unrelated tones": Recipe(five_tones, follow=_unrelated(five_tones)),
    "one mode, independent noises": Recipe(resonance, follow=_independent_noise),
}
"""Pairs without a delay and ratio."""


DELAYS = (-0.004, 0.035)
"""s: from and to which delays are drawn, evenly."""
RATIOS = (0.8, 1.25)
NOISE = (1e-3, 1e-1)
"""Of the measured motion's rms, white, drawn evenly in the logarithm: 60 to 20 dB."""


@dataclass(frozen=True, eq=False)
class KnownPair:
    """A command and what was measured of it.

    Parameters
    ----------
    command, measured : (n,).
    clean_command, clean : (n,), both without what disturbs them.
    delay : s, positive: measured lags; NaN for two signals that have nothing to do with each other; where each
        frequency has a delay of its own, the part that they have in common.
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
    follows = recipe.follow(motion, rng)
    size = (follows(t - delay) / ratio).std()
    jitter = recipe.jitter * rng.standard_normal(len(t)) if recipe.jitter else 0.0
    measured = follows(t - delay + jitter) / ratio
    measured = measured + level * size * rng.standard_normal(len(t))
    command, measured, added = recipe.fault(t, clean_command, measured, rng)
    delay += added
    clean = follows(t - delay) / ratio
    if name in UNRELATED:
        delay = ratio = float("nan")
    return KnownPair(command, measured, clean_command, clean, delay, ratio)


def known_pairs(
    name: str, number: int, seed: int = 0, sample_rate: float = 1024.0, *, noise: tuple[float, float] = NOISE
) -> list[KnownPair]:
    """Draw pairs of a class, each from a generator of its own: pair i is the same whatever the number."""
    seeds = np.random.SeedSequence([seed, *name.encode()]).spawn(number)
    return [known_pair(name, np.random.default_rng(child), sample_rate, noise=noise) for child in seeds]

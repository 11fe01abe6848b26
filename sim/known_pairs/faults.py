"""What instruments and actuators do to a pair of signals, beside delay and gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim.arrays import Samples

Fault = Callable[[Samples, Samples, Samples, np.random.Generator], tuple[Samples, Samples]]


def nothing(_: Samples, c: Samples, m: Samples, __: np.random.Generator) -> tuple[Samples, Samples]:
    """Leave both as they are."""
    return c, m


def noise_on_both(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Add white noise of 0.3 to 5 % of the motion's rms to both."""
    level = 10.0 ** rng.uniform(-2.5, -1.3)
    return tuple(x + level * x.std() * rng.standard_normal(len(x)) for x in (c, m))


def quantised(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Round both to steps of 1/50 to 1/2000 of their largest value."""
    step = 10.0 ** -rng.uniform(1.7, 3.3)
    return tuple(np.round(x / (step * np.ptp(x))) * step * np.ptp(x) for x in (c, m))


def clipped(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal stop at 70 to 95 % of its largest value."""
    limit = rng.uniform(0.7, 0.95) * np.max(np.abs(m))
    return c, np.clip(m, -limit, limit)


def backlash(_: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal follow with a play of 0.1 to 1 % of its range."""
    play, at = 0.5 * 10.0 ** rng.uniform(-3.0, -2.0) * np.ptp(m), m[0]
    follows = np.empty_like(m)
    for i, x in enumerate(m):
        at = min(max(at, x - play), x + play)
        follows[i] = at
    return c, follows


def hum(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Add mains hum of 0.3 to 3 % to the measured signal, of 50 or 60 Hz."""
    turn, size = 2.0 * np.pi * rng.choice([50.0, 60.0]), 10.0 ** rng.uniform(-2.5, -1.5)
    return c, m + size * m.std() * np.sin(turn * t + rng.uniform(0.0, 2.0 * np.pi))


def drift(t: Samples, c: Samples, m: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    """Let the measured signal's zero drift by up to 10 % of its range in the whole time, and be elsewhere."""
    slope = rng.uniform(-0.1, 0.1) * np.ptp(m) / np.ptp(t)
    return c + rng.uniform(-1.0, 1.0), m + slope * t + rng.uniform(-1.0, 1.0)

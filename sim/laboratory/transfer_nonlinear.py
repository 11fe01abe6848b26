"""Parts of a transfer system that are not linear: limits and play of an actuator, and errors of a sensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples, check_finite, check_not_negative, check_positive, positive
from sim.laboratory.parts import Shape
from sim.laboratory.transfer import fit

_CHUNK = 256


@dataclass(frozen=True)
class RateLimit:
    """An actuator that follows exactly up to its largest `rate` [m/s]."""

    rate: float | Samples

    def __post_init__(self) -> None:
        check_positive("limit", rate=self.rate)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningRateLimit:  # noqa: ARG002
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        return RunningRateLimit(fit("rate", self.rate, shape) * positive(dt))


class RunningRateLimit:
    """A rate limit in motion."""

    def __init__(self, largest_step: Samples) -> None:
        self._largest_step, self._position = largest_step, np.zeros(largest_step.shape)

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal, or what can be reached on the way to it."""
        moved = np.clip(signal - self._position, -self._largest_step, self._largest_step)
        self._position = self._position + moved
        return self._position


@dataclass(frozen=True)
class ForceLimit:
    """An actuator that stalls: against a specimen's force of `force` [N] or more it holds its position or retreats.

    The force is that of the last step, so that the first step of a stall goes beyond the limit.
    """

    force: float | Samples

    def __post_init__(self) -> None:
        check_positive("limit", force=self.force)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningForceLimit:  # noqa: ARG002
        """Return it at rest, for arrays of `shape`."""
        return RunningForceLimit(fit("force", self.force, shape))


class RunningForceLimit:
    """A force limit in motion."""

    def __init__(self, largest: Samples) -> None:
        self._largest, self._position = largest, np.zeros(largest.shape)

    def step(self, signal: Samples, force: Samples) -> Samples:
        """Return the signal, or the last position where the specimen pushes back too hard."""
        farther = np.sign(force) * (signal - self._position) > 0.0
        self._position = np.where(farther & (np.abs(force) >= self._largest), self._position, signal)
        return self._position


@dataclass(frozen=True)
class Backlash:
    """Play in a joint: the output stays where it is until the input has crossed the `gap` [m], its whole width."""

    gap: float | Samples

    def __post_init__(self) -> None:
        check_not_negative("backlash", gap=self.gap)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningBacklash:  # noqa: ARG002
        """Return it in the middle of its gap, for arrays of `shape`."""
        return RunningBacklash(0.5 * fit("gap", self.gap, shape))


class RunningBacklash:
    """A joint with play in motion."""

    def __init__(self, half: Samples) -> None:
        self._half, self._position = half, np.zeros(half.shape)

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return where the input has pushed the output."""
        self._position = np.clip(self._position, signal - self._half, signal + self._half)
        return self._position


@dataclass(frozen=True)
class Quantisation:
    """A converter that rounds to whole multiples of `interval` [m]; halves go to the even one."""

    interval: float | Samples

    def __post_init__(self) -> None:
        check_positive("quantisation", interval=self.interval)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningQuantisation:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        return RunningQuantisation(fit("interval", self.interval, shape))


class RunningQuantisation:
    """A converter at work."""

    def __init__(self, interval: Samples) -> None:
        self._interval = interval

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal, rounded."""
        return self._interval * np.rint(signal / self._interval)


@dataclass(frozen=True)
class Noise:
    """White Gaussian noise of a given `rms` [m], the same again for the same generator."""

    rms: float | Samples

    def __post_init__(self) -> None:
        check_not_negative("noise", rms=self.rms)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningNoise:  # noqa: ARG002
        """Return it, for arrays of `shape`, drawn from `rng`."""
        return RunningNoise(fit("rms", self.rms, shape), rng)

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002
        """Return one: what it adds does not depend on the signal."""
        return np.ones(np.shape(frequency), dtype=np.complex128)


class RunningNoise:
    """A noisy sensor at work."""

    def __init__(self, rms: Samples, rng: np.random.Generator) -> None:
        self._noise = self._draw(rms, rng)

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal with noise."""
        return np.asarray(signal + next(self._noise))

    @staticmethod
    def _draw(rms: Samples, rng: np.random.Generator) -> Iterator[Samples]:
        # a chunk costs one call and not one a step
        while True:
            yield from rms * rng.standard_normal((_CHUNK, *rms.shape))


@dataclass(frozen=True)
class Offset:
    """A sensor whose zero is off by `offset` [m]."""

    offset: float | Samples

    def __post_init__(self) -> None:
        check_finite("sensor", offset=self.offset)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningOffset:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        return RunningOffset(fit("offset", self.offset, shape))

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002
        """Return one: what it adds does not depend on the signal."""
        return np.ones(np.shape(frequency), dtype=np.complex128)


class RunningOffset:
    """A sensor with an offset at work."""

    def __init__(self, offset: Samples) -> None:
        self._offset = offset

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal with the offset."""
        return np.asarray(signal + self._offset)

"""Parts of a transfer system that are not linear: limits and play of an actuator, and errors of a sensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples, check_finite, check_not_negative, check_positive, positive
from sim.laboratory.parts import Shape
from sim.laboratory.transfer import RunningFunction, RunningPart, fit

_CHUNK = 256


@dataclass(frozen=True)
class RateLimit:
    """An actuator that follows exactly up to its largest `rate` [m/s]."""

    rate: float | Samples

    def __post_init__(self) -> None:
        check_positive("limit", rate=self.rate)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        most = fit("rate", self.rate, shape) * positive(dt)
        return RunningFunction(lambda signal, _force, last: last + np.clip(signal - last, -most, most), shape)


@dataclass(frozen=True)
class ForceLimit:
    """An actuator that stalls: against a specimen's force of `force` [N] or more it holds its position or retreats.

    The force is that of the last step, so that the first step of a stall goes beyond the limit.
    """

    force: float | Samples

    def __post_init__(self) -> None:
        check_positive("limit", force=self.force)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it at rest, for arrays of `shape`."""
        most = fit("force", self.force, shape)

        def following(signal: Samples, force: Samples, last: Samples) -> Samples:
            farther = np.sign(force) * (signal - last) > 0.0
            return np.where(farther & (np.abs(force) >= most), last, signal)

        return RunningFunction(following, shape)


@dataclass(frozen=True)
class Backlash:
    """Play in a joint: the output stays where it is until the input has crossed the `gap` [m], its whole width."""

    gap: float | Samples

    def __post_init__(self) -> None:
        check_not_negative("backlash", gap=self.gap)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it in the middle of its gap, for arrays of `shape`."""
        half = 0.5 * fit("gap", self.gap, shape)
        return RunningFunction(lambda signal, _force, last: np.clip(last, signal - half, signal + half), shape)


@dataclass(frozen=True)
class Quantisation:
    """A converter that rounds to whole multiples of `interval` [m]; halves go to the even one."""

    interval: float | Samples

    def __post_init__(self) -> None:
        check_positive("quantisation", interval=self.interval)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        interval = fit("interval", self.interval, shape)
        return RunningFunction(lambda signal, _force, _last: interval * np.rint(signal / interval), shape)


@dataclass(frozen=True)
class Noise:
    """White Gaussian noise of a given `rms` [m], the same again for the same generator."""

    rms: float | Samples

    def __post_init__(self) -> None:
        check_not_negative("noise", rms=self.rms)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it, for arrays of `shape`, drawn from `rng`."""
        noise = _noise(fit("rms", self.rms, shape), rng)
        return RunningFunction(lambda signal, _force, _last: np.asarray(signal + next(noise)), shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002
        """Return one: what it adds does not depend on the signal."""
        return np.ones(np.shape(frequency), dtype=np.complex128)


def _noise(rms: Samples, rng: np.random.Generator) -> Iterator[Samples]:
    # a chunk costs one call and not one a step
    while True:
        yield from rms * rng.standard_normal((_CHUNK, *rms.shape))


@dataclass(frozen=True)
class Offset:
    """A sensor whose zero is off by `offset` [m]."""

    offset: float | Samples

    def __post_init__(self) -> None:
        check_finite("sensor", offset=self.offset)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        offset = fit("offset", self.offset, shape)
        return RunningFunction(lambda signal, _force, _last: np.asarray(signal + offset), shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002
        """Return one: what it adds does not depend on the signal."""
        return np.ones(np.shape(frequency), dtype=np.complex128)

"""Linear parts of a transfer system: gain, first-order lag, pure delay; their steady state is known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Integers, Response, Samples
from sim.laboratory.parts import Shape
from sim.laboratory.transfer import fit
from sim.ranges import check_not_negative, check_positive, positive, require

LONGEST = 10.0
_TAPS = 4


@dataclass(frozen=True)
class Gain:
    """A constant factor."""

    gain: float | Samples

    def __post_init__(self) -> None:
        check_positive("transfer", gain=self.gain)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningGain:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        return RunningGain(fit("gain", self.gain, shape))

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002 - the same for all
        """Return output/input at `frequency` [Hz]."""
        return np.asarray(self.gain + np.zeros(np.shape(frequency)), dtype=np.complex128)


class RunningGain:
    """A gain at work."""

    def __init__(self, gain: Samples) -> None:
        self._gain = gain

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal times the gain."""
        return self._gain * signal


@dataclass(frozen=True)
class Lag:
    """A first-order lag, 1/(1 + s time_constant); its steps are exact for an input of straight pieces."""

    time_constant: float | Samples

    def __post_init__(self) -> None:
        check_not_negative("lag", time_constant=self.time_constant)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningLag:  # noqa: ARG002 - no noise
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        running = RunningLag(shape)
        running.weights = lag_weights(fit("time constant", self.time_constant, shape) / positive(dt))
        return running

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return output/input at `frequency` [Hz] of the steps, exact."""
        shift = step_shift(frequency, dt)
        decay, before, now = lag_weights(np.asarray(self.time_constant, dtype=np.float64) / dt)
        return np.asarray((now + before * shift) / (1.0 - decay * shift))


class RunningLag:
    """A lag in motion.

    Attributes
    ----------
    weights : of the last output, the last input and this input; they may be changed between steps.
    """

    def __init__(self, shape: Shape) -> None:
        self.weights: tuple[float | Samples, float | Samples, float | Samples] = (0.0, 0.0, 1.0)
        self._last = self._output = np.zeros(shape)

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the lagged signal."""
        decay, before, now = self.weights
        self._output = np.asarray(decay * self._output + before * self._last + now * signal)
        self._last = signal
        return self._output


@dataclass(frozen=True)
class Delay:
    """A pure delay of any fraction of a sample, exact for whole samples and for a cubic.

    Parameters
    ----------
    delay : s; negative for a lead, made as an over-compensating controller makes it, by extrapolating with a cubic.
    """

    delay: float | Samples

    def __post_init__(self) -> None:
        largest = float(np.max(np.abs(self.delay)))
        require(largest <= LONGEST, "transfer delay", largest, f"in seconds, up to {LONGEST}")

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningDelay:  # noqa: ARG002 - no noise
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        samples = fit("delay", self.delay, shape).reshape(-1) / positive(dt)
        running = RunningDelay(shape, float(np.max(np.abs(samples), initial=0.0)))
        running.offsets, running.weights = delay_taps(samples)
        return running

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return output/input at `frequency` [Hz] of the steps, exact."""
        shift = step_shift(frequency, dt)
        offsets, weights = delay_taps(np.asarray(self.delay, dtype=np.float64) / dt)
        return np.asarray(sum(weight * shift**offset for offset, weight in zip(offsets, weights, strict=True)))


class RunningDelay:
    """A delay in motion: four taps on a ring of the last inputs.

    Attributes
    ----------
    offsets, weights : (4, tests) or (4, 1), of the taps; they may be changed between steps.
    """

    def __init__(self, shape: Shape, longest: float) -> None:
        # the oldest tap of a delay is two samples older than it, of a lead three of its lengths
        n_samples = 1 << (ceil(3.0 * longest) + _TAPS).bit_length()
        self._shape, self._mask, self._count = shape, n_samples - 1, 0
        self._ring = np.zeros((n_samples, int(np.prod(shape))))
        self._columns = np.arange(self._ring.shape[1])
        self.offsets, self.weights = delay_taps(np.zeros(1))

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002
        """Return the signal as it was a delay ago."""
        self._ring[self._count & self._mask] = signal.reshape(-1)
        rows = (self._count - self.offsets) & self._mask
        self._count += 1
        taken = self._ring[rows, self._columns]
        taken *= self.weights
        return np.asarray(taken.sum(axis=0).reshape(self._shape))


def delay_taps(delay: Samples) -> tuple[Integers, Samples]:
    """Return (4, *shape) of a delay in samples: how many samples old each tap is, and its weight."""
    whole = np.maximum(np.floor(delay) - 1.0, 0.0)
    # points at least a lead apart: closer ones would amplify noise by thousands instead of 15
    gap = np.maximum(np.ceil(-delay), 1.0)
    x = (delay - whole) / gap
    a, b, c = x - 1.0, x - 2.0, x - 3.0
    offsets = np.stack([whole + i * gap for i in range(_TAPS)]).astype(np.int64)
    return offsets, np.stack([-a * b * c / 6.0, x * b * c / 2.0, -x * a * c / 2.0, x * a * b / 6.0])


def lag_weights(lag: Samples) -> tuple[Samples, Samples, Samples]:
    """Return the weights of the last output, the last input and this input of a lag in samples."""
    with np.errstate(divide="ignore", over="ignore"):
        decay = np.exp(-1.0 / lag)
        grown = -lag * np.expm1(-1.0 / lag)
    return decay, grown - decay, 1.0 - grown


def step_shift(frequency: ArrayLike, dt: float) -> Response:
    """Return what one step of `dt` seconds does to a rotation at `frequency` [Hz]: exp(-2 pi i f dt)."""
    check_positive("response", frequency=np.asarray(frequency, dtype=np.float64))
    return np.asarray(np.exp(-2j * pi * np.asarray(frequency, dtype=np.float64) * positive(dt)))

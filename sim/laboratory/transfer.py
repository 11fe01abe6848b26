"""Transfer systems composed of parts: what lies between the command, the specimen and the recorded signal.

The parts of the actuator are in series between the command and the specimen, those of the sensor between the
specimen and the recorded signal. The steady state of the linear ones (gain, first-order lag, pure delay) is known
exactly; then come limits and play of an actuator, and errors of a sensor. Plants are in `plants`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from math import ceil, pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import (
    Integers,
    Response,
    Samples,
    check_finite,
    check_not_negative,
    check_positive,
    positive,
    require,
)
from sim.laboratory.parts import RunningPart, RunningTransfer, Shape, TransferPart, TransferSystem, passed_share

LONGEST = 10.0
_TAPS = 4


@dataclass(frozen=True)
class TransferChain:
    """A transfer system of parts in series; without parts it is perfect.

    Parameters
    ----------
    actuator : parts between the command and the position of the specimen, in this order.
    sensor : parts between the position and the measured signal, in this order.
    """

    actuator: tuple[TransferPart, ...] = ()
    sensor: tuple[TransferPart, ...] = ()

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningChain:
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`; its noise is from `rng`."""
        actuator, sensor = ([part.begin(dt, shape, rng) for part in chain] for chain in (self.actuator, self.sensor))
        return RunningChain(actuator, sensor, np.zeros(shape))

    @property
    def longest_delay(self) -> float:
        """The longest pure delay in it, of all tests, s."""
        return sum(float(np.max(getattr(part, "delay", 0.0))) for part in (*self.actuator, *self.sensor))

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return measured/command at `frequency` [Hz] in the steady state; noise and offset are not part of it.

        Raises ValueError where a part is not linear or changes.
        """
        response = np.ones(np.shape(frequency), dtype=np.complex128)
        for part in (*self.actuator, *self.sensor):
            response_of = getattr(part, "response", None)
            if response_of is None:
                raise ValueError(f"{type(part).__name__} has no frequency response: it is not linear, or it changes")
            response = response * response_of(frequency, dt)
        return response


class RunningChain:
    """A chain in motion; `position` is what has passed the parts of the actuator."""

    def __init__(self, actuator: list[RunningPart], sensor: list[RunningPart], position: Samples) -> None:
        self.position = position
        self._actuator, self._sensor = actuator, sensor

    def step(self, command: Samples, force: Samples) -> Samples:
        """Follow the next command [m], against the specimen's last force [N]; return the measured signal [m]."""
        # an integrator may write its next target to the same array
        signal = command.copy()
        for part in self._actuator:
            signal = part.step(signal, force)
        self.position = signal
        for part in self._sensor:
            signal = part.step(signal, force)
        return signal


@dataclass(frozen=True)
class SeparateActuators:
    """Several actuators, each with a transfer system of its own: one for each element of the last axis."""

    systems: tuple[TransferSystem, ...]

    @property
    def longest_delay(self) -> float:
        """The longest pure delay in one of them, s."""
        return max((getattr(system, "longest_delay", 0.0) for system in self.systems), default=0.0)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningActuators:
        """Return them at rest, to be stepped every `dt` seconds with arrays of `shape`; their noise is from `rng`."""
        if not shape or shape[-1] != len(self.systems):
            raise ValueError(f"{len(self.systems)} transfer systems for arrays of shape {shape}: one per actuator")
        return RunningActuators([system.begin(dt, (*shape[:-1], 1), rng) for system in self.systems], shape)


class RunningActuators:
    """Several actuators in motion, side by side in the last axis."""

    def __init__(self, systems: Iterable[RunningTransfer], shape: Shape) -> None:
        self.position = np.zeros(shape)
        self._slices = [(slice(i, i + 1), system) for i, system in enumerate(systems)]

    def step(self, command: Samples, force: Samples) -> Samples:
        """Follow the next commands [m], against the specimens' last forces [N]; return the measured signals [m]."""
        measured = np.empty_like(self.position)
        self.position = np.empty_like(self.position)
        for own, system in self._slices:
            measured[..., own] = system.step(command[..., own], force[..., own])
            self.position[..., own] = system.position
        return measured


@dataclass(frozen=True, eq=False)
class ChangingTransfer:
    """A transfer system that becomes another in mid-test, as its specimen does: see `ChangingElement`.

    Both follow the same command from the start; position and measured signal pass from the first to the second on a
    straight line.

    Parameters
    ----------
    before, after : the two.
    at : time at which the change begins, s of the laboratory; an array: for each draw.
    ramp : s that it takes, 0 for a step.
    """

    before: TransferSystem
    after: TransferSystem
    at: float | Samples
    ramp: float = 0.0

    def __post_init__(self) -> None:
        check_not_negative("change", at=self.at, ramp=self.ramp)

    @property
    def longest_delay(self) -> float:
        """The longest pure delay in either of them, s."""
        return max(getattr(each, "longest_delay", 0.0) for each in (self.before, self.after))

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningTransfer:
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`; its noise is from `rng`."""
        before, after = self.before.begin(dt, shape, rng), self.after.begin(dt, shape, rng)
        return _RunningChange(before, after, passed_share(self.at, self.ramp, dt))


class _RunningChange:
    def __init__(self, before: RunningTransfer, after: RunningTransfer, passed: Iterator[Samples]) -> None:
        self.position = before.position
        self._before, self._after, self._passed = before, after, passed

    def step(self, command: Samples, force: Samples) -> Samples:
        passed = next(self._passed)
        before, after = self._before.step(command, force), self._after.step(command, force)
        self.position = (1.0 - passed) * self._before.position + passed * self._after.position
        return np.asarray((1.0 - passed) * before + passed * after)


def fit(name: str, parameter: ArrayLike, shape: Shape) -> Samples:
    """Return a parameter as an array of `shape`, not to be written to; raises ValueError where it does not fit."""
    values = np.asarray(parameter, dtype=np.float64)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"{name} of shape {values.shape} for arrays of shape {shape}: they must broadcast") from None


class RunningFunction:
    """A part in motion whose output is a function of its input, the specimen's last force and its last output."""

    def __init__(self, following: Callable[[Samples, Samples, Samples], Samples], shape: Shape) -> None:
        self._following, self._output = following, np.zeros(shape)

    def step(self, signal: Samples, force: Samples) -> Samples:
        """Return the next output, given the input and the specimen's last force [N]."""
        self._output = self._following(signal, force, self._output)
        return self._output


@dataclass(frozen=True)
class Gain:
    """A constant factor."""

    gain: float | Samples

    def __post_init__(self) -> None:
        check_positive("transfer", gain=self.gain)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:  # noqa: ARG002
        """Return it, for arrays of `shape`."""
        gain = fit("gain", self.gain, shape)
        return RunningFunction(lambda signal, _force, _last: gain * signal, shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002 - the same for all
        """Return output/input at `frequency` [Hz]."""
        return np.asarray(self.gain + np.zeros(np.shape(frequency)), dtype=np.complex128)


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
        rms = fit("rms", self.rms, shape)
        # a chunk costs one call and not one a step
        noise = chain.from_iterable(rms * rng.standard_normal((_CHUNK, *shape)) for _ in count())
        return RunningFunction(lambda signal, _force, _last: np.asarray(signal + next(noise)), shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:  # noqa: ARG002
        """Return one: what it adds does not depend on the signal."""
        return np.ones(np.shape(frequency), dtype=np.complex128)


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

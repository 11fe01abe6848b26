"""Transfer systems composed of parts: what lies between the command, the specimen and the recorded signal.

The parts of the actuator are in series between the command and the specimen, those of the sensor between the
specimen and the recorded signal. They are in `transfer_linear`, `transfer_nonlinear` and `plants`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples
from sim.laboratory.parts import RunningRamp, RunningTransfer, Shape, TransferSystem
from sim.ranges import check_not_negative


class RunningPart(Protocol):
    """A part in motion: a signal in, a signal out."""

    def step(self, signal: Samples, force: Samples) -> Samples:
        """Return the next output, given the input and the specimen's last force [N].

        A part may keep or return its input: neither the input nor the output is written to afterwards.
        """
        ...


class TransferPart(Protocol):
    """Description of a part, elementwise over arrays of any shape; its parameters may be arrays that broadcast."""

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`; its noise is from `rng`."""
        ...


@runtime_checkable
class LinearPart(TransferPart, Protocol):
    """A part whose steady state is known."""

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return output/input at `frequency` [Hz], in the steady state of steps of `dt` seconds."""
        ...


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
            if not isinstance(part, LinearPart):
                raise ValueError(  # noqa: TRY004 - a value of the chain, like any other
                    f"{type(part).__name__} has no frequency response: it is not linear, or it changes"
                )
            response = response * part.response(frequency, dt)
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
        return _RunningChange(before, after, RunningRamp(self.at, self.ramp, dt))


class _RunningChange:
    def __init__(self, before: RunningTransfer, after: RunningTransfer, passed: RunningRamp) -> None:
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

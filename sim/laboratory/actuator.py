"""A servo-hydraulic actuator between command and specimen, whose tracking errors are known exactly.

Sign convention: phase > 0 when the measured signal leads, delay > 0 when it lags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import count
from math import isfinite, pi
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Integers, Response, Samples, check_positive, positive
from sim.laboratory.parts import Shape, TransferSystem
from sim.laboratory.transfer import Delay, Lag, RunningDelay, RunningLag, delay_taps, lag_weights

LONGEST = 1.0
_CHUNK = 1024


class LinearTransfer(TransferSystem, Protocol):
    """A transfer system that does not change and whose steady state is known."""

    def response(self, frequency: float, dt: float) -> Response:
        """Return measured/command at `frequency` [Hz]."""


@dataclass(frozen=True, slots=True)
class ActuatorState:
    """What an actuator does to its command: delay, lag, gain, and noise in the reading.

    Raises ValueError for a value out of its range.

    Parameters
    ----------
    gain : measured/command of a slow motion.
    lag : time constant of the first-order lag, s.
    delay : pure delay, s; negative for a lead, made as an over-compensating controller makes it, by
        extrapolating the command with a cubic.
    noise : rms of the white noise of the measurement, in the command's unit.
    """

    gain: float = 1.0
    lag: float = 0.0
    delay: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_positive("actuator", gain=self.gain)
        if not 0.0 <= self.lag <= LONGEST:
            raise ValueError(f"actuator lag {self.lag}: give it in seconds, from 0 to {LONGEST}")
        if not abs(self.delay) <= LONGEST:
            raise ValueError(f"actuator delay {self.delay}: give it in seconds, from {-LONGEST} to {LONGEST}")
        if not (isfinite(self.noise) and self.noise >= 0.0):
            raise ValueError(f"actuator noise {self.noise}: must be an rms value, zero or more")


@dataclass(frozen=True)
class Schedule:
    """An actuator that changes during the run.

    Raises ValueError for no state at 0 s, and for a change before the one before it has ended.

    Parameters
    ----------
    changes : (time in s, state that begins then), in order.
    ramp : s that every change takes, linearly, from its time on; 0 for steps.
    """

    changes: tuple[tuple[float, ActuatorState], ...]
    ramp: float = 0.5

    def __post_init__(self) -> None:
        if not self.changes or self.changes[0][0] != 0.0:
            raise ValueError("an actuator schedule needs a state at 0 s: put it first")
        if not (isfinite(self.ramp) and self.ramp >= 0.0):
            raise ValueError(f"schedule ramp {self.ramp} s: must be a time, zero or more")
        ends = 0.0
        for time, _ in self.changes[1:]:
            if not (isfinite(time) and time > 0.0 and time >= ends):
                raise ValueError(f"actuator change at {time} s: must come after {ends} s, the end of the last")
            ends = time + self.ramp

    @property
    def longest_delay(self) -> float:
        """The longest pure delay of all states, s."""
        return max(state.delay for _, state in self.changes)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningSchedules:
        """Return the actuator at rest, to be stepped every `dt` seconds with arrays of `shape`; noise from `rng`."""
        return RunningSchedules((self,), dt, shape, rng)

    def trajectory(self, time: ArrayLike) -> Samples:
        """Return (4, n): gain, lag, delay and noise at the times, (n,) in s."""
        instants = np.asarray(time, dtype=np.float64)
        knots, values = [0.0], [astuple(self.changes[0][1])]
        for instant, state in self.changes[1:]:
            knots += [instant, instant + self.ramp]
            values += [values[-1], astuple(state)]
        return np.array([np.interp(instants, knots, column) for column in zip(*values, strict=True)])

    def response_at(self, time: ArrayLike, frequency: float, dt: float) -> Response:
        """Return (n,): the steady-state response at `frequency` of the states that rule at the times."""
        gain, lag, delay, _ = self.trajectory(time)
        linear = Delay(delay).response(frequency, dt) * Lag(lag).response(frequency, dt)
        return np.asarray(gain * linear)


@dataclass(frozen=True)
class ScheduledActuators:
    """Several scheduled actuators side by side, one for each element of the last axis."""

    schedules: tuple[Schedule, ...]

    @property
    def longest_delay(self) -> float:
        """The longest pure delay of them, s."""
        return max(schedule.longest_delay for schedule in self.schedules)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningSchedules:
        """Return them at rest, to be stepped every `dt` seconds with arrays of `shape`; noise from `rng`."""
        if shape[-1] != len(self.schedules):
            raise ValueError(f"{len(self.schedules)} scheduled actuators for {shape[-1]}: give one for each")
        return RunningSchedules(self.schedules, dt, shape, rng)


class RunningSchedules:
    """Scheduled actuators in motion, from rest: cubic delay, and a lag exact for straight pieces.

    One schedule is that of all; several are one for each element of the last axis.
    """

    def __init__(self, schedules: tuple[Schedule, ...], dt: float, shape: Shape, rng: np.random.Generator) -> None:
        self.position = np.zeros(shape)
        longest = max(abs(state.delay) for schedule in schedules for _, state in schedule.changes)
        self._delay, self._lag = RunningDelay(shape, longest / positive(dt)), RunningLag(shape)
        self._parameters = self._parameters_per_step(schedules, dt, shape, rng)

    def step(self, command: Samples, force: Samples) -> Samples:
        """Follow the next command [m] and return what is measured; `position` is then the same without noise."""
        offsets, weights, decay, before, now, gain, noise = next(self._parameters)
        self._delay.offsets, self._delay.weights, self._lag.weights = offsets, weights, (decay, before, now)
        self.position = gain * self._lag.step(self._delay.step(command, force), force)
        return np.asarray(self.position + noise)

    @staticmethod
    def _parameters_per_step(
        schedules: tuple[Schedule, ...], dt: float, shape: Shape, rng: np.random.Generator
    ) -> Iterator[tuple[Integers, Samples, Samples, Samples, Samples, Samples, Samples]]:
        several = len(schedules) > 1
        alike = (1,) * (len(shape) - several)
        for start in count(0, _CHUNK):
            time = (start + np.arange(_CHUNK)) * dt
            each = np.stack([schedule.trajectory(time) for schedule in schedules], axis=-1)
            spread = each.reshape(4, _CHUNK, *alike, *shape[len(alike) :])
            gain, lag, delay, rms = np.broadcast_to(spread, (4, _CHUNK, *shape)) if several else spread
            noise = rng.standard_normal((_CHUNK, *shape)) * rms
            # the delay has its tests in one axis
            taps = (np.moveaxis(part, 0, 1) for part in delay_taps(delay / dt))
            offsets, weights = (part.reshape(*part.shape[:2], -1) for part in taps)
            yield from zip(offsets, weights, *lag_weights(lag / dt), gain, noise, strict=True)


def amplitude_ratio(response: complex | Response) -> Samples:
    """Return command/measured: over 1 for undershoot."""
    return np.asarray(1.0 / np.abs(response))


def phase_error(response: complex | Response) -> Samples:
    """Return the phase in rad, from -pi to pi, positive when the measured signal leads."""
    return np.asarray(np.angle(response))


def equivalent_delay(response: complex | Response, frequency: float) -> Samples:
    """Return -phase/(2 pi f) in s, positive when the measured signal lags."""
    return 0.0 - phase_error(response) / (2.0 * pi * positive(frequency))


def tracking_truth(
    drive: Schedule | LinearTransfer, time: ArrayLike, frequency: float, dt: float
) -> tuple[Samples, Samples, Samples]:
    """Return (n,) ratio, phase [rad] and delay [s] of a drive at `frequency` [Hz] in its state of each time."""
    if isinstance(drive, Schedule):
        response = drive.response_at(time, frequency, dt)
    else:
        response = np.full(np.shape(time), drive.response(frequency, dt))
    return amplitude_ratio(response), phase_error(response), equivalent_delay(response, frequency)

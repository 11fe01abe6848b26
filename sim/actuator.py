"""A servo-hydraulic actuator between command and specimen, whose tracking errors are known exactly.

Sign convention: phase > 0 when the measured signal leads, delay > 0 when it lags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import count
from math import ceil, isfinite, pi
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Integers, Response, Samples
from sim.laboratory.parts import Shape, TransferSystem
from sim.laboratory.transfer_linear import Delay, Lag, RunningDelay, RunningLag, delay_taps, lag_weights
from sim.ranges import check_positive, positive

LONGEST = 1.0
_CHUNK = 1024


class SteppedActuator(Protocol):
    """Something that carries a specimen, sample by sample."""

    position: float

    def step(self, command: float) -> float:
        """Follow the next command [m] and return the measured signal; `position` is then its own."""
        ...


class LinearTransfer(TransferSystem, Protocol):
    """A transfer system that does not change and whose steady state is known."""

    def response(self, frequency: float, dt: float) -> Response:
        """Return measured/command at `frequency` [Hz]."""
        ...


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

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningSchedule:
        """Return the actuator at rest, to be stepped every `dt` seconds with arrays of `shape`; noise from `rng`."""
        return RunningSchedule(self, dt, shape, rng)

    def trajectory(self, time: ArrayLike) -> Samples:
        """Return (4, n): gain, lag, delay and noise at the times, (n,) in s."""
        instants = np.asarray(time, dtype=np.float64)
        knots, values = [0.0], [astuple(self.changes[0][1])]
        for instant, state in self.changes[1:]:
            knots += [instant, instant + self.ramp]
            values += [values[-1], astuple(state)]
        return np.array([np.interp(instants, knots, column) for column in zip(*values, strict=True)])

    def response(self, time: ArrayLike, frequency: float, dt: float) -> Response:
        """Return (n,): the steady-state response at `frequency` of the states that rule at the times."""
        gain, lag, delay, _ = self.trajectory(time)
        linear = Delay(delay).response(frequency, dt) * Lag(lag).response(frequency, dt)
        return np.asarray(gain * linear)


class RunningSchedule:
    """A scheduled actuator in motion, from rest: cubic delay, and a lag exact for straight pieces."""

    def __init__(self, schedule: Schedule, dt: float, shape: Shape, rng: np.random.Generator) -> None:
        self.position = np.zeros(shape)
        longest = max(abs(state.delay) for _, state in schedule.changes)
        self._delay, self._lag = RunningDelay(shape, longest / positive(dt)), RunningLag(shape)
        self._parameters = self._parameters_per_step(schedule, dt, shape, rng)

    def step(self, command: Samples, force: Samples) -> Samples:
        """Follow the next command [m] and return what is measured; `position` is then the same without noise."""
        offsets, weights, lag, gain, noise = next(self._parameters)
        self._delay.offsets, self._delay.weights, self._lag.weights = offsets, weights, lag
        self.position = gain * self._lag.step(self._delay.step(command, force), force)
        return np.asarray(self.position + noise)

    @staticmethod
    def _parameters_per_step(
        schedule: Schedule, dt: float, shape: Shape, rng: np.random.Generator
    ) -> Iterator[tuple[Integers, Samples, tuple[float, float, float], float, Samples]]:
        for start in count(0, _CHUNK):
            gain, lag, delay, rms = schedule.trajectory((start + np.arange(_CHUNK)) * dt)
            noise = rng.standard_normal((_CHUNK, *shape)) * rms.reshape(-1, *(1 for _ in shape))
            offsets, weights = (np.moveaxis(taps, 0, 1)[..., np.newaxis] for taps in delay_taps(delay / dt))
            lag_per_step = zip(*(values.tolist() for values in lag_weights(lag / dt)), strict=True)
            yield from zip(offsets, weights, lag_per_step, gain.tolist(), noise, strict=True)


def begin_single(system: TransferSystem, dt: float, rng: np.random.Generator) -> SteppedActuator:
    """Return an actuator at rest, to be stepped every `dt` seconds with floats, its noise from `rng`."""
    return Actuator(system, dt, rng) if isinstance(system, Schedule) else _SingleActuator(system, dt, rng)


class _SingleActuator:
    def __init__(self, system: TransferSystem, dt: float, rng: np.random.Generator) -> None:
        self.position, self._running, self._force = 0.0, system.begin(dt, (), rng), np.zeros(())

    def step(self, command: float) -> float:
        measured = float(self._running.step(np.asarray(command), self._force))
        self.position = float(self._running.position)
        return measured


class Actuator:
    """An actuator stepped sample by sample, from rest: cubic delay, and a lag exact for straight pieces."""

    def __init__(self, schedule: Schedule, dt: float, rng: np.random.Generator) -> None:
        self.position = 0.0
        self._parameters_per_sample = _parameters_per_sample(schedule, positive(dt), rng)
        reach = 3 + ceil(3 * max(abs(state.delay) for _, state in schedule.changes) / dt)
        self._mask = (1 << (reach + 3).bit_length()) - 1
        self._ring = [0.0] * (self._mask + 1)
        self._count, self._delayed, self._lagged = 0, 0.0, 0.0

    def step(self, command: float) -> float:
        """Take the next command and return what is measured; `position` is then the same without noise."""
        whole, gap, w0, w1, w2, w3, decay, before, now, gain, noise = next(self._parameters_per_sample)
        ring, mask = self._ring, self._mask
        ring[self._count & mask] = command
        i, gap = self._count - int(whole), int(gap)
        delayed = w0 * ring[i & mask] + w1 * ring[(i - gap) & mask]
        delayed += w2 * ring[(i - 2 * gap) & mask] + w3 * ring[(i - 3 * gap) & mask]
        self._count += 1
        self._lagged = decay * self._lagged + before * self._delayed + now * delayed
        self._delayed = delayed
        self.position = gain * self._lagged
        return self.position + noise


def _parameters_per_sample(schedule: Schedule, dt: float, rng: np.random.Generator) -> Iterator[tuple[float, ...]]:
    for start in count(0, _CHUNK):
        gain, lag, delay, noise = schedule.trajectory((start + np.arange(_CHUNK)) * dt)
        noise *= rng.standard_normal(_CHUNK)
        offsets, weights = delay_taps(delay / dt)
        columns = offsets[0], offsets[1] - offsets[0], *weights, *lag_weights(lag / dt), gain, noise
        yield from zip(*(column.tolist() for column in columns), strict=True)


def frequency_response(state: ActuatorState, frequency: float, dt: float | None = None) -> complex:
    """Return measured/command at `frequency` [Hz] in the steady state.

    With `dt` the stepped actuator's, exact to rounding; without, the continuous model's. They differ by
    (2 pi f dt)^2/12 in amplitude where there is a lag, and by (2 pi f lead)^4 where there is a lead.
    """
    if dt is not None:
        return complex(Schedule(((0.0, state),)).response(0.0, frequency, dt))
    turn = 2j * pi * positive(frequency)
    return complex(state.gain * np.exp(-turn * state.delay) / (1.0 + turn * state.lag))


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
        response = drive.response(time, frequency, dt)
    else:
        response = np.full(np.shape(time), drive.response(frequency, dt))
    return amplitude_ratio(response), phase_error(response), equivalent_delay(response, frequency)

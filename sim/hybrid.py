"""A real-time hybrid test of one degree of freedom: part of the frame is computed, part is the specimen in the rig.

m x'' + c x' + k x + f_m = p(t) or -m a_g(t), stepped by the central difference method in its velocity form:
x is the command that the actuator follows, and the restoring force f_m of the specimen enters the equation at the
same step. A late actuator feeds energy into the loop.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, inf, pi, sqrt
from typing import Protocol

import numpy as np

from sim.actuator import ActuatorState, LinearTransfer, Schedule, begin_single, tracking_truth
from sim.arrays import Samples
from sim.excitation import Excitation, Harmonic, Loading
from sim.ranges import check_not_negative, check_positive, require


class HybridInstability(ArithmeticError):  # noqa: N818 - the field's word for it
    """The command left the stroke of the rig at `time` [s]."""

    def __init__(self, time: float, stroke: float) -> None:
        super().__init__(time, stroke)
        self.time, self.stroke = time, stroke

    def __str__(self) -> str:
        where = f"command beyond the stroke of {self.stroke} m at {self.time:.3f} s"
        return f"{where}: the loop is unstable or the load too strong, reduce the delay or the load"


@dataclass(frozen=True, slots=True)
class Structure:
    """The computed part: a mass on a spring that may yield, with kinematic hardening, and a viscous damper.

    Parameters
    ----------
    mass, stiffness, damping : kg, N/m and N s/m.
    yield_displacement : m; infinite for a linear spring.
    hardening : stiffness after yielding over the one before, 0 to 1.
    """

    mass: float
    stiffness: float
    damping: float = 0.0
    yield_displacement: float = inf
    hardening: float = 0.0

    def __post_init__(self) -> None:
        check_positive("structure", mass=self.mass)
        _require_spring(self, "structure")

    def spring(self) -> Specimen:
        """Return the spring alone."""
        return Specimen(self.stiffness, 0.0, self.yield_displacement, self.hardening)


class SpecimenModel(Protocol):
    """The part in the rig: whatever answers a position with a force."""

    @property
    def stiffness(self) -> float:
        """The largest it ever has, N/m."""
        ...

    def restoring(self, dt: float) -> Callable[[float], float]:
        """Return the function position [m] -> force [N], to be called every `dt` seconds, from rest."""
        ...


@dataclass(frozen=True, slots=True)
class Specimen:
    """A spring that may yield, with kinematic hardening, in parallel with a viscous damper.

    Parameters
    ----------
    stiffness, damping : N/m and N s/m.
    yield_displacement : m; infinite for a linear spring.
    hardening : stiffness after yielding over the one before, 0 to 1.
    """

    stiffness: float
    damping: float = 0.0
    yield_displacement: float = inf
    hardening: float = 0.0

    def __post_init__(self) -> None:
        _require_spring(self, "specimen")

    def restoring(self, dt: float) -> Callable[[float], float]:
        """Return the function position [m] -> force [N], to be called every `dt` seconds, from rest."""
        held, yielding = self.hardening * self.stiffness, (1.0 - self.hardening) * self.stiffness
        limit, rate = self.yield_displacement, self.damping / (2.0 * dt)
        slipped = last = before = 0.0

        def force(position: float) -> float:
            nonlocal slipped, last, before
            if position - slipped > limit:
                slipped = position - limit
            elif position - slipped < -limit:
                slipped = position + limit
            # second order like the integration: a two-point velocity would spoil it
            damped = rate * (3.0 * position - 4.0 * last + before)
            before, last = last, position
            return held * position + yielding * (position - slipped) + damped

        return force


@dataclass(frozen=True)
class HybridTest:
    """Everything that decides a test; raises ValueError where the integration cannot be stable at this rate.

    Parameters
    ----------
    structure, specimen, actuator, excitation : the four parts of the loop.
    sample_rate : Hz, of integration, actuator and record.
    duration : s.
    seed : of the measurement noise.
    stroke : m, the command at which the rig would be stopped.
    """

    structure: Structure
    specimen: SpecimenModel
    actuator: Schedule | LinearTransfer
    excitation: Excitation
    sample_rate: float = 1024.0
    duration: float = 60.0
    seed: int = 1
    stroke: float = 0.25

    def __post_init__(self) -> None:
        check_positive("test", sample_rate=self.sample_rate, duration=self.duration, stroke=self.stroke)
        require(self.n_samples > 0, "test duration", self.duration, f"a sample or more at {self.sample_rate} Hz")
        stiffness = self.structure.stiffness + self.specimen.stiffness
        lowest = sqrt(stiffness / self.structure.mass) / 2.0
        require(self.sample_rate > lowest, "test sample_rate", self.sample_rate, f"over {lowest:.4g} Hz here")

    @property
    def n_samples(self) -> int:
        """Length of the record."""
        return round(self.duration * self.sample_rate)


@dataclass(frozen=True)
class HybridRecord:
    """What the rig recorded, and the truth about its actuator.

    Parameters
    ----------
    time, command, measured, force : (n,); s, m, m, N.
    frequency : Hz, where the truth is given: the harmonic excitation's; None for any other.
    true_ratio, true_phase, true_delay : (n,) command/measured amplitude, phase error [rad] (> 0 leads) and
        delay [s] (> 0 lags) at that frequency in the actuator's state of each time; NaN without a frequency.
    """

    time: Samples
    command: Samples
    measured: Samples
    force: Samples
    frequency: float | None
    true_ratio: Samples
    true_phase: Samples
    true_delay: Samples


def simulate(test: HybridTest) -> HybridRecord:
    """Run the test; raises HybridInstability when the command leaves the stroke."""
    dt = 1.0 / test.sample_rate
    time: Samples = np.arange(test.n_samples, dtype=np.float64) * dt
    load = test.excitation.sample(time)
    if test.excitation.loading is Loading.GROUND:
        load *= -test.structure.mass
    command, measured, force = np.array(_loop(test, load)).reshape(-1, 3).T.copy()
    if not isinstance(test.excitation, Harmonic):
        unknown = np.full(test.n_samples, np.nan)
        return HybridRecord(time, command, measured, force, None, unknown, unknown.copy(), unknown.copy())
    frequency = test.excitation.frequency
    truth = tracking_truth(test.actuator, time, frequency, dt)
    return HybridRecord(time, command, measured, force, frequency, *truth)


def _loop(test: HybridTest, load: Samples) -> array[float]:
    dt, stroke, structure = 1.0 / test.sample_rate, test.stroke, test.structure
    actuator = begin_single(test.actuator, dt, np.random.default_rng(test.seed))
    computed, restoring = structure.spring().restoring(dt), test.specimen.restoring(dt)
    kept = structure.mass / dt - structure.damping / 2.0
    gained = 1.0 / (structure.mass / dt + structure.damping / 2.0)
    record = array("d")
    command = 0.0
    # half a step before the start, so that the first sample is at rest to second order
    velocity = -0.5 * dt * float(load[0]) / structure.mass
    for n, push in enumerate(load.tolist()):
        measured = actuator.step(command)
        force = restoring(actuator.position)
        record.extend((command, measured, force))
        velocity = gained * (kept * velocity + push - computed(command) - force)
        command += dt * velocity
        if not -stroke < command < stroke:
            raise HybridInstability((n + 1) * dt, stroke)
    return record


def _require_spring(part: Structure | Specimen, owner: str) -> None:
    check_not_negative(owner, stiffness=part.stiffness, damping=part.damping)
    require(part.yield_displacement > 0.0, "yield displacement", part.yield_displacement, "positive")
    require(0.0 <= part.hardening <= 1.0, f"{owner} hardening", part.hardening, "from 0 to 1")


def demonstration_tests(duration: float, sample_rate: float = 1024.0, seed: int = 1) -> dict[str, HybridTest]:
    """Return the tests of the three actuators of one rig, which change in the course of `duration` [s].

    North is 12 ms late, from a third on 25 ms, from two thirds on over-compensated to a lead of 2 ms. South
    undershoots by 10 %, from half-time on overshoots by 5 % and lags by 8 ms, and its specimen yields. Roof
    has 1 % noise and slips from 5 to 30 ms in the middle third.
    """
    if not 0.0 < duration < inf:
        raise ValueError(f"demonstration duration {duration}: must be a positive time")
    third, ramp = duration / 3.0, min(0.5, duration / 6.0)
    late, later, early = (ActuatorState(delay=delay) for delay in (0.012, 0.025, -0.002))
    small, large = ActuatorState(gain=0.9), ActuatorState(gain=1.05, lag=0.008)
    first, final = (ActuatorState(delay=delay, noise=0.01 * 0.003) for delay in (0.005, 0.030))
    north = Schedule(((0.0, late), (third, later), (2.0 * third, early)), ramp)
    south = Schedule(((0.0, small), (duration / 2.0, large)), ramp)
    roof = Schedule(((0.0, first), (third, final)), ramp=third)

    def frame(
        natural: float,
        driven: float,
        displacement: float,
        share: float,
        schedule: Schedule,
        limit: float = inf,
    ) -> HybridTest:
        mass, damping_ratio, turn, r = 1000.0, 0.05, 2.0 * pi * natural, driven / natural
        stiffness = mass * turn**2
        acceleration = displacement * turn**2 * hypot(1.0 - r**2, 2.0 * damping_ratio * r)
        structure = Structure(mass, (1.0 - share) * stiffness, 2.0 * damping_ratio * mass * turn)
        specimen = Specimen(share * stiffness, yield_displacement=limit, hardening=0.2)
        excitation = Harmonic(amplitude=acceleration, frequency=driven, ramp=min(2.0, duration / 6.0))
        return HybridTest(structure, specimen, schedule, excitation, sample_rate, duration, seed)

    return {
        "north": frame(1.9, 1.3, 0.005, 0.10, north),
        "south": frame(2.6, 1.8, 0.004, 0.10, south, limit=0.003),
        "roof": frame(3.5, 2.5, 0.003, 0.08, roof),
    }

"""Hybrid tests with known truth: of one degree of freedom, and the demonstration's three actuators as one loop.

Part of a frame is computed, part is the specimen in the rig.

m x'' + c x' + k x + f_m = p(t) or -m a_g(t), stepped by explicit Newmark: x is the command that the actuator follows,
and the restoring force f_m of the specimen enters the equation at the same step. A late actuator feeds energy into
the loop. It is a `HybridLoop` of the laboratory, with the truth about its actuator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, pi, sqrt

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.excitation import Excitation, Harmonic, SeparateExcitations
from sim.laboratory.actuator import ActuatorState, LinearTransfer, Schedule, ScheduledActuators, tracking_truth
from sim.laboratory.elements import ElastoplasticSpring
from sim.laboratory.loop import HybridLoop
from sim.laboratory.parts import Element
from sim.laboratory.structure import Springs, Structure


@dataclass(frozen=True, slots=True)
class Frame:
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
        check_positive("frame", mass=self.mass)
        check_not_negative("frame", stiffness=self.stiffness, damping=self.damping)
        require(self.yield_displacement > 0.0, "yield displacement", self.yield_displacement, "positive")
        require(0.0 <= self.hardening <= 1.0, "frame hardening", self.hardening, "from 0 to 1")

    def structure(self) -> Structure:
        """Return it as a structure of the laboratory."""
        spring = ElastoplasticSpring(self.stiffness, self.yield_displacement, self.hardening)
        return Structure(self.mass, self.damping, 0.0, springs=(Springs(spring, ((0, None),)),))


@dataclass(frozen=True)
class HybridTest:
    """Everything that decides a test; raises ValueError where the integration cannot be stable at this rate.

    Parameters
    ----------
    frame, specimen, actuator, excitation : the four parts of the loop.
    sample_rate : Hz, of integration, actuator and record.
    duration : s.
    seed : of the measurement noise.
    stroke : m, the command at which the rig would be stopped.
    """

    frame: Frame
    specimen: Element
    actuator: Schedule | LinearTransfer
    excitation: Excitation
    sample_rate: float = 1024.0
    duration: float = 60.0
    seed: int = 1
    stroke: float = 0.25

    def __post_init__(self) -> None:
        check_positive("test", sample_rate=self.sample_rate, duration=self.duration, stroke=self.stroke)
        require(self.n_samples > 0, "test duration", self.duration, f"a sample or more at {self.sample_rate} Hz")
        stiffness = self.frame.stiffness + float(self.specimen.stiffness)
        lowest = sqrt(stiffness / self.frame.mass) / 2.0
        require(self.sample_rate > lowest, "test sample_rate", self.sample_rate, f"over {lowest:.4g} Hz here")

    @property
    def n_samples(self) -> int:
        """Length of the record."""
        return round(self.duration * self.sample_rate)

    def loop(self) -> HybridLoop:
        """Return it as a loop of the laboratory."""
        dt = 1.0 / self.sample_rate
        return HybridLoop(
            structure=self.frame.structure(),
            specimen=self.specimen,
            excitation=self.excitation,
            dt=dt,
            duration=self.n_samples * dt,
            transfer=self.actuator,
            stroke=self.stroke,
            seed=self.seed,
        )


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
    record = test.loop().run()
    command, measured, force = (column[:, 0].copy() for column in (record.command, record.measured, record.force))
    frequency = test.excitation.frequency if isinstance(test.excitation, Harmonic) else None
    if frequency is None:
        ratio, phase, delay = np.full((3, test.n_samples), np.nan)
    else:
        ratio, phase, delay = tracking_truth(test.actuator, record.time, frequency, 1.0 / test.sample_rate)
    return HybridRecord(record.time, command, measured, force, frequency, ratio, phase, delay)


ACTUATORS = "north", "south", "roof"
_MASS, _DAMPING_RATIO, _STROKE = 1000.0, 0.05, 0.25
# of each frame: natural and driven frequency in Hz, displacement in m, share of the specimen, where that yields in m
_NATURAL = np.array([1.9, 2.6, 3.5])
DRIVEN = np.array([1.3, 1.8, 2.5])
_DISPLACEMENT = np.array([0.005, 0.004, 0.003])
_SHARE = np.array([0.10, 0.10, 0.08])
_YIELD = np.array([inf, 0.003, inf])


@dataclass(frozen=True)
class Demonstration:
    """A test of three actuators, which change in the course of `duration` [s].

    North is 12 ms late, from a third on 25 ms, from two thirds on over-compensated to a lead of 2 ms. South
    undershoots by 10 %, from half-time on overshoots by 5 % and lags by 8 ms, and its specimen yields. Roof
    has 1 % noise and slips from 5 to 30 ms in the middle third.
    """

    duration: float
    sample_rate: float = 1024.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.duration < inf:
            raise ValueError(f"demonstration duration {self.duration}: must be a positive time")

    @property
    def n_samples(self) -> int:
        """Length of the record."""
        return round(self.duration * self.sample_rate)

    def time(self) -> Samples:
        """Return the (n_samples,) times, s."""
        return np.arange(self.n_samples, dtype=np.float64) / self.sample_rate

    def schedules(self) -> tuple[Schedule, ...]:
        """Return what happens to each actuator."""
        third, ramp = self.duration / 3.0, min(0.5, self.duration / 6.0)
        late, later, early = (ActuatorState(delay=delay) for delay in (0.012, 0.025, -0.002))
        small, large = ActuatorState(gain=0.9), ActuatorState(gain=1.05, lag=0.008)
        first, final = (ActuatorState(delay=delay, noise=0.01 * 0.003) for delay in (0.005, 0.030))
        return (
            Schedule(((0.0, late), (third, later), (2.0 * third, early)), ramp),
            Schedule(((0.0, small), (self.duration / 2.0, large)), ramp),
            Schedule(((0.0, first), (third, final)), ramp=third),
        )

    def loop(self) -> HybridLoop:
        """Return the loop: a degree of freedom and an actuator for each frame."""
        turn, r = 2.0 * pi * _NATURAL, DRIVEN / _NATURAL
        stiffness = _MASS * turn**2
        accelerations = _DISPLACEMENT * turn**2 * np.hypot(1.0 - r**2, 2.0 * _DAMPING_RATIO * r)
        ramp = min(2.0, self.duration / 6.0)
        shaking = (
            Harmonic(amplitude=amplitude, frequency=frequency, ramp=ramp)
            for amplitude, frequency in zip(accelerations.tolist(), DRIVEN.tolist(), strict=True)
        )
        dt = 1.0 / self.sample_rate
        return HybridLoop(
            structure=Structure(np.full(3, _MASS), 2.0 * _DAMPING_RATIO * _MASS * turn, (1.0 - _SHARE) * stiffness),
            specimen=ElastoplasticSpring(_SHARE * stiffness, _YIELD, hardening=0.2),
            excitation=SeparateExcitations(tuple(shaking)),
            dt=dt,
            duration=self.n_samples * dt,
            transfer=ScheduledActuators(self.schedules()),
            stroke=_STROKE,
            seed=self.seed,
        )

    def signals(self) -> Iterator[Samples]:
        """Give (rows, 3, 3): command, measured and force of each actuator, in pieces as they are computed."""
        for piece in self.loop().chunks():
            yield np.stack([piece.command, piece.measured, piece.force], axis=-1)

    def truth(self, time: Samples) -> Samples:
        """Return (n, 3, 3) at the times, (n,) in s: ratio, phase and delay of each actuator as it is driven."""
        dt = 1.0 / self.sample_rate
        pairs = zip(self.schedules(), DRIVEN.tolist(), strict=True)
        return np.stack([np.stack(tracking_truth(schedule, time, f, dt), axis=-1) for schedule, f in pairs], axis=1)

    def records(self) -> dict[str, HybridRecord]:
        """Return what was recorded of each actuator, by name."""
        time, signals = self.time(), np.concatenate(list(self.signals()))
        records = {}
        for name, frequency, own, truth in zip(
            ACTUATORS, DRIVEN.tolist(), signals.swapaxes(0, 1), self.truth(time).swapaxes(0, 1), strict=True
        ):
            (command, measured, force), (ratio, phase, delay) = own.T.copy(), truth.T.copy()
            records[name] = HybridRecord(time, command, measured, force, frequency, ratio, phase, delay)
        return records

"""A virtual laboratory test: a steel frame computed, a pair of elastomeric dampers in the rig, an earthquake.

It replaces two real-time tests at Lehigh whose records are not public. Known of those are the kind of
frame and specimen, the natural frequency of 5.5 rad/s, the earthquake's name, and how late the actuator was;
every other number here is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import pi

import numpy as np

from sim.actuator import ActuatorState, Schedule, tracking_truth
from sim.arrays import Samples
from sim.excitation import Earthquake
from sim.hybrid import HybridRecord, HybridTest, Structure, simulate
from sim.ranges import check_positive

NATURAL_FREQUENCY = 5.5 / (2.0 * pi)
SAMPLE_RATE = 1024.0
DURATION = 30.0
NOISE = 1e-5


@dataclass(frozen=True, slots=True)
class ElastomericDampers:
    """Elastomeric dampers: an elastic spring in parallel with a Maxwell element whose dashpot thins. Assumed, ours.

    f = k_e x + k_m z, z' = x' - (1 + (z/z_t)^2) z/tau: stiffer when moved faster, softer when moved farther.
    Raises ValueError for a value that is not positive.

    Parameters
    ----------
    elastic : k_e, N/m.
    viscous : k_m, N/m.
    relaxation : tau, s.
    thinning : z_t, m, the stretch of the Maxwell spring at which its dashpot is half as viscous.
    """

    elastic: float = 1.5e6
    viscous: float = 3.5e6
    relaxation: float = 0.15
    thinning: float = 0.008

    def __post_init__(self) -> None:
        check_positive("damper", **asdict(self))

    @property
    def stiffness(self) -> float:
        """The stiffness of a sudden motion, the largest there is, N/m."""
        return self.elastic + self.viscous

    def restoring(self, dt: float) -> Callable[[float], float]:
        """Return the function position [m] -> force [N], to be called every `dt` seconds, from rest."""
        elastic, viscous = self.elastic, self.viscous
        rate, bend = dt / self.relaxation, self.thinning**-2
        stretch = last = 0.0

        def force(position: float) -> float:
            nonlocal stretch, last
            carried = stretch + position - last
            slope = rate * stretch * (1.0 + bend * stretch * stretch)
            guess = carried - slope
            # Heun's rule: second order like the integration
            stretch = carried - 0.5 * (slope + rate * guess * (1.0 + bend * guess * guess))
            last = position
            return elastic * position + viscous * stretch

        return force


def two_samples_late() -> Schedule:
    """Return the actuator of case (iv): two samples late, with an overshoot of 0.07 mm at the peak after 14.35 s."""
    return Schedule(((0.0, ActuatorState(1.0042, delay=2.0 / SAMPLE_RATE, noise=NOISE)),))


def lead_lag_lead() -> Schedule:
    """Return the actuator of case (vii): a lead of 1.5 ms, a lag of 2 ms from 16.5 s to 21 s, the lead again."""
    early = ActuatorState(1.01, delay=-0.0015, noise=NOISE)
    late = ActuatorState(1.01, delay=0.002, noise=NOISE)
    # ramps of 0.7 s from here on pass through zero at 16.5 s and at 21 s
    return Schedule(((0.0, early), (16.2, late), (20.6, early)), ramp=0.7)


def ground_motion() -> Earthquake:
    """Return a motion like Canoga Park's, of a peak of 0.42 g, three tenths of which the rig can take."""
    motion = Earthquake(rms=1.0, ground_frequency=1.8, rise=3.0, strong=9.0, decay=7.0, seed=3)
    time: Samples = np.arange(round(DURATION * SAMPLE_RATE)) / SAMPLE_RATE
    return replace(motion, rms=0.3 * 0.42 * 9.81 / float(np.max(np.abs(motion.sample(time)))))


def virtual_test(actuator: Schedule, seed: int) -> HybridTest:
    """Return the test: 500 t on a frame that yields at 22 mm, 2 % damped, and the dampers; `seed` is the noise's."""
    mass, turn, dampers = 5e5, 2.0 * pi * NATURAL_FREQUENCY, ElastomericDampers()
    # with what the dampers store at this frequency and small motion, the whole has the natural frequency
    swing = (turn * dampers.relaxation) ** 2
    frame = mass * turn**2 - dampers.elastic - dampers.viscous * swing / (1.0 + swing)
    structure = Structure(mass, frame, 2.0 * 0.02 * mass * turn, yield_displacement=0.022, hardening=0.05)
    return HybridTest(structure, dampers, actuator, ground_motion(), SAMPLE_RATE, DURATION, seed)


def virtual_record(actuator: Schedule, seed: int) -> HybridRecord:
    """Run the test; the truth is the actuator's at the natural frequency."""
    record = simulate(virtual_test(actuator, seed))
    truth = tracking_truth(actuator, record.time, NATURAL_FREQUENCY, 1.0 / SAMPLE_RATE)
    return HybridRecord(record.time, record.command, record.measured, record.force, NATURAL_FREQUENCY, *truth)

"""A virtual laboratory test: a steel frame computed, a pair of elastomeric dampers in the rig, an earthquake.

It replaces two real-time tests at Lehigh whose records are not public. Known of those are the kind of
frame and specimen, the natural frequency of 5.5 rad/s, the earthquake's name, and how late the actuator was;
every other number here is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import pi

import numpy as np

from sim.arrays import Samples
from sim.cases.hybrid import Frame, HybridRecord, HybridTest, simulate
from sim.excitation import Earthquake
from sim.laboratory.actuator import ActuatorState, Schedule, tracking_truth
from sim.laboratory.specimens import ElastomericDamper

NATURAL_FREQUENCY = 5.5 / (2.0 * pi)
SAMPLE_RATE = 1024.0
DURATION = 30.0
NOISE = 1e-5


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
    mass, turn, dampers = 5e5, 2.0 * pi * NATURAL_FREQUENCY, ElastomericDamper()
    # with what the dampers store at this frequency and small motion, the whole has the natural frequency
    swing = (turn * dampers.relaxation) ** 2
    stiffness = float(mass * turn**2 - dampers.elastic - dampers.viscous * swing / (1.0 + swing))
    frame = Frame(mass, stiffness, 2.0 * 0.02 * mass * turn, yield_displacement=0.022, hardening=0.05)
    return HybridTest(frame, dampers, actuator, ground_motion(), SAMPLE_RATE, DURATION, seed)


def virtual_record(actuator: Schedule, seed: int) -> HybridRecord:
    """Run the test; the truth is the actuator's at the natural frequency."""
    motion = _quiet_motion(_quiet(actuator))
    truth = tracking_truth(actuator, motion.time, NATURAL_FREQUENCY, 1.0 / SAMPLE_RATE)
    time, command, force = (column.copy() for column in (motion.time, motion.command, motion.force))
    measured = motion.measured + _noise(actuator, motion.time, seed)
    return HybridRecord(time, command, measured, force, NATURAL_FREQUENCY, *truth)


def virtual_pieces(actuator: Schedule, seed: int) -> Iterator[Samples]:
    """Give command, measured and force of `virtual_record`, (rows, 3), in pieces as they are computed."""
    test = virtual_test(_quiet(actuator), seed=1)
    noise = _noise(actuator, np.arange(test.n_samples) / SAMPLE_RATE, seed)
    done = 0
    for piece in test.loop().chunks():
        rows = np.column_stack([piece.command[:, 0], piece.measured[:, 0], piece.force[:, 0]])
        rows[:, 1] += noise[done : done + len(rows)]
        done += len(rows)
        yield rows


def _quiet(actuator: Schedule) -> Schedule:
    return Schedule(tuple((time, replace(state, noise=0.0)) for time, state in actuator.changes), actuator.ramp)


def _noise(actuator: Schedule, time: Samples, seed: int) -> Samples:
    """Return (n,): of the measured displacement at the times, m."""
    rms = actuator.trajectory(time)[3]
    return np.asarray(rms * np.random.default_rng(seed).standard_normal(len(rms)))


# noise does not enter the loop: one run serves all seeds
@lru_cache(maxsize=2)
def _quiet_motion(actuator: Schedule) -> HybridRecord:
    return simulate(virtual_test(actuator, seed=1))

"""A single degree of freedom under a harmonic force, and an actuator that follows its motion outside the loop.

The numbers are Mirza Hessabi and Mercan's, cases (ii) and (iii): the same frame, linear or yielding, whose
motion is delayed by five whole steps and made larger or smaller, as their delay and gain blocks do.
"""

from __future__ import annotations

from math import inf, pi, sqrt

import numpy as np

from sim.arrays import Samples
from sim.cases.hybrid import Frame, HybridRecord, HybridTest, Specimen, simulate
from sim.excitation.excitations import Harmonic, Loading
from sim.laboratory.actuator import ActuatorState, Schedule, tracking_truth
from sim.laboratory.parts import Element
from sim.laboratory.transfer import TransferChain

SAMPLE_RATE = 1000.0
DURATION = 10.0
STIFFNESS = 11500e3
PERIOD = 1.15
MASS = STIFFNESS * (PERIOD / (2.0 * pi)) ** 2
DAMPING_RATIO = 0.02
YIELD_DISPLACEMENT = 0.010
HARDENING = 0.01

DRIVEN_FREQUENCY = sqrt(2.0) / PERIOD
NATURAL_FREQUENCY = sqrt(1.0 - DAMPING_RATIO**2) / PERIOD

DELAY = 0.005
OVERSHOOT, UNDERSHOOT = 1.10, 0.75
SWITCH = 5.0
# the paper prints no level: ours, rms over the largest displacement
NOISE = 0.005

_PERFECT = TransferChain()


def linear_record(force: float) -> HybridRecord:
    """Return case (ii): the linear frame under a sine of `force` [N], followed five steps late and 10 % too far."""
    test = oscillator(force)
    schedule = Schedule(((0.0, ActuatorState(OVERSHOOT, delay=DELAY)),))
    return follow(simulate(test), test.specimen, schedule)


def yielding_record(force: float, seed: int) -> HybridRecord:
    """Return case (iii): the frame yields, and at 5 s the overshoot becomes an undershoot of 25 %, under noise."""
    test = oscillator(force, YIELD_DISPLACEMENT)
    motion = simulate(test)
    noise = NOISE * float(np.max(np.abs(motion.command)))
    before, after = (ActuatorState(gain, delay=DELAY, noise=noise) for gain in (OVERSHOOT, UNDERSHOOT))
    return follow(motion, test.specimen, Schedule(((0.0, before), (SWITCH, after)), ramp=0.0), seed)


def oscillator(force: float, yield_displacement: float = inf, sample_rate: float = SAMPLE_RATE) -> HybridTest:
    """Return the frame in one piece, perfectly followed: its command is the exact motion but for the steps."""
    damping = 2.0 * DAMPING_RATIO * sqrt(STIFFNESS * MASS)
    spring = Specimen(STIFFNESS, 0.0, yield_displacement, HARDENING)
    push = Harmonic(amplitude=force, frequency=DRIVEN_FREQUENCY, loading=Loading.FORCE, ramp=0.0)
    return HybridTest(Frame(MASS, 0.0, damping), spring, _PERFECT, push, sample_rate, DURATION)


def follow(motion: HybridRecord, specimen: Element, schedule: Schedule, seed: int = 1) -> HybridRecord:
    """Return the motion as the command of an actuator outside its loop, with the truth of that actuator.

    The force is the specimen's where the actuator put it: the force at the command would turn the sign of
    the energy error, and nothing in a laboratory measures it. `seed` is the noise's.
    """
    dt = 1.0 / SAMPLE_RATE
    actuator, force_of = schedule.begin(dt, (1,), np.random.default_rng(seed)), specimen.begin(dt, (1,))
    measured, force = np.empty_like(motion.command), np.empty_like(motion.command)
    at_rest: Samples = np.zeros(1)
    last = at_rest
    for i, command in enumerate(motion.command[:, None]):
        measured[i] = actuator.step(command, at_rest)[0]
        force[i] = force_of.force(actuator.position, (actuator.position - last) / dt)[0]
        last = actuator.position
    ratio, phase, delay = tracking_truth(schedule, motion.time, DRIVEN_FREQUENCY, dt)
    return HybridRecord(motion.time, motion.command, measured, force, DRIVEN_FREQUENCY, ratio, phase, delay)


def linear_envelope(time: Samples, force: float) -> Samples:
    """Return (n,): the amplitude [m] of the linear frame's beat, forced and free motion together."""
    turn, natural, free = 2.0 * pi * DRIVEN_FREQUENCY, 2.0 * pi / PERIOD, 2.0 * pi * NATURAL_FREQUENCY
    fading = DAMPING_RATIO * natural
    forced = force / MASS / (natural**2 - turn**2 + 2j * fading * turn)
    # the imaginary part of both is the motion: at rest at first, in place and in velocity
    start = complex((-turn * forced.real - fading * forced.imag) / free, -forced.imag)
    beat = forced * np.exp(1j * turn * time) + start * np.exp((-fading + 1j * free) * time)
    return np.asarray(np.abs(beat))

"""The demonstration: three actuators of one rig, whose faults change in the course of the test."""

from __future__ import annotations

from math import hypot, inf, pi

from sim.actuator import ActuatorState, Schedule
from sim.excitation import Harmonic
from sim.hybrid import HybridTest, Specimen, Structure


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

"""A real-time hybrid test of one degree of freedom: part of the frame is computed, part is the specimen in the rig.

m x'' + c x' + k x + f_m = p(t) or -m a_g(t), stepped by explicit Newmark: x is the command that the actuator follows,
and the restoring force f_m of the specimen enters the equation at the same step. A late actuator feeds energy into
the loop. It is a `HybridLoop` of the laboratory, with the truth about its actuator.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.excitation import Excitation, Harmonic
from sim.laboratory.actuator import LinearTransfer, Schedule, tracking_truth
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

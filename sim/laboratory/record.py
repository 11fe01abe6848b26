"""What a hybrid test leaves: its record, the end of one that diverges, and the energy of its loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples


class HybridInstability(ArithmeticError):  # noqa: N818 - the field's word for it
    """The command of `actuator` left the stroke [m] of the rig at `time` [s]."""

    def __init__(self, time: float, stroke: float, actuator: int = 0) -> None:
        super().__init__(time, stroke, actuator)
        self.time, self.stroke, self.actuator = time, stroke, actuator

    def __str__(self) -> str:
        where = f"command {self.actuator} beyond the stroke of {self.stroke} m at {self.time:.3f} s"
        return f"{where}: the loop is unstable or the load too strong, reduce the delay or the load"


@dataclass(frozen=True, eq=False)
class LoopRecord:
    """What was recorded, a row for every target of the integrator; NaN after a test has left its stroke.

    Parameters
    ----------
    time : (n,) s.
    command, sent, measured, position : (n, ..., actuators) m: the command, the same after the compensator, the
        measured signal, and where the specimen is.
    force : (n, ..., actuators) N, of the specimen.
    displacement, velocity : (n, ..., dofs) of the structure, m and m/s.
    load, spring_force : (n, ..., dofs) N: what drives the structure, and what its nonlinear springs answer.
    """

    time: Samples
    command: Samples
    sent: Samples
    measured: Samples
    position: Samples
    force: Samples
    displacement: Samples
    velocity: Samples
    load: Samples
    spring_force: Samples

    @property
    def diverged_at(self) -> Samples:
        """(...): s at which each test left its stroke, NaN where it did not."""
        lost = np.isnan(self.command[..., 0])
        return np.where(lost.any(axis=0), self.time[np.argmax(lost, axis=0)], np.nan)

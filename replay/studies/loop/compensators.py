"""The compensators of the study, side by side in one loop: each acts on tests of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.compensation.base import Compensator
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.methods import METHODS, by_name
from monitor.messages.blocks import Samples

COMPENSATORS = tuple(METHODS)
Shape = tuple[int, ...]


@dataclass(frozen=True)
class SideBySide:
    """All compensators in one loop, the first axis of whose tests is one for each.

    Parameters
    ----------
    nominal : inverse of the nominal actuator.
    slowest : Hz, the lowest dominant frequency of the motion.
    """

    nominal: FixedInverse
    slowest: float

    def begin(self, dt: float, shape: Shape) -> RunningSideBySide:
        """Return all of them at rest."""
        settings = (by_name(name, self.nominal, self.slowest) for name in COMPENSATORS)
        return RunningSideBySide(tuple(each.begin(dt, shape[1:]) for each in settings))


class RunningSideBySide:
    """Running compensators, the first on the tests 0 of the first axis, and so on."""

    def __init__(self, compensators: tuple[Compensator, ...]) -> None:
        self.compensators = compensators

    def compensate(self, command: Samples) -> Samples:
        """Return what each compensator sends."""
        pairs = zip(self.compensators, command, strict=True)
        return np.stack([compensator.compensate(part) for compensator, part in pairs])

    def observe(self, command: Samples, measured: Samples) -> None:
        """Let each compensator learn from its tests; lost samples are NaN."""
        for compensator, of_command, of_measured in zip(self.compensators, command, measured, strict=True):
            compensator.observe(of_command, of_measured)

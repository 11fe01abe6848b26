"""What the parts of a virtual hybrid test are to each other.

Every part is a frozen description that is valid for any number of tests at once: `begin` returns its running twin,
which owns the state, an array. All values are arrays whose last axis is the part's own (degrees of freedom of a
structure, actuators of a transfer system) and whose leading axes are independent tests, for example draws of an
uncertain plant; the parameters of a part may be arrays that broadcast against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Protocol

import numpy as np

from sim.arrays import Samples

Shape = tuple[int, ...]


class RunningElement(Protocol):
    """A spring, damper or specimen in motion, from rest at zero."""

    def force(self, position: Samples, velocity: Samples) -> Samples:
        """Return the restoring force [N] at a position [m] and velocity [m/s], one step after the last call."""


class Element(Protocol):
    """Description of a spring, damper or specimen; elementwise over arrays of any shape."""

    @property
    def stiffness(self) -> float | Samples:
        """Largest tangent stiffness, N/m: it decides whether an integrator is stable."""

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return it at rest, to be called every `dt` seconds with arrays of `shape`."""


class RunningPart(Protocol):
    """A part in motion: a signal in, a signal out."""

    def step(self, signal: Samples, force: Samples) -> Samples:
        """Return the next output, given the input and the specimen's last force [N].

        A part may keep or return its input: neither the input nor the output is written to afterwards.
        """


class TransferPart(Protocol):
    """Description of a part, elementwise over arrays of any shape; its parameters may be arrays that broadcast.

    A linear one has also `response(frequency, dt)`: output/input at frequencies [Hz] in the steady state.
    """

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPart:
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`; its noise is from `rng`."""


class RunningTransfer(Protocol):
    """A transfer system in motion: what lies between the command and the specimen.

    Attributes
    ----------
    position : where the specimen is, m.
    """

    position: Samples

    def step(self, command: Samples, force: Samples) -> Samples:
        """Follow the next command [m], against the specimen's last force [N]; return the measured signal [m]."""


class TransferSystem(Protocol):
    """Description of a transfer system."""

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningTransfer:
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`; its noise is from `rng`."""


class RunningCompensator(Protocol):
    """A compensator in the loop; the same as those of the package monitor, which this package does not know."""

    def compensate(self, command: Samples) -> Samples:
        """Return what is sent to the actuators so that they follow the command, each (actuators,)."""

    def observe(self, command: Samples, measured: Samples) -> None:
        """Learn from the command and the measured signal of one instant, NaN where a sample is lost."""


class Compensation(Protocol):
    """Settings of a compensator; the same as those of the package monitor."""

    def begin(self, dt: float, shape: Shape) -> RunningCompensator:
        """Return it at rest, to be called every `dt` seconds of the laboratory with arrays of `shape`."""


class RunningIntegrator(Protocol):
    """An integrator of a structure that is partly in the laboratory, from rest.

    Attributes
    ----------
    displacement : (..., dofs) target of the next stage, m: known before its force is, as a test requires.
    velocity : (..., dofs) likewise, m/s.
    """

    displacement: Samples
    velocity: Samples

    def advance(self, load: Samples, force: Samples) -> None:
        """Take the load and the restoring force [N] at the target, (..., dofs), and set the next target."""


def passed_share(at: float | Samples, ramp: float, dt: float) -> Iterator[Samples]:
    """Yield how much of a change in mid-test has passed, step by step: 0 until `at` [s], 1 after `ramp` [s] more."""
    for step in count():
        since = step * dt - np.asarray(at)
        yield np.asarray(np.clip(since / ramp, 0.0, 1.0) if ramp else 1.0 * (since >= 0.0))

"""The three-storey building of the community's benchmark problem, and its partition into a hybrid test.

Silva et al. 2020: the first storey's specimen is in the laboratory, the rest of the building is computed, and the
test is to give what the whole building does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy.signal

from sim.arrays import Samples
from sim.laboratory.benchmark_plant import BenchmarkPlant
from sim.laboratory.elements import Dashpot, LinearSpring, ParallelElements
from sim.laboratory.parts import Shape
from sim.laboratory.structure import Structure, classical_damping
from sim.ranges import check_positive, positive

STIFFNESS = 1e7 * np.array([[2.6055, -2.3134, 0.5937], [-2.3134, 3.2561, -1.4420], [0.5937, -1.4420, 0.9267]])
# the actuator moves the first floor
COUPLING = np.array([[1.0, 0.0, 0.0]])
# at which the problem runs, Hz
SAMPLE_RATE = 4096.0
# of the ground motions, in the problem's released program
INTENSITY = 0.4


class Case(StrEnum):
    """The four cases of the problem: the lighter and the less damped, the more the delay destabilises them."""

    ONE = "case-1"
    TWO = "case-2"
    THREE = "case-3"
    FOUR = "case-4"

    @property
    def floor_mass(self) -> float:
        """Of each floor, kg."""
        return {Case.ONE: 1000.0, Case.TWO: 1100.0, Case.THREE: 1300.0, Case.FOUR: 1000.0}[self]

    @property
    def damping_ratio(self) -> float:
        """Of each mode."""
        return {Case.ONE: 0.05, Case.TWO: 0.04, Case.THREE: 0.03, Case.FOUR: 0.03}[self]


def reference_building(case: Case) -> Structure:
    """Return the whole building, floors from the first up."""
    mass = case.floor_mass * np.eye(3)
    return Structure(mass, classical_damping(mass, STIFFNESS, case.damping_ratio), STIFFNESS)


def numerical_building(case: Case, plant: BenchmarkPlant | None = None) -> Structure:
    """Return the building without the specimen of a plant: one for every draw of the plant's first axis."""
    plant = plant or BenchmarkPlant()
    first = np.outer(COUPLING, COUPLING)
    mass, damping, stiffness = reference_building(case).matrices
    return Structure(
        mass - _per_draw(plant.mass) * first,
        damping - _per_draw(plant.damping) * first,
        stiffness - _per_draw(plant.stiffness) * first,
    )


def specimen(plant: BenchmarkPlant | None = None) -> ParallelElements:
    """Return the specimen of a plant: its force is what the load cell of the actuator measures."""
    plant = plant or BenchmarkPlant()
    return ParallelElements((LinearSpring(plant.stiffness), Dashpot(plant.damping), MovingMass(plant.mass)))


def ground_forces(case: Case, acceleration: Samples) -> Samples:
    """Return (n, ..., 3): the load [N] of a ground acceleration (n, ...) [m/s^2] in a test.

    It is that of the whole building: the specimen is not on the ground that moves.
    """
    return reference_building(case).ground_load(acceleration)


def reference_response(case: Case, acceleration: Samples, dt: float) -> Samples:
    """Return (n, ..., 3): the displacement [m] of the floors of the whole building, from rest.

    Exact for a ground acceleration (n, ...) [m/s^2] that is straight between samples every `dt` seconds: for each
    mode z' = p z + a_g with its pole p, whose steps are known, and Im(z) is its displacement but for factors.
    """
    # the masses are equal, so that the modes of K are those of the building
    squares, modes = np.linalg.eigh(STIFFNESS / case.floor_mass)
    total = np.zeros((*acceleration.shape, 3))
    for turn, mode in zip(np.sqrt(squares), modes.T, strict=True):
        pole = turn * complex(-case.damping_ratio, np.sqrt(1.0 - case.damping_ratio**2))
        both = np.expm1(pole * positive(dt)) / pole
        now = (both - dt) / (pole * dt)
        # the initial state of the filter makes the first sample zero: at rest
        moved, _ = scipy.signal.lfilter(
            [now, both - now], [1.0, -np.exp(pole * dt)], acceleration, axis=0, zi=-now * acceleration[:1]
        )
        total -= moved.imag[..., np.newaxis] * (np.sum(mode) / pole.imag * mode)
    return total


@dataclass(frozen=True, eq=False)
class MovingMass:
    """A mass that moves with the actuator, kg; its inertia is one step late, as it needs the next position."""

    mass: float | Samples

    def __post_init__(self) -> None:
        check_positive("moving", mass=self.mass)

    @property
    def stiffness(self) -> float:
        """It has none."""
        return 0.0

    def begin(self, dt: float, shape: Shape) -> RunningMass:
        """Return it at rest, to be called every `dt` seconds with arrays of `shape`."""
        return RunningMass(self.mass / positive(dt) ** 2, shape)


class RunningMass:
    """A mass in motion."""

    def __init__(self, factor: float | Samples, shape: Shape) -> None:
        self._factor, self._last, self._before = factor, np.zeros(shape), np.zeros(shape)

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        """Return the force that accelerates it, N."""
        acceleration = position - 2.0 * self._last + self._before
        self._before, self._last = self._last, position.copy()
        return np.asarray(self._factor * acceleration)


def _per_draw(value: float | Samples) -> Samples:
    """Return a parameter of one actuator, (draws, 1) or a number, as factors of a matrix for each draw."""
    return np.asarray(value, dtype=np.float64)[..., np.newaxis]

"""The three-storey building of the community's benchmark problem, its partition into a hybrid test, and the criteria.

Silva et al. 2020: the first storey's specimen is in the laboratory, the rest of the building is computed, and the
test is to give what the whole building does. J1 to J9 say how well it tracks its commands and repeats the building.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import NamedTuple

import numpy as np
import scipy.signal

from sim.arrays import Samples, check_positive, positive
from sim.laboratory.elements import Dashpot, LinearSpring, ParallelElements
from sim.laboratory.parts import Shape
from sim.laboratory.plants import BenchmarkPlant
from sim.laboratory.structure import Structure, classical_damping

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


class Criteria(NamedTuple):
    """The criteria of Silva et al. 2020, each of the shape of the tests; NaN for a test that diverged.

    ``j1`` delay of the measured signal in ms, in whole samples. ``j2`` standard deviation of its error over that of
    the command, percent. ``j3`` largest error over the largest command, percent. ``j4`` to ``j6`` the same as ``j2``
    of the floors, from the first up, against the whole building; ``j7`` to ``j9`` the same as ``j3``.
    """

    j1: Samples
    j2: Samples
    j3: Samples
    j4: Samples
    j5: Samples
    j6: Samples
    j7: Samples
    j8: Samples
    j9: Samples


def criteria(
    command: Samples,
    measured: Samples,
    floors: Samples,
    reference: Samples,
    sample_rate: float,
    max_delay: float = 1.0,
) -> Criteria:
    """Return the criteria of any number of tests.

    Parameters
    ----------
    command, measured : (n, ...) of the actuator, m.
    floors, reference : (n, ..., 3) displacement of the floors in the test and of the whole building, m. The first
        floor of the test is replaced by `measured`, as the problem has it: it is in the laboratory.
    sample_rate : Hz.
    max_delay : s; largest delay or lead that is searched.

    Raises
    ------
    ValueError : the signals are not of one shape, or the rate or `max_delay` is not a positive number.
    """
    if command.shape != measured.shape or floors.shape != (*command.shape, 3):
        shapes = f"command {command.shape}, measured {measured.shape}, floors {floors.shape}"
        raise ValueError(f"{shapes}: must be (n, ...), the same and (n, ..., 3)")
    if not (0.0 < sample_rate < inf and 0.0 < max_delay < inf):
        raise ValueError(f"sample_rate = {sample_rate} Hz, max_delay = {max_delay} s: must be positive numbers")
    moved = np.concatenate([measured[..., np.newaxis], floors[..., 1:]], axis=-1)
    rms, peak = _errors(moved, np.broadcast_to(reference, floors.shape))
    j2, j3 = _errors(measured, command)
    lags = _delays(command, measured, min(int(max_delay * sample_rate), len(command)))
    finite = np.isfinite(j2) & np.all(np.isfinite(rms), axis=-1)
    per_floor = (values[..., floor] for values in (rms, peak) for floor in range(3))
    every = 1000.0 / sample_rate * lags, j2, j3, *per_floor
    return Criteria(*(np.where(finite, values, np.nan) for values in every))


def _errors(found: Samples, wanted: Samples) -> tuple[Samples, Samples]:
    """Return (...) of (n, ...): standard deviation and peak of the error over those of what is wanted, percent."""
    error = found - wanted
    with np.errstate(divide="ignore", invalid="ignore"):
        rms = np.std(error, axis=0) / np.std(wanted, axis=0)
        peak = np.max(np.abs(error), axis=0) / np.max(np.abs(wanted), axis=0)
    return 100.0 * rms, 100.0 * peak


def _delays(command: Samples, measured: Samples, max_lag: int) -> Samples:
    """Return (...): the lag of the largest correlation in samples, NaN where it is not a maximum within the range."""
    n = len(command)
    lags = np.arange(-max_lag - 1, max_lag + 2)
    n_transform = 1 << (2 * n - 1).bit_length()
    found = np.empty(command.shape[1:])
    # one test at a time: the spectra of all would take gigabytes
    for test in np.ndindex(found.shape):
        spectra = []
        for signal in (command[(slice(None), *test)], measured[(slice(None), *test)]):
            # scaled to one: tiny motions would underflow in a product of spectra
            size = np.ptp(signal)
            centred = (signal - np.mean(signal)) / size if size > 0.0 else np.zeros_like(signal)
            spectra.append(np.fft.rfft(centred, n_transform))
        correlation = np.fft.irfft(spectra[1] * spectra[0].conj(), n_transform)
        nearby = np.where(np.abs(lags) < n, correlation[lags % n_transform], 0.0)
        best = int(np.argmax(nearby))
        found[test] = lags[best] if 0 < best < len(lags) - 1 else np.nan
    return found

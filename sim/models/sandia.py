"""The structural dynamics challenge of Sandia National Laboratories: a chain of masses on a driven beam.

Its motion is integrated by Runge-Kutta of order four, many realizations at once. The inner loop runs over them, whose
numbers lie next to each other, and holds a whole step: what is in between stays in registers. It is one compiled
function, which contains its parts: see docs/decisions/0005.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import pi, sqrt
from typing import ClassVar

import numpy as np

from sim.arrays import Samples
from sim.ensembles import AddedDiscrepancy, Lognormal
from sim.kernels import fused_kernel, inlined

Chain = tuple[Lognormal, Lognormal, Lognormal]

SPRINGS: Chain = (Lognormal(5000.0, 100.0), Lognormal(9000.0, 180.0), Lognormal(8000.0, 160.0))
DAMPING_RATIOS: Chain = (Lognormal(0.025, 0.0005),) * 3
# three modes of the beam and three masses, and how fast each moves
N_STATES = 12
# realizations at a time; a constant, so that the compiler sees that no two rows overlap
LANES = 64


@dataclass(frozen=True)
class HingedBeam:
    """A slender uniform beam: a hinge at 0, a spring across the axis at its far, freely turning end.

    Any consistent units; the defaults are inches, pounds and seconds, and assumed (see `SandiaStructure`).

    Parameters
    ----------
    length, width, height : the beam bends over its height.
    modulus : Young's.
    density : mass per volume.
    end_spring : stiffness of the spring at the end.
    n_modes : how many modes, the lowest.
    """

    length: float = 30.0
    width: float = 2.0
    height: float = 2.5
    modulus: float = 3e7
    density: float = 7.33e-4
    end_spring: float = 1e5
    n_modes: int = 3

    @property
    def bending_stiffness(self) -> float:
        """Young's modulus times the second moment of area."""
        return self.modulus * self.width * self.height**3 / 12.0

    @property
    def mass_per_length(self) -> float:
        """Density times the section's area."""
        return self.density * self.width * self.height

    @cached_property
    def wavenumbers(self) -> Samples:
        """(n_modes,), times the length: the roots z of coth z - cot z = 2 k L^3 / (EI z^3)."""
        right = 2.0 * self.end_spring * self.length**3 / self.bending_stiffness
        # left less right grows from -inf to +inf between any two multiples of pi: halving cannot miss
        low = pi * np.arange(self.n_modes)
        high = low + pi
        for _ in range(60):
            middle = 0.5 * (low + high)
            beyond = _coth(middle) - 1.0 / np.tan(middle) > right / middle**3
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.asarray(0.5 * (low + high))

    @property
    def natural_frequencies(self) -> Samples:
        """(n_modes,) in rad/s."""
        return (self.wavenumbers / self.length) ** 2 * sqrt(self.bending_stiffness / self.mass_per_length)

    def shapes(self, position: float) -> Samples:
        """Return (n_modes,): the modes at a position, each of modal mass one."""
        z, x = self.wavenumbers, position / self.length
        # sinh(z x) / sinh(z) without its overflow
        growing = np.exp(-z * (1.0 - x)) * np.expm1(-2.0 * z * x) / np.expm1(-2.0 * z)
        shape = np.sin(z * x) + np.sin(z) * growing
        # the integral of the shape squared along a beam of length one
        square = 0.5 + 0.5 * np.sin(z) ** 2 * (3.0 * (_coth(z) - 1.0 / np.tan(z)) / z + 1.0 - _coth(z) ** 2)
        return np.asarray(shape / np.sqrt(square * self.mass_per_length * self.length))


def _coth(z: Samples) -> Samples:
    return np.asarray(1.0 / np.tanh(z))


@dataclass(frozen=True)
class SandiaStructure(AddedDiscrepancy):
    """A beam under a sine, three masses in a chain on it, and a hardening spring between (Ao, Hu, Mahadevan, 4.2).

    Inches, pounds and seconds: masses in lb s^2/in. Springs, damping ratios, load, noise and bias are the
    paper's (Table 2 and eq. 34), and so is the step, by its "tenth step (0.0005 s)". The paper gives no more.
    Assumed: the unit system, the masses, the beam and its supports, damping and number of modes, where load and
    chain sit, the law of the connection, and the horizon.

    The connection pulls with k_1 (d + hardening d^3) + c_1 d', where d is the displacement of mass 1 relative to the
    beam. The dampers are c_i = 2 zeta_i sqrt(k_i m_i).

    Parameters
    ----------
    springs : lb/in, k_1 to k_3, from the beam outwards.
    damping_ratios : zeta_1 to zeta_3.
    masses : m_1 to m_3.
    hardening : 1/in^2; zero makes the structure linear.
    beam : its three lowest modes are used.
    modal_damping_ratio : of the beam's modes.
    load, load_frequency : lb and rad/s, of the sine on the beam.
    load_position, attachment : in, from the hinge, of the load and of the chain.
    noise : in/s^2, standard deviation of a synthetic measurement.
    bias, bias_frequency : in/s^2 and rad/s, of the sine that the bad model misses.
    onset : the step at which the bias begins.
    horizon, dt : s.
    substeps : of the integration, in a step. With one the response is within 2e-7 of its peak; the error
        falls by 16 for twice as many. A motion that begins in the third mode needs eight.
    """

    springs: Chain = SPRINGS
    damping_ratios: Chain = DAMPING_RATIOS
    masses: tuple[float, float, float] = (0.03, 0.03, 0.03)
    hardening: float = 40.0
    beam: HingedBeam = field(default_factory=HingedBeam)
    modal_damping_ratio: float = 0.02
    load: float = 3000.0
    load_frequency: float = 350.0
    load_position: float = 9.0
    attachment: float = 18.0
    noise: float = 1.0
    bias: float = 500.0
    bias_frequency: float = 100.0
    onset: int = 10
    horizon: float = 0.1
    dt: float = 5e-5
    substeps: int = 1

    name: ClassVar[str] = "sandia"
    quantity: ClassVar[str] = "acceleration of the third mass"
    unit: ClassVar[str] = "in/s^2"

    @property
    def discrepancy(self) -> Samples:
        """(n_times,) in in/s^2: the bias of eq. 34, nothing before the onset."""
        started = np.arange(len(self.time)) >= self.onset
        return np.where(started, self.bias * np.sin(self.bias_frequency * self.time), 0.0)

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) accelerations of the third mass in in/s^2, from rest."""
        springs, ratios = (
            np.array([variable.sample(generator, number) for variable in chain])
            for chain in (self.springs, self.damping_ratios)
        )
        return self.integrate(springs, ratios)[0]

    def integrate(
        self, springs: Samples, damping_ratios: Samples, initial: Samples | None = None
    ) -> tuple[Samples, Samples]:
        """Return the acceleration of the third mass, (n_times, n), and the state at the horizon, (12, n).

        Parameters
        ----------
        springs, damping_ratios : (3, n).
        initial : (12, n), at rest if not given: three modal coordinates (of modal mass one), three displacements
            of the masses, and their rates in the same order.
        """
        n = springs.shape[-1]
        state = np.zeros((N_STATES, n)) if initial is None else np.array(initial, dtype=np.float64, order="C")
        # copies: a read-only array would have the kernel compiled again, and so would an integer
        springs, masses = np.array(springs, dtype=np.float64, order="C"), np.array(self.masses, dtype=np.float64)
        dampers = 2.0 * damping_ratios * np.sqrt(springs * masses[:, None])
        beam = self._modal_forces(), self._modes()
        hardening, dt, substeps = float(self.hardening), float(self.dt), int(self.substeps)
        acceleration = np.empty((len(self.time), n))
        advance(springs, dampers, state, *beam, masses, hardening, dt, substeps, acceleration)
        return acceleration, state

    def _modal_forces(self) -> Samples:
        """Return the modal forces of the load at every half substep, (2 substeps (n_times - 1) + 1, 3)."""
        time = 0.5 * self.dt / self.substeps * np.arange(2 * self.substeps * (len(self.time) - 1) + 1)
        return np.outer(self.load * np.sin(self.load_frequency * time), self.beam.shapes(self.load_position))

    def _modes(self) -> Samples:
        """Return shape at the attachment, natural frequency squared and 2 zeta omega of the modes, (3, 3)."""
        natural = self.beam.natural_frequencies
        return np.array([self.beam.shapes(self.attachment), natural**2, 2.0 * self.modal_damping_ratio * natural])


Six = tuple[float, float, float, float, float, float]
Three = tuple[float, float, float]
# hardening; of the modes: shape at the connection, natural frequency squared, 2 zeta omega; one over the masses
Structure = tuple[float, Three, Three, Three, Three]


@inlined
def _moved(at: Six, rate: Six, dt: float) -> Six:
    return (
        at[0] + dt * rate[0],
        at[1] + dt * rate[1],
        at[2] + dt * rate[2],
        at[3] + dt * rate[3],
        at[4] + dt * rate[4],
        at[5] + dt * rate[5],
    )


@inlined
def _weighted(first: Six, second: Six, third: Six, fourth: Six) -> Six:
    return (
        (first[0] + 2.0 * (second[0] + third[0]) + fourth[0]) / 6.0,
        (first[1] + 2.0 * (second[1] + third[1]) + fourth[1]) / 6.0,
        (first[2] + 2.0 * (second[2] + third[2]) + fourth[2]) / 6.0,
        (first[3] + 2.0 * (second[3] + third[3]) + fourth[3]) / 6.0,
        (first[4] + 2.0 * (second[4] + third[4]) + fourth[4]) / 6.0,
        (first[5] + 2.0 * (second[5] + third[5]) + fourth[5]) / 6.0,
    )


@inlined
def _accelerations(push: Three, y: Six, v: Six, k: Three, c: Three, structure: Structure) -> Six:
    hardening, shape, squared, damping, inverse_mass = structure
    stretch = y[3] - (shape[0] * y[0] + shape[1] * y[1] + shape[2] * y[2])
    rate = v[3] - (shape[0] * v[0] + shape[1] * v[1] + shape[2] * v[2])
    first = k[0] * stretch * (1.0 + hardening * stretch * stretch) + c[0] * rate
    second = k[1] * (y[4] - y[3]) + c[1] * (v[4] - v[3])
    third = k[2] * (y[5] - y[4]) + c[2] * (v[5] - v[4])
    return (
        push[0] + shape[0] * first - squared[0] * y[0] - damping[0] * v[0],
        push[1] + shape[1] * first - squared[1] * y[1] - damping[1] * v[1],
        push[2] + shape[2] * first - squared[2] * y[2] - damping[2] * v[2],
        (second - first) * inverse_mass[0],
        (third - second) * inverse_mass[1],
        -third * inverse_mass[2],
    )


@fused_kernel
def advance(
    springs: Samples,
    dampers: Samples,
    state: Samples,
    push: Samples,
    modes: Samples,
    masses: Samples,
    hardening: float,
    dt: float,
    substeps: int,
    out: Samples,
) -> None:
    """Move the state to the last instant, and fill `out` with the acceleration of the last mass at each.

    Parameters
    ----------
    springs, dampers : (3, n), from the beam outwards.
    state : (12, n), changed in place: modal coordinates, displacements of the masses, and the rates of both.
    push : (2 substeps (n_times - 1) + 1, 3), the modal forces of the load at every half substep.
    modes : (3, 3): shape at the connection, natural frequency squared and 2 zeta omega of the modes.
    masses : (3,).
    hardening : the first spring's, of its stretch squared.
    dt, substeps : s between instants, and steps in between.
    out : (n_times, n).
    """
    n_times, n = out.shape
    h = dt / substeps
    half = 0.5 * h
    structure = (
        hardening,
        (modes[0, 0], modes[0, 1], modes[0, 2]),
        (modes[1, 0], modes[1, 1], modes[1, 2]),
        (modes[2, 0], modes[2, 1], modes[2, 2]),
        (1.0 / masses[0], 1.0 / masses[1], 1.0 / masses[2]),
    )
    # rows: the state, the springs, the dampers
    work = np.zeros((18, LANES))
    for first in range(0, n, LANES):
        lanes = min(LANES, n - first)
        # element by element: assigning slices takes twice as long to compile as all the rest
        for i in range(lanes):
            for row in range(N_STATES):
                work[row, i] = state[row, first + i]
            for row in range(3):
                work[12 + row, i] = springs[row, first + i]
                work[15 + row, i] = dampers[row, first + i]
        for now in range(n_times):
            for i in range(lanes):
                pull = work[14, i] * (work[5, i] - work[4, i]) + work[17, i] * (work[11, i] - work[10, i])
                out[now, first + i] = -pull / masses[2]
            if now == n_times - 1:
                break
            for substep in range(now * substeps, (now + 1) * substeps):
                at = 2 * substep
                p1 = (push[at, 0], push[at, 1], push[at, 2])
                p2 = (push[at + 1, 0], push[at + 1, 1], push[at + 1, 2])
                p4 = (push[at + 2, 0], push[at + 2, 1], push[at + 2, 2])
                for i in range(LANES):
                    k, c = (work[12, i], work[13, i], work[14, i]), (work[15, i], work[16, i], work[17, i])
                    y1 = (work[0, i], work[1, i], work[2, i], work[3, i], work[4, i], work[5, i])
                    v1 = (work[6, i], work[7, i], work[8, i], work[9, i], work[10, i], work[11, i])
                    a1 = _accelerations(p1, y1, v1, k, c, structure)
                    y2, v2 = _moved(y1, v1, half), _moved(v1, a1, half)
                    a2 = _accelerations(p2, y2, v2, k, c, structure)
                    y3, v3 = _moved(y1, v2, half), _moved(v1, a2, half)
                    a3 = _accelerations(p2, y3, v3, k, c, structure)
                    y4, v4 = _moved(y1, v3, h), _moved(v1, a3, h)
                    a4 = _accelerations(p4, y4, v4, k, c, structure)
                    y = _moved(y1, _weighted(v1, v2, v3, v4), h)
                    v = _moved(v1, _weighted(a1, a2, a3, a4), h)
                    work[0, i], work[1, i], work[2, i] = y[0], y[1], y[2]
                    work[3, i], work[4, i], work[5, i] = y[3], y[4], y[5]
                    work[6, i], work[7, i], work[8, i] = v[0], v[1], v[2]
                    work[9, i], work[10, i], work[11, i] = v[3], v[4], v[5]
        for row in range(N_STATES):
            for i in range(lanes):
                state[row, first + i] = work[row, i]

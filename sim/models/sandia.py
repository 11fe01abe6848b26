"""The structural dynamics challenge of Sandia National Laboratories: a chain of masses on a driven beam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sim.arrays import Samples
from sim.distributions.lognormal import Lognormal
from sim.equal_steps import EqualSteps
from sim.models.hinged_beam import HingedBeam
from sim.ranges import check_not_negative, check_positive

Chain = tuple[Lognormal, Lognormal, Lognormal]

SPRINGS: Chain = (Lognormal(5000.0, 100.0), Lognormal(9000.0, 180.0), Lognormal(8000.0, 160.0))
DAMPING_RATIOS: Chain = (Lognormal(0.025, 0.0005),) * 3


@dataclass(frozen=True)
class SandiaStructure(EqualSteps):
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

    Raises
    ------
    ValueError : a number is out of its range.
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

    def __post_init__(self) -> None:
        if not len(self.masses) == len(self.springs) == len(self.damping_ratios) == 3:
            raise ValueError("structure masses, springs and damping_ratios: must be three each")
        masses = {f"mass {i}": mass for i, mass in enumerate(self.masses, 1)}
        check_positive("structure", **masses, horizon=self.horizon, dt=self.dt, substeps=self.substeps)
        not_negative = ("hardening", "modal_damping_ratio", "noise", "onset")
        check_not_negative("structure", **{name: getattr(self, name) for name in not_negative})
        for name in ("load_position", "attachment"):
            if not 0.0 <= getattr(self, name) <= self.beam.length:
                raise ValueError(f"structure {name} {getattr(self, name)}: must be on the beam of {self.beam.length}")
        if self.beam.n_modes != 3:
            raise ValueError(f"structure beam.n_modes {self.beam.n_modes}: must be 3, as many as are integrated")

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

        Raises
        ------
        ValueError : an array has another shape.
        """
        from sim.models.sandia_kernel import N_STATES, advance  # numba is slow to import

        n = springs.shape[-1]
        at_rest = np.zeros((N_STATES, n))
        state = at_rest if initial is None else np.array(initial, dtype=np.float64, order="C")
        for name, array, rows in (
            ("springs", springs, 3),
            ("damping_ratios", damping_ratios, 3),
            ("initial", state, N_STATES),
        ):
            if array.shape != (rows, n):
                raise ValueError(f"structure {name}: must be of shape {(rows, n)}, not {array.shape}")
        # copies: a read-only array would have the kernel compiled anew, and so would a whole number
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

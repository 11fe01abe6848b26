"""The nonlinear chains of Hemez and Doebling (2001): Duffing's oscillator, four masses, and eight masses on a rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.models.chain import Chain, Contact
from sim.models.chain_experiment import ChainExperiment

EIGHT_MASSES = (0.5593, *(0.4194,) * 7)


@dataclass(frozen=True)
class DuffingOscillator(ChainExperiment):
    """m x'' + c x' + k x + cubic x^3 = amplitude cos(frequency t) (section 3.1.1).

    The paper gives cubic = 0.05, 30 s, 11 or 151 samples and noise of 5 %; the rest is ours: m = 1, c = 0.1, k = 1,
    a force of cos t, x = 1 and v = 0 at first, and the damage, of its linear spring. The samples are the 151.

    Parameters
    ----------
    mass, damping, stiffness, cubic : kg, N s/m, N/m and N/m^3.
    amplitude, frequency : N and rad/s.
    displacement, velocity : at first, m and m/s.
    variation, damage, noise, horizon, dt : see `ChainExperiment`.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    mass: float = 1.0
    damping: float = 0.1
    stiffness: float = 1.0
    cubic: float = 0.05
    amplitude: float = 1.0
    frequency: float = 1.0
    displacement: float = 1.0
    velocity: float = 0.0
    variation: float = 0.02
    damage: float = 0.15
    noise: float = 0.05
    horizon: float = 30.0
    dt: float = 0.2

    name: ClassVar[str] = "duffing"
    response: ClassVar[tuple[str, int]] = ("displacement", 1)
    noise_span: ClassVar[float] = 30.0
    damaged_spring: ClassVar[int] = 1
    driven: ClassVar[int] = 1
    refined: ClassVar[int] = 8

    def __post_init__(self) -> None:
        self._check()
        check_positive(self.name, mass=self.mass, frequency=self.frequency)

    @property
    def chain(self) -> Chain:
        """One mass on the ground."""
        return Chain(self.mass, self.stiffness, self.damping, cubic=self.cubic)

    @property
    def initial(self) -> tuple[float, float]:
        """Displacement and velocity at first."""
        return self.displacement, self.velocity

    def force(self) -> Samples:
        """Return the cosine in N, so that the lines between its points have it as their harmonic.

        Lines between the points of cos(w t), h apart, have the harmonic sinc(w h / 2)^2 cos(w t): it is divided out.
        The next are at 2 pi / h, and move the mass by (w h / 2 pi)^4 at the most.
        """
        step = self.dt / self.refined
        time = step * np.arange((len(self.time) - 1) * self.refined + 1)
        lines = np.sinc(self.frequency * step / (2.0 * np.pi)) ** 2
        return np.asarray(self.amplitude * np.cos(self.frequency * time) / lines)


@dataclass(frozen=True)
class FourMasses(ChainExperiment):
    """Four masses on the ground with a cubic spring, under a random force (section 3.1.2).

    The paper gives the number of masses, a random force, accelerations at sensors 1, 3 and 4, and 15 % less
    stiffness of the third spring. Equation 2 is lost in print: the cubic spring between the ground and mass 1 is
    ours, and so are all other numbers. It has no damping, as in the paper.

    Parameters
    ----------
    mass, stiffness : of all four, kg and N/m.
    damping : of all four dampers, N s/m.
    cubic : between the ground and mass 1, N/m^3.
    rms, seed : of the force on mass 4, white from sample to sample, N.
    variation, damage, noise, horizon, dt : see `ChainExperiment`.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    mass: float = 1.0
    stiffness: float = 100.0
    damping: float = 0.0
    cubic: float = 200.0
    rms: float = 20.0
    seed: int = 1
    variation: float = 0.01
    damage: float = 0.15
    noise: float = 0.01
    horizon: float = 10.0
    dt: float = 0.02

    name: ClassVar[str] = "four-dof"
    response: ClassVar[tuple[str, int]] = ("acceleration", 3)
    noise_span: ClassVar[float] = 10.0
    damaged_spring: ClassVar[int] = 3
    driven: ClassVar[int] = 4

    def __post_init__(self) -> None:
        self._check()
        check_positive(self.name, mass=self.mass)
        check_not_negative(self.name, rms=self.rms, seed=self.seed)

    @property
    def chain(self) -> Chain:
        """Four equal masses and springs."""
        cubic = np.array([self.cubic, 0.0, 0.0, 0.0])
        return Chain(np.full(4, self.mass), np.full(4, self.stiffness), self.damping, cubic=cubic)

    def force(self) -> Samples:
        """Return the random force in N; a longer horizon goes on from a shorter one."""
        return self.rms * np.random.default_rng(self.seed).standard_normal(len(self.time))


@dataclass(frozen=True)
class EightMasses(ChainExperiment):
    """The chain of eight masses of Los Alamos on a rod, with friction and a contact between masses 5 and 6 (3.2).

    Masses, springs, the drive at mass 1, 8192 samples in 8 s and 14 % less stiffness of spring 5, between masses 5
    and 6, are the paper's or its laboratory's. Sizes of friction, contact, dampers and force are ours, and so is
    their law: Coulomb friction on the rod, and a bumper that masses 5 and 6 meet as they come closer by the gap.

    Parameters
    ----------
    masses : (8,) kg.
    stiffness, damping : of all seven springs and dampers, N/m and N s/m.
    friction : of each mass on the rod, N; 0 for none.
    gap, contact_stiffness, contact_damping : m, N/m and N s/m; no stiffness for no contact.
    rms, seed : of the force on mass 1, white from sample to sample, N.
    variation, damage, noise, horizon, dt : see `ChainExperiment`.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    masses: tuple[float, ...] = EIGHT_MASSES
    stiffness: float = 56.7e3
    damping: float = 3.0
    friction: float = 0.5
    gap: float = 1e-4
    contact_stiffness: float = 2e5
    contact_damping: float = 50.0
    rms: float = 20.0
    seed: int = 1
    variation: float = 0.01
    damage: float = 0.14
    noise: float = 0.01
    horizon: float = 8191.0 / 1024.0
    dt: float = 1.0 / 1024.0

    name: ClassVar[str] = "eight-dof"
    response: ClassVar[tuple[str, int]] = ("acceleration", 8)
    noise_span: ClassVar[float] = 8191.0 / 1024.0
    block: ClassVar[int] = 32
    damaged_spring: ClassVar[int] = 5
    driven: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self._check()
        require(len(self.masses) == 8, "eight-dof masses", len(self.masses), "eight")
        check_not_negative(self.name, rms=self.rms, seed=self.seed)

    @property
    def chain(self) -> Chain:
        """Eight masses, free at both ends."""
        contact = Contact(4, 5, self.gap, self.contact_stiffness, self.contact_damping)
        return Chain(
            np.array(self.masses),
            np.full(7, self.stiffness),
            self.damping,
            grounded=False,
            friction=self.friction,
            contact=contact if self.contact_stiffness else None,
        )

    def force(self) -> Samples:
        """Return the random force in N; a longer horizon goes on from a shorter one."""
        return self.rms * np.random.default_rng(self.seed).standard_normal(len(self.time))

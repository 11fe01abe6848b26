"""The nonlinear chains of Hemez and Doebling (2001): Duffing's oscillator, four masses, and eight masses on a rod.

Each is an experiment: a model with random springs, and measurements of an undamaged and of a damaged specimen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sim.arrays import Samples
from sim.ensembles import EqualSteps, Lognormal
from sim.models.chain import Chain, ChainMotion, ChainStepper, Contact, chain_response

# of an ensemble; a motion is within about 100 times as much
_TOLERANCE = 1e-6
# of one motion
_FINE_TOLERANCE = 1e-9
_PIECE = 256  # samples computed at a time
_UNITS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}
EIGHT_MASSES = (0.5593, *(0.4194,) * 7)


class ChainExperiment(EqualSteps, ABC):
    """A chain under a known load, whose springs vary from specimen to specimen; a damaged one has a softer spring.

    Subclasses are frozen dataclasses with these and their own fields.

    Attributes
    ----------
    variation : coefficient of variation of the springs, lognormal, from specimen to specimen.
    damage : share of its stiffness that the damaged spring has lost.
    noise : standard deviation of a measured displacement, velocity or acceleration over its rms in the first
        `noise_span`.
    horizon, dt : s.
    response : what the model predicts: a quantity, and the number of a mass from 1.
    damaged_spring : number from 1.
    driven : number of the mass that the load acts on, from 1.
    refined : steps of the load between two samples.
    noise_span : s.
    """

    variation: float
    damage: float
    rms: float
    seed: int

    response: ClassVar[tuple[str, int]]
    damaged_spring: ClassVar[int]
    driven: ClassVar[int]
    refined: ClassVar[int] = 1
    noise_span: ClassVar[float]
    block: ClassVar[int] = 256

    @property
    @abstractmethod
    def chain(self) -> Chain:
        """The nominal chain."""

    def force(self) -> Samples:
        """Return the load on the driven mass, N, each refined step: random; a longer one goes on from a shorter."""
        return self.rms * np.random.default_rng(self.seed).standard_normal(len(self.time))

    @property
    def initial(self) -> tuple[float, float]:
        """Displacement and velocity of all masses at first, m and m/s."""
        return 0.0, 0.0

    @property
    def damaged(self) -> Chain:
        """The chain with its damaged spring."""
        springs = np.array(self.chain.springs)
        springs[..., self.damaged_spring - 1] *= 1.0 - self.damage
        return replace(self.chain, springs=springs)

    @property
    def quantity(self) -> str:
        """What the model predicts."""
        quantity, mass = self.response
        return f"{quantity} of mass {mass}"

    @property
    def unit(self) -> str:
        """Of the response."""
        return _UNITS[self.response[0]]

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """The response, the force and the other motions: ``force``, ``displacement_1``, ``velocity_1`` and so on."""
        motions = [
            (f"{quantity}_{mass}", unit)
            for quantity, unit in _UNITS.items()
            for mass in range(1, self.chain.dofs + 1)
        ]
        first = f"{self.response[0]}_{self.response[1]}"
        return ((first, self.unit), ("force", "N"), *(each for each in motions if each[0] != first))

    def motion(self, chain: Chain | None = None, tolerance: float = _FINE_TOLERANCE) -> ChainMotion:
        """Return the motion of the nominal or another chain at the instants, without noise.

        Raises
        ------
        ValueError : the motion grows without bound.
        """
        chain = self.chain if chain is None else chain
        found = chain_response(chain, self._load(), self.dt / self.refined, *self.initial, tolerance=tolerance)
        motion = ChainMotion(*(each[..., :: self.refined, :] for each in found))
        self._check_bounded(motion)
        return motion

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) responses, each with springs of its own."""
        factors = self._factors(generator, number)
        quantity, mass = self.response
        responses = np.empty((len(self.time), number))
        # a block at a time: its whole motion is in memory
        for first in range(0, number, self.block):
            some = slice(first, first + self.block)
            chain = replace(self.chain, springs=np.asarray(self.chain.springs) * factors[some])
            responses[:, some] = getattr(self.motion(chain, _TOLERANCE), quantity)[..., mass - 1].T
        return responses

    def measure(self, generator: np.random.Generator, bad: bool) -> Samples:
        """Return (n_times, channels) of a specimen with springs of its own, damaged where bad; the force is exact."""
        return np.concatenate(list(self.pieces(generator, bad)))

    def pieces(self, generator: np.random.Generator, bad: bool) -> Iterator[Samples]:
        """Give the measurement of `measure` as it is computed: the noise's span, then a short piece at a time."""
        nominal = self.damaged if bad else self.chain
        specimen = replace(nominal, springs=np.asarray(nominal.springs) * self._factors(generator, 1)[0])
        force, levels = self.force()[:: self.refined], None
        done = 0
        for motion in self._motions(specimen):
            if levels is None:
                levels = [self.noise * np.sqrt(np.mean(values**2, axis=0)) for values in motion]
            columns = {"force": force[done : done + len(motion.displacement)]}
            for quantity, level, values in zip(_UNITS, levels, motion, strict=True):
                noisy = values + level * generator.standard_normal(values.shape)
                columns |= {f"{quantity}_{mass}": column for mass, column in enumerate(noisy.T, 1)}
            done += len(columns["force"])
            yield np.column_stack([columns[name] for name, _ in self.channels])

    def _motions(self, chain: Chain) -> Iterator[ChainMotion]:
        """Give the motion of a specimen: of the noise's span, and of a piece at a time."""
        load, n_times = self._load(), len(self.time)
        initial = np.repeat(np.array(self.initial)[:, None], chain.dofs, axis=1)
        stepper = ChainStepper(chain, self.dt / self.refined, initial, 0, _FINE_TOLERANCE)
        first = 0
        while first < n_times:
            # the sample after the last, where the next piece begins, is computed twice
            end = min(n_times, first + _PIECE if first else round(self.noise_span / self.dt) + 1)
            rows = load[first * self.refined : min(end, n_times - 1) * self.refined + 1]
            found = stepper.advance(rows)
            motion = ChainMotion(*(each[:: self.refined][: end - first] for each in found))
            self._check_bounded(motion, first)
            yield motion
            first = end

    def _load(self) -> Samples:
        """Return (refined steps, masses), N."""
        force = self.force()
        load = np.zeros((len(force), self.chain.dofs))
        load[:, self.driven - 1] = force
        return load

    def _check_bounded(self, motion: ChainMotion, first: int = 0) -> None:
        """Raise ValueError for a motion, of which sample number `first` is the first, that grows without bound."""
        if np.any(motion.diverged):
            n_times = motion.displacement.shape[-2]
            lost = np.isfinite(motion.displacement).all(axis=-1).reshape(-1, n_times).sum(axis=-1).min()
            raise ValueError(
                f"{self.name}: the motion grows without bound after {self.dt * (first + lost):.4g} s: give smaller "
                "loads, softer cubic springs or less variation"
            )

    def _factors(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number, springs): the stiffnesses of specimens over the nominal ones."""
        springs = np.shape(self.chain.springs)[-1]
        return Lognormal(1.0, self.variation).sample(generator, number * springs).reshape(number, springs)


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

    @property
    def chain(self) -> Chain:
        """Four equal masses and springs."""
        cubic = np.array([self.cubic, 0.0, 0.0, 0.0])
        return Chain(np.full(4, self.mass), np.full(4, self.stiffness), self.damping, cubic=cubic)


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

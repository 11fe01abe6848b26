"""Experiments on chains of masses: a model with random springs, and measurements of a sound and of a damaged one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.ensembles.distributions import Lognormal
from sim.ensembles.ensemble import EqualSteps
from sim.models.chain import Chain, ChainMotion, chain_response

# of an ensemble; a motion is within about 100 times as much
_TOLERANCE = 1e-6
# of one motion
_FINE_TOLERANCE = 1e-9
_PIECE = 256  # samples computed at a time
_UNITS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


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
    noise: float
    horizon: float
    dt: float

    name: ClassVar[str]
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

    @abstractmethod
    def force(self) -> Samples:
        """Return the load on the driven mass, N, at every refined step up to the horizon."""

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
        from sim.models.chain_stepper import ChainStepper  # numba is slow to import

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

    def _check(self) -> None:
        """Raise ValueError for a setting of all experiments that is out of its range."""
        check_positive(self.name, horizon=self.horizon, dt=self.dt)
        check_not_negative(self.name, variation=self.variation, noise=self.noise)
        require(0.0 <= self.damage < 1.0, f"{self.name} damage", self.damage, "a share, from 0 to under 1")

"""Ensembles: many realizations of a random response, in blocks that can each be reproduced alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import isfinite, log, log1p, sqrt
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples, check_not_negative, check_positive


class Distribution(Protocol):
    """Of a property, from specimen to specimen."""

    @property
    def mean(self) -> float:
        """In the property's unit."""

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number,) realizations."""

    def cdf(self, value: ArrayLike) -> Samples:
        """Return the probability of each value or less."""

    def nodes(self, number: int) -> tuple[Samples, Samples]:
        """Return values and weights of a rule that integrates over the distribution, `number` each at the most."""


@dataclass(frozen=True, slots=True)
class TransformedNormal(ABC):
    """A variable given by a mean and a standard deviation of its own; a deviation of zero makes it certain.

    Raises
    ------
    ValueError : the mean is not positive, or the standard deviation is negative.
    """

    mean: float
    standard_deviation: float

    family: ClassVar[str]

    def __post_init__(self) -> None:
        check_positive(self.family, mean=self.mean)
        check_not_negative(self.family, standard_deviation=self.standard_deviation)

    @abstractmethod
    def at(self, deviate: ArrayLike) -> Samples:
        """Return the values that belong to standard normal deviates, of their shape."""

    @abstractmethod
    def deviate(self, value: ArrayLike) -> Samples:
        """Return the largest standard normal deviates that give no more than these values, which may be infinite."""

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number,) realizations."""
        return self.at(generator.standard_normal(number))

    def cdf(self, value: ArrayLike) -> Samples:
        """Return the probability of each value or less."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.deviate(value)))

    def nodes(self, number: int) -> tuple[Samples, Samples]:
        """Return (number,) values and weights that integrate over the variable: Gauss and Hermite's."""
        deviates, weights = _gauss_hermite(number)
        return self.at(deviates), weights


def _standardized(away: Samples, spread: float) -> Samples:
    """Return distances from the middle in spreads; without a spread, infinite: all is up to the middle itself."""
    return np.asarray(away / spread if spread else np.where(away >= 0.0, np.inf, -np.inf))


@cache
def _gauss_hermite(number: int) -> tuple[Samples, Samples]:
    """Return (number,) deviates and weights that integrate over a standard normal variable; read-only."""
    deviates, weights = np.polynomial.hermite_e.hermegauss(number)
    weights /= weights.sum()
    for array in (deviates, weights):
        array.setflags(write=False)
    return deviates, weights


# of the mean: no realization is less
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Normal(TransformedNormal):
    """A normal variable of positive mean, censored: what is under a hundredth of it, next to nothing, is there."""

    family: ClassVar[str] = "normal"

    def at(self, deviate: ArrayLike) -> Samples:
        """Return the values that belong to standard normal deviates, of their shape."""
        return np.maximum(self.mean + self.standard_deviation * np.asarray(deviate), _LEAST * self.mean)

    def deviate(self, value: ArrayLike) -> Samples:
        """Return the largest standard normal deviates that give no more than these values."""
        value = np.asarray(value, dtype=np.float64)
        deviate = _standardized(value - self.mean, self.standard_deviation)
        return np.where(value < _LEAST * self.mean, -np.inf, deviate)


@dataclass(frozen=True, slots=True)
class Lognormal(TransformedNormal):
    """A positive variable whose logarithm is normal; mean and deviation are its own, not its logarithm's."""

    family: ClassVar[str] = "lognormal"

    @property
    def log_mean(self) -> float:
        """Mean of the logarithm."""
        return log(self.mean) - 0.5 * self.log_standard_deviation**2

    @property
    def log_standard_deviation(self) -> float:
        """Standard deviation of the logarithm."""
        return sqrt(log1p((self.standard_deviation / self.mean) ** 2))

    def at(self, deviate: ArrayLike) -> Samples:
        """Return the values that belong to standard normal deviates, of their shape."""
        return np.exp(self.log_mean + self.log_standard_deviation * np.asarray(deviate, dtype=np.float64))

    def deviate(self, value: ArrayLike) -> Samples:
        """Return the largest standard normal deviates that give no more than these values."""
        value = np.asarray(value, dtype=np.float64)
        logarithm = np.log(value, out=np.full(value.shape, -np.inf), where=~(value <= 0.0))
        return _standardized(logarithm - self.log_mean, self.log_standard_deviation)


@dataclass(frozen=True, slots=True)
class Resampled:
    """The values that were found, each as probable as any other.

    Raises
    ------
    ValueError : there is none, or one is not positive.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(isfinite(value) and value > 0.0 for value in self.values):
            raise ValueError("resampled values: must be positive numbers, one or more")

    @property
    def mean(self) -> float:
        """Of all of them."""
        return sum(self.values) / len(self.values)

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number,) of them, with replacement."""
        return generator.choice(np.array(self.values), number)

    def cdf(self, value: ArrayLike) -> Samples:
        """Return the share of them that is each value or less."""
        below = np.searchsorted(np.sort(self.values), np.asarray(value), side="right")
        return np.asarray(below / len(self.values))

    def nodes(self, number: int) -> tuple[Samples, Samples]:  # noqa: ARG002 - they are as many as they are
        """Return all of them, alike in weight: no approximation."""
        return np.array(self.values), np.full(len(self.values), 1.0 / len(self.values))


BLOCK = 1024
# an experiment's key has two words where a block's has one, so that they never draw the same numbers
_EXPERIMENT = 1
_MOST_BLOCKS = 2**32


class EnsembleModel(Protocol):
    """A model with random parameters or loads, whose response is a random function of time."""

    @property
    def name(self) -> str:
        """What the model is called."""

    @property
    def quantity(self) -> str:
        """What its response is, such as "deflection at midspan"."""

    @property
    def unit(self) -> str:
        """Of the response."""

    @property
    def time(self) -> Samples:
        """(n_times,) in s, the instants of the response."""

    @property
    def block(self) -> int:
        """Number of realizations that are made at a time: few where each takes long."""

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) responses, each with random parameters of its own."""


class Experiment(EnsembleModel, Protocol):
    """A model with synthetic measurements: of what it describes well, and of what it describes badly."""

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each measured channel; the first is the response of the model."""

    def measure(self, generator: np.random.Generator, bad: bool) -> Samples:
        """Return (n_times, channels): a measurement, with its noise, of a specimen of its own.

        The bad one, with the same random numbers, differs from the good one only by what the model misses.
        """


class EqualSteps:
    """Instants of an experiment with `horizon` and `dt`, in s, and blocks of the usual size.

    Raises
    ------
    ValueError : one of them is not positive, or the noise of a measurement negative.
    """

    horizon: float
    dt: float
    noise: float

    name: ClassVar[str]
    block: ClassVar[int] = BLOCK

    def __post_init__(self) -> None:
        check_positive(self.name, horizon=self.horizon, dt=self.dt)
        check_not_negative(self.name, noise=self.noise)

    @property
    def time(self) -> Samples:
        """(n_times,) in s, from zero to the step nearest the horizon."""
        return self.dt * np.arange(round(self.horizon / self.dt) + 1.0)


class AddedDiscrepancy(EqualSteps, EnsembleModel):
    """An experiment that measures the response alone: noise is added to it and, where bad, a discrepancy."""

    @property
    @abstractmethod
    def discrepancy(self) -> Samples:
        """(n_times,): what is added to a measurement for a bad model."""

    @property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """The response, by the first word of what it is."""
        return ((self.quantity.split()[0], self.unit),)

    def measure(self, generator: np.random.Generator, bad: bool) -> Samples:
        """Return (n_times, 1): response, white noise and, where bad, the discrepancy."""
        response = self.realize(generator, 1)
        measured = response + (self.noise * generator.standard_normal(len(response)))[:, None]
        return measured + self.discrepancy[:, None] if bad else measured


def realization_block(model: EnsembleModel, seed: int, block: int) -> Samples:
    """Return block number `block` of the ensemble of a seed, (n_times, model.block).

    A block depends on nothing but the model, the seed and its number: blocks can be made in any order, on
    several threads, and again after an interruption.

    Raises
    ------
    ValueError : a negative seed, or a block's number out of range.
    """
    if not 0 <= block < _MOST_BLOCKS:
        raise ValueError(f"ensemble block {block}: must be from 0 to under {_MOST_BLOCKS}")
    return model.realize(_generator(seed, block), model.block)


def replicates(model: Experiment, number: int, seed: int, *, bad: bool = False) -> Samples:
    """Return `number` synthetic measurements of the response, (n_times, number), of what is described well or badly.

    Each draws parameters and noise of its own, none of them the ensemble's of the same seed. One more replicate
    leaves the others as they are, and the bad ones have the parameters and the noise of the good ones.

    Raises
    ------
    ValueError : no replicate is requested, or a negative seed.
    """
    if number < 1:
        raise ValueError(f"ensemble replicates {number}: must be one or more")
    measured = np.empty((len(model.time), number))
    for replicate in range(number):
        measured[:, replicate] = measurement(model, seed, replicate, bad=bad)[:, 0]
    return measured


def measurement(model: Experiment, seed: int, replicate: int = 0, *, bad: bool = False) -> Samples:
    """Return all channels of a synthetic measurement, (n_times, channels); the first is that of `replicates`."""
    return model.measure(_generator(seed, _EXPERIMENT, replicate), bad)


def measured_pieces(model: Experiment, seed: int, *, bad: bool = False) -> Iterator[Samples]:
    """Return `measurement` in pieces as they are computed: in one where the model does not divide it.

    Raises
    ------
    ValueError : a negative seed.
    """
    generator = _generator(seed, _EXPERIMENT, 0)
    if hasattr(model, "pieces"):
        pieces: Iterator[Samples] = model.pieces(generator, bad)
        return pieces
    return (model.measure(generator, bad) for _ in range(1))


def _generator(seed: int, *key: int) -> np.random.Generator:
    if seed < 0:
        raise ValueError(f"ensemble seed {seed}: must be zero or more")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

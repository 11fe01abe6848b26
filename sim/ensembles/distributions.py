"""Distributions of positive quantities: normal, lognormal, and the empirical one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from math import exp, isfinite, log, log1p, sqrt
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

    @property
    def median(self) -> float:
        """The value that half of the realizations exceed."""
        return exp(self.log_mean)

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

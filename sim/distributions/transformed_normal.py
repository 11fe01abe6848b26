"""Positive variables that rise with a standard normal one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.ranges import check_not_negative, check_positive


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
        deviates, weights = gauss_hermite(number)
        return self.at(deviates), weights


def standardized(away: Samples, spread: float) -> Samples:
    """Return distances from the middle in spreads; without a spread, infinite: all is up to the middle itself."""
    return np.asarray(away / spread if spread else np.where(away >= 0.0, np.inf, -np.inf))


@cache
def gauss_hermite(number: int) -> tuple[Samples, Samples]:
    """Return (number,) deviates and weights that integrate over a standard normal variable; read-only."""
    deviates, weights = np.polynomial.hermite_e.hermegauss(number)
    weights /= weights.sum()
    for array in (deviates, weights):
        array.setflags(write=False)
    return deviates, weights

"""Lognormal variables, given by their own mean and standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.normal import gauss_hermite


@dataclass(frozen=True, slots=True)
class Lognormal:
    """A positive variable whose logarithm is normal.

    Parameters
    ----------
    mean, standard_deviation : of the variable itself, not of its logarithm; a deviation of zero makes it certain.

    Raises
    ------
    ValueError : the mean is not positive, or the standard deviation is negative.
    """

    mean: float
    standard_deviation: float

    def __post_init__(self) -> None:
        if not (isfinite(self.mean) and self.mean > 0.0):
            raise ValueError(f"lognormal mean {self.mean}: must be a positive number")
        if not (isfinite(self.standard_deviation) and self.standard_deviation >= 0.0):
            raise ValueError(f"lognormal standard_deviation {self.standard_deviation}: must be zero or more")

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

    def at(self, deviate: ArrayLike) -> NDArray[np.float64]:
        """Return the values that belong to standard normal deviates, of their shape: a quadrature's nodes, say."""
        return np.exp(self.log_mean + self.log_standard_deviation * np.asarray(deviate, dtype=np.float64))

    def sample(self, generator: np.random.Generator, number: int) -> NDArray[np.float64]:
        """Return (number,) realizations."""
        return self.at(generator.standard_normal(number))

    def share_below(self, value: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of less than each value, which must be positive."""
        from scipy.special import ndtr

        away = np.log(np.asarray(value)) - self.log_mean
        spread = self.log_standard_deviation
        return np.asarray(ndtr(away / spread) if spread else np.where(away > 0.0, 1.0, 0.0))

    def nodes(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (number,) values and weights that integrate over the variable: Gauss and Hermite's."""
        deviates, weights = gauss_hermite(number)
        return self.at(deviates), weights

"""Lognormal variables, given by their own mean and standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.distributions.transformed_normal import TransformedNormal, standardized


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
        return standardized(logarithm - self.log_mean, self.log_standard_deviation)

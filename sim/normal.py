"""Normal variables that stand for positive quantities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

Samples = NDArray[np.float64]

# of the mean: no realization is less
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal variable of positive mean; the realizations under a hundredth of it, next to none, are put there.

    Raises
    ------
    ValueError : the mean is not positive, or the standard deviation is negative.
    """

    mean: float
    standard_deviation: float

    def __post_init__(self) -> None:
        if not (isfinite(self.mean) and self.mean > 0.0):
            raise ValueError(f"normal mean {self.mean}: must be a positive number")
        if not (isfinite(self.standard_deviation) and self.standard_deviation >= 0.0):
            raise ValueError(f"normal standard_deviation {self.standard_deviation}: must be zero or more")

    def at(self, deviate: ArrayLike) -> Samples:
        """Return the values that belong to standard normal deviates."""
        return np.maximum(self.mean + self.standard_deviation * np.asarray(deviate), _LEAST * self.mean)

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number,) realizations."""
        return self.at(generator.standard_normal(number))

    def share_below(self, value: ArrayLike) -> Samples:
        """Return the probability of less than each value."""
        from scipy.special import ndtr

        away = np.asarray(value) - self.mean
        certain = np.where(away > 0.0, 1.0, 0.0)
        return np.asarray(ndtr(away / self.standard_deviation)) if self.standard_deviation else certain

    def nodes(self, number: int) -> tuple[Samples, Samples]:
        """Return Gauss-Hermite's values and weights."""
        deviates, weights = gauss_hermite(number)
        return self.at(deviates), weights


@cache
def gauss_hermite(number: int) -> tuple[Samples, Samples]:
    """Return (number,) deviates and weights that integrate over a standard normal variable; read-only."""
    deviates, weights = np.polynomial.hermite_e.hermegauss(number)
    weights /= weights.sum()
    for array in (deviates, weights):
        array.setflags(write=False)
    return deviates, weights

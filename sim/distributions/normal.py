"""Normal variables that stand for positive quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.distributions.transformed_normal import TransformedNormal, standardized

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
        deviate = standardized(value - self.mean, self.standard_deviation)
        return np.where(value < _LEAST * self.mean, -np.inf, deviate)

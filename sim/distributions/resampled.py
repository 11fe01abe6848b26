"""Variables of which no more is assumed than the values that were found."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples


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

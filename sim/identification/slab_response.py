"""A heated slab as a regression: conductivity and heat capacity from one thermocouple."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim.arrays import Samples
from sim.identification.regression import unbounded
from sim.models.thermal_population import Specimens
from sim.models.thermal_slab import SlabTest

# of a property: the step of a central difference, which leaves its square
_STEP = 1e-4
# W/(m K) and J/(m^3 K): less than any solid has
_LEAST_CONDUCTIVITY, _LEAST_CAPACITY = 1e-3, 1e3


@dataclass(frozen=True, eq=False)
class SlabResponse:
    """The temperature of a slab, of which conductivity at 0 degC and heat capacity are free.

    Parameters
    ----------
    test : what is done to it.
    time : (n,), s, without time zero, which tells nothing.
    slope : of the conductivity, W/(m K^2), which is known; 0: constant properties, by eq. 2.
    depth : of the thermocouple, as a share of the thickness.
    """

    test: SlabTest
    time: Samples
    slope: float = 0.0
    depth: float = 0.0

    names: ClassVar[tuple[str, ...]] = ("conductivity", "heat_capacity")

    @property
    def lower(self) -> Samples:
        """(2,): positive, and the conductivity so where the slab begins, too."""
        cold = -self.slope * self.test.initial_temperature
        return np.array([_LEAST_CONDUCTIVITY + max(cold, 0.0), _LEAST_CAPACITY])

    @property
    def upper(self) -> Samples:
        """(2,)."""
        return unbounded(2)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the temperatures, (m, n), and their derivatives by the properties, (m, n, 2): central differences.

        Raises
        ------
        ValueError : see `Specimens.temperature`.
        """
        steps = _STEP * np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
        # all at once: (5, m, 2), the properties themselves first
        moved = parameters * (1.0 + steps[:, None])
        temperature = self.at(moved.reshape(-1, 2)).temperature(self.test, self.time, (self.depth,))
        here, *beside = temperature[:, 0].T.reshape(5, *parameters.shape[:1], -1)
        rise = np.moveaxis(np.array(beside[:2]) - np.array(beside[2:]), 0, 2)
        return np.ascontiguousarray(here), np.ascontiguousarray(rise / (2.0 * _STEP * parameters[:, None]))

    def at(self, parameters: Samples) -> Specimens:
        """Return the specimens of (m, 2) properties, or of (2,)."""
        conductivity, heat_capacity = np.atleast_2d(parameters).T.copy()
        return Specimens(conductivity, self.slope, heat_capacity)

"""A slab that is heated on its front and insulated on its back, with constant properties: Fourier's series."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.ranges import check_positive


@dataclass(frozen=True, slots=True)
class SlabTest:
    """What is done to a specimen (Dowding, Pilch and Hills 2006, Fig. 1).

    Parameters
    ----------
    flux : W/m^2, into the front from time zero on.
    thickness : m.
    initial_temperature : degC, of all of it.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    flux: float
    thickness: float
    initial_temperature: float = 25.0

    def __post_init__(self) -> None:
        check_positive("slab", flux=self.flux, thickness=self.thickness)
        if not isfinite(self.initial_temperature):
            raise ValueError(f"slab initial_temperature {self.initial_temperature}: must be a number")

    def depth(self, share: float) -> float:
        """Return the depth in m at a share of the thickness from the front.

        Raises
        ------
        ValueError : the share is not from 0 to 1.
        """
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"slab depth of {share:g} thicknesses: must be from 0 (front) to 1 (back)")
        return share * self.thickness


def series_temperature(
    test: SlabTest,
    time: ArrayLike,
    conductivity: ArrayLike,
    heat_capacity: ArrayLike,
    depth: float = 0.0,
    n_terms: int = 6,
) -> Samples:
    """Return the temperature of specimens whose properties do not change with it.

    Dowding, Pilch and Hills (2006), eq. 2.

    Six terms are the challenge's. They leave less than 1e-6 flux * thickness / k of the whole series from
    0.02 L^2/alpha on, where alpha is k/(rho C_p); earlier, 1.2 L/sqrt(alpha t) of them are needed. Where t = 0 the
    temperature is the initial one, which no number of terms would give.

    Parameters
    ----------
    test : what is done to them.
    time : (n_times,), s.
    conductivity : (n,), W/(m K).
    heat_capacity : (n,), volumetric, J/(m^3 K).
    depth : share of the thickness from the front.
    n_terms : of the series.

    Returns
    -------
    temperature : (n_times, n), degC.

    Raises
    ------
    ValueError : a property or the number of terms is not positive, a time is negative, or the depth outside.
    """
    time, k, capacity = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (time, conductivity, heat_capacity))
    check_specimens(time, conductivity=k, heat_capacity=capacity)
    if n_terms < 1:
        raise ValueError(f"slab n_terms {n_terms}: must be one or more")
    x = test.depth(depth) / test.thickness
    # Fourier number: time in units of what heat takes to cross the slab
    fourier = time[:, None] * (k / capacity / test.thickness**2)
    shape = fourier + (1.0 / 3.0 - x + 0.5 * x * x)
    for n in range(1, n_terms + 1):
        wave = n * np.pi
        shape -= 2.0 / wave**2 * np.cos(wave * x) * np.exp(-(wave**2) * fourier)
    shape[time == 0.0] = 0.0
    return np.asarray(test.initial_temperature + test.flux * test.thickness / k * shape)


def check_specimens(time: Samples, **properties: Samples) -> None:
    """Raise `ValueError` unless times are not negative and all properties positive."""
    if not (np.isfinite(time).all() and (time >= 0.0).all()):
        raise ValueError("slab time: must be zero or more at every instant")
    for name, values in properties.items():
        wrong = values[~((values > 0.0) & np.isfinite(values))]
        if wrong.size:
            raise ValueError(f"slab {name} {wrong.flat[0]:g}: must be a positive number")

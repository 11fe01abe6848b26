"""Bending modes of a uniform beam, hinged at one end and on a spring at the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from math import pi, sqrt

import numpy as np

from sim.arrays import Samples
from sim.ranges import check_positive


@dataclass(frozen=True)
class HingedBeam:
    """A slender uniform beam: a hinge at 0, a spring across the axis at its far, freely turning end.

    Any consistent units; the defaults are inches, pounds and seconds, and assumed (see `SandiaStructure`).

    Parameters
    ----------
    length, width, height : the beam bends over its height.
    modulus : Young's.
    density : mass per volume.
    end_spring : stiffness of the spring at the end.
    n_modes : how many modes, the lowest.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    length: float = 30.0
    width: float = 2.0
    height: float = 2.5
    modulus: float = 3e7
    density: float = 7.33e-4
    end_spring: float = 1e5
    n_modes: int = 3

    def __post_init__(self) -> None:
        check_positive("beam", **asdict(self))

    @property
    def bending_stiffness(self) -> float:
        """Young's modulus times the second moment of area."""
        return self.modulus * self.width * self.height**3 / 12.0

    @property
    def mass_per_length(self) -> float:
        """Density times the section's area."""
        return self.density * self.width * self.height

    @cached_property
    def wavenumbers(self) -> Samples:
        """(n_modes,), times the length: the roots z of coth z - cot z = 2 k L^3 / (EI z^3)."""
        right = 2.0 * self.end_spring * self.length**3 / self.bending_stiffness
        # left less right grows from -inf to +inf between any two multiples of pi: halving cannot miss
        low = pi * np.arange(self.n_modes)
        high = low + pi
        for _ in range(60):
            middle = 0.5 * (low + high)
            beyond = _coth(middle) - 1.0 / np.tan(middle) > right / middle**3
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.asarray(0.5 * (low + high))

    @property
    def natural_frequencies(self) -> Samples:
        """(n_modes,) in rad/s."""
        return (self.wavenumbers / self.length) ** 2 * sqrt(self.bending_stiffness / self.mass_per_length)

    def shapes(self, position: float) -> Samples:
        """Return (n_modes,): the modes at a position, each of modal mass one."""
        z, x = self.wavenumbers, position / self.length
        # sinh(z x) / sinh(z) without its overflow
        growing = np.exp(-z * (1.0 - x)) * np.expm1(-2.0 * z * x) / np.expm1(-2.0 * z)
        shape = np.sin(z * x) + np.sin(z) * growing
        # the integral of the shape squared along a beam of length one
        square = 0.5 + 0.5 * np.sin(z) ** 2 * (3.0 * (_coth(z) - 1.0 / np.tan(z)) / z + 1.0 - _coth(z) ** 2)
        return np.asarray(shape / np.sqrt(square * self.mass_per_length * self.length))


def _coth(z: Samples) -> Samples:
    return np.asarray(1.0 / np.tanh(z))

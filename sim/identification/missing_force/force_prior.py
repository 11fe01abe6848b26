"""How rough an unknown force may be: Gaussian processes in time that are states of a linear system."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, factorial, sqrt
from typing import Protocol

import numpy as np

from sim.arrays import Samples


class ForcePrior(Protocol):
    """A force and its first derivatives: s' = matrix s + white noise on the last, the first of which is the force."""

    @property
    def matrix(self) -> Samples:
        """(q + 1, q + 1), 1/s."""

    @property
    def intensity(self) -> float:
        """Two-sided spectral density of the white noise, N^2/s^(2 q + 1)."""

    @property
    def covariance(self) -> Samples:
        """(q + 1, q + 1): of force and derivatives where nothing is known yet."""


@dataclass(frozen=True, slots=True)
class Matern:
    """A stationary force, as smooth as its order: covariance Matern's with nu = order + 1/2.

    Order 0 is rough as a random walk and fits jumps; each further order has one more derivative. For long lengths
    orders 1 and 2 penalise the integral of the squared second and third derivative. State space: Hartikainen and
    Särkkä, Kalman filtering and smoothing solutions to temporal Gaussian process regression models (2010).

    Parameters
    ----------
    amplitude : standard deviation of the force, N.
    length : s, over which it is correlated: lambda = sqrt(2 nu) / length.
    order : 0, 1, 2, ...
    """

    amplitude: float
    length: float
    order: int = 2

    def __post_init__(self) -> None:
        if not (self.amplitude > 0.0 and self.length > 0.0 and self.order >= 0):
            raise ValueError(
                f"force of amplitude {self.amplitude:g} N, length {self.length:g} s, order {self.order}: amplitude "
                "and length must be positive, the order zero or more"
            )

    @property
    def _rate(self) -> float:
        return sqrt(2.0 * self.order + 1.0) / self.length

    @property
    def matrix(self) -> Samples:
        """Companion matrix of (d/dt + lambda)^(q + 1)."""
        matrix = _unit(self.order)[0].copy()
        matrix[-1] *= self._rate ** np.arange(self.order + 1, 0, -1)
        return matrix

    @property
    def intensity(self) -> float:
        """For which the variance of the force is amplitude^2."""
        return self.amplitude**2 * _unit(self.order)[1] * self._rate ** (2 * self.order + 1)

    @property
    def covariance(self) -> Samples:
        """The stationary one: P of matrix P + P matrix^T + noise = 0."""
        scale = self.amplitude * self._rate ** np.arange(self.order + 1)
        return np.asarray(_unit(self.order)[2] * (scale[:, None] * scale))


@cache
def _unit(order: int) -> tuple[Samples, float, Samples]:
    """Return matrix, intensity and covariance of an order, for amplitude and lambda of one."""
    size = order + 1
    matrix = np.eye(size, k=1)
    matrix[-1] = [-comb(size, i) for i in range(size)]
    intensity = 2.0 ** (2 * order + 1) * factorial(order) ** 2 / factorial(2 * order)
    eye, noise = np.eye(size), np.zeros((size, size))
    noise[-1, -1] = intensity
    both = np.kron(matrix, eye) + np.kron(eye, matrix)
    stationary = np.linalg.solve(both, -noise.ravel()).reshape(size, size)
    return matrix, intensity, 0.5 * (stationary + stationary.T)


@dataclass(frozen=True, slots=True)
class IntegratedWiener:
    """A force whose derivative of an order is a Wiener process: order 1 penalises the squared second derivative.

    The posterior mean is the smoothing spline of Wahba, Improper priors, spline smoothing and the problem of
    guarding against model errors in regression (1978), as `spread` grows.

    Parameters
    ----------
    roughness : N/s^(order + 1/2): of the Wiener process per root second.
    spread : (order + 1,) standard deviations of the force and its derivatives before the first sample, N, N/s, ...
    """

    roughness: float
    spread: tuple[float, ...]

    @property
    def matrix(self) -> Samples:
        """Integrators in a row."""
        return np.eye(len(self.spread), k=1)

    @property
    def intensity(self) -> float:
        """Roughness squared."""
        return self.roughness**2

    @property
    def covariance(self) -> Samples:
        """Of the beginning."""
        return np.diag(np.square(self.spread))

"""An unknown force on a linear structure as one dense Gaussian vector, by quadrature and closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv


def matern(time: np.ndarray, amplitude: float, length: float, nu: float) -> np.ndarray:
    """Return (N, N): Matern's covariance by its Bessel function (Rasmussen and Williams, 4.14)."""
    r = np.sqrt(2.0 * nu) * cdist(time[:, None], time[:, None]) / length
    np.fill_diagonal(r, 1.0)
    covariance = amplitude**2 * 2.0 ** (1.0 - nu) / gamma(nu) * r**nu * kv(nu, r)
    np.fill_diagonal(covariance, amplitude**2)
    return covariance


@dataclass(frozen=True)
class DenseForce:
    """Force on a fine equidistant grid with trapezoid weights, and what it does to the state.

    Parameters
    ----------
    grid : (g,) s, from the first instant.
    mean, covariance : (g + 2 n,), (g + 2 n, g + 2 n): of forces on the grid and the first state.
    response : (2 n, g, g + 2 n): state at the grid's instants by forces and first state.
    """

    grid: np.ndarray
    covariance: np.ndarray
    response: np.ndarray

    @classmethod
    def of(cls, m, c, k, places, grid, force_covariance, initial_sd) -> DenseForce:
        """Return the vector of one force that acts at places, (n,), against the structure."""
        n, g, h = len(m), len(grid), grid[1] - grid[0]
        system = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]])
        entry = np.concatenate([np.zeros(n), -np.linalg.solve(m, places)])
        powers = np.array([expm(system * h * i) for i in range(g)])
        response = np.zeros((2 * n, g, g + 2 * n))
        for i in range(g):
            weights = np.full(i + 1, h)
            weights[[0, -1]] *= 0.5
            weights *= i > 0
            response[:, i, : i + 1] = (powers[i::-1] @ entry * weights[:, None]).T
            response[:, i, g:] = powers[i]
        covariance = np.zeros((g + 2 * n, g + 2 * n))
        covariance[:g, :g] = force_covariance
        covariance[g:, g:] = np.diag(np.square(initial_sd))
        return cls(grid, covariance, response)

    def given(self, rows: np.ndarray, sigma: np.ndarray, observed: np.ndarray):
        """Return mean and covariance of the vector given samples rows @ vector + noise, and their log likelihood."""
        across = self.covariance @ rows.T
        spread = rows @ across + np.diag(sigma**2)
        gain = np.linalg.solve(spread, across.T).T
        likelihood = -0.5 * (
            observed @ np.linalg.solve(spread, observed)
            + np.linalg.slogdet(spread)[1]
            + len(observed) * np.log(2.0 * np.pi)
        )
        return gain @ observed, self.covariance - gain @ across.T, likelihood

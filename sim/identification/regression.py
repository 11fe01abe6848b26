"""What can be fitted, and the pieces from which it is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]


class Regression(Protocol):
    """A response that depends on parameters: p of them, n instants, m sets of parameters at once."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""

    @property
    def lower(self) -> Samples:
        """(p,): the least each may be; -inf where it may be anything."""

    @property
    def upper(self) -> Samples:
        """(p,): the largest each may be."""

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses to (m, p) parameters, (m, n), and their derivatives by them, (m, n, p)."""


def unbounded(p: int) -> Samples:
    """Return (p,) infinities."""
    return np.full(p, np.inf)


@dataclass(frozen=True, eq=False)
class PolynomialDiscrepancy:
    """A response and a polynomial in time beside it, for what the model leaves out (eq. 4): the paper's Method 1.

    Outside of the observed times the polynomial means nothing, and it grows without bound.

    Parameters
    ----------
    regression : the model.
    time : (n,), s.
    n_terms : beta_1 + beta_2 t + ... so many; none leaves the model alone.
    """

    regression: Regression
    time: Samples
    n_terms: int = 3

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the model, then beta_1 and so on."""
        return (*self.regression.names, *(f"beta_{j + 1}" for j in range(self.n_terms)))

    @property
    def lower(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.lower, -unbounded(self.n_terms)])

    @property
    def upper(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.upper, unbounded(self.n_terms)])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives, (m, n) and (m, n, p + n_terms)."""
        p = len(self.regression.names)
        powers = np.vander(self.time, self.n_terms, increasing=True)
        response, sensitivities = self.regression.evaluate(parameters[:, :p])
        beside = np.broadcast_to(powers, (len(parameters), *powers.shape))
        return response + parameters[:, p:] @ powers.T, np.concatenate([sensitivities, beside], axis=2)

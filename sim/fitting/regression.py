"""Regressions: what can be fitted, with a polynomial beside it, or in other coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim.arrays import Samples


class Regression(Protocol):
    """A response that depends on parameters: p of them, n instants, m sets of parameters at once.

    Any class with these four can be fitted; one that is derived from it is unbounded but for bounds of its own.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""

    @property
    def lower(self) -> Samples:
        """(p,): the least each may be; -inf where it may be anything."""
        return np.full(len(self.names), -np.inf)

    @property
    def upper(self) -> Samples:
        """(p,): the largest each may be."""
        return np.full(len(self.names), np.inf)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses to (m, p) parameters, (m, n), and their derivatives by them, (m, n, p)."""


def evaluated(regression: Regression, parameters: Samples, n: int) -> tuple[Samples, Samples]:
    """Return the responses to (m, p) parameters, (m, n), and their derivatives by them, (m, n, p).

    Raises
    ------
    ValueError : what the regression returns has other shapes, or there is another number of instants than n.
    """
    (m, p), found = parameters.shape, regression.evaluate(parameters)
    shapes = [np.shape(each) for each in found] if isinstance(found, tuple) else [np.shape(found)]
    if shapes != [(m, n), (m, n, p)]:
        k = shapes[0][-1] if shapes[0] else 0
        if shapes == [(m, k), (m, k, p)]:
            raise ValueError(f"fit: {n} observations of a response at {k} instants: give one for each")
        raise ValueError(
            f"fit: evaluate of {type(regression).__name__} returned {' and '.join(map(str, shapes))}: of parameters "
            f"{(m, p)} it must be a tuple of responses {(m, n)} and derivatives {(m, n, p)}"
        )
    return found


@dataclass(frozen=True, eq=False)
class PolynomialDiscrepancy:
    """A response plus a polynomial in time, for what the model omits: Method 1.

    It is eq. 4 of Burns, Cliff and Farlow. Outside of the observed times the polynomial means nothing, and it grows
    without bound. Standard errors are those of a polynomial that is right; where it only comes near to what the model
    leaves out the estimates are biased by more, and residuals need not show it.

    Parameters
    ----------
    regression : the model.
    time : (n,), s, those of the model.
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
        return np.concatenate([self.regression.lower, np.full(self.n_terms, -np.inf)])

    @property
    def upper(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.upper, np.full(self.n_terms, np.inf)])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives, (m, n) and (m, n, p + n_terms)."""
        p, parameters = len(self.regression.names), np.atleast_2d(parameters)
        powers = np.vander(self.time, self.n_terms, increasing=True)
        response, sensitivities = evaluated(self.regression, parameters[:, :p], len(self.time))
        beside = np.broadcast_to(powers, (len(parameters), *powers.shape))
        return response + parameters[:, p:] @ powers.T, np.concatenate([sensitivities, beside], axis=2)


@dataclass(frozen=True, eq=False)
class Reparameterized:
    """The same response in other coordinates, of which the parameters are linear functions.

    Bounds are those of the coordinates: linear inequalities between parameters become simple ones.

    Parameters
    ----------
    regression : whose own bounds are ignored.
    matrix : (p, p), parameters = matrix @ coordinates.
    names : of the coordinates.
    lower, upper : (p,), of the coordinates.
    """

    regression: Regression
    matrix: Samples
    names: tuple[str, ...]
    lower: Samples
    upper: Samples

    def of(self, parameters: Samples) -> Samples:
        """Return the coordinates of parameters, (p,)."""
        return np.asarray(np.linalg.solve(self.matrix, parameters), dtype=np.float64)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives by the coordinates."""
        response, sensitivities = self.regression.evaluate(np.atleast_2d(parameters) @ self.matrix.T)
        return response, sensitivities @ self.matrix


def original_parameters(regression: Regression) -> tuple[tuple[str, ...], Samples]:
    """Return the names of the parameters themselves and the matrix, (p, p), that makes them of what is fitted.

    Coordinates are found wherever they are: around a polynomial, within one or a metric, and in other coordinates.
    """
    if isinstance(regression, Reparameterized):
        names, matrix = original_parameters(regression.regression)
        return names, matrix @ regression.matrix
    if isinstance(regression, PolynomialDiscrepancy):
        inner, block = original_parameters(regression.regression)
        matrix = np.eye(len(regression.names))
        matrix[: len(inner), : len(inner)] = block
        return (*inner, *regression.names[len(inner) :]), matrix
    # another response of the same parameters: a metric's features
    inside: Regression | None = getattr(regression, "regression", None)
    if inside is not None and inside.names == regression.names:
        return original_parameters(inside)
    return regression.names, np.eye(len(regression.names))

"""Regressions: what can be fitted, with a polynomial beside it, in other coordinates, or with a prior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples


class Regression(Protocol):
    """A response that depends on parameters: p of them, n instants, m sets of parameters at once.

    Any class with these four can be fitted.
    """

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


@dataclass(frozen=True, eq=False)
class ModelWrapper:
    """What is fitted in place of a model, with its parameters and their bounds.

    Parameters
    ----------
    regression : the model.
    """

    regression: Regression

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the model."""
        return self.regression.names

    @property
    def lower(self) -> Samples:
        """(p,)."""
        return self.regression.lower

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return self.regression.upper


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


def unbounded(p: int) -> Samples:
    """Return (p,) infinities."""
    return np.full(p, np.inf)


class Unbounded(ABC):
    """A regression whose parameters may be anything, but for the bounds that it has of its own."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""

    @property
    def lower(self) -> Samples:
        """(p,)."""
        return -unbounded(len(self.names))

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return unbounded(len(self.names))


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
        return np.concatenate([self.regression.lower, -unbounded(self.n_terms)])

    @property
    def upper(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.upper, unbounded(self.n_terms)])

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
    # another response of the same parameters: a metric's features, or a prior beside it
    inside: Regression | None = getattr(regression, "regression", None)
    if inside is not None and inside.names == regression.names:
        return original_parameters(inside)
    return regression.names, np.eye(len(regression.names))


@dataclass(frozen=True, eq=False)
class Regularized(ModelWrapper):
    """A regression with the term (p - p0)' S^-1 (p - p0) added to its cost (Hemez and Doebling, eq. 3).

    It is a Gaussian prior: what is least is the posterior's mode, and where the model is linear its mean. The term
    becomes p more observations, so that every solver, standard error and diagnostic of a fit includes it. Fit it to
    `observations(record)`.

    Parameters
    ----------
    regression : the model; the prior is of its parameters, in coordinates of other names of these.
    expected : (p,), p0.
    covariance : (p, p), S; (p,) are variances, infinite for a parameter of which nothing is known.
    sigma : of the observations' errors; 1 where the response is divided by it already, as that of a metric may be.
    repeated : number of repeated observations that are fitted together; the prior counts once.

    Raises
    ------
    ValueError : sizes do not fit, or the covariance is no covariance.
    """

    expected: ArrayLike
    covariance: ArrayLike
    sigma: float = 1.0
    repeated: int = 1
    _root: Samples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p = len(self.regression.names)
        expected, covariance = (np.asarray(each, dtype=np.float64) for each in (self.expected, self.covariance))
        if expected.shape != (p,) or not np.isfinite(expected).all():
            raise ValueError(f"regularization expected {expected.tolist()}: give {p} finite numbers, one a parameter")
        if covariance.shape not in ((p,), (p, p)):
            raise ValueError(f"regularization covariance of shape {covariance.shape}: must be {(p,)} or {(p, p)}")
        if not (0.0 < self.sigma < np.inf) or self.repeated < 1:
            raise ValueError(
                f"regularization sigma {self.sigma} and repeated {self.repeated}: must be positive and at least 1"
            )
        object.__setattr__(self, "expected", expected)
        object.__setattr__(self, "_root", self.sigma / np.sqrt(self.repeated) * _inverse_root(covariance))

    def observations(self, observed: Samples) -> Samples:
        """Return (n + p,), or (n_observations, n + p), of (n,) or (n_observations, n) observations.

        Raises
        ------
        ValueError : the number of repeated observations is not the one that is declared.
        """
        observed = np.asarray(observed, dtype=np.float64)
        if len(np.atleast_2d(observed)) != self.repeated:
            raise ValueError(
                f"regularization: {len(np.atleast_2d(observed))} repeated observations where {self.repeated} are "
                "declared: give their number as repeated"
            )
        target = self._root @ np.asarray(self.expected)
        return np.concatenate([observed, np.broadcast_to(target, (*observed.shape[:-1], len(target)))], axis=-1)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives, (m, n + p) and (m, n + p, p)."""
        response, sensitivities = self.regression.evaluate(parameters)
        beside = np.broadcast_to(self._root, (len(parameters), *self._root.shape))
        return (
            np.concatenate([response, parameters @ self._root.T], axis=1),
            np.concatenate([sensitivities, beside], axis=1),
        )


def _inverse_root(covariance: Samples) -> Samples:
    """Return R, (p, p), with R'R the inverse of a covariance."""
    if covariance.ndim == 1:
        if not (covariance > 0.0).all():
            raise ValueError(f"regularization variances {covariance.tolist()}: must be positive")
        return np.diag(1.0 / np.sqrt(covariance))
    # a matrix of parameters of different units is far from singular only once these are scaled away
    size = np.sqrt(np.diag(covariance))
    try:
        if not (np.isfinite(covariance).all() and np.allclose(covariance, covariance.T, rtol=1e-8, atol=0.0)):
            raise np.linalg.LinAlgError
        root = np.linalg.cholesky(covariance / np.outer(size, size))
    except np.linalg.LinAlgError:
        raise ValueError("regularization covariance: must be symmetric, finite and positive definite") from None
    return np.asarray(np.linalg.inv(root) / size)

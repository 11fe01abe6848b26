"""Regularised fits: what is known of the parameters beforehand is fitted beside the observations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.identification.regression import ModelWrapper


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

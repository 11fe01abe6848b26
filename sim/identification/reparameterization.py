"""Linear functions of fitted parameters: their estimates, covariance and information."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sim.arrays import Samples

if TYPE_CHECKING:
    from sim.identification.fit import Fit


def reparameterized(fit: Fit, matrix: Samples, shift: Samples) -> Fit:
    """Return the same fit of parameters = matrix @ fitted + shift.

    A parameter is unknown where one that it depends on is, and at a bound where one of those is at a bound.

    Parameters
    ----------
    matrix : (p, p).
    shift : (p,).
    """
    return replace(
        fit,
        parameters=matrix @ fit.parameters + shift,
        minima_at=fit.minima_at @ matrix.T + shift,
        covariance=_reparameterized_covariance(fit.covariance, matrix),
        correlated_covariance=_reparameterized_covariance(fit.correlated_covariance, matrix),
        at_bound=((matrix != 0.0) & fit.at_bound).any(axis=1),
        normal=transformed_normal(fit.normal, matrix),
        ranges=transformed_ranges(fit.ranges, matrix),
    )


def _reparameterized_covariance(covariance: Samples, matrix: Samples) -> Samples:
    variance, part = np.diag(covariance), matrix != 0.0
    known = np.isfinite(variance)
    found = matrix @ np.where(known[:, None] & known, covariance, 0.0) @ matrix.T
    unknown = (part & ~known).any(axis=1)
    found[unknown[:, None] | unknown] = np.nan
    infinite, missing = ((part & which).any(axis=1) for which in (np.isinf(variance), np.isnan(variance)))
    np.einsum("pp->p", found)[infinite & ~missing] = np.inf
    return np.asarray(found)


def transformed_normal(normal: Samples, matrix: Samples) -> Samples:
    """Return the normal matrix, (p, p), of parameters = matrix @ coordinates."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(inverse.T @ normal @ inverse)


def transformed_ranges(ranges: Samples, matrix: Samples) -> Samples:
    """Return the ranges, (p,), of parameters = matrix @ coordinates; infinite for a sum of several."""
    alone = (matrix != 0.0).sum(axis=1) == 1
    place = np.argmax(matrix != 0.0, axis=1)
    with np.errstate(invalid="ignore"):
        scaled = np.abs(matrix[np.arange(len(matrix)), place]) * ranges[place]
    return np.where(alone, scaled, np.inf)

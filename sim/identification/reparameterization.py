"""A fit in other parameters, which are linear functions of those that were fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.arrays import Samples
from sim.identification.fit import Fit


def restated(fit: Fit, matrix: Samples, shift: Samples) -> Fit:
    """Return the same fit of parameters = matrix @ fitted + shift.

    A parameter is unknown where one that it is made of is, and at a bound where one of them stands there.

    Parameters
    ----------
    matrix : (p, p).
    shift : (p,).
    """
    return replace(
        fit,
        parameters=matrix @ fit.parameters + shift,
        minima_at=fit.minima_at @ matrix.T + shift,
        covariance=_restated(fit.covariance, matrix),
        correlated_covariance=_restated(fit.correlated_covariance, matrix),
        at_bound=((matrix != 0.0) & fit.at_bound).any(axis=1),
    )


def _restated(covariance: Samples, matrix: Samples) -> Samples:
    variance, part = np.diag(covariance), matrix != 0.0
    known = np.isfinite(variance)
    found = matrix @ np.where(known[:, None] & known, covariance, 0.0) @ matrix.T
    unknown = (part & ~known).any(axis=1)
    found[unknown[:, None] | unknown] = np.nan
    infinite, missing = ((part & which).any(axis=1) for which in (np.isinf(variance), np.isnan(variance)))
    np.einsum("pp->p", found)[infinite & ~missing] = np.inf
    return np.asarray(found)

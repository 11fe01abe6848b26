"""One model fitted to many experiments at once, each for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.arrays import Flags, Samples
from sim.identification.covariance import information
from sim.identification.fit import refuse_unfitted
from sim.identification.least_squares import minimize
from sim.identification.regression import Regression, own_parameters


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Many fits of one model.

    Parameters
    ----------
    names : (p,).
    parameters : (m, p).
    covariance : (m, p, p), for white errors; NaN at a bound and infinite where the data do not tell, as in `Fit`.
    sigma : (m,), standard deviation of the errors, estimated.
    sum_of_squares : (m,).
    at_bound : (m, p), parameters in which an active bound has a part.
    converged : (m,).
    """

    names: tuple[str, ...]
    parameters: Samples
    covariance: Samples
    sigma: Samples
    sum_of_squares: Samples
    at_bound: Flags
    converged: Flags

    def of(self, name: str) -> Samples:
        """Return (m,): one parameter of all."""
        return self.parameters[:, self.names.index(name)]

    @property
    def standard_errors(self) -> Samples:
        """(m, p); NaN and infinite as the covariance."""
        return np.asarray(np.sqrt(np.einsum("mpp->mp", self.covariance)))


def fit_many(regression: Regression, observed: Samples, start: Samples) -> Fits:
    """Fit a model to each of m experiments.

    Parameters
    ----------
    regression : the model, one for all.
    observed : (m, n).
    start : (p,), or (m, p).

    Raises
    ------
    ValueError : there are no more instants than parameters, a start has no finite response, or see `minimize`.
    """
    observed = np.atleast_2d(observed)
    found = minimize(regression, observed, np.broadcast_to(start, (len(observed), len(regression.names))))
    refuse_unfitted(observed.shape[1], found.parameters.shape[1], float(found.sum_of_squares.max(initial=0.0)))
    names, matrix = own_parameters(regression)
    info = information(found.normal, found.at_bound, matrix)
    variance = found.sum_of_squares / (observed.shape[1] - info.rank)
    return Fits(
        names,
        found.parameters @ matrix.T,
        info.covariance(variance),
        np.sqrt(variance),
        found.sum_of_squares,
        info.at_bound,
        found.converged,
    )

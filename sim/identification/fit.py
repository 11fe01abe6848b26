"""Fits: estimates, their covariance, and what the residuals say; of one experiment, of repeated ones, of many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import correlate

from sim.identification.least_squares import Flags, Minimum, minimize
from sim.identification.regression import InCoordinates, Regression, Samples
from sim.identification.residual_checks import ResidualChecks, check_residuals

# a normal matrix of unit diagonal that is worse conditioned does not tell the parameters apart
_WORST_CONDITION = 1e13
# minima whose sums of squares differ by less are one
_SAME = 1e-6
_BLOCKS, _FEWEST_BLOCKS = 32, 10
# how many times longer a stretch is than the errors hang together
_STRETCH = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Many fits of one model.

    Parameters
    ----------
    names : (p,).
    parameters : (m, p).
    covariance : (m, p, p), for white errors; infinite where the data do not tell the parameters apart, zero for what
        stands at a bound.
    sigma : (m,), standard deviation of the errors, estimated.
    sum_of_squares : (m,).
    at_bound : (m, p).
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
        """(m, p)."""
        return np.asarray(np.sqrt(np.einsum("mpp->mp", self.covariance)))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One fit.

    Parameters
    ----------
    names : (p,).
    parameters, covariance, at_bound, converged : as in `Fits`.
    correlated_covariance : (p, p), for errors that hang together over time: from how the scores of consecutive
        stretches scatter; NaN where the record is too short for it.
    sigma, sum_of_squares : of the errors.
    residuals : (n_observations, n), observed minus fitted.
    checks : of the residuals.
    minima : sums of squares of the distinct minima that the starts led to, the least first.
    """

    names: tuple[str, ...]
    parameters: Samples
    covariance: Samples
    correlated_covariance: Samples
    sigma: float
    sum_of_squares: float
    at_bound: Flags
    converged: bool
    residuals: Samples
    checks: ResidualChecks
    minima: tuple[float, ...]

    def of(self, name: str) -> float:
        """Return one parameter."""
        return float(self.parameters[self.names.index(name)])

    @property
    def standard_errors(self) -> Samples:
        """(p,), for white errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Samples:
        """(p, p); NaN for what stands at a bound."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.covariance / np.outer(self.standard_errors, self.standard_errors))


def fit_many(regression: Regression, observed: Samples, start: Samples) -> Fits:
    """Fit a model to each of m experiments.

    Parameters
    ----------
    observed : (m, n).
    start : (p,), or (m, p).

    Raises
    ------
    ValueError : there are no more instants than parameters, or see `minimize`.
    """
    observed = np.atleast_2d(observed)
    begin = np.broadcast_to(start, (len(observed), len(regression.names)))
    found = minimize(regression, observed, begin)
    degrees = _degrees(observed.shape[1], found.parameters.shape[1])
    sigma = np.sqrt(found.sum_of_squares / degrees)
    covariance = _inverse(found.normal, found.at_bound) * (sigma**2)[:, None, None]
    names, parameters, bound = regression.names, found.parameters, found.at_bound
    if isinstance(regression, InCoordinates):
        names, parameters, covariance, bound = _back(regression, parameters, covariance, bound)
    return Fits(names, parameters, covariance, sigma, found.sum_of_squares, bound, found.converged)


def fit(regression: Regression, observed: Samples, starts: Samples, *, sigma: float | None = None) -> Fit:
    """Fit a model to one experiment, or to repeated observations of it together, from one start or several.

    Parameters
    ----------
    observed : (n,), or (n_observations, n).
    starts : (p,), or (k, p); the least of the minima is taken.
    sigma : of the errors, where it is known: the checks then compare.

    Raises
    ------
    ValueError : there are no more observations than parameters, or see `minimize`.
    """
    observed, starts = np.atleast_2d(observed), np.atleast_2d(starts)
    # the sum over repeated observations is least where that of their mean is
    mean = observed.mean(axis=0)
    found = minimize(regression, np.broadcast_to(mean, (len(starts), len(mean))), starts)
    best = int(np.argmin(found.sum_of_squares))
    parameters, bound = found.parameters[best : best + 1], found.at_bound[best : best + 1]
    response, sensitivities = regression.evaluate(parameters)
    residuals = observed - response
    squares = float(np.sum(residuals**2))
    p = parameters.shape[1]
    free_sigma = np.sqrt(squares / _degrees(observed.size, p))
    unscaled = _inverse(found.normal[best : best + 1], bound) / len(observed)
    covariance = free_sigma**2 * unscaled
    correlated = _from_blocks(unscaled[0] * len(observed), sensitivities[0], mean - response[0])[None]
    names, at_bound = regression.names, bound
    if isinstance(regression, InCoordinates):
        _, _, correlated, _ = _back(regression, parameters, correlated, bound)
        names, parameters, covariance, at_bound = _back(regression, parameters, covariance, bound)
    return Fit(
        names,
        parameters[0],
        covariance[0],
        correlated[0],
        float(free_sigma),
        squares,
        at_bound[0],
        bool(found.converged[best]),
        residuals,
        check_residuals(residuals, p, sigma),
        _distinct(found, squares),
    )


def _degrees(observations: int, parameters: int) -> int:
    if observations <= parameters:
        raise ValueError(f"fit of {parameters} parameters: needs more than {observations} observations")
    return observations - parameters


def _inverse(normal: Samples, held: Flags) -> Samples:
    """Return the inverse of the normal matrices over what is not held; the rest is zero."""
    size = np.sqrt(np.einsum("mpp->mp", normal))
    blind = size == 0.0
    size[blind] = 1.0
    scaled = normal / (size[:, :, None] * size[:, None, :])
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    np.einsum("mpp->mp", scaled)[held] = 1.0
    vague = ~(np.linalg.cond(scaled) < _WORST_CONDITION)
    scaled[vague] = np.eye(scaled.shape[1])
    inverse: Samples = np.linalg.inv(scaled) / (size[:, :, None] * size[:, None, :])
    inverse[vague] = np.inf
    inverse[held[:, :, None] | held[:, None, :]] = 0.0
    return inverse


def _from_blocks(inverse: Samples, sensitivities: Samples, residual: Samples) -> Samples:
    """Return the covariance from the scores of consecutive stretches, each longer than errors are correlated."""
    n, p = sensitivities.shape
    # so many samples the errors hang together: the sum of their correlations up to where these first change sign
    products = correlate(residual, residual, method="fft")[n - 1 :]
    positive = np.logical_and.accumulate(products > 0.0)
    together = 2.0 * float(products[positive].sum()) / products[0] - 1.0 if positive[0] else 1.0
    blocks = min(_BLOCKS, int(n / (_STRETCH * together)))
    if blocks < _FEWEST_BLOCKS:
        return np.full((p, p), np.nan)
    edges = np.linspace(0, n, blocks + 1).astype(np.int64)[:-1]
    scores = np.add.reduceat(sensitivities * residual[:, None], edges, axis=0)
    return np.asarray(inverse @ (scores.T @ scores) @ inverse * (blocks / (blocks - 1.0)))


def _back(
    coordinates: InCoordinates, parameters: Samples, covariance: Samples, bound: Flags
) -> tuple[tuple[str, ...], Samples, Samples, Flags]:
    """Return names, parameters, covariance and what is held from coordinates to the parameters themselves."""
    matrix = coordinates.matrix
    moved = np.where(np.isfinite(covariance), matrix @ np.nan_to_num(covariance) @ matrix.T, covariance)
    return coordinates.regression.names, parameters @ matrix.T, moved, (bound @ (matrix != 0.0).T).astype(bool)


def _distinct(found: Minimum, scale: float) -> tuple[float, ...]:
    squares = np.sort(found.sum_of_squares[found.converged])
    new = np.diff(squares, prepend=-np.inf) > _SAME * max(scale, np.finfo(float).tiny)
    return tuple(squares[new].tolist())

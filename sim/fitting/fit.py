"""Fits of one experiment, repeated ones, or many at once: estimates, covariances, distinct minima, residual tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtr, chdtrc, stdtr, stdtrit

from sim.arrays import Flags, Samples
from sim.fitting.information import (
    ConfoundedGroup,
    confounded_groups,
    correlated_covariance,
    information,
    transformed_covariance,
    transformed_normal,
    transformed_ranges,
)
from sim.fitting.least_squares import PRECISION, distinct_minima, minimize
from sim.fitting.regression import Regression, original_parameters
from sim.fitting.solvers import Solver, find_minimum

_LAGS = 10
# values that the test of normality needs
_FEWEST = 20
# a direction that the derivatives show so many times less than the best is not seen, as for the covariance
_WORST_CONDITION = 3e6


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One fit.

    Parameters
    ----------
    names : (p,).
    parameters : (p,).
    covariance : (p, p), for white errors; NaN where the fit did not converge. Parameters at a bound have NaN, as
        nothing is known there, and the others have that of a fit in which it is held. The variance of what the data
        do not determine is infinite.
    correlated_covariance : (p, p), for errors that are autocorrelated; all NaN where these are so over too much of
        the record or the fit did not converge, else NaN and infinite as the other.
    correlated_degrees_of_freedom : number of independent errors with the same information, less the parameters.
    sigma, sum_of_squares : of the errors.
    degrees_of_freedom : observations less the parameters that they determine.
    at_bound : (p,), parameters in which an active bound has a part.
    converged : whether the best start did.
    residuals : (n_observations, n), observed minus fitted.
    checks : of the residuals.
    minima : sums of squares of the distinct minima that the starts led to, the least first, which is that of the
        best start in any case; more than one: the least may not be the right one.
    minima_at : (n_minima, p), where they are.
    unconverged : how many starts did not converge.
    normal : (p, p), J'J of the sensitivities to the parameters, of all observations.
    ranges : (p,), upper less lower bound.
    outside : names of the parameters, or coordinates, of which a start was out of bounds; the bound was used.
    """

    names: tuple[str, ...]
    parameters: Samples
    covariance: Samples
    correlated_covariance: Samples
    correlated_degrees_of_freedom: float
    sigma: float
    sum_of_squares: float
    degrees_of_freedom: int
    at_bound: Flags
    converged: bool
    residuals: Samples
    checks: ResidualChecks
    minima: tuple[float, ...]
    minima_at: Samples
    unconverged: int
    normal: Samples
    ranges: Samples
    outside: tuple[str, ...] = ()

    def of(self, name: str) -> float:
        """Return one parameter."""
        return float(self.parameters[self.names.index(name)])

    @property
    def standard_errors(self) -> Samples:
        """(p,), for white errors; NaN at a bound or if not converged, infinite where the data do not determine it."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlated_standard_errors(self) -> Samples:
        """(p,), for errors that are autocorrelated, never less than for white ones; NaN where they are not known."""
        return np.asarray(np.sqrt(np.diag(self.correlated_covariance)))

    def intervals(self, confidence: float = 0.95) -> Samples:
        """Return (p, 2), the ends of Student's interval of each parameter, for errors that are autocorrelated."""
        reach = float(stdtrit(self.correlated_degrees_of_freedom, 0.5 + 0.5 * confidence))
        return np.asarray(self.parameters[:, None] + np.outer(self.correlated_standard_errors, [-reach, reach]))

    @property
    def correlation(self) -> Samples:
        """(p, p); NaN for parameters at a bound or not determined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.covariance / np.outer(self.standard_errors, self.standard_errors))

    @property
    def bounded(self) -> tuple[str, ...]:
        """Names of the parameters at a bound."""
        return self._names(self.at_bound)

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Names of the parameters that the data do not determine."""
        return self._names(np.isinf(np.diag(self.covariance)))

    @property
    def hardly_determined(self) -> tuple[str, ...]:
        """Names of the parameters whose 95 % interval, for white errors, is wider than the range allowed."""
        width = 2.0 * float(stdtrit(self.degrees_of_freedom, 0.975)) * self.standard_errors
        return self._names(np.isfinite(width) & (width > self.ranges))

    @property
    def confounded(self) -> tuple[ConfoundedGroup, ...]:
        """Groups of parameters that the data cannot tell apart, exactly or within the bounds."""
        variance = self.sigma**2
        return confounded_groups(self.names, self.parameters, self.normal, variance, self.ranges)

    def doubts(self) -> tuple[str, ...]:
        """Return why not to trust the estimates, in words: of the search, then of the residuals."""
        confounded = self.confounded
        return (
            *(f"a start of {name} was out of bounds: the bound was used in its place" for name in self.outside),
            *(() if self.converged else ("the fit did not converge",)),
            *((f"another start led to a different minimum ({len(self.minima)} in all)",) * (len(self.minima) > 1)),
            *((f"{self.unconverged} of the starts did not converge",) * (self.converged and self.unconverged > 0)),
            *(f"{name} is at a bound: its standard error is not known" for name in self.bounded),
            *(f"{name} is not determined by the data" for name in self.unidentified),
            # the others are those lines already
            *(str(group) for group in confounded if group.determined or not group.exact),
            *(
                f"{name} is hardly determined: its 95 % interval is wider than the range allowed, {spread:.3g}"
                for name, spread in zip(self.names, self.ranges.tolist(), strict=True)
                if name in self.hardly_determined and not any(name in group.names for group in confounded)
            ),
            *self.checks.doubts(),
        )

    def _names(self, which: Flags) -> tuple[str, ...]:
        return tuple(name for name, chosen in zip(self.names, which.tolist(), strict=True) if chosen)


def fit(
    regression: Regression,
    observed: Samples,
    starts: Samples,
    *,
    sigma: float | None = None,
    solver: Solver | str = Solver.LEVENBERG_MARQUARDT,
    precision: float = PRECISION,
    most_iterations: int = 200,
) -> Fit:
    """Fit a model to one experiment, or to repeated observations of it together, from one start or several.

    Parameters
    ----------
    regression : the model.
    observed : (n,), or (n_observations, n).
    starts : (p,), or (k, p); the least of the minima is taken.
    sigma : of the errors, where it is known: the checks then compare.
    solver : of the search; all find the same minima, see `Solver`.
    precision, most_iterations : of our solver, see `minimize`; those of scipy have their own criteria.

    Raises
    ------
    ValueError : there are no more observations than parameters, no start has a finite response, the response
        does not depend on the parameters, or see `minimize`.
    """
    observed, starts = np.atleast_2d(observed), np.atleast_2d(starts)
    if observed.ndim > 2 or starts.ndim > 2:
        raise ValueError(f"fit: observed {observed.shape} and starts {starts.shape}: must be rows")
    # the sum over repeated observations is least where that of their mean is
    mean, repeated = observed.mean(axis=0), len(observed)
    found = find_minimum(
        regression, np.broadcast_to(mean, (len(starts), len(mean))), starts, solver, precision, most_iterations
    )
    best = int(np.argmin(found.sum_of_squares))
    _check_fittable(observed.size, starts.shape[1], float(found.sum_of_squares[best]))
    if not found.normal[best].any():
        raise ValueError(
            f"fit: the response does not depend on {', '.join(regression.names)}: nothing can be determined"
        )
    at, converged = found.parameters[best : best + 1], bool(found.converged[best])
    response, sensitivities = regression.evaluate(at)
    residuals = observed - response
    squares = float(np.sum(residuals**2))
    names, matrix = original_parameters(regression)
    info = information(found.normal[best : best + 1], found.at_bound[best : best + 1], matrix)
    rank = int(info.rank[0])
    degrees = observed.size - rank
    white = info.covariance(np.array([squares / degrees / repeated]))[0]
    correlated, correlated_degrees = correlated_covariance(info, sensitivities[0], (mean - response)[0], white)
    if not converged:
        # the curvature is not that at a minimum
        white[np.isfinite(white)], correlated = np.nan, np.full_like(white, np.nan)
    minima = distinct_minima(found, mean)
    beyond = (starts < np.asarray(regression.lower)) | (starts > np.asarray(regression.upper))
    outside = tuple(name for name, out in zip(regression.names, np.atleast_2d(beyond).T, strict=True) if out.any())
    return Fit(
        names,
        (at @ matrix.T)[0],
        white,
        correlated,
        correlated_degrees,
        float(np.sqrt(squares / degrees)),
        squares,
        degrees,
        info.at_bound[0],
        converged,
        residuals,
        check_residuals(residuals, sensitivities[0][:, ~found.at_bound[best]], sigma),
        tuple((squares + repeated * (found.sum_of_squares[minima] - found.sum_of_squares[best])).tolist()),
        found.parameters[minima] @ matrix.T,
        int(np.sum(~found.converged)),
        repeated * transformed_normal(found.normal[best], matrix),
        transformed_ranges(regression.upper - regression.lower, matrix),
        outside,
    )


def _check_fittable(observations: int, parameters: int, squares: float) -> None:
    """Raise ValueError where observations are too few, or the sum of squares is not finite."""
    if observations <= parameters:
        raise ValueError(
            f"fit of {parameters} parameters: needs more than {parameters} observations, there are {observations}"
        )
    if not np.isfinite(squares):
        raise ValueError("fit: the response at the start is not finite, begin elsewhere")


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
        covariance=transformed_covariance(fit.covariance, matrix),
        correlated_covariance=transformed_covariance(fit.correlated_covariance, matrix),
        at_bound=((matrix != 0.0) & fit.at_bound).any(axis=1),
        normal=transformed_normal(fit.normal, matrix),
        ranges=transformed_ranges(fit.ranges, matrix),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Many fits of one model.

    Parameters
    ----------
    names : (p,).
    parameters : (m, p).
    covariance : (m, p, p), for white errors; NaN at a bound and infinite if undetermined, as in `Fit`.
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
        """(m, p); NaN and infinite as the covariance, and NaN where a fit did not converge."""
        errors = np.sqrt(np.einsum("mpp->mp", self.covariance))
        return np.asarray(np.where(self.converged[:, None] | np.isinf(errors), errors, np.nan))


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
    _check_fittable(observed.shape[1], found.parameters.shape[1], float(found.sum_of_squares.max(initial=0.0)))
    names, matrix = original_parameters(regression)
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


@dataclass(frozen=True, slots=True)
class ResidualChecks:
    """Probabilities of residuals at least as strange, if the model and its errors were right; small: they are not.

    Parameters
    ----------
    mean : Student's test of a mean of zero.
    independence : Ljung and Box's test over ten lags, with the moments of residuals in the place of those of errors.
    normality : D'Agostino and Pearson's test.
    deviation : two-sided test of their size against a known one; NaN where none is known.
    lag_one : the correlation of neighbours.
    """

    mean: float
    independence: float
    normality: float
    deviation: float
    lag_one: float

    def doubts(self, level: float = 0.01) -> tuple[str, ...]:
        """Return what is wrong at this level, in words; nothing where nothing is."""
        words = {
            "mean": "the residuals' mean is not zero",
            "independence": "neighbouring residuals are correlated: the model leaves something out, and its standard "
            "errors for white errors mean nothing",
            "normality": "the residuals are not normal",
            "deviation": "the residuals are not as large as the known error",
        }
        return tuple(text for name, text in words.items() if getattr(self, name) < level)


def check_residuals(residuals: Samples, sensitivities: Samples, sigma: float | None = None) -> ResidualChecks:
    """Return the checks of (n_observations, n) residuals.

    Parameters
    ----------
    sensitivities : (n, p), the derivatives by what was fitted and is not held by a bound; (n, 0) for errors.
    sigma : of the errors, where it is known.
    """
    from scipy.stats import normaltest  # slow to import

    number, n = residuals.shape
    everything = residuals.ravel()
    total = float(everything @ everything)
    if total == 0.0:
        return ResidualChecks(np.nan, np.nan, np.nan, np.nan, np.nan)
    size = np.linalg.norm(sensitivities, axis=0)
    basis, seen, _ = np.linalg.svd(sensitivities / np.where(size > 0.0, size, 1.0), full_matrices=False)
    # orthonormal, (n, rank), of what the fit can follow
    fitted = np.asarray(basis[:, seen * _WORST_CONDITION > seen.max(initial=0.0)])
    degrees = everything.size - fitted.shape[1]
    student = everything.mean() / np.sqrt(total / degrees) * np.sqrt(everything.size)
    lags = min(_LAGS, n // 5)
    correlations = np.array([np.sum(residuals[:, lag:] * residuals[:, :-lag]) / total for lag in range(1, lags + 1)])
    mean, variance = _moments(fitted, number, lags)
    box = float(np.sum((correlations - mean) ** 2 / variance))
    low = float(chdtr(degrees, total / sigma**2)) if sigma else np.nan
    normality = np.nan
    if len(everything) >= _FEWEST and np.std(everything) > 1e-14 * abs(np.mean(everything)):
        normality = float(normaltest(everything).pvalue)
    return ResidualChecks(
        float(2.0 * stdtr(degrees, -abs(student))),
        float(chdtrc(lags, box)) if lags else np.nan,
        normality,
        2.0 * min(low, 1.0 - low) if sigma else np.nan,
        float(correlations[0]) if lags else np.nan,
    )


def _moments(fitted: Samples, number: int, lags: int) -> tuple[Samples, Samples]:
    """Return mean and variance, (lags,), of the correlations of residuals e = (I - QQ') of independent normal errors.

    They are the moments of a ratio e'Se / e'e, with S half the sum of the shifts by a lag to either side: exact, and
    without a fit nearly those of Ljung and Box, zero and (n - lag) / (n (n + 2)).

    Parameters
    ----------
    fitted : (n, p), Q.
    number : of repeated observations, (n,) each.
    """
    n, p = fitted.shape
    degrees = number * n - p
    mean, variance = np.empty(lags), np.empty(lags)
    for lag in range(1, lags + 1):
        shifted = np.zeros_like(fitted)
        shifted[lag:] += 0.5 * fitted[:-lag]
        shifted[:-lag] += 0.5 * fitted[lag:]
        within = fitted.T @ shifted
        trace = -float(np.trace(within))
        squared = 0.5 * number * (n - lag) - 2.0 * float(np.sum(shifted**2)) + float(np.sum(within**2))
        mean[lag - 1] = trace / degrees
        variance[lag - 1] = 2.0 * (degrees * squared - trace**2) / (degrees**2 * (degrees + 2.0))
    return mean, variance

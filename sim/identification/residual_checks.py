"""Residual diagnostics of a fit: tests of a mean of zero, independence, normality and size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtrc, stdtr

from sim.arrays import Samples

_LAGS = 10
# values that the test of normality needs
_FEWEST = 20
# a direction that the derivatives show so many times less than the best is not seen, as for the covariance
_WORST_CONDITION = 3e6


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
    number, n = residuals.shape
    everything = residuals.ravel()
    total = float(everything @ everything)
    if total == 0.0:
        return ResidualChecks(np.nan, np.nan, np.nan, np.nan, np.nan)
    fitted = _basis(sensitivities)
    degrees = everything.size - fitted.shape[1]
    student = everything.mean() / np.sqrt(total / degrees) * np.sqrt(everything.size)
    lags = min(_LAGS, n // 5)
    correlations = np.array([np.sum(residuals[:, lag:] * residuals[:, :-lag]) / total for lag in range(1, lags + 1)])
    mean, variance = _moments(fitted, number, lags)
    box = float(np.sum((correlations - mean) ** 2 / variance))
    low = float(chdtr(degrees, total / sigma**2)) if sigma else np.nan
    return ResidualChecks(
        float(2.0 * stdtr(degrees, -abs(student))),
        float(chdtrc(lags, box)) if lags else np.nan,
        _normality(everything),
        2.0 * min(low, 1.0 - low) if sigma else np.nan,
        float(correlations[0]) if lags else np.nan,
    )


def _normality(sample: Samples) -> float:
    """Return the p-value of D'Agostino and Pearson's test; NaN for fewer than twenty values, or for equal ones."""
    from scipy.stats import normaltest  # slow to import

    if len(sample) < _FEWEST or np.std(sample) <= 1e-14 * abs(np.mean(sample)):
        return np.nan
    return float(normaltest(sample).pvalue)


def _basis(sensitivities: Samples) -> Samples:
    """Return an orthonormal basis, (n, rank), of what the fit can follow."""
    size = np.linalg.norm(sensitivities, axis=0)
    basis, seen, _ = np.linalg.svd(sensitivities / np.where(size > 0.0, size, 1.0), full_matrices=False)
    return np.asarray(basis[:, seen * _WORST_CONDITION > seen.max(initial=0.0)])


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

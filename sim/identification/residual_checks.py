"""Whether the residuals of a fit are what the fit takes them for: independent errors of mean zero, and normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, normaltest, t

from sim.identification.regression import Samples

_LAGS = 10
# normality is not tested on fewer
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class ResidualChecks:
    """Probabilities of residuals at least as strange, if the model and its errors were right; small: they are not.

    Parameters
    ----------
    mean : Student's test of a mean of zero.
    independence : Ljung and Box's test over ten lags.
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


def check_residuals(residuals: Samples, n_parameters: int, sigma: float | None = None) -> ResidualChecks:
    """Return the checks of (n_observations, n) residuals.

    Parameters
    ----------
    n_parameters : that were fitted.
    sigma : of the errors, where it is known.
    """
    number, n = residuals.shape
    everything = residuals.ravel()
    total = float(everything @ everything)
    if total == 0.0:
        return ResidualChecks(np.nan, np.nan, np.nan, np.nan, np.nan)
    degrees = everything.size - n_parameters
    spread = np.sqrt(total / degrees)
    student = everything.mean() / spread * np.sqrt(everything.size)
    lags = min(_LAGS, n // 5)
    correlations = np.array([np.sum(residuals[:, lag:] * residuals[:, :-lag]) / total for lag in range(1, lags + 1)])
    weights = 1.0 / (n - np.arange(1.0, lags + 1.0))
    box = number * n * (n + 2.0) * float(np.sum(weights * correlations**2))
    low = float(chi2.cdf(total / sigma**2, degrees)) if sigma else np.nan
    return ResidualChecks(
        float(2.0 * t.sf(abs(student), degrees)),
        # what was fitted takes no freedom from the lags, as it does where the errors themselves are modelled
        float(chi2.sf(box, lags)) if lags else np.nan,
        float(normaltest(everything).pvalue) if everything.size >= _FEWEST else np.nan,
        2.0 * min(low, 1.0 - low) if sigma else np.nan,
        float(correlations[0]) if lags else np.nan,
    )

"""A least-squares fit as an object of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.identification.fit import Fit


def fit_json(fit: Fit, intervals: Sequence[tuple[float, float]] = ()) -> dict[str, Any]:
    """Return a fit: estimates, white standard errors, correlation, residuals' checks, distinct minima.

    A standard error is NaN, null in JSON, where it is not known: at a bound, or undetermined by the record.
    """
    found: dict[str, Any] = {
        "estimates": dict(zip(fit.names, fit.parameters.tolist(), strict=True)),
        "standard_errors": dict(zip(fit.names, fit.standard_errors.tolist(), strict=True)),
        "correlation": fit.correlation.tolist(),
        "sigma": fit.sigma,
        "sum_of_squares": fit.sum_of_squares,
        "converged": fit.converged,
        "at_bound": list(fit.bounded),
        "unidentified": list(fit.unidentified),
        "minima": len(fit.minima),
        "unconverged_starts": fit.unconverged,
        "residuals": {
            "mean_p": fit.checks.mean,
            "independence_p": fit.checks.independence,
            "normality_p": fit.checks.normality,
            "deviation_p": fit.checks.deviation,
            "lag_one_correlation": fit.checks.lag_one,
            "doubts": list(fit.checks.doubts()),
        },
    }
    if intervals:
        found["profile_95"] = {name: [*interval] for name, interval in zip(fit.names, intervals, strict=True)}
    return found

"""Actuators identified from recorded runs: gain, delay and lag, with standard errors and diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.fitting.fit import Fit

_CHECK_KEYS = {"lag_one": "lag_one_correlation"}


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
            **{_CHECK_KEYS.get(name, f"{name}_p"): value for name, value in asdict(fit.checks).items()},
            "doubts": list(fit.checks.doubts()),
        },
    }
    if intervals:
        found["profile_95"] = {name: [*interval] for name, interval in zip(fit.names, intervals, strict=True)}
    return found

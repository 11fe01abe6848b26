"""A fit as the JSON that scripts read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.json_values import number

if TYPE_CHECKING:
    from monitor.blocks import Stream
    from replay.identification import ActuatorFit, Identified
    from sim.identification.fit import Fit


def as_json(path: Path, stream: Stream, found: Identified, notes: Sequence[str]) -> dict[str, Any]:
    """Return what was identified of one record; SI, null where there is no value."""
    return {
        "file": str(path),
        "sample_rate": stream.sample_rate,
        "notes": list(notes),
        "actuators": [_actuator(each, stream) for each in found.fits],
        "problems": list(found.problems),
    }


def _actuator(found: ActuatorFit, stream: Stream) -> dict[str, Any]:
    errors = map(number, found.standard_errors.tolist())
    return {
        "actuator": found.pair.actuator,
        "command": stream.channels[found.pair.command].name,
        "measured": stream.channels[found.pair.measured].name,
        **fit_json(found.fit),
        "correlated_standard_errors": dict(zip(found.fit.names, errors, strict=True)),
        "rivals": [dict(zip(found.fit.names, rival, strict=True)) for rival in found.rivals.tolist()],
        "explained": number(found.explained),
        "compared": found.compared,
        "left_out": found.left_out,
        "warnings": list(found.warnings),
        "notes": list(found.notes),
    }


def fit_json(fit: Fit, intervals: Sequence[tuple[float, float]] = ()) -> dict[str, Any]:
    """Return a fit: estimates, white standard errors, correlation, residuals' checks, distinct minima.

    A standard error is null where it is not known: at a bound, and of what the record does not determine.
    """
    found: dict[str, Any] = {
        "estimates": dict(zip(fit.names, fit.parameters.tolist(), strict=True)),
        "standard_errors": dict(zip(fit.names, map(number, fit.standard_errors.tolist()), strict=True)),
        "correlation": [[number(value) for value in row] for row in fit.correlation.tolist()],
        "sigma": fit.sigma,
        "sum_of_squares": fit.sum_of_squares,
        "converged": fit.converged,
        "at_bound": list(fit.bounded),
        "unidentified": list(fit.unidentified),
        "minima": len(fit.minima),
        "residuals": {
            "mean_p": number(fit.checks.mean),
            "independence_p": number(fit.checks.independence),
            "normality_p": number(fit.checks.normality),
            "deviation_p": number(fit.checks.deviation),
            "lag_one_correlation": number(fit.checks.lag_one),
            "doubts": list(fit.checks.doubts()),
        },
    }
    if intervals:
        found["profile_95"] = {
            name: [number(end) for end in interval] for name, interval in zip(fit.names, intervals, strict=True)
        }
    return found

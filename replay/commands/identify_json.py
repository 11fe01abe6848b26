"""A fit as the JSON that scripts read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.json_values import number
from replay.commands.identify_names import shown

if TYPE_CHECKING:
    from monitor.messages.blocks import Stream
    from replay.formats import Recording
    from replay.identification import ActuatorFit, Identified
    from sim.identification.fit import Fit


def as_json(path: Path, recording: Recording | None, found: Identified) -> dict[str, Any]:
    """Return what was identified of one record, or why nothing was; null where there is no value.

    A name says the unit where it is one of time; the others are those of the channels.
    """
    return {
        "file": str(path),
        "sample_rate": recording.stream.sample_rate if recording else None,
        "notes": list(recording.notes) if recording else [],
        "actuators": [_actuator(each, recording.stream) for each in found.fits] if recording else [],
        "problems": list(found.problems),
    }


def _actuator(found: ActuatorFit, stream: Stream) -> dict[str, Any]:
    command, measured = stream.channels[found.pair.command], stream.channels[found.pair.measured]
    keys = tuple(shown(name, command, measured).key for name in found.fit.names)
    # what was asked for and is not told has no value, but its name
    nothing = {shown(name, command, measured).key: None for name in found.not_told}
    fit = fit_json(replace(found.fit, names=keys))
    errors = dict(zip(keys, map(number, found.fit.correlated_standard_errors.tolist()), strict=True))
    intervals = [[number(end) for end in interval] for interval in found.fit.intervals().tolist()]
    return {
        "actuator": found.pair.actuator,
        "command": command.name,
        "measured": measured.name,
        **fit,
        "estimates": fit["estimates"] | nothing,
        "standard_errors": fit["standard_errors"] | nothing,
        "correlated_standard_errors": errors | nothing,
        "interval_95": dict(zip(keys, intervals, strict=True)) | nothing,
        "unidentified": [*fit["unidentified"], *nothing],
        "rivals": [dict(zip(keys, rival, strict=False)) for rival in found.rivals.tolist()],
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
        "unconverged_starts": fit.unconverged,
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

"""The thermal challenge as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replay.studies.thermal.compliance import FailureProbability
    from replay.studies.thermal.study import LevelStudy, ThermalStudy
    from replay.studies.thermal.validation import Judgement
    from sim.models.thermal_population import Characterization, PropertyFit

_SHOWN = ("instantaneous", "first_passage", "accumulated")


def as_json(study: ThermalStudy) -> dict[str, Any]:
    """Return the study, in SI and degC."""
    from replay.studies.thermal.statement import RULE

    levels = {each.level: each for each in study.levels}
    convergence = study.convergence
    return {
        "study": "thermal",
        "realizations": study.n_units,
        "bootstrap_data_sets": study.n_resampled,
        "specimens": study.n_specimens,
        "table2_max_error": study.table2_max_error,
        "table2": [dict(zip(("time_s", "paper", "ours"), row, strict=True)) for row in study.check.tolist()],
        "convergence": {
            "n_cells": convergence.n_cells,
            "error_constant": convergence.constant,
            "error_temperature_dependent": convergence.temperature_dependent,
        },
        "fits": study.fits,
        "characterization": {name: _characterization(each.characterization) for name, each in levels.items()},
        "validation": {name: _judged(each, "validation") for name, each in levels.items()},
        "accreditation": {name: _judged(each, "accreditation") for name, each in levels.items()},
        "share_of_model_cooler_at_the_end": {name: each.share_cooler for name, each in levels.items()},
        "failure_probability": {
            name: {which: _failure(found) for which, found in each.failure.items()} for name, each in levels.items()
        },
        "decision_rule": RULE,
        "decision": {name: _decision(each) for name, each in levels.items()},
        "bias_correction": {
            name: asdict(each.bias) | {"extrapolates": each.bias.extrapolates} for name, each in levels.items()
        },
    }


def _characterization(found: Characterization) -> dict[str, Any]:
    fits = {"conductivity_line": found.line, "conductivity": found.constant}
    fits |= {"heat_capacity_line": found.capacity_line, "heat_capacity": found.capacity}
    return {
        "representative_temperature": found.representative_temperature,
        **{name: _fit(fit) for name, fit in fits.items()},
    }


def _fit(fit: PropertyFit) -> dict[str, Any]:
    return {
        "coefficients": fit.coefficients,
        "standard_errors": fit.standard_errors,
        "interval_95": fit.interval(),
        "residual_deviation": fit.residual_deviation,
        "residual_deviation_95": fit.deviation_interval(),
        "slope_p_value": fit.slope_p_value,
    }


def _judged(level: LevelStudy, activity: str) -> dict[str, Any]:
    return {which: [_judgement(each) for each in found] for which, found in getattr(level, activity).items()}


def _judgement(found: Judgement) -> dict[str, Any]:
    return {
        "tolerance": found.tolerance,
        "first_instant_left_out": True,
        **{
            name: {metric: getattr(curves, metric).value[-1] for metric in _SHOWN}
            | {"standard_error": {metric: getattr(curves, metric).standard_error[-1] for metric in _SHOWN}}
            for name, curves in found.all.items()
        },
    }


def _failure(found: FailureProbability) -> dict[str, float]:
    low, high = found.interval
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "quadrature": found.quadrature,
        "bootstrap_05": low,
        "bootstrap_95": high,
    }


def _decision(level: LevelStudy) -> dict[str, Any]:
    return {
        "statement": level.statement,
        "verdict": level.verdict,
        "share_of_resampled_data_that_comply": {
            which: found.share_complying for which, found in level.failure.items()
        },
        "other_families": {which: found.families for which, found in level.failure.items()},
    }

"""The study of parameter estimation with delays as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.identify_json import fit_json
from monitor.commands.json_values import number

if TYPE_CHECKING:
    from replay.studies.delay_priors import Prior
    from replay.studies.delays import DelayStudy, Level

_BINS = 30


def as_json(study: DelayStudy) -> dict[str, Any]:
    """Return every example at every level of noise; null where there is no value."""
    from replay.studies.delay_examples import BAYARRI, LATER
    from replay.studies.delays import REPEATS

    return {
        "study": "delays",
        "runs": len(study.levels[0].observed),
        "repeated_observations": REPEATS,
        "later_s": LATER,
        "levels": [_level(level) for level in study.levels],
        "hypothesised_model_alone": fit_json(study.bayarri) | {"paper": dict(BAYARRI.printed[0])},
    }


def _level(level: Level) -> dict[str, Any]:
    example = level.example
    found: dict[str, Any] = {
        "example": example.number,
        "sigma": level.sigma,
        "truth": {name: example.known(name) for name in example.disturbed.names},
        "paper": {f"method_{method}": dict(values) for method, values in example.printed.items()},
        "paper_says": example.claim,
    }
    for method, fits in level.fits.items():
        typical = level.typical[method]
        found[f"method_{method}"] = {
            "one_run": fit_json(typical.fit, typical.intervals),
            "converged": int(fits.converged.sum()),
            "estimates": {name: _spread(fits.of(name)) for name in fits.names},
            "median_error_later": number(float(np.median(np.abs(level.later_error[method])))),
        }
    names = level.fits[2].names
    found["method_2"]["bias_in_standard_errors"] = dict(zip(names, map(number, level.bias), strict=True))
    found["method_2"]["told_over_scatter"] = dict(zip(names, map(number, level.told_over_scatter), strict=True))
    found["times_closer_later"] = number(level.gain)
    found["unstable"] = {
        "single": _unstable(level, level.fits[2].parameters),
        "mean_of_repeated": _unstable(level, level.mean_parameters),
        "repeated_together": _unstable(level, level.joint.parameters),
        "kept_stable": None if level.stable_fits is None else _unstable(level, level.stable_fits.parameters),
    }
    found["steady_state"] = {
        "truth": number(example.truth.steady_state),
        "mean_of_repeated": _spread(level.steady_states(level.mean_parameters)),
        "repeated_together": _spread(level.steady_states(level.joint.parameters)),
    }
    found["with_prior"] = None if level.prior is None else _prior(level.prior)
    return found


def _unstable(level: Level, parameters: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> int:
    return int(np.sum(~level.example.is_stable(parameters)))


def _spread(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, Any]:
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return {"mean": None, "deviation": None, "p05": None, "p50": None, "p95": None, "histogram": None}
    counts, edges = np.histogram(values, _BINS)
    low, middle, high = np.percentile(values, [5.0, 50.0, 95.0]).tolist()
    return {
        "mean": float(values.mean()),
        "deviation": float(values.std(ddof=1)),
        "p05": low,
        "p50": middle,
        "p95": high,
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _prior(prior: Prior) -> dict[str, Any]:
    found = prior.posterior
    return {
        "estimates": {name: _spread(found.of(name)) for name in found.names},
        "steady_state": _spread(prior.steady_state),
        "autocorrelation_steps": [number(steps) for steps in found.autocorrelation.tolist()],
        "acceptance": found.acceptance,
        "long_enough": found.enough,
    }

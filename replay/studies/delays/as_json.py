"""The study of parameter estimation with delays as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replay.identification import fit_json

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples
    from replay.studies.delays.level import MethodRuns, NoiseLevel, PosteriorOfRun
    from replay.studies.delays.study import DelayStudy

_BINS = 30
_PERCENT = (5, 25, 50, 75, 95)


def as_json(study: DelayStudy) -> dict[str, Any]:
    """Return every example at every level of noise.

    Everything but `timing` is the same whenever the seed is.
    """
    from replay.studies.delays.examples import BAYARRI, LATER, Method
    from replay.studies.delays.study import REPEATS

    return {
        "study": "delays",
        "runs": len(study.levels[0].observed),
        "repeated_observations": REPEATS,
        "later_s": LATER,
        "levels": [_level(level) for level in study.levels],
        "undisturbed_model_alone": fit_json(study.bayarri)
        | {
            "doubts": list(study.bayarri.doubts()),
            "truth": {"q0": BAYARRI.known("q0")},
            "paper": dict(BAYARRI.printed[Method.UNDISTURBED]),
        },
        "timing": [_timing(level) for level in study.levels],
    }


def _level(level: NoiseLevel) -> dict[str, Any]:
    from replay.studies.delays.examples import Method

    example = level.example
    found: dict[str, Any] = {
        "example": example.number,
        "sigma": level.sigma,
        "truth": {name: example.known(name) for name in example.disturbed.names},
        "paper": {
            **{f"method_{method}": dict(values) for method, values in example.printed.items()},
            "steady_state": dict(example.printed_steady_state),
            "unstable_of_500": example.printed_unstable,
            "claim": example.claim,
        },
    }
    for method, runs in level.free.items():
        first_run, names = level.first_run[method], runs.fits.names
        found[f"method_{method}"] = {
            "one_run": fit_json(first_run.fit, first_run.intervals) | {"doubts": list(first_run.fit.doubts())},
            "estimates": {name: _estimate(runs, i) for i, name in enumerate(names)},
            **_runs(runs),
            "kept_stable": _runs(level.kept[method]),
        }
    states = level.steady_states
    one_run = level.first_run[Method.DISTURBANCE].fit.parameters
    found["times_closer_later"] = level.times_closer
    found["repeated"] = {
        name: {"fits": len(level.estimates[name]), "unstable": len(level.estimates[name]) - len(states[name])}
        for name in ("mean_of_repeated", "repeated_together")
    }
    found["steady_state"] = {
        "truth": example.truth.steady_state,
        "one_run": float(example.steady_states(one_run[None])[0]),
        **{name: _spread(values) for name, values in states.items()},
    }
    found["with_priors"] = None if level.posterior is None else _posterior(level.posterior)
    return found


def _timing(level: NoiseLevel) -> dict[str, Any]:
    """Return how long the fits of all runs took."""
    free = {f"method_{method}_s": runs.seconds for method, runs in level.free.items()}
    kept = {f"method_{method}_kept_stable_s": runs.seconds for method, runs in level.kept.items()}
    return {"example": level.example.number, "sigma": level.sigma} | free | kept


def _runs(runs: MethodRuns) -> dict[str, Any]:
    low, median, high = runs.later
    return {
        "n_converged": int(runs.fits.converged.sum()),
        "n_unstable": runs.unstable,
        "n_at_bound": runs.at_bound,
        "error_later": {"p25": low, "p50": median, "p75": high},
    }


def _estimate(runs: MethodRuns, i: int) -> dict[str, Any]:
    """Return how a parameter's estimates scatter, and what their fits make of it."""
    return _spread(runs.fits.parameters[:, i]) | {
        "bias": runs.bias[i],
        "bias_standard_error": runs.bias_error[i],
        "mean_standard_error": runs.mean_standard_error[i],
    }


def _spread(values: Samples) -> dict[str, Any]:
    from replay.studies.delays.level import histogram

    values = values[np.isfinite(values)]
    if len(values) < 2:
        return dict.fromkeys(("mean", "deviation", *(f"p{percent:02}" for percent in _PERCENT), "histogram"))
    counts, edges = histogram(values, _BINS)
    quantiles = np.percentile(values, _PERCENT).tolist()
    return {
        "mean": float(values.mean()),
        "deviation": float(values.std(ddof=1)),
        **{f"p{percent:02}": each for percent, each in zip(_PERCENT, quantiles, strict=True)},
        "histogram": {"edges": edges, "counts": counts.astype(int)},
    }


def _posterior(found: PosteriorOfRun) -> dict[str, Any]:
    posterior = found.posterior
    return {
        "estimates": {name: _spread(posterior.of(name)) for name in posterior.names},
        "steady_state": _spread(found.steady_state),
        "autocorrelation_steps": posterior.autocorrelation,
        "acceptance": posterior.acceptance,
        "long_enough": posterior.enough,
    }

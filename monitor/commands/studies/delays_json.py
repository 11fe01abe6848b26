"""The study of parameter estimation with delays as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.identify_json import fit_json
from monitor.commands.json_values import number

if TYPE_CHECKING:
    from monitor.blocks import Samples
    from replay.studies.delays.level import Level, Runs
    from replay.studies.delays.posteriors import Prior
    from replay.studies.delays.study import DelayStudy

_BINS = 30


def as_json(study: DelayStudy) -> dict[str, Any]:
    """Return every example at every level of noise; null where there is no value."""
    from replay.studies.delays.examples import BAYARRI, LATER
    from replay.studies.delays.study import REPEATS

    return {
        "study": "delays",
        "runs": len(study.levels[0].observed),
        "repeated_observations": REPEATS,
        "later_s": LATER,
        "levels": [_level(level) for level in study.levels],
        "hypothesised_model_alone": fit_json(study.bayarri)
        | {"doubts": list(study.bayarri.doubts()), "paper": dict(BAYARRI.printed[0])},
    }


def _level(level: Level) -> dict[str, Any]:
    example = level.example
    found: dict[str, Any] = {
        "example": example.number,
        "sigma": level.sigma,
        "truth": {name: example.known(name) for name in example.disturbed.names},
        "paper": {
            **{f"method_{method}": dict(values) for method, values in example.printed.items()},
            "steady_state": dict(example.printed_steady_state),
            "unstable_of_500": example.printed_unstable,
        },
        "paper_says": example.claim,
    }
    for method, runs in level.free.items():
        typical, names = level.typical[method], runs.fits.names
        found[f"method_{method}"] = {
            "one_run": fit_json(typical.fit, typical.intervals)
            | {"doubts": list(typical.fit.doubts()), "at_bound": list(typical.fit.bounded)},
            "estimates": {name: _estimate(runs, i) for i, name in enumerate(names)},
            "bias_in_standard_errors": {
                name: _ratio(runs.bias[i], runs.bias_error[i]) for i, name in enumerate(names)
            },
            "told_over_scatter": {name: number(runs.told_over_scatter[i]) for i, name in enumerate(names)},
            "median_error_later": number(runs.later[1]),
            **_runs(runs),
            "kept_stable": _runs(level.kept[method]),
        }
    states = level.steady_states
    unstable = {name: len(found) - len(states[name]) for name, found in level.estimates.items()}
    found["times_closer_later"] = number(level.gain)
    found["unstable"] = unstable
    found["unstable_share"] = {name: count / len(level.estimates[name]) for name, count in unstable.items()}
    found["steady_state"] = {
        "truth": number(example.truth.steady_state),
        "one_run": number(float(example.steady_states(level.typical[2].fit.parameters[None])[0])),
        **{name: _spread(values) for name, values in states.items()},
    }
    found["with_prior"] = None if level.prior is None else _prior(level.prior)
    return found


def _runs(runs: Runs) -> dict[str, Any]:
    low, median, high = map(number, runs.later)
    return {
        "converged": int(runs.fits.converged.sum()),
        "unstable": runs.unstable,
        "at_bound": runs.at_bound,
        "error_later": {"p25": low, "p50": median, "p75": high},
        "seconds": runs.seconds,
    }


def _estimate(runs: Runs, i: int) -> dict[str, Any]:
    """Return how a parameter's estimates scatter, and what their fits tell of it."""
    return _spread(runs.fits.parameters[:, i]) | {
        "bias": number(runs.bias[i]),
        "bias_standard_error": number(runs.bias_error[i]),
        "mean_standard_error": number(runs.told[i]),
        "told_over_scatter": number(runs.told_over_scatter[i]),
    }


def _ratio(above: float, below: float) -> float | None:
    return number(above / below) if below else None


def _spread(values: Samples) -> dict[str, Any]:
    from replay.studies.delays.spread import histogram, quartiles

    values = values[np.isfinite(values)]
    if len(values) < 2:
        names = ("mean", "deviation", "p05", "p25", "p50", "p75", "p95", "histogram")
        return dict.fromkeys(names)
    counts, edges = histogram(values, _BINS)
    (low, high), (quarter, middle, three) = np.percentile(values, [5.0, 95.0]).tolist(), quartiles(values)
    return {
        "mean": number(float(values.mean())),
        "deviation": number(float(values.std(ddof=1))),
        "p05": low,
        "p25": quarter,
        "p50": middle,
        "p75": three,
        "p95": high,
        "histogram": {"edges": edges.tolist(), "counts": counts.astype(int).tolist()},
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

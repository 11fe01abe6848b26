"""The study of parameter estimation with delays as tables, data and figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Points, Row, Table, Text, Tone, words
from monitor.text.numbers import number
from replay import Progress
from replay.identification import fit_json
from replay.papers.delays import pictures
from replay.papers.delays.examples import BAYARRI, LATER, TIME, Method
from replay.papers.delays.study import (
    DISTURBANCE_DEVIATION,
    PRINTED_VARIANCE,
    REPEATS,
    RUNS,
    SIGMAS,
    DelayStudy,
    MethodRuns,
    NoiseLevel,
    histogram,
    quartiles,
    run_study,
)

_BINS, _PERCENT = 30, (5, 25, 50, 75, 95)
_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 10
_BEGINNING = (
    "x'(t) = q0 x(t) + q1 x(t - 1) + omega, x(0) = {initial:g}, is observed {n_times} times from 0 to {end:g} s with "
    "noise of deviation sigma, and fitted by a model without omega and a polynomial beside it (method 1: beta_1 + "
    "beta_2 t + beta_3 t^2), or with omega as a parameter (method 2). {n_runs} runs, each with noise of its own. "
    "Paper: what Burns, Cliff and Farlow print, at a variance of 0.3: sigma = {printed:.4g}."
)
_WORDS = ("method 1, a polynomial beside the undisturbed model", "method 2, the disturbance as a parameter")
_few = partial(Column, form=".3g")


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        SIGMAS if arguments.sigma is None else arguments.sigma,
        n_runs=RUNS if arguments.runs is None else arguments.runs,
        seed=arguments.seed,
        priors=bool(arguments.priors),
        progress=progress,
    )
    return study_blocks(study)


def study_blocks(study: DelayStudy) -> Iterator[Block]:
    """Yield each example: a run next to the paper's, all runs, and the prediction.

    In JSON everything but `timing` is the same whenever the seed is.
    """
    yield _data(study)
    n_runs, n_times = study.levels[0].observed.shape
    yield Text(
        _BEGINNING.format(
            initial=study.levels[0].example.truth.initial,
            n_times=n_times,
            end=TIME[-1],
            n_runs=n_runs,
            printed=PRINTED_VARIANCE**0.5,
        )
    )
    for example_number in sorted({level.example.number for level in study.levels}):
        levels = [level for level in study.levels if level.example.number == example_number]
        yield from _example(levels)
        name = f"delays-{example_number}"
        yield Figure(f"{name}-prediction", partial(pictures.prediction, levels))
        yield Figure(f"{name}-estimates", partial(pictures.estimates, levels))
        if example_number == 2:
            yield Figure(f"{name}-steady-state", partial(pictures.steady_states, levels))
    yield from _alone(study)


def _data(study: DelayStudy) -> Data:
    return Data({
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
        "timing": [
            {"example": level.example.number, "sigma": level.sigma}
            | {f"method_{method}_s": runs.seconds for method, runs in level.free.items()}
            | {f"method_{method}_kept_stable_s": runs.seconds for method, runs in level.kept.items()}
            for level in study.levels
        ],
    })  # fmt: skip


def _level(level: NoiseLevel) -> dict[str, Any]:
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
            "estimates": {
                name: _spread(runs.fits.parameters[:, i])
                | {"bias": runs.bias[i], "bias_standard_error": runs.bias_error[i]}
                | {"mean_standard_error": runs.mean_standard_error[i]}
                for i, name in enumerate(names)
            },
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
    found["with_priors"] = None
    if level.posterior is not None:
        posterior = level.posterior.posterior
        found["with_priors"] = {
            "estimates": {name: _spread(posterior.of(name)) for name in posterior.names},
            "steady_state": _spread(level.posterior.steady_state),
            "autocorrelation_steps": posterior.autocorrelation,
            "acceptance": posterior.acceptance,
            "long_enough": posterior.enough,
        }
    return found


def _runs(runs: MethodRuns) -> dict[str, Any]:
    low, median, high = runs.later
    return {
        "n_converged": int(runs.fits.converged.sum()),
        "n_unstable": runs.unstable,
        "n_at_bound": runs.at_bound,
        "error_later": {"p25": low, "p50": median, "p75": high},
    }


def _spread(values: Samples) -> dict[str, Any]:
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


def _example(levels: list[NoiseLevel]) -> Iterator[Block]:
    example = levels[0].example
    truth = ", ".join(f"{name} {example.known(name):g}" for name in example.disturbed.names)
    yield Text(f"Example {example.number}: {truth}", Tone.HEADING)
    for method, text in zip(levels[0].first_run, _WORDS, strict=True):
        yield _first_run(levels, method, text)
        doubts = [(_sigma(level), doubt) for level in levels for doubt in level.first_run[method].fit.doubts()]
        if doubts:
            yield Points(tuple(f"sigma {sigma}: {doubt}" for sigma, doubt in doubts), Tone.WARNING)
    yield _scatter(levels)
    yield _predictions(levels)
    yield _steady_states(levels)
    if any(level.posterior is not None for level in levels):
        yield _posteriors(levels)
    if example.claim:
        yield Text(f"the paper prints: {example.claim}", Tone.PAPER)


def _first_run(levels: list[NoiseLevel], method: Method, text: str) -> Table:
    example, names = levels[0].example, levels[0].first_run[method].fit.names
    # of method 2
    is_steady = method == max(levels[0].first_run)
    rows: list[Sequence[object] | Row] = []
    for level in levels:
        run = level.first_run[method]
        cells = zip(run.fit.parameters, run.fit.standard_errors, run.intervals, strict=True)
        state = [example.steady_states(run.fit.parameters[None])[0]] if is_steady else []
        rows.append((_sigma(level), *(_with_interval(*each) for each in cells), *state))
    known = [number(example.known(name), "g") if math.isfinite(example.known(name)) else "" for name in names]
    rows.append(Row(("truth", *known, *([example.truth.steady_state] if is_steady else [])), Tone.ASIDE))
    if method in example.printed:
        state = [f"{example.printed_steady_state.get('one_run', '')}"] if is_steady else []
        rows.append(Row(("paper", *(f"{example.printed[method][name]:.4f}" for name in names), *state), Tone.PAPER))
    columns = words("sigma"), *map(Column, names), *([Column("steady state", form=".4f")] if is_steady else [])
    note = "Estimate ± standard error; below it the 95 % interval from the profile of the fit."
    return Table(f"First run, {text}", columns, rows, note)


def _scatter(levels: list[NoiseLevel]) -> Table:
    rows = []
    for level in levels:
        for method, runs in level.free.items():
            # the polynomial's terms have no truth
            for i, name in enumerate(runs.fits.names[: len(level.example.rates) + method - 1]):
                values, bias, error = runs.fits.parameters[:, i], runs.bias[i], runs.bias_error[i]
                rows.append(
                    (
                        _sigma(level) if i == 0 and method == 1 else "",
                        f"{method} {name}",
                        values.mean(),
                        f"{bias:+.2g} ± {error:.2g}",
                        bias / error if error else None,
                        runs.deviation[i],
                        runs.mean_standard_error[i],
                        _bars(values),
                    )
                )
    names = words("sigma"), words("method"), Column("mean", form=".4f"), Column("bias"), Column("/ ±", form="+.2f")
    return Table(
        f"All {len(levels[0].observed)} runs",
        (*names, _few("sd"), _few("fits' ±"), Column("histogram")),
        rows,
        "Method and parameter. Bias: mean of the estimates less the truth, ± its standard error, and their quotient. "
        "Sd: of the estimates. Fits' ±: mean of the fits' standard errors, which should be as large. Histogram of "
        "the estimates, the least and the largest beside it.",
    )


def _predictions(levels: list[NoiseLevel]) -> Table:
    n_runs = len(levels[0].observed)
    constraint = "q0 + |q1| < 0" if levels[0].example.truth.q1 else "q0 < 0"
    rows: list[Sequence[object] | Row] = []
    for level in levels:
        both = (("", level.free), (", kept", level.kept))
        each = [(kept, method, runs) for kept, by_method in both for method, runs in by_method.items()]
        for i, (kept, method, runs) in enumerate(each):
            low, median, high = runs.later
            rows.append(
                (
                    _sigma(level) if i == 0 else "",
                    f"{method}{kept}",
                    *(median, low, high),
                    level.times_closer if method == Method.DISTURBANCE and not kept else "",
                    runs.unstable,
                    100.0 * runs.unstable / n_runs,
                    runs.at_bound if kept else "",
                    np.sum(~runs.fits.converged),
                    runs.seconds,
                )
            )
    printed = levels[0].example.printed_unstable
    if printed is not None:
        unstable = f"{printed} of 500", printed / 5.0
        rows.append(Row(("paper", "2", *[None] * 4, *unstable, "", None, None), Tone.PAPER))
    columns = (
        *(words("sigma"), words("method"), _few("median"), _few("25 %"), _few("75 %"), Column("closer", form=".1f")),
        *(Column("unstable"), Column("%", form=".1f"), Column("at bound"), Column("failed")),
        Column("seconds", form=".2f"),
    )
    return Table(
        f"Prediction at t = {LATER:g}",
        columns,
        rows,
        f"Absolute error, median and quartiles of {n_runs} runs. Kept: fitted within {constraint}; at bound: at this "
        "limit. Closer: how many times, than method 1, in the median. Unstable: runs that do not settle. Failed: "
        "runs that did not converge. Seconds: that all fits took.",
    )


def _steady_states(levels: list[NoiseLevel]) -> Table:
    example = levels[0].example
    kinds = {
        "single": "single",
        "mean_of_repeated": f"means of {REPEATS}",
        "repeated_together": f"{REPEATS} together",
        "kept_stable": "kept stable",
    }
    rows: list[Sequence[object] | Row] = []
    for level in levels:
        for i, (name, states) in enumerate(level.steady_states.items()):
            low, median, high = quartiles(states)
            total = len(level.estimates[name])
            many = len(states) > 1
            rows.append(
                (
                    _sigma(level) if i == 0 else "",
                    kinds[name],
                    f"{total - len(states)} of {total}",
                    states.mean() if many else None,
                    2.0 * states.std(ddof=1) if many else None,
                    *(low, median, high),
                    _bars(states, 0.9),
                )
            )
    blank = [""] * 5
    if "mean_of_repeated" in example.printed_steady_state:
        mean = example.printed_steady_state["mean_of_repeated"]
        rows.append(Row(("paper", kinds["mean_of_repeated"], "", mean, *blank), Tone.PAPER))
    if example.printed_unstable is not None:
        rows.append(Row(("paper", "single", f"{example.printed_unstable} of 500", "", *blank), Tone.PAPER))
        rows.append(Row(("paper", "repeated", 0, "", *blank), Tone.PAPER))
    names = words("sigma"), words(), Column("unstable"), Column("mean", form=".4f")
    return Table(
        f"Steady state -omega / (q0 + q1), truth {example.truth.steady_state:.4f}",
        (*names, *map(_few, ("± 2 sd", "25 %", "median", "75 %")), Column("histogram")),
        rows,
        f"Of the stable ones among method 2's single runs, the means of {REPEATS} runs' estimates, the fits of "
        f"{REPEATS} runs' observations together, and the single runs kept stable. Histogram: the middle 90 %, its "
        "ends beside it. Near instability a run may have any steady state: there the median means something, and the "
        "mean does not.",
    )


def _posteriors(levels: list[NoiseLevel]) -> Table:
    names = levels[0].first_run[Method.DISTURBANCE].fit.names
    rows = []
    for level in levels:
        if level.posterior is not None:
            posterior = level.posterior.posterior
            spread = np.sqrt(np.diag(posterior.covariance))
            states = np.percentile(level.posterior.steady_state, [5.0, 50.0, 95.0])
            cells = (f"{mean:.4f} ± {each:.2g}" for mean, each in zip(posterior.mean, spread, strict=True))
            doubt = "" if posterior.enough else "the chains are short: take these for rough"
            rows.append((_sigma(level), *cells, ", ".join(f"{state:.3g}" for state in states), doubt))
    return Table(
        "First run, with priors",
        (words("sigma"), *map(Column, names), Column("steady state"), words()),
        rows,
        f"Omega normal about zero with deviation {DISTURBANCE_DEVIATION:g}, the rates anything that is stable: "
        "posterior mean ± deviation; of the steady state 5, 50 and 95 %.",
    )


def _alone(study: DelayStudy) -> Iterator[Block]:
    found = study.bayarri
    yield Text("Why a model needs its disturbance", Tone.HEADING)
    yield Text(
        "The data of Bayarri et al. (2007): a concentration of 5 decays with q = -1.7, but 1.5 of it never react, as "
        "if omega were 2.55. The model without it, 5 exp(q t), fitted to one run:"
    )
    yield Text(f"q {found.of('q0'):.3f} ± {found.standard_errors[0]:.2g}, truth {BAYARRI.truth.q0:g}")
    yield Text(f"the paper prints {BAYARRI.printed[Method.UNDISTURBED]['q0']}", Tone.PAPER)
    if found.doubts():
        yield Points(found.doubts())


def _sigma(level: NoiseLevel) -> str:
    # four digits: the printed variance of 0.3 is 0.5477
    return f"{level.sigma:.4g}"


def _with_interval(value: float, error: float, interval: tuple[float, float]) -> str:
    """Return an estimate with its standard error and below it an interval, to the places that mean something."""
    if math.isfinite(error) and error > 0.0:
        places = min(max(1 - math.floor(math.log10(error)), 3), 12)
        uncertainty = f"{error:.{places}f}"
    else:
        places, uncertainty = 4, "at a bound" if math.isnan(error) else "not known" if error else "0"
    low, high = (number(end, f".{max(places - 1, 3)}f") for end in interval)
    return f"{value:.{places}f} ± {uncertainty}\n[{low}, {high}]"


def _bars(values: Samples, share: float = 1.0) -> str:
    """Return a histogram of one line, of the share in the middle, between its ends."""
    cut = int(0.5 * (1.0 - share) * len(values))
    values = values if not cut else np.sort(values)[cut:-cut]
    counts, edges = histogram(values, _COLUMNS)
    most = max(counts.max(), 1.0)
    drawn = "".join(_BARS[math.ceil(count / most * (len(_BARS) - 1))] for count in counts.tolist())
    return f"{edges[0]:.3g} {drawn} {edges[-1]:.3g}"

"""The study of parameter estimation with delays as tables."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from replay.studies.delays.cells import bars, estimate, level_of, number, ratio, table, titled
from replay.studies.delays.report_later import print_later

if TYPE_CHECKING:
    from replay.studies.delays.examples import Method
    from replay.studies.delays.level import Level
    from replay.studies.delays.study import DelayStudy

_BEGINNING = (
    "x'(t) = q0 x(t) + q1 x(t - 1) + omega, x(0) = {initial:g}, is observed {n_times} times from 0 to {end:g} s with "
    "noise of deviation sigma, and fitted by a model without omega and a polynomial beside it (method 1: beta_1 + "
    "beta_2 t + beta_3 t^2), or with omega as a parameter (method 2). {n_runs} runs, each with noise of its own. "
    "Paper: what Burns, Cliff and Farlow print, at a variance of 0.3: sigma = {printed:.4g}."
)
_WORDS = ("method 1, a polynomial beside the undisturbed model", "method 2, the disturbance as a parameter")


def print_study(study: DelayStudy) -> None:
    """Print each example: a run beside the paper's, all runs, and what becomes of the prediction."""
    console = Console(width=None if sys.stdout.isatty() else 118, markup=False, highlight=False)
    console.print(_beginning(study))
    console.print()
    for example_number in sorted({level.example.number for level in study.levels}):
        levels = [level for level in study.levels if level.example.number == example_number]
        example = levels[0].example
        truth = ", ".join(f"{name} {example.known(name):g}" for name in example.disturbed.names)
        console.print(Text(f"Example {example_number}: {truth}", "bold"))
        for method, words in zip(levels[0].typical, _WORDS, strict=True):
            console.print(_typical(levels, method, words))
            _print_doubts(console, levels, method)
        console.print(_scatter(levels))
        print_later(console, levels)
        if example.claim:
            console.print(Text(f"the paper prints: {example.claim}", "cyan"))
        console.print()
    _print_alone(console, study)


def _beginning(study: DelayStudy) -> str:
    from replay.studies.delays.examples import TIME
    from replay.studies.delays.study import PRINTED_VARIANCE

    n_runs, n_times = study.levels[0].observed.shape
    initial = study.levels[0].example.truth.initial
    return _BEGINNING.format(
        initial=initial, n_times=n_times, end=TIME[-1], n_runs=n_runs, printed=PRINTED_VARIANCE**0.5
    )


def _typical(levels: list[Level], method: Method, words: str) -> Group:
    example, names = levels[0].example, levels[0].typical[method].fit.names
    steady = ("steady state",) if method == max(levels[0].typical) else ()
    found = table(
        *("sigma", *names, *steady),
    )
    for level in levels:
        run = level.typical[method]
        cells = zip(run.fit.parameters, run.fit.standard_errors, run.intervals, strict=True)
        state = [number(example.steady_states(run.fit.parameters[None])[0], ".4f")] if steady else []
        found.add_row(level_of(level.sigma), *(estimate(*each) for each in cells), *state)
    known = [number(example.known(name), "g") if math.isfinite(example.known(name)) else "" for name in names]
    found.add_row("truth", *known, *([f"{example.truth.steady_state:.4f}"] if steady else []), style="dim")
    if method in example.printed:
        state = [f"{example.printed_steady_state.get('one_run', '')}"] if steady else []
        found.add_row("paper", *(f"{example.printed[method][name]:.4f}" for name in names), *state, style="cyan")
    return titled(
        f"First run, {words}",
        "Estimate ± standard error; below it the 95 % interval from the profile of the fit.",
        found,
    )


def _print_doubts(console: Console, levels: list[Level], method: Method) -> None:
    for level in levels:
        for doubt in level.typical[method].fit.doubts():
            console.print(Text(f"  sigma {level_of(level.sigma)}: {doubt}", "yellow"))


def _scatter(levels: list[Level]) -> Group:
    found = table(
        *("sigma", "method", "", "mean", "bias", "bias / ±", "deviation", "fits' ±", "/ dev.", "histogram"),
    )
    for level in levels:
        for method, runs in level.free.items():
            # the polynomial's terms have no truth
            for i, name in enumerate(runs.fits.names[: len(level.example.rates) + method - 1]):
                values, bias, error = runs.fits.parameters[:, i], runs.bias[i], runs.bias_error[i]
                found.add_row(
                    level_of(level.sigma) if i == 0 and method == 1 else "",
                    f"{method}" if i == 0 else "",
                    name,
                    number(float(values.mean()), ".4f"),
                    f"{bias:+.2g} ± {error:.2g}",
                    ratio(bias, error, "+.2f"),
                    number(runs.deviation[i]),
                    number(runs.mean_standard_error[i]),
                    ratio(runs.mean_standard_error[i], runs.deviation[i], ".3f"),
                    bars(values),
                )
    return titled(
        f"All {len(levels[0].observed)} runs",
        "Bias: mean of the estimates less the truth, ± its standard error, and their quotient. Deviation: of the "
        "estimates. Fits' ±: mean of the fits' standard errors, which should be as large, and their quotient. "
        "Histogram of the estimates, the least and the largest beside it.",
        found,
    )


def _print_alone(console: Console, study: DelayStudy) -> None:
    from replay.studies.delays.examples import BAYARRI, Method

    printed = BAYARRI.printed[Method.UNDISTURBED]["q0"]
    found = study.bayarri
    console.print(Text("Why a model needs its disturbance", "bold"))
    console.print(
        "The data of Bayarri et al. (2007): a concentration of 5 decays with q = -1.7, but 1.5 of it never react, as "
        "if omega were 2.55. The model without it, 5 exp(q t), fitted to one run:"
    )
    console.print(f"q {found.of('q0'):.3f} ± {found.standard_errors[0]:.2g}, truth {BAYARRI.truth.q0:g}", end="; ")
    console.print(Text(f"the paper prints {printed}", "cyan"))
    for doubt in found.doubts():
        console.print(f"  {doubt}")

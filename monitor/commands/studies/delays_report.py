"""The study of parameter estimation with delays as tables."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.commands.studies.delays_cells import bars, estimate, number, table
from monitor.commands.studies.delays_later import print_later

if TYPE_CHECKING:
    from replay.studies.delays.level import Level
    from replay.studies.delays.study import DelayStudy

_WORDS = {
    1: "method 1, a polynomial beside the undisturbed model",
    2: "method 2, the disturbance as a parameter",
}


def print_study(study: DelayStudy) -> None:
    """Print each example: a run beside the paper's, all runs, and what becomes of the prediction."""
    console = Console(width=None if sys.stdout.isatty() else 118, markup=False, highlight=False)
    for example_number in sorted({level.example.number for level in study.levels}):
        levels = [level for level in study.levels if level.example.number == example_number]
        example = levels[0].example
        truth = ", ".join(f"{name} {example.known(name):g}" for name in example.disturbed.names)
        console.print(Text(f"Example {example_number}: {truth}", "bold"))
        for method in _WORDS:
            console.print(_typical(levels, method))
            _print_doubts(console, levels, method)
        console.print(_scatter(levels))
        print_later(console, levels)
        if example.claim:
            console.print(Text(f"the paper prints: {example.claim}", "cyan"))
        console.print()
    _print_alone(console, study)


def _typical(levels: list[Level], method: int) -> Table:
    example, names = levels[0].example, levels[0].typical[method].fit.names
    steady = ("steady state",) if method == 2 else ()
    found = table(
        f"one run, {_WORDS[method]}:\nestimate ± standard error, 95 % by the profile", "sigma", *names, *steady
    )
    for level in levels:
        run = level.typical[method]
        cells = zip(run.fit.parameters, run.fit.standard_errors, run.intervals, strict=True)
        state = [number(example.steady_states(run.fit.parameters[None])[0], ".4f")] if steady else []
        found.add_row(f"{level.sigma:g}", *(estimate(*each) for each in cells), *state)
    known = [number(example.known(name), "g") if math.isfinite(example.known(name)) else "" for name in names]
    found.add_row("truth", *known, *([f"{example.truth.steady_state:.4f}"] if steady else []), style="dim")
    if method in example.printed:
        state = [f"{example.printed_steady_state.get('one_run', '')}"] if steady else []
        found.add_row("paper", *(f"{example.printed[method][name]:.4f}" for name in names), *state, style="cyan")
    return found


def _print_doubts(console: Console, levels: list[Level], method: int) -> None:
    for level in levels:
        for doubt in level.typical[method].fit.doubts():
            console.print(Text(f"  sigma {level.sigma:g}: {doubt}", "yellow"))


def _scatter(levels: list[Level]) -> Table:
    found = table(
        f"all {len(levels[0].observed)} runs: bias ± its standard error, and in these; scatter of the estimates;\n"
        "told: mean of the fits' standard errors, and this over the scatter",
        *("sigma", "method", "", "mean", "bias", "/ error", "scatter", "told", "/ scatter", "histogram"),
    )
    for level in levels:
        for method, runs in level.free.items():
            # the polynomial's terms have no truth
            for i, name in enumerate(runs.fits.names[: len(level.example.rates) + method - 1]):
                values, bias, error = runs.fits.parameters[:, i], runs.bias[i], runs.bias_error[i]
                found.add_row(
                    f"{level.sigma:g}" if i == 0 and method == 1 else "",
                    f"{method}" if i == 0 else "",
                    name,
                    number(float(values.mean()), ".4f"),
                    f"{bias:+.2g} ± {error:.2g}",
                    number(bias / error if error else math.nan, "+.2f"),
                    number(runs.scatter[i]),
                    number(runs.told[i]),
                    number(runs.told_over_scatter[i], ".3f"),
                    bars(values),
                )
    return found


def _print_alone(console: Console, study: DelayStudy) -> None:
    from replay.studies.delays.examples import BAYARRI

    printed = BAYARRI.printed[0]["q0"]
    found = study.bayarri
    console.print(
        Text("The hypothesised model alone, where 1.5 stay unreacted (Bayarri; a disturbance of 2.55):", "bold")
    )
    console.print(f"q {found.of('q0'):.3f} ± {found.standard_errors[0]:.2g}, truth {BAYARRI.truth.q0:g}", end="; ")
    console.print(Text(f"the paper prints {printed}", "cyan"))
    for doubt in found.doubts():
        console.print(f"  {doubt}")

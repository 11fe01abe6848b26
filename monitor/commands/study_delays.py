"""The study of parameter estimation with delays as tables."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from replay.studies.delays import DelayStudy, Level

_WORDS = {
    1: "method 1, a polynomial beside the undisturbed model",
    2: "method 2, the disturbance as a parameter",
}
_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 24


def print_study(study: DelayStudy) -> None:
    """Print each example: a run beside the paper's, all runs, and what becomes of the prediction."""
    console = Console(width=None if sys.stdout.isatty() else 118, markup=False, highlight=False)
    for number in sorted({level.example.number for level in study.levels}):
        levels = [level for level in study.levels if level.example.number == number]
        example = levels[0].example
        truth = ", ".join(f"{name} {example.known(name):g}" for name in example.disturbed.names)
        console.print(Text(f"Example {number}: {truth}", "bold"))
        for method in _WORDS:
            console.print(_typical(levels, method))
        console.print(_scatter(levels))
        console.print(_later(levels))
        if example.claim:
            console.print(Text(f"the paper prints: {example.claim}", "cyan"))
        if any(level.prior is not None for level in levels):
            console.print(_posteriors(levels))
        console.print()
    _print_alone(console, study)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _typical(levels: list[Level], method: int) -> Table:
    example, names = levels[0].example, levels[0].typical[method].fit.names
    table = _table(f"one run, {_WORDS[method]}: estimate ± standard error, 95 % by the profile", "sigma", *names)
    for level in levels:
        found = level.typical[method]
        cells = zip(found.fit.parameters, found.fit.standard_errors, found.intervals, strict=True)
        table.add_row(f"{level.sigma:g}", *(f"{q:.4f} ± {se:.4f}\n[{a:.3f}, {b:.3f}]" for q, se, (a, b) in cells))
        for doubt in found.fit.checks.doubts():
            table.add_row("", doubt)
    known = [example.known(name) for name in names]
    table.add_row("truth", *(f"{value:g}" if math.isfinite(value) else "" for value in known), style="dim")
    if method in example.printed:
        table.add_row("paper", *(f"{example.printed[method][name]:.4f}" for name in names), style="cyan")
    return table


def _scatter(levels: list[Level]) -> Table:
    n_runs = len(levels[0].observed)
    table = _table(
        f"method 2, {n_runs} runs",
        *("sigma", "", "mean", "bias / its error", "scatter", "told / scatter", "5 %", "95 %", "histogram"),
    )
    for level in levels:
        fits = level.fits[2]
        for i, name in enumerate(fits.names):
            values = fits.parameters[:, i]
            low, high = np.percentile(values, [5.0, 95.0])
            table.add_row(
                f"{level.sigma:g}" if i == 0 else "",
                name,
                f"{values.mean():.4f}",
                f"{level.bias[i]:+.2f}",
                f"{values.std(ddof=1):.4f}",
                f"{level.told_over_scatter[i]:.3f}",
                f"{low:.4f}",
                f"{high:.4f}",
                _histogram(values),
            )
    return table


def _histogram(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    counts, _ = np.histogram(values, _COLUMNS)
    return "".join(_BARS[math.ceil(count / counts.max() * (len(_BARS) - 1))] for count in counts.tolist())


def _later(levels: list[Level]) -> Table:
    from replay.studies.delay_examples import LATER
    from replay.studies.delays import REPEATS

    n_runs = len(levels[0].observed)
    repeated = n_runs // REPEATS
    table = _table(
        f"median error at t = {LATER:g}; steady state of {repeated} runs of {REPEATS} repeated, where stable;\n"
        f"unstable of {n_runs} runs, of {repeated} means of {REPEATS}, of as many fits of {REPEATS} together; "
        "limit: of all runs, kept stable, how many stand at it",
        *("sigma", "method 1", "method 2", "times closer", "steady state", "± 2 sigma", "known"),
        *("unstable", "means", "together", "limit"),
    )
    for level in levels:
        states = level.steady_states(level.mean_parameters)
        states = states[np.isfinite(states)]
        unstable = [
            np.sum(~level.example.is_stable(parameters))
            for parameters in (level.fits[2].parameters, level.mean_parameters, level.joint.parameters)
        ]
        table.add_row(
            f"{level.sigma:g}",
            *(f"{np.median(np.abs(level.later_error[method])):.3g}" for method in (1, 2)),
            f"{level.gain:.1f}",
            f"{np.mean(states):.4f}",
            f"{2.0 * np.std(states, ddof=1):.3g}",
            f"{level.example.truth.steady_state:.4f}",
            *(f"{count}" for count in unstable),
            "" if level.stable_fits is None else f"{level.stable_fits.at_bound[:, 0].sum()}",
        )
    return table


def _posteriors(levels: list[Level]) -> Table:
    names = levels[0].typical[2].fit.names
    table = _table(
        "one run with priors, kept stable: mean ± deviation; steady state 5, 50, 95 %",
        *("sigma", *names, "steady state"),
    )
    for level in levels:
        if level.prior is not None:
            found = level.prior.posterior
            spread = np.sqrt(np.diag(found.covariance))
            states = np.percentile(level.prior.steady_state, [5.0, 50.0, 95.0])
            cells = (f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in zip(found.mean, spread, strict=True))
            table.add_row(f"{level.sigma:g}", *cells, ", ".join(f"{state:.3g}" for state in states))
            if not found.enough:
                table.add_row("", "the chains are short: take these for rough")
    return table


def _print_alone(console: Console, study: DelayStudy) -> None:
    from replay.studies.delay_examples import BAYARRI

    printed = BAYARRI.printed[0]["q0"]
    found = study.bayarri
    console.print(
        Text("The hypothesised model alone, where 1.5 stay unreacted (Bayarri; a disturbance of 2.55):", "bold")
    )
    console.print(f"q {found.of('q0'):.3f} ± {found.standard_errors[0]:.3f}, truth {BAYARRI.truth.q0:g}", end="; ")
    console.print(Text(f"the paper prints {printed}", "cyan"))
    for doubt in found.checks.doubts():
        console.print(f"  {doubt}")

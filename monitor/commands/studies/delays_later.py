"""What becomes of the estimates beyond what was observed, as tables: predictions, steady states, posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from monitor.commands.studies.delays_cells import NONE, bars, number, table

if TYPE_CHECKING:
    from replay.studies.delays.level import Level


def print_later(console: Console, levels: list[Level]) -> None:
    """Print the tables of one example."""
    console.print(_predictions(levels))
    console.print(_steady_states(levels))
    if any(level.prior is not None for level in levels):
        console.print(_posteriors(levels))


def _predictions(levels: list[Level]) -> Table:
    from replay.studies.delays.examples import LATER

    n_runs = len(levels[0].observed)
    constraint = "q0 + |q1| < 0" if levels[0].example.truth.q1 else "q0 < 0"
    found = table(
        f"absolute error of the prediction at t = {LATER:g}: median and quartiles of {n_runs} runs; kept: within "
        f"{constraint};\ntimes closer: than method 1, in the median; failed: to converge",
        *("sigma", "method", "median", "25 %", "75 %", "times closer", "unstable", "%", "at bound"),
        *("failed", "seconds"),
    )
    for level in levels:
        both = (("", level.free), (", kept", level.kept))
        rows = [(words, method, runs) for words, by_method in both for method, runs in by_method.items()]
        for i, (words, method, runs) in enumerate(rows):
            low, median, high = runs.later
            found.add_row(
                f"{level.sigma:g}" if i == 0 else "",
                f"{method}{words}",
                *(number(value) for value in (median, low, high)),
                f"{level.gain:.1f}" if method == 2 and not words else "",
                f"{runs.unstable}",
                f"{100.0 * runs.unstable / n_runs:.1f}",
                f"{runs.at_bound}" if words else "",
                f"{np.sum(~runs.fits.converged)}",
                f"{runs.seconds:.2f}",
            )
    printed = levels[0].example.printed_unstable
    if printed is not None:
        cells = ("paper", "2", NONE, NONE, NONE, NONE, f"{printed} of 500", f"{printed / 5.0:.1f}", "", NONE, NONE)
        found.add_row(*cells, style="cyan")
    return found


def _steady_states(levels: list[Level]) -> Table:
    from replay.studies.delays.spread import quartiles
    from replay.studies.delays.study import REPEATS

    example = levels[0].example
    words = {
        "single": "single",
        "mean_of_repeated": f"means of {REPEATS}",
        "repeated_together": f"{REPEATS} together",
        "kept_stable": "kept stable",
    }
    found = table(
        f"steady state of the stable among method 2's runs, known {example.truth.steady_state:.4f}: single ones, "
        f"means of {REPEATS} estimates,\n{REPEATS} repeated observations fitted together, single ones kept stable; "
        "histogram: the middle 90 %",
        *("sigma", "", "unstable", "mean", "± 2 sigma", "25 %", "median", "75 %", "histogram"),
    )
    for level in levels:
        for i, (name, states) in enumerate(level.steady_states.items()):
            low, median, high = quartiles(states)
            total = len(level.estimates[name])
            many = len(states) > 1
            found.add_row(
                f"{level.sigma:g}" if i == 0 else "",
                words[name],
                f"{total - len(states)} of {total}",
                f"{states.mean():.4f}" if many else NONE,
                number(2.0 * float(states.std(ddof=1))) if many else NONE,
                *(number(value, ".4f") for value in (low, median, high)),
                bars(states, 0.9),
            )
    if "mean_of_repeated" in example.printed_steady_state:
        mean = f"{example.printed_steady_state['mean_of_repeated']:.4f}"
        found.add_row("paper", words["mean_of_repeated"], "", mean, style="cyan")
    if example.printed_unstable is not None:
        found.add_row("paper", words["single"], f"{example.printed_unstable} of 500", style="cyan")
        found.add_row("paper", "repeated", "0", style="cyan")
    return found


def _posteriors(levels: list[Level]) -> Table:
    names = levels[0].typical[2].fit.names
    found = table(
        "one run with priors, kept stable: mean ± deviation; steady state 5, 50, 95 %",
        *("sigma", *names, "steady state"),
    )
    for level in levels:
        if level.prior is not None:
            posterior = level.prior.posterior
            spread = np.sqrt(np.diag(posterior.covariance))
            states = np.percentile(level.prior.steady_state, [5.0, 50.0, 95.0])
            cells = (f"{mean:.4f} ± {each:.2g}" for mean, each in zip(posterior.mean, spread, strict=True))
            found.add_row(f"{level.sigma:g}", *cells, ", ".join(f"{state:.3g}" for state in states))
            if not posterior.enough:
                found.add_row("", "the chains are short: take these for rough")
    return found

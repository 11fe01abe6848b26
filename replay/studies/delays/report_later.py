"""What becomes of the estimates beyond what was observed, as tables: predictions, steady states, posteriors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group

from replay.studies.delays.cells import NONE, bars, level_of, number, table, titled

if TYPE_CHECKING:
    from replay.studies.delays.level import Level


def print_later(console: Console, levels: list[Level]) -> None:
    """Print the tables of one example."""
    console.print(_predictions(levels))
    console.print(_steady_states(levels))
    if any(level.posterior is not None for level in levels):
        console.print(_posteriors(levels))


def _predictions(levels: list[Level]) -> Group:
    from replay.studies.delays.examples import LATER, Method

    n_runs = len(levels[0].observed)
    constraint = "q0 + |q1| < 0" if levels[0].example.truth.q1 else "q0 < 0"
    found = table(
        *("sigma", "method", "median error", "25 %", "75 %", "times closer", "unstable", "%", "at bound"),
        *("failed", "seconds"),
    )
    for level in levels:
        both = (("", level.free), (", kept", level.kept))
        rows = [(words, method, runs) for words, by_method in both for method, runs in by_method.items()]
        for i, (words, method, runs) in enumerate(rows):
            low, median, high = runs.later
            found.add_row(
                level_of(level.sigma) if i == 0 else "",
                f"{method}{words}",
                *(number(value) for value in (median, low, high)),
                f"{level.times_closer:.1f}" if method == Method.DISTURBANCE and not words else "",
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
    return titled(
        f"Prediction at t = {LATER:g}",
        f"Absolute error, median and quartiles of {n_runs} runs. Kept: fitted within {constraint}; at bound: at this "
        "limit. Times closer: than method 1, in the median. Unstable: runs that do not settle. Failed: runs that did "
        "not converge. Seconds: that all fits took.",
        found,
    )


def _steady_states(levels: list[Level]) -> Group:
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
        *("sigma", "", "unstable", "mean", "± 2 sigma", "25 %", "median", "75 %", "histogram"),
    )
    for level in levels:
        for i, (name, states) in enumerate(level.steady_states.items()):
            low, median, high = quartiles(states)
            total = len(level.estimates[name])
            many = len(states) > 1
            found.add_row(
                level_of(level.sigma) if i == 0 else "",
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
    return titled(
        f"Steady state -omega / (q0 + q1), truth {example.truth.steady_state:.4f}",
        f"Of the stable ones among method 2's single runs, the means of {REPEATS} runs' estimates, the fits of "
        f"{REPEATS} runs' observations together, and the single runs kept stable. Histogram: the middle 90 %, its "
        "ends beside it. Near instability a run may have any steady state: there the median means something, and the "
        "mean does not.",
        found,
    )


def _posteriors(levels: list[Level]) -> Group:
    from replay.studies.delays.examples import Method
    from replay.studies.delays.posteriors import DISTURBANCE

    names = levels[0].typical[Method.DISTURBANCE].fit.names
    found = table(
        *("sigma", *names, "steady state"),
    )
    for level in levels:
        if level.posterior is not None:
            posterior = level.posterior.posterior
            spread = np.sqrt(np.diag(posterior.covariance))
            states = np.percentile(level.posterior.steady_state, [5.0, 50.0, 95.0])
            cells = (f"{mean:.4f} ± {each:.2g}" for mean, each in zip(posterior.mean, spread, strict=True))
            found.add_row(level_of(level.sigma), *cells, ", ".join(f"{state:.3g}" for state in states))
            if not posterior.enough:
                found.add_row("", "the chains are short: take these for rough")
    return titled(
        "First run, with priors",
        f"Omega normal about zero with deviation {DISTURBANCE:g}, the rates anything that is stable: posterior mean "
        "± deviation; of the steady state 5, 50 and 95 %.",
        found,
    )

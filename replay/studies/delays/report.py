"""Tables of the study of parameter estimation with delays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from monitor.text.numbers import DASH, number
from replay.tables import report_console, uncut

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples
    from replay.studies.delays.examples import Method
    from replay.studies.delays.level import NoiseLevel
    from replay.studies.delays.study import DelayStudy

_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 10
_BEGINNING = (
    "x'(t) = q0 x(t) + q1 x(t - 1) + omega, x(0) = {initial:g}, is observed {n_times} times from 0 to {end:g} s with "
    "noise of deviation sigma, and fitted by a model without omega and a polynomial beside it (method 1: beta_1 + "
    "beta_2 t + beta_3 t^2), or with omega as a parameter (method 2). {n_runs} runs, each with noise of its own. "
    "Paper: what Burns, Cliff and Farlow print, at a variance of 0.3: sigma = {printed:.4g}."
)
_WORDS = ("method 1, a polynomial beside the undisturbed model", "method 2, the disturbance as a parameter")


def print_study(study: DelayStudy) -> None:
    """Print each example: a run next to the paper's, all runs, and the prediction."""
    console = report_console(wrap=True)
    console.print(_beginning(study))
    console.print()
    for example_number in sorted({level.example.number for level in study.levels}):
        levels = [level for level in study.levels if level.example.number == example_number]
        example = levels[0].example
        truth = ", ".join(f"{name} {example.known(name):g}" for name in example.disturbed.names)
        console.print(Text(f"Example {example_number}: {truth}", "bold"))
        for method, words in zip(levels[0].first_run, _WORDS, strict=True):
            console.print(_first_run(levels, method, words), crop=False)
            _print_doubts(console, levels, method)
        console.print(_scatter(levels), crop=False)
        _print_later(console, levels)
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


def _first_run(levels: list[NoiseLevel], method: Method, words: str) -> Group:
    example, names = levels[0].example, levels[0].first_run[method].fit.names
    steady = ("steady state",) if method == max(levels[0].first_run) else ()
    found = _table("sigma", *names, *steady)
    for level in levels:
        run = level.first_run[method]
        cells = zip(run.fit.parameters, run.fit.standard_errors, run.intervals, strict=True)
        state = [number(example.steady_states(run.fit.parameters[None])[0], ".4f")] if steady else []
        found.add_row(level_of(level.sigma), *(_estimate(*each) for each in cells), *state)
    known = [number(example.known(name), "g") if math.isfinite(example.known(name)) else "" for name in names]
    found.add_row("truth", *known, *([f"{example.truth.steady_state:.4f}"] if steady else []), style="dim")
    if method in example.printed:
        state = [f"{example.printed_steady_state.get('one_run', '')}"] if steady else []
        found.add_row("paper", *(f"{example.printed[method][name]:.4f}" for name in names), *state, style="cyan")
    return _titled(
        f"First run, {words}",
        "Estimate ± standard error; below it the 95 % interval from the profile of the fit.",
        found,
    )


def _print_doubts(console: Console, levels: list[NoiseLevel], method: Method) -> None:
    for level in levels:
        for doubt in level.first_run[method].fit.doubts():
            console.print(Text(f"  sigma {level_of(level.sigma)}: {doubt}", "yellow"))


def _scatter(levels: list[NoiseLevel]) -> Group:
    found = _table("sigma", "method", "mean", "bias", "/ ±", "sd", "fits' ±", "histogram")
    for level in levels:
        for method, runs in level.free.items():
            # the polynomial's terms have no truth
            for i, name in enumerate(runs.fits.names[: len(level.example.rates) + method - 1]):
                values, bias, error = runs.fits.parameters[:, i], runs.bias[i], runs.bias_error[i]
                found.add_row(
                    level_of(level.sigma) if i == 0 and method == 1 else "",
                    f"{method} {name}",
                    number(float(values.mean()), ".4f"),
                    f"{bias:+.2g} ± {error:.2g}",
                    _ratio(bias, error, "+.2f"),
                    number(runs.deviation[i], ".3g"),
                    number(runs.mean_standard_error[i], ".3g"),
                    _bars(values),
                )
    return _titled(
        f"All {len(levels[0].observed)} runs",
        "Method and parameter. Bias: mean of the estimates less the truth, ± its standard error, and their quotient. "
        "Sd: of the estimates. Fits' ±: mean of the fits' standard errors, which should be as large. Histogram of "
        "the estimates, the least and the largest beside it.",
        found,
    )


def _print_later(console: Console, levels: list[NoiseLevel]) -> None:
    """Print the tables of one example."""
    console.print(_predictions(levels), crop=False)
    console.print(_steady_states(levels), crop=False)
    if any(level.posterior is not None for level in levels):
        console.print(_posteriors(levels), crop=False)


def _predictions(levels: list[NoiseLevel]) -> Group:
    from replay.studies.delays.examples import LATER, Method

    n_runs = len(levels[0].observed)
    constraint = "q0 + |q1| < 0" if levels[0].example.truth.q1 else "q0 < 0"
    found = _table(
        *("sigma", "method", "median", "25 %", "75 %", "closer", "unstable", "%", "at bound"),
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
                *(number(value, ".3g") for value in (median, low, high)),
                f"{level.times_closer:.1f}" if method == Method.DISTURBANCE and not words else "",
                f"{runs.unstable}",
                f"{100.0 * runs.unstable / n_runs:.1f}",
                f"{runs.at_bound}" if words else "",
                f"{np.sum(~runs.fits.converged)}",
                f"{runs.seconds:.2f}",
            )
    printed = levels[0].example.printed_unstable
    if printed is not None:
        unstable = f"{printed} of 500", f"{printed / 5.0:.1f}"
        found.add_row("paper", "2", *[DASH] * 4, *unstable, "", DASH, DASH, style="cyan")
    return _titled(
        f"Prediction at t = {LATER:g}",
        f"Absolute error, median and quartiles of {n_runs} runs. Kept: fitted within {constraint}; at bound: at this "
        "limit. Closer: how many times, than method 1, in the median. Unstable: runs that do not settle. Failed: "
        "runs that did not converge. Seconds: that all fits took.",
        found,
    )


def _steady_states(levels: list[NoiseLevel]) -> Group:
    from replay.studies.delays.level import quartiles
    from replay.studies.delays.study import REPEATS

    example = levels[0].example
    words = {
        "single": "single",
        "mean_of_repeated": f"means of {REPEATS}",
        "repeated_together": f"{REPEATS} together",
        "kept_stable": "kept stable",
    }
    found = _table("sigma", "", "unstable", "mean", "± 2 sd", "25 %", "median", "75 %", "histogram")
    for level in levels:
        for i, (name, states) in enumerate(level.steady_states.items()):
            low, median, high = quartiles(states)
            total = len(level.estimates[name])
            many = len(states) > 1
            found.add_row(
                level_of(level.sigma) if i == 0 else "",
                words[name],
                f"{total - len(states)} of {total}",
                f"{states.mean():.4f}" if many else DASH,
                number(2.0 * float(states.std(ddof=1)), ".3g") if many else DASH,
                *(number(value, ".3g") for value in (low, median, high)),
                _bars(states, 0.9),
            )
    if "mean_of_repeated" in example.printed_steady_state:
        mean = f"{example.printed_steady_state['mean_of_repeated']:.4f}"
        found.add_row("paper", words["mean_of_repeated"], "", mean, style="cyan")
    if example.printed_unstable is not None:
        found.add_row("paper", words["single"], f"{example.printed_unstable} of 500", style="cyan")
        found.add_row("paper", "repeated", "0", style="cyan")
    return _titled(
        f"Steady state -omega / (q0 + q1), truth {example.truth.steady_state:.4f}",
        f"Of the stable ones among method 2's single runs, the means of {REPEATS} runs' estimates, the fits of "
        f"{REPEATS} runs' observations together, and the single runs kept stable. Histogram: the middle 90 %, its "
        "ends beside it. Near instability a run may have any steady state: there the median means something, and the "
        "mean does not.",
        found,
    )


def _posteriors(levels: list[NoiseLevel]) -> Group:
    from replay.studies.delays.examples import Method
    from replay.studies.delays.level import DISTURBANCE_DEVIATION

    names = levels[0].first_run[Method.DISTURBANCE].fit.names
    found = _table("sigma", *names, "steady state")
    for level in levels:
        if level.posterior is not None:
            posterior = level.posterior.posterior
            spread = np.sqrt(np.diag(posterior.covariance))
            states = np.percentile(level.posterior.steady_state, [5.0, 50.0, 95.0])
            cells = (f"{mean:.4f} ± {each:.2g}" for mean, each in zip(posterior.mean, spread, strict=True))
            found.add_row(level_of(level.sigma), *cells, ", ".join(f"{state:.3g}" for state in states))
            if not posterior.enough:
                found.add_row("", "the chains are short: take these for rough")
    return _titled(
        "First run, with priors",
        f"Omega normal about zero with deviation {DISTURBANCE_DEVIATION:g}, the rates anything that is stable: "
        "posterior mean ± deviation; of the steady state 5, 50 and 95 %.",
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


def _table(*headings: str) -> Table:
    """Return a table with these columns, all flush right."""
    found = Table(box=box.SIMPLE_HEAD)
    found.pad_edge, found.collapse_padding = False, True
    for heading in headings:
        found.add_column(heading, justify="right", no_wrap=True)
    return found


def _titled(title: str, caption: str, found: Table) -> Group:
    """Return a table under its title and what its columns are."""
    return Group(Text(title, "bold"), Text(caption), uncut(found))


def level_of(sigma: float) -> str:
    """Return a level of noise in four digits: the printed variance of 0.3 is 0.5477."""
    return f"{sigma:.4g}"


def _ratio(above: float, below: float, digits: str) -> str:
    """Return a quotient; a dash where there is none."""
    return number(above / below if below else math.nan, digits)


def _estimate(value: float, error: float, interval: tuple[float, float]) -> str:
    """Return an estimate with its standard error and below it an interval, to the places that mean something."""
    if math.isfinite(error) and error > 0.0:
        places = min(max(1 - math.floor(math.log10(error)), 3), 12)
        uncertainty = f"{error:.{places}f}"
    else:
        places, uncertainty = 4, "at a bound" if math.isnan(error) else "not known" if error else "0"
    low, high = (f"{end:.{max(places - 1, 3)}f}" if math.isfinite(end) else DASH for end in interval)
    return f"{value:.{places}f} ± {uncertainty}\n[{low}, {high}]"


def _bars(values: Samples, share: float = 1.0) -> str:
    """Return a histogram of one line, of the share in the middle, between its ends."""
    from replay.studies.delays.level import histogram

    cut = int(0.5 * (1.0 - share) * len(values))
    values = values if not cut else np.sort(values)[cut:-cut]
    counts, edges = histogram(values, _COLUMNS)
    most = max(counts.max(), 1.0)
    drawn = "".join(_BARS[math.ceil(count / most * (len(_BARS) - 1))] for count in counts.tolist())
    return f"{edges[0]:.3g} {drawn} {edges[-1]:.3g}"

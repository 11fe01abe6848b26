"""Tables of the study of Duffing's oscillator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

from monitor.text.numbers import DASH, number
from replay.tables import report_console

if TYPE_CHECKING:
    from replay.studies.nonlinear.duffing import DuffingStudy

_WORDS = {
    "windows": "window form, ends matched (eq. 16 to 23), curve fit",
    "smoother": "smoother, curve fit",
    "refined": "smoother, then the law on the raw samples",
}


def print_study(study: DuffingStudy) -> None:
    """Print alpha of every method beside the paper's, and how long it takes."""
    from replay.studies.nonlinear.duffing import PAPER, PAPER_HOURS

    console = report_console(wrap=True)
    of, runs = study.oscillator, len(next(iter(study.sampled.values())).coverage)
    console.print(
        f"{_factor(of.mass)}x'' + {_factor(of.damping)}x' + {_factor(of.stiffness)}x + alpha x^3 = cos t "
        f"with alpha = {of.cubic:g}, {of.horizon:g} s from x = {of.displacement:g}, x' = {of.velocity:g}. "
        f"The model lacks alpha x^3. "
        f"Displacement and velocity are sampled with noise of {100.0 * of.noise:g} % of the rms of each; "
        f"{runs} runs, each with its own noise."
    )
    table = Table(title="alpha, N/m^3", title_justify="left")
    table.add_column("method")
    for count in study.sampled:
        table.add_column(f"{count} samples", justify="right")
        table.add_column("sd", justify="right")
    for method, words in _WORDS.items():
        cells = []
        for each in study.sampled.values():
            values = each.alpha[method]
            sd = f"{values.std(ddof=1):.4f}" if len(values) > 1 else DASH
            cells += [f"{values.mean():.4f}", sd]
        table.add_row(words, *cells)
    printed = [PAPER[count] for count in study.sampled]
    table.add_row(
        Text("paper, window form, curve fit", "cyan"),
        *(cell for value in printed for cell in (number(value, ".3f"), DASH)),
    )
    console.print(table)
    coverage = ", ".join(
        f"{100.0 * np.mean(each.coverage):.1f} % ({count} samples)" for count, each in study.sampled.items()
    )
    console.print(f"The band of at least 95 % has the true force at {coverage} of the instants.")
    low, high = PAPER_HOURS
    console.print(f"A whole identification takes {study.seconds:.2f} s; paper: {low:g} to {high:g} hours.")


def _factor(value: float) -> str:
    return "" if value == 1.0 else f"{value:g} "

"""A validation as tables for a terminal."""

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
    from monitor.reliability.curves import Reliability
    from replay.validation.site import SiteResult
    from replay.validation.validation import Validation

_VERDICTS = {
    "ACCEPT": ("● accept", "bold green"),
    "WATCH": ("▲ watch", "bold yellow"),
    "REJECT": ("■ reject", "bold red"),
}


def print_validation(found: Validation) -> None:
    """Print the reliabilities at the end, and the measures of each replicate."""
    # names of files may have brackets
    console = Console(width=None if sys.stdout.isatty() else 110, markup=False, highlight=False)
    console.print(
        f"{found.judged} instants from {found.time[0]:g} to {found.time[-1]:g} s; tolerance {found.tolerance}"
    )
    console.print(_reliabilities(found.reliability))
    for site in found.sites:
        if len(found.sites) > 1 or len(site.alone) > 1:
            console.print(_alone(site))
        console.print(_measures(site))
        if math.isfinite(site.area):
            text = f"area metric {site.area:.4g} {site.site.model.unit}".rstrip()
            console.print(f"{text} on the average, u-pooling area {site.u_area:.3f} (0: perfect, 0.5: worst)")
    word, style = _VERDICTS[found.decision.verdict.name]
    console.print(Text.assemble("decision: ", (word, style), f" - {found.decision.reason}"))


def _reliabilities(reliability: Reliability) -> Table:
    from monitor.reliability.curves import NAMES

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("reliability", "at the end", "standard error", "least", "largest"):
        table.add_column(name, justify="left" if name == "reliability" else "right")
    for name, curve in zip(NAMES, reliability.curves, strict=True):
        known = curve.value[np.isfinite(curve.value)]
        if not len(known):
            table.add_row(name.replace("_", "-"), "-", "-", "-", "-")
            continue
        error = float(curve.standard_error[-1])
        cells = (f"{curve.value[-1]:.4f}", f"{error:.4f}", f"{known.min():.4f}", f"{known.max():.4f}")
        table.add_row(name.replace("_", "-"), *(cell.replace("nan", "-") for cell in cells))
    return table


def _alone(result: SiteResult) -> Table:
    """Return what each replicate says, and the site's replicates together."""
    from monitor.reliability.curves import NAMES

    title = f"{result.site.model.name}: reliability at the end, by each record"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("record")
    for name in NAMES:
        table.add_column(name.replace("_", "-"), justify="right")
    rows = [(record.name, alone) for record, alone in zip(result.site.records, result.alone, strict=True)]
    for name, reliability in [*rows, ("all", result.reliability)] if len(rows) > 1 else rows:
        values = [value for value, _ in reliability.last().values()]
        table.add_row(name, *(f"{value:.4f}" if math.isfinite(value) else "-" for value in values))
    return table


def _measures(result: SiteResult) -> Table:
    model = result.site.model
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=f"{model.name}: its mean beside each record", title_justify="left"
    )
    for name in ("record", "lag [ms]", "shifted [ms]", "S&G M", "S&G P", "Russell C", "rms error", "warped"):
        table.add_column(name, justify="left" if name == "record" else "right")
    rows = zip(result.site.records, result.lags, result.shifts, result.comparisons, strict=True)
    for record, lag, shift, found in rows:
        late = f"{1e3 * lag:.3g}" if math.isfinite(lag) else "-"
        if found is None:
            table.add_row(record.name, late, f"{1e3 * shift:.3g}", "-", "-", "-", "-", "-")
            continue
        measures = (
            found.sprague_geers_magnitude,
            found.sprague_geers_phase,
            found.russell_comprehensive,
            found.relative_rms_error,
            found.time_warping_distance,
        )
        table.add_row(record.name, late, f"{1e3 * shift:.3g}", *(f"{value:.4f}" for value in measures))
    return table

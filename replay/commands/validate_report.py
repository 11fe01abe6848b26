"""A validation as JSON and as tables."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.commands.json_values import number, numbers

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples
    from monitor.reliability.curves import Reliability
    from replay.validation.validation import SiteResult, Validation


def as_json(found: Validation) -> dict[str, Any]:
    """Return the reliabilities over time, and what stands beside them; null where a value is not known."""
    shifts = [shift for site in found.sites for shift in site.shifts]
    return {
        "time": _row(found.time),
        **reliability_json(found.reliability),
        # each replicate has its own where they differ
        "shift_s": shifts[0] if len(set(shifts)) == 1 else None,
        "tolerance": found.tolerance,
        "judged": found.judged,
        "decision": {"verdict": found.decision.verdict.name.lower(), "reason": found.decision.reason},
        "sites": [_site(site) for site in found.sites],
        "notes": list(found.notes),
    }


def reliability_json(reliability: Reliability) -> dict[str, Any]:
    """Return each curve by its name, and the standard errors under one key."""
    from monitor.reliability.curves import NAMES

    curves = dict(zip(NAMES, reliability.curves, strict=True))
    return {
        **{name: _row(curve.value) for name, curve in curves.items()},
        "standard_error": {name: _row(curve.standard_error) for name, curve in curves.items()},
    }


def _site(result: SiteResult) -> dict[str, Any]:
    from monitor.reliability.ensemble import Ensemble

    model = result.site.model
    return {
        "model": model.name,
        "unit": model.unit,
        "realizations": model.n_realizations if isinstance(model, Ensemble) else None,
        "reliability": _at_end(result.reliability),
        "area": number(result.area),
        "u_area": number(result.u_area),
        "replicates": [
            {
                "name": record.name,
                "shift_s": shift,
                "lag_s": number(lag),
                "reliability": _at_end(alone),
                "measures": None if comparison is None else numbers(asdict(comparison)),
            }
            for record, shift, lag, alone, comparison in zip(
                result.site.records, result.shifts, result.lags, result.alone, result.comparisons, strict=True
            )
        ],
    }


def _at_end(reliability: Reliability) -> dict[str, Any]:
    """Return the values at the last instant that was judged, and their standard errors."""
    last = reliability.last()
    values = {name: number(value) for name, (value, _) in last.items()}
    return values | {"standard_error": {name: number(error) for name, (_, error) in last.items()}}


def _row(values: Samples) -> list[float | None]:
    return [number(value) for value in values.tolist()]


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

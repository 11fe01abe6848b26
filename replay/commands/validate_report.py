"""Report of a validation as JSON, tables and a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.reliability.curves import NAMES, Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from replay.pictures import new_drawing
from replay.validation.validation import SiteResult, Validation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def _record(found: Validation) -> dict[str, Any]:
    """Return the reliabilities over time, the decision and the measures of each record; null where unknown."""
    shifts = [shift for site in found.sites for shift in site.shifts]
    return {
        "time": found.time,
        **reliability_json(found.reliability),
        # where they differ, each replicate has its own
        "shift_s": shifts[0] if len(set(shifts)) == 1 else None,
        "tolerance": found.tolerance,
        "judged": found.n_assessed,
        "decision": {"verdict": found.decision.verdict.name.lower(), "reason": found.decision.reason},
        "sites": [_site(site) for site in found.sites],
        "notes": list(found.notes),
    }


def reliability_json(reliability: Reliability) -> dict[str, Any]:
    """Return each curve by its name, and the standard errors under one key."""
    curves = dict(zip(NAMES, reliability.curves, strict=True))
    return {
        **{name: curve.value for name, curve in curves.items()},
        "standard_error": {name: curve.standard_error for name, curve in curves.items()},
    }


def _site(result: SiteResult) -> dict[str, Any]:
    model = result.site.model
    return {
        "model": model.name,
        "unit": model.unit,
        "realizations": model.n_realizations if isinstance(model, Ensemble) else None,
        "reliability": _at_end(result.reliability),
        "area": result.area,
        "u_area": result.u_area,
        "replicates": [
            {
                "name": record.name,
                "shift_s": shift,
                "lag_s": lag,
                "reliability": _at_end(alone),
                "measures": comparison,
            }
            for record, shift, lag, alone, comparison in zip(
                result.site.records, result.shifts, result.lags, result.alone, result.comparisons, strict=True
            )
        ],
    }


def _at_end(reliability: Reliability) -> dict[str, Any]:
    """Return the values at the last assessed instant, and their standard errors."""
    last = reliability.final_values()
    values = {name: value for name, (value, _) in last.items()}
    return values | {"standard_error": {name: error for name, (_, error) in last.items()}}


_VERDICTS = {"ACCEPT": ("● accept", Tone.GOOD), "WATCH": ("▲ watch", Tone.WARNING), "REJECT": ("■ reject", Tone.BAD)}
_TITLES = {name: name.replace("_", "-") for name in NAMES}


def validation_blocks(found: Validation) -> Iterator[Block]:
    """Yield the reliabilities at the end, the measures of each replicate, and the decision."""
    yield Data(_record(found))
    start, stop = found.time[[0, -1]]
    yield Text(f"{found.n_assessed} instants from {start:g} to {stop:g} s; tolerance {found.tolerance}")
    rows: list[Sequence[object]] = []
    for title, curve in zip(_TITLES.values(), found.reliability.curves, strict=True):
        known = curve.value[np.isfinite(curve.value)]
        values = (curve.value[-1], curve.standard_error[-1], known.min(), known.max()) if len(known) else [None] * 4
        rows.append((title, *values))
    titles = "at the end", "standard error", "least", "largest"
    yield Table("", (words("reliability"), *map(_reliability, titles)), rows)
    for site in found.sites:
        if len(found.sites) > 1 or len(site.alone) > 1:
            yield _alone(site)
        yield _measures(site)
        if math.isfinite(site.area):
            text = f"area metric {site.area:.4g} {site.site.model.unit}".rstrip()
            yield Text(f"{text} on average, u-pooling area {site.u_area:.3f} (0: perfect, 0.5: worst)")
    yield Figure("validation", partial(validation_drawing, found))
    verdict, tone = _VERDICTS[found.decision.verdict.name]
    yield Text(f"decision: {verdict} - {found.decision.reason}", tone)


_reliability = partial(Column, form=".4f")


def _alone(result: SiteResult) -> Table:
    """Return the reliabilities of each replicate, and of the site's replicates together."""
    found = [(record.name, alone) for record, alone in zip(result.site.records, result.alone, strict=True)]
    found += [("all", result.reliability)] if len(found) > 1 else []
    rows = [(name, *(value for value, _ in each.final_values().values())) for name, each in found]
    title = f"{result.site.model.name}: reliability at the end, by each record"
    return Table(title, (words("record"), *map(_reliability, _TITLES.values())), rows)


def _measures(result: SiteResult) -> Table:
    rows: list[Sequence[object]] = []
    for record, lag, shift, found in zip(
        result.site.records, result.lags, result.shifts, result.comparisons, strict=True
    ):
        measures = [None] * 5 if found is None else [
            found.sprague_geers_magnitude,
            found.sprague_geers_phase,
            found.russell_comprehensive,
            found.relative_rms_error,
            found.time_warping_distance,
        ]  # fmt: skip
        rows.append((record.name, lag, shift, *measures))
    times = (Column(title, "ms", ".3g", 1e3) for title in ("lag", "shifted"))
    measured = map(_reliability, ("S&G M", "S&G P", "Russell C", "rms error", "warped"))
    title = f"{result.site.model.name}: its mean compared with each record"
    return Table(title, (words("record"), *times, *measured), rows)


COLOURS = {"instantaneous": "0.65", "first_passage": "tab:red", "accumulated": "tab:blue", "windowed": "tab:green"}
_STYLES = {"first_passage": "--", "windowed": "-."}
_BAND = 0.05, 0.95
_LONGEST = 90  # characters that a title has room for


def validation_drawing(found: Validation) -> Drawing:
    """Draw responses and reliabilities."""
    rows = len(found.sites) + 1
    figure = new_drawing(9.0, 3.0 * rows)
    axes = np.atleast_1d(figure.subplots(rows, 1, sharex=True))
    for axis, site in zip(axes, found.sites, strict=False):
        draw_responses(axis, site)
    draw_reliability(axes[-1], found.time, found.reliability)
    axes[-1].set_xlabel("time [s]")
    verdict = f"{found.decision.verdict.name.lower()} ({found.decision.reason})"
    axes[-1].set_title(f"tolerance {found.tolerance}\ndecision: {verdict}", fontsize="medium", wrap=True)
    return figure


def draw_responses(axis: Axes, result: SiteResult) -> None:
    """Draw the model's mean and band, and the measurements."""
    model = result.site.model
    if isinstance(model, Ensemble):
        low, high = (model.quantile(p) for p in _BAND)
        label = f"model, {model.n_realizations} realizations, 5 to 95 %"
    else:
        deviation = np.hypot(model.deviation, model.sensor_deviation)
        low, high, label = model.response - 2.0 * deviation, model.response + 2.0 * deviation, "model, 2 deviations"
    axis.fill_between(model.time, low, high, color="tab:blue", alpha=0.25, linewidth=0.0, label=label)
    axis.plot(model.time, model.mean, color="tab:blue", linewidth=1.0, label="model, mean")
    for i, column in enumerate(result.measured.T):
        axis.plot(model.time, column, color="black", linewidth=0.8, label="measured" if i == 0 else None)
    axis.set_ylabel(f"response [{model.unit}]" if model.unit else "response")
    name = model.name if len(model.name) <= _LONGEST else f"…{model.name[-_LONGEST:]}"
    axis.set_title(name, fontsize="medium")
    axis.legend(fontsize="small", loc="best")
    axis.grid(alpha=0.3)


def draw_reliability(axis: Axes, time: np.ndarray, reliability: Reliability) -> None:
    """Draw the curves with bands of two standard errors."""
    for name, curve in zip(NAMES, reliability.curves, strict=True):
        if not np.isfinite(curve.value).any():
            continue
        colour = COLOURS[name]
        width = 0.8 if name == "instantaneous" else 1.6
        label, style = name.replace("_", "-"), _STYLES.get(name, "-")
        axis.plot(time, curve.value, style, color=colour, linewidth=width, label=label)
        low, high = curve.value - 2.0 * curve.standard_error, curve.value + 2.0 * curve.standard_error
        axis.fill_between(time, low.clip(0.0, 1.0), high.clip(0.0, 1.0), color=colour, alpha=0.25, linewidth=0.0)
    axis.set_ylim(-0.03, 1.03)
    axis.set_ylabel("reliability [-]")
    axis.legend(fontsize="small", loc="lower left")
    axis.grid(alpha=0.3)

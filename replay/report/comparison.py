"""What the page of a comparison says: which run tracks better, by how much, and its curves over one another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import ratio_unit
from monitor.messages.headline import HEADLINE
from monitor.text.numbers import DASH, plus_minus
from replay.assessment.statistics import is_moving
from replay.assessment.summary import program_version
from replay.comparison import (
    P_MEANING,
    ActuatorComparison,
    AssessedRun,
    Quantity,
    RunComparison,
    chance_text,
)
from replay.comparison.stretch import TrackedPart
from replay.report.comparison_words import LABELS, lead_sentences, run_words
from replay.report.figures import Figure
from replay.report.settings import SettingTables, setting_tables
from replay.report.svg import Curve, Row, rows_figure
from replay.report.tables import Table

_COLUMNS = 600
# runs in one figure beside the reference
_OVERLAID = 3
# characters of a long name at its beginning and at its end
_HALF = 16
_STYLES = "first", "second", "third"


@dataclass(frozen=True, slots=True)
class ComparedActuator:
    """An actuator: words, figures, and a table for each run that is compared."""

    name: str
    words: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """The contents of the page of a comparison; ``runs`` are the files, lengths, lags and events as a table."""

    title: str
    facts: tuple[tuple[str, str], ...]
    lead: tuple[str, ...]
    notes: tuple[str, ...]
    overview: Table
    actuators: tuple[ComparedActuator, ...]
    runs: Table
    settings: SettingTables
    version: str


def comparison_contents(found: Sequence[RunComparison], notes: Sequence[str]) -> ComparisonReport:
    """Return the contents of the page of one or more runs, compared with one reference.

    Parameters
    ----------
    notes : on the settings.
    """
    reference = found[0].reference
    names = _names([reference, *(one.run for one in found)])
    base, others = names[0], names[1:]
    several = len(found) > 1
    own_notes = [
        f"{name}: {note}" if several else note for name, one in zip(others, found, strict=True) for note in one.notes
    ]
    runs = [reference, *(one.run for one in found)]
    own_notes += [f"{name}: {each}" for name, run in zip(names, runs, strict=True) for each in run.remarks]
    actuators = []
    for number, first in enumerate(found[0].actuators):
        of_runs = [(name, one, one.actuators[number]) for name, one in zip(others, found, strict=True)]
        words = (
            [run_words(base, name, one, each) for name, one, each in of_runs] if len(found[0].actuators) > 1 else []
        )
        groups = [of_runs[i : i + _OVERLAID] for i in range(0, len(of_runs), _OVERLAID)]
        figures = [figure for group in groups for figure in _overlays(base, group)]
        tables = [_table(base, name, each) for name, _, each in of_runs]
        actuators.append(ComparedActuator(first.actuator, tuple(words), tuple(figures), tuple(tables)))
    return ComparisonReport(
        title=f"{', '.join(others)} with {base}" if len(found) <= _OVERLAID else f"{len(found)} runs with {base}",
        facts=(
            ("reference", base),
            ("window", f"{reference.assessment.settings.window:.4g} s"),
            ("actuators", ", ".join(each.actuator for each in found[0].actuators)),
        ),
        lead=tuple(lead_sentences(base, list(zip(others, found, strict=True)))),
        notes=tuple(dict.fromkeys([*notes, *own_notes])),
        overview=_overview(list(zip(others, found, strict=True))),
        actuators=tuple(actuators),
        runs=_runs(names, found),
        settings=setting_tables(
            reference.assessment.settings, {}, None, "Settings of the indicators, the same for all runs"
        ),
        version=program_version(),
    )


def _names(runs: Sequence[AssessedRun]) -> list[str]:
    """Return a short name of each file: with its folder, or a number, where several have one name."""
    names = [run.path.name for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.path.resolve().parent.name}/{run.path.name}" for run in runs]
    names = [f"{name[:_HALF]}…{name[-_HALF:]}" if len(name) > 2 * _HALF + 1 else name for name in names]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})" for i, name in enumerate(names)
    ]


def _overview(runs: Sequence[tuple[str, RunComparison]]) -> Table:
    rows = []
    for name, one in runs:
        lag = f"{one.alignment.lag:.5g}"
        for each in one.actuators:
            delay, error = each.quantity("delay_ms"), each.quantity("rms_error_percent")
            checked = [q.result for q in each.quantities if q.result]
            result = f"{checked.count('within')} of {len(checked)} within" if checked else DASH
            cells = each.actuator, lag, *_cells(delay)[2:4], *_cells(error)[2:4], result
            rows.append((name, *cells))
    headings = (
        "run",
        "actuator",
        "lag s",
        "delay difference, ms",
        "p",
        "rms error difference, %",
        "p",
        "tolerances",
    )
    return Table(f"Differences from the reference; {P_MEANING}", headings, tuple(rows))


def _table(base: str, name: str, each: ActuatorComparison) -> Table:
    headings = ["quantity", base, name, "difference", "p"]
    rows = [[LABELS[one.key], *_cells(one)] for one in each.quantities]
    if any(one.result for one in each.quantities):
        headings += ["tolerance", "result"]
        for row, one in zip(rows, each.quantities, strict=True):
            row += [str(one.tolerance or DASH), one.result or DASH]
    what = each.actuator if each.actuator == each.other else f"{each.actuator} and {each.other}"
    compared = f"Quantities of {what} over the time in common, {name} and {base}"
    caption = "; ".join(filter(None, (compared, each.pairing)))
    return Table(caption, tuple(headings), tuple(map(tuple, rows)))


def _cells(each: Quantity) -> tuple[str, str, str, str]:
    """Return both values, their difference, and its probability by chance."""
    found = each.estimate
    numbers = (found.reference, found.reference_sd), (found.value, found.sd), (each.difference, found.difference_sd)
    one, other, difference = (plus_minus(*each, digits=2, most=9).replace("-", "−") for each in numbers)
    return one, other, difference, chance_text(each.probability) or DASH


def _runs(names: Sequence[str], found: Sequence[RunComparison]) -> Table:
    rows = []
    runs = [(found[0].reference, None), *((one.run, one.alignment) for one in found)]
    for name, (run, alignment) in zip(names, runs, strict=True):
        aligned = "reference"
        if alignment is not None:
            how = f"by {alignment.signal}" if alignment.signal else "as given"
            correlation = f", correlation {alignment.correlation:.4f}" if math.isfinite(alignment.correlation) else ""
            late = f"{abs(alignment.lag):.6g} s {'earlier' if alignment.lag < 0.0 else 'later'}"
            aligned = f"{late}, {how}{correlation}; {alignment.overlap:.5g} s in common"
        summary = run.summary
        lengths = f"{summary.duration_s:.6g} s at {summary.sample_rate:g} Hz"
        counts = f"{summary.lost_samples}", f"{summary.alarms}", summary.outcome or DASH, summary.start or DASH
        rows.append((name, str(run.path), aligned, lengths, *counts))
    headings = ("run", "file", "aligned", "length", "lost samples", "alarms", "outcome", "start")
    return Table("The files as a whole", headings, tuple(rows))


def _overlays(base: str, of_runs: Sequence[tuple[str, RunComparison, ActuatorComparison]]) -> Iterator[Figure]:
    """Yield delay, then ratio, of the reference and some runs over its time, with the differences below."""
    _, one, each = of_runs[0]
    start = min(other.alignment.start for _, other, _ in of_runs)
    stop = max(other.alignment.stop for _, other, _ in of_runs)
    own = one.reference.part(each.own, start, stop)
    if len(own.time) < 2:
        return
    channels = one.reference.assessment.stream.channels
    unit = ratio_unit(channels[each.own.command], channels[each.own.measured])
    lags = ", ".join(f"{name} by {other.alignment.lag:.5g} s" for name, other, _ in of_runs)
    legend = [("plain", base), *((style, name) for (name, _, _), style in zip(of_runs, _STYLES, strict=False))]
    for key, title, shown, factor in (
        ("delay", "delay", "ms", 1e3),
        ("ratio", "ratio command/measured", "" if unit == "1" else unit, 1.0),
    ):
        mine = factor * _shown(own, key)
        curves, differences = [Curve(base, mine, "plain")], []
        for (name, other, actuator), style in zip(of_runs, _STYLES, strict=False):
            alignment = other.alignment
            part = other.run.part(actuator.theirs, alignment.start + alignment.lag, alignment.stop + alignment.lag)
            values = factor * _at(part.time + alignment.start - start, _shown(part, key), own.time)
            curves.append(Curve(name, values, style))
            # less is rounding
            apart = np.where(np.abs(values - mine) <= 1e-9 * np.abs(mine), 0.0, values - mine)
            differences.append(Curve(f"{name} − {base}", apart, style))
        if not any(np.isfinite(curve.values).any() for curve in differences):
            continue
        none = not any(np.nanmax(np.abs(curve.values), initial=0.0) for curve in differences)
        least = (-0.1, 0.1) if none else (0.0,)
        rows = Row(title, shown, tuple(curves)), Row(f"difference from {base}", shown, tuple(differences), least)
        description = (
            f"The {key} of {', '.join(curve.name for curve in curves)}, and differences; tables have the numbers."
        )
        axis = start + own.time, f"time in {base} [s]"
        svg = rows_figure(f"{key} of {each.actuator} in all runs", description, *axis, rows, (), _COLUMNS)
        yield Figure(f"{title.capitalize()} over time, shifted: {lags}", svg, tuple(legend))


def _shown(part: TrackedPart, key: str) -> NDArray[np.float64]:
    """Return (n,) values of the headline, of FDB where it has none; NaN where the command does not move."""
    nothing = np.full(len(part.time), np.nan)
    values = part.values.get(f"{HEADLINE}_{key}", nothing)
    if not np.isfinite(values).any():
        values = part.values.get(f"fdb_{key}", nothing)
    return np.where(is_moving(part.values, len(part.time), part.relative_gate), values, np.nan)


def _at(time: NDArray[np.float64], values: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values, (n,), at wanted times (m,), between two by a line; NaN outside, and where one of both is."""
    if not len(time):
        return np.full(len(wanted), np.nan)
    return np.asarray(np.interp(wanted, time, values, left=np.nan, right=np.nan))

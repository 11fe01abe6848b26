"""What the page of a comparison says: which run tracks better, by how much, and its curves over one another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor import __version__
from monitor.messages.blocks import ratio_unit
from monitor.messages.headline import HEADLINE
from monitor.text.numbers import DASH, plus_minus
from replay.assessment.results import milliseconds
from replay.assessment.statistics import is_moving
from replay.comparison import P_MEANING, ActuatorComparison, AssessedRun, Quantity, RunComparison, chance_text
from replay.comparison.quantities import TrackedPart
from replay.report.figures import Figure
from replay.report.svg import Curve, Row, rows_figure
from replay.report.tables import SettingTables, Table, setting_tables

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
        version=__version__,
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
    headings = ("run", "actuator", "lag s", "delay difference, ms", "p", "rms error difference, %", "p", "tolerances")
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


# a difference with a smaller probability is not put down to chance
_SIGNIFICANT = 0.05
LABELS = {
    "delay_ms": "delay, ms",
    "ratio": "ratio command/measured",
    "fdb_delay_ms": "delay by FDB, ms",
    "fdb_ratio": "ratio by FDB",
    "paei_delay_ms": "delay by PAEI, ms",
    "paei_ratio": "ratio by PAEI",
    "rms_error_percent": "rms error J2, %",
    "peak_error_percent": "largest error J3, %",
    "command_rms_percent": "difference of commands, rms, %",
    "command_peak_percent": "difference of commands, peak, %",
    "measured_rms_percent": "difference of measured signals, rms, %",
    "measured_peak_percent": "difference of measured signals, peak, %",
    "duration_s": "duration of the file, s",
    "lost_samples": "lost samples",
    "alarms": "alarms",
}
"""Figures by their keys, with their units."""


def lead_sentences(base: str, runs: Sequence[tuple[str, RunComparison]]) -> Iterator[str]:
    """Yield the sentences in front: a verdict on each run, then on tolerances."""
    for name, one in runs:
        if len(one.actuators) == 1:
            yield run_words(base, name, one, one.actuators[0])
        else:
            yield f"{name} beside {base}: {'; '.join(f'{each.actuator} {_short(each)}' for each in one.actuators)}."
        checked = [each for each in one.all_quantities() if each.result]
        failed = [each for each in checked if each.result != "within"]
        if checked and not failed:
            yield f"{name} is within {'the tolerance' if len(checked) == 1 else f'all {len(checked)} tolerances'}."
        elif failed:
            listed = ", ".join(dict.fromkeys(LABELS[each.key].partition(",")[0] for each in failed))
            yield f"{name} is not within {len(failed)} of {len(checked)} tolerances: {listed}."
    if not any(each.result for _, one in runs for each in one.all_quantities()):
        yield "No tolerances were given."


def _compared_by(each: ActuatorComparison) -> tuple[Quantity, float, float]:
    """Return the figure by which runs are ranked, the rms error or else the delay, and how bad it is in both."""
    error, delay = each.quantity("rms_error_percent"), each.quantity("delay_ms")
    if math.isfinite(error.difference):
        return error, error.reference, error.value
    if not math.isfinite(delay.difference):
        delay = each.quantity("fdb_delay_ms")
    return delay, abs(delay.reference), abs(delay.value)


def _short(each: ActuatorComparison) -> str:
    if each.motions_differ:
        return "has another motion"
    by, before, after = _compared_by(each)
    if not math.isfinite(by.difference):
        return "is unknown"
    return "tracks alike" if by.probability >= _SIGNIFICANT else _better(before, after)


def _better(before: float, after: float) -> str:
    return "tracks alike" if before == after else f"tracks {'worse' if after > before else 'better'}"


def run_words(base: str, name: str, one: RunComparison, each: ActuatorComparison) -> str:
    """Return which run tracks better, how much later it is, and whether its delay changes."""
    parts = [_verdict(base, name, each)]
    # where the units differ, the verdict is on the delay
    if _compared_by(each)[0].key.endswith("percent"):
        parts.append(_delay_words(base, each))
    return " ".join(filter(None, [*parts, _change_words(one, each)]))


def _verdict(base: str, name: str, each: ActuatorComparison) -> str:
    """Return which run tracks better, by how much against chance, as a sentence."""
    if each.motions_differ:
        differ = _digits(each.quantity("command_rms_percent").value)
        return (
            f"{name} and {base} are not the same motion: the commands differ by {differ} % rms. Which tracks better "
            "is unknown, for errors differ by the motion too."
        )
    by, before, after = _compared_by(each)
    if not math.isfinite(by.difference):
        return f"Whether {name} tracks better than {base} is unknown: no error and no delay is known of both."
    unit = "%" if by.key.endswith("percent") else "ms"
    what = LABELS[by.key].partition(",")[0]
    amounts = f"{what} {_digits(after)} against {_digits(before)} {unit}"
    difference = f"{plus_minus(abs(by.difference), by.estimate.difference_sd, digits=2, most=9)} {unit}"
    if by.difference == 0.0:
        return f"{name} tracks as {base} does: {amounts}."
    if math.isnan(by.probability):
        return f"{name} {_better(before, after)} than {base}: {amounts}; whether by more than chance is unknown."
    if by.probability < _SIGNIFICANT:
        return (
            f"{name} {_better(before, after)} than {base}: {amounts}, {difference} apart, which is more than chance."
        )
    return f"{name} tracks neither better nor worse than {base}: {amounts}, {difference} apart, no more than chance."


def _delay_words(base: str, each: ActuatorComparison) -> str:
    """Return how much later it is, as a sentence."""
    delay = each.quantity("delay_ms")
    if not math.isfinite(delay.difference):
        return "A delay is not known of both."
    amounts = f"({_digits(delay.value)} against {_digits(delay.reference)} ms)"
    if abs(delay.difference) < 5e-4:
        return f"It is as late as {base} {amounts}."
    late = "later" if delay.difference > 0.0 else "earlier"
    difference = plus_minus(abs(delay.difference), delay.estimate.difference_sd, digits=2, most=9)
    words = f"It is {difference} ms {late} {amounts}"
    return f"{words}, no more than chance." if delay.probability >= _SIGNIFICANT else f"{words}."


def _change_words(one: RunComparison, each: ActuatorComparison) -> str:
    """Return between which delays a run changes, as a sentence; empty where it does not."""
    headline = next(found for found in one.run.assessment.pairs if found.pair == each.theirs).headline
    if headline is None or headline.delay_range is None:
        return ""
    low, high = map(milliseconds, headline.delay_range)
    return f"Its delay changes within the run, between {low} and {high} ms."


def _digits(value: float) -> str:
    """Return a number with three digits, also where the last are zeros."""
    return f"{value:#.3g}".rstrip(".")

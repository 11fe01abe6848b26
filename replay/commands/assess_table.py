"""Report of an assessment as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.text import Text

from monitor.catalogue import display_unit, outputs_by_name
from monitor.messages.headline import COMPARED_QUANTITIES, FALLBACKS, HEADLINE, LABELS
from monitor.system.safe_text import printable
from monitor.text.numbers import number
from replay.assessment.wording import (
    COMPARED_AS,
    change_words,
    comparison_row,
    compensator_words,
    headline_words,
    missing_words,
    unresolved_transfer,
    whole_record_notes,
    worst_actuator,
)
from replay.tables import print_table, report_console

if TYPE_CHECKING:
    from monitor.messages.blocks import Column
    from monitor.messages.transfer import TransferBlock
    from replay.assessment import Assessment, PairAssessment
    from replay.assessment.results import RecordWarning


_OUTPUTS = outputs_by_name()
_FIRST = (HEADLINE, *FALLBACKS, "")


def group_of(name: str) -> str:
    """Return the group of a result in the catalogue; empty for none."""
    return _OUTPUTS[name].group if name in _OUTPUTS else ""


def headline_first(columns: Iterable[Column]) -> list[Column]:
    """Return the columns of the headline first, then of the indicators compared with it, then the others."""
    groups = dict.fromkeys((*_FIRST, *(output.group for output in _OUTPUTS.values())))
    order = {group: i for i, group in enumerate(groups)}
    return sorted(columns, key=lambda column: order[group_of(column.name)])


_DEGREES = 180.0 / math.pi
_FREQUENCIES = 8
_COHERENT = 0.5
# marks values that contradict the headline
_MARK = "≠"


def print_assessment(path: Path, assessment: Assessment, notes: Sequence[str], reading: Sequence[str] = ()) -> None:
    """Print the assessment of one record; times in ms, angles in degrees, a dash where there is no value.

    Notes that are in `reading`, on how the file was read, come before the tables, which are wrong where these are.
    """
    console = report_console(120)
    console.print(
        Text(printable(str(path)), "bold"),
        f" {assessment.samples} samples, {assessment.duration:.4g} s at "
        f"{assessment.stream.sample_rate:g} Hz, window {assessment.settings.window:.4g} s",
    )
    # with times in another unit all that follows is wrong
    doubts = [warning for warning in assessment.warnings_of(None) if warning.code == "time_unit"]
    _print_warnings(console, "warning", doubts)
    several = len(assessment.pairs) > 1
    for found in assessment.pairs:
        console.print(Text(headline_words(found, assessment), "bold"))
    read_as = [note for note in notes if note in reading]
    _print_notes(console, [note for note in read_as if note not in {warning.text for warning in doubts}])
    if several:
        rows = [comparison_row(found, assessment) for found in assessment.pairs]
        print_table(console, "actuators compared", COMPARED_AS, rows)
        console.print(Text(worst_actuator(assessment), "bold"))
    for actuator, summary in assessment.compensators.items():
        console.print(Text(f"{actuator}: {compensator_words(summary)}"))
    for found in assessment.pairs:
        _print_pair(console, found, assessment)
        prefix = f"warning, {found.pair.actuator}" if several else "warning"
        _print_warnings(console, prefix, assessment.warnings_of(found.pair.actuator))
    _print_warnings(console, "warning", (each for each in assessment.warnings_of(None) if each not in doubts))
    _print_notes(console, [note for note in notes if note not in reading])


def _print_warnings(console: Console, prefix: str, warnings: Iterable[RecordWarning]) -> None:
    for warning in warnings:
        console.print(Text(f"{prefix}: {warning.text}"), style="bold red")


def _print_notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        console.print(Text(f"note: {note}"), style="yellow")


def _print_pair(console: Console, found: PairAssessment, assessment: Assessment) -> None:
    units = {c.name: c.unit for c in assessment.series.columns if c.actuator == found.pair.actuator}
    empty = _print_indicators(console, found, assessment)
    for line in change_words(found):
        console.print(Text(line, "bold"))
    for line in missing_words(found):
        console.print(Text(line))
    if empty:
        console.print(Text(f"without a value: {', '.join(empty)}"))
    console.print(_whole(found, units, assessment.stream.sample_rate))
    if assessment.transfer is None:
        return
    unresolved = unresolved_transfer(found, assessment)
    if unresolved:
        console.print(unresolved)
        return
    _print_transfer(console, assessment.transfer, found.pair.actuator)


def _print_indicators(console: Console, found: PairAssessment, assessment: Assessment) -> list[str]:
    """Print a row for each result, the headline's first, and return the names of the results without a value."""
    channels = assessment.stream.channels
    title = f"{channels[found.pair.command].name} -> {channels[found.pair.measured].name}"
    valid = [(LABELS[each], found.presence[each].valid) for each in LABELS if each in found.presence]
    rows: list[tuple[str, ...] | None] = []
    empty, group = [], None
    for column in headline_first(c for c in assessment.series.columns if c.actuator == found.pair.actuator):
        if column.name.startswith("fei_") or column.name.endswith(("_sd", "_total", "_reason")):
            continue
        unit, factor = _shown_as(column)
        spread = found.spreads[column.name]
        if not math.isfinite(spread.median):
            empty.append(column.name)
            continue
        if group not in (None, group_of(column.name)):
            rows.append(None)
        group = group_of(column.name)
        numbers = (_shown(factor * each) for each in (spread.mean, spread.p05, spread.p95))
        uncertainty = _uncertainty(found, column.name, factor)
        rows.append(
            (column.name, unit, _shown(factor * spread.median), uncertainty, _mark(found, column.name), *numbers)
        )
    headings = ("indicator", "unit", "median", "±", _MARK, "mean", "5 %", "95 %")
    # a column without any entry only takes room
    shown = [
        i for i, heading in enumerate(headings) if heading not in ("±", _MARK) or any(row and row[i] for row in rows)
    ]
    print_table(
        console,
        f"{title}; valid: {', '.join(f'{label} {100 * share:.0f} %' for label, share in valid)}",
        [headings[i] for i in shown],
        [None if row is None else [row[i] for i in shown] for row in rows],
        texts=2,
    )
    return empty


def _uncertainty(found: PairAssessment, name: str, factor: float) -> str:
    """Return the standard deviation of a result; ``changes`` for a headline value that changes within the record."""
    headline, doubt = found.headline, found.spreads.get(f"{name}_sd")
    if headline is not None and (
        (name == f"{HEADLINE}_delay" and headline.delay_range is not None)
        or (name == f"{HEADLINE}_ratio" and headline.ratio_range is not None)
    ):
        return "changes"
    return _shown(factor * doubt.median, 2) if doubt else ""


def _mark(found: PairAssessment, name: str) -> str:
    """Return the share of instants at which a delay or ratio contradicts the headline; empty if small."""
    how = found.contradicts.get(group_of(name))
    compared = name.removeprefix(f"{group_of(name)}_") in COMPARED_QUANTITIES.get(group_of(name), ())
    return f"{_MARK} {100 * how.fraction:.0f} %" if compared and how is not None and how.often else ""


def _whole(found: PairAssessment, units: dict[str, str], rate: float) -> Text:
    # under a taper: most records end in mid-motion
    fei, criteria = found.whole.fei_tapered, found.whole.criteria
    parts = [
        f"whole record: FEI (Hann taper) phase {_shown(_DEGREES * fei.phase, unit='°')} at "
        f"{_shown(fei.frequency, unit='Hz')}, ratio {_shown(fei.ratio)}, delay* {_shown(1e3 * fei.delay, unit='ms')}"
    ]
    known = {"J1": (criteria.j1, "ms"), "J2": (criteria.j2, "%"), "J3": (criteria.j3, "%")}
    parts.append(", ".join(f"{name} {_shown(value, unit=unit)}" for name, (value, unit) in known.items()))
    parts += [f"{name} {_shown(total)} {units[name]}" for name, total in found.totals.items() if math.isfinite(total)]
    notes = whole_record_notes(found, rate)
    return Text("; ".join(parts) + (f" ({'; '.join(notes)})" if notes else ""))


def _print_transfer(console: Console, transfer: TransferBlock, actuator: str) -> None:
    """Print the transfer function at a few coherent frequencies, evenly spread."""
    good = np.flatnonzero(np.nan_to_num(transfer.curve(actuator, "coherence")) > _COHERENT)
    if not len(good):
        console.print("transfer function: not shown, no frequency is coherent enough")
        return
    rows = []
    for i in sorted(set(good[np.linspace(0, len(good) - 1, _FREQUENCIES).astype(int)].tolist())):
        numbers = (
            (transfer.frequency[i], 4),
            (transfer.curve(actuator, "coherence")[i], 3),
            (transfer.curve(actuator, "ratio")[i], 4),
            (_DEGREES * transfer.curve(actuator, "phase")[i], 4),
            (1e3 * transfer.curve(actuator, "delay")[i], 4),
            (1e3 * transfer.curve(actuator, "delay_sd")[i], 2),
        )
        rows.append([_shown(value, digits) for value, digits in numbers])
    headings = ("Hz", "coherence", "ratio", "phase °", "delay ms", "±")
    print_table(console, "transfer function, ratio command over measured", headings, rows)


def _shown_as(column: Column) -> tuple[str, float]:
    """Return the display unit of a column, and the factor; those of the catalogue."""
    output = _OUTPUTS.get(column.name)
    return (display_unit(output.display_unit, column.unit), output.display_factor) if output else (column.unit, 1.0)


def _shown(value: float, digits: int = 4, unit: str = "") -> str:
    return number(value, f".{digits}g", unit, rounding=1e-12)

"""An assessment as tables."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.text import Text

from monitor.catalogue import outputs_by_name
from monitor.messages.blocks import Column
from monitor.messages.headline import BESIDE, HEADLINE, QUANTITIES
from monitor.system.safe_text import printable
from replay.commands.assess_headline import change_words, headline_words, print_comparison, worst_actuator
from replay.commands.folded_table import print_table

if TYPE_CHECKING:
    from monitor.messages.blocks import Column
    from monitor.messages.transfer import TransferBlock
    from replay.assessment import Assessment, PairAssessment


_OUTPUTS = outputs_by_name()
_FIRST = (HEADLINE, *BESIDE, "xcorr", "")


def group_of(name: str) -> str:
    """Return the group of a result: the headline's, one beside it, or another of the catalogue; empty for none."""
    return _OUTPUTS[name].group if name in _OUTPUTS else ""


def headline_first(columns: Iterable[Column]) -> list[Column]:
    """Return the columns with the headline's first, then those of the indicators beside it, then the rest."""
    groups = dict.fromkeys((*_FIRST, *(output.group for output in _OUTPUTS.values())))
    order = {group: i for i, group in enumerate(groups)}
    return sorted(columns, key=lambda column: order[group_of(column.name)])


_DEGREES = 180.0 / math.pi
_SHOWN_AS = {"s": ("ms", 1e3), "rad": ("deg", _DEGREES)}
_FREQUENCIES = 8
_COHERENT = 0.5
# lines of the transfer function below a motion that it can tell from an offset
_RESOLVED = 2.0
# of what contradicts the headline
_MARK = "≠"


def print_assessment(path: Path, assessment: Assessment, notes: list[str]) -> None:
    """Print what one record's assessment says; times in ms, angles in degrees, a dash where a value means nothing."""
    # in a pipe Rich takes 80 columns for granted, and cuts the numbers
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 120)
    # Text, because file names and headers may hold brackets, which would be taken for markup
    console.print(
        Text(printable(str(path)), "bold"),
        f" {assessment.samples} samples, {assessment.duration:.4g} s at "
        f"{assessment.stream.sample_rate:g} Hz, window {assessment.settings.window:.4g} s",
    )
    several = len(assessment.pairs) > 1
    for found in assessment.pairs:
        console.print(Text(headline_words(found, assessment), "bold"))
    if several:
        print_comparison(console, assessment)
        console.print(Text(worst_actuator(assessment), "bold"))
    for found in assessment.pairs:
        _print_pair(console, found, assessment)
        prefix = f"warning, {found.pair.actuator}" if several else "warning"
        for warning in assessment.warnings_of(found.pair.actuator):
            console.print(Text(f"{prefix}: {warning.text}"), style="bold red")
    for warning in assessment.warnings_of(None):
        console.print(Text(f"warning: {warning.text}"), style="bold red")
    for note in notes:
        console.print(Text(f"note: {note}"), style="yellow")


def _print_pair(console: Console, found: PairAssessment, assessment: Assessment) -> None:
    units = {c.name: c.unit for c in assessment.series.columns if c.actuator == found.pair.actuator}
    empty = _print_indicators(console, found, assessment)
    for line in change_words(found):
        console.print(Text(line, "bold"))
    if empty:
        console.print(Text(f"without a value: {', '.join(empty)}"))
    console.print(_whole(found, units))
    if assessment.transfer is None:
        return
    frequency = found.spreads["fdb_frequency"].median if "fdb_frequency" in found.spreads else math.nan
    resolution = float(assessment.transfer.frequency[1] - assessment.transfer.frequency[0])
    if frequency < _RESOLVED * resolution:
        console.print(
            f"transfer function: left out, its lines are {resolution:.3g} Hz apart and the motion is at "
            f"{frequency:.3g} Hz: the record is too short for it"
        )
        return
    _print_transfer(console, assessment.transfer, found.pair.actuator)


def _print_indicators(console: Console, found: PairAssessment, assessment: Assessment) -> list[str]:
    """Print a row a result, the headline's first, and return the names of the results that have no value."""
    channels, headline = assessment.stream.channels, found.headline
    title = f"{channels[found.pair.command].name} -> {channels[found.pair.measured].name}"
    of_headline = "" if headline is None else f"broadband valid {100 * headline.valid_fraction:.0f} % of the record, "
    rows: list[tuple[str, ...] | None] = []
    empty, group = [], None
    for column in headline_first(c for c in assessment.series.columns if c.actuator == found.pair.actuator):
        if column.name.startswith("fei_") or column.name.endswith(("_sd", "_total")):
            continue
        unit, factor = _shown_as(column)
        spread = found.spreads[column.name]
        if not math.isfinite(spread.median):
            empty.append(column.name)
            continue
        if group not in (None, group_of(column.name)):
            rows.append(None)
        group = group_of(column.name)
        numbers = (_number(factor * number) for number in (spread.mean, spread.p05, spread.p95))
        uncertainty = _uncertainty(found, column.name, factor)
        rows.append(
            (column.name, unit, _number(factor * spread.median), uncertainty, _mark(found, column.name), *numbers)
        )
    print_table(
        console,
        f"{title}: {of_headline}FDB and PAEI {100 * found.valid_fraction:.0f} %",
        ("indicator", "unit", "median", "±", _MARK, "mean", "5 %", "95 %"),
        rows,
        texts=2,
    )
    return empty


def _uncertainty(found: PairAssessment, name: str, factor: float) -> str:
    """Return the standard deviation of a result; of the headline's, where they change, that there is none of all."""
    headline, doubt = found.headline, found.spreads.get(f"{name}_sd")
    if headline is not None and (
        (name == f"{HEADLINE}_delay" and headline.delay_range is not None)
        or (name == f"{HEADLINE}_ratio" and headline.ratio_range is not None)
    ):
        return "changes"
    return _number(factor * doubt.median, 2) if doubt else ""


def _mark(found: PairAssessment, name: str) -> str:
    """Return in how many of the instants a delay or ratio contradicts the headline; empty where in few."""
    how = found.contradicts.get(group_of(name))
    compared = name.removeprefix(f"{group_of(name)}_") in QUANTITIES
    return f"{_MARK} {100 * how.fraction:.0f} %" if compared and how is not None and how.often else ""


def _whole(found: PairAssessment, units: dict[str, str]) -> Text:
    # under a taper: most records break off in mid-motion
    fei, criteria = found.whole.fei_tapered, found.whole.criteria
    parts = [
        f"whole record: FEI (Hann taper) ratio {_number(fei.ratio)}, phase {_number(_DEGREES * fei.phase)} deg, "
        f"delay {_number(1e3 * fei.delay)} ms at {_number(fei.frequency)} Hz; "
        f"J1 {_number(criteria.j1)} ms, J2 {_number(criteria.j2)} %, J3 {_number(criteria.j3)} %"
    ]
    parts += [
        f"{name} {_number(total)} {units[name]}" for name, total in found.totals.items() if math.isfinite(total)
    ]
    return Text("; ".join(parts))


def _print_transfer(console: Console, transfer: TransferBlock, actuator: str) -> None:
    """Print the transfer function at a few coherent frequencies, evenly spread over those there are."""
    good = np.flatnonzero(np.nan_to_num(transfer.of(actuator, "coherence")) > _COHERENT)
    if not len(good):
        console.print("no frequency is coherent enough for a transfer function")
        return
    rows = []
    for i in sorted(set(good[np.linspace(0, len(good) - 1, _FREQUENCIES).astype(int)].tolist())):
        numbers = (
            (transfer.frequency[i], 4),
            (transfer.of(actuator, "coherence")[i], 3),
            (transfer.of(actuator, "ratio")[i], 4),
            (_DEGREES * transfer.of(actuator, "phase")[i], 4),
            (1e3 * transfer.of(actuator, "delay")[i], 4),
            (1e3 * transfer.of(actuator, "delay_sd")[i], 2),
        )
        rows.append([_number(value, digits) for value, digits in numbers])
    headings = ("Hz", "coherence", "ratio", "phase deg", "delay ms", "±")
    print_table(console, "transfer function, ratio command over measured", headings, rows)


def _shown_as(column: Column) -> tuple[str, float]:
    return _SHOWN_AS.get(column.unit, (column.unit, 1.0))


def _number(value: float, digits: int = 4) -> str:
    # what is smaller is rounding, and hides what is not
    return f"{value if abs(value) > 1e-12 else 0.0:.{digits}g}" if math.isfinite(value) else "—"

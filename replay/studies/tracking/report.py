"""The study of the tracking indicators as tables."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from replay.studies.tracking.cells import criteria, number, table
from replay.studies.tracking.plant_report import print_plant

if TYPE_CHECKING:
    from replay.studies.tracking.paei_noise import NoisyPhase
    from replay.studies.tracking.study import CaseStudy, TrackingStudy

_DEGREES = 180.0 / math.pi
_SHOWN_AS = {"s": ("ms", 1e3), "rad": ("deg", _DEGREES), "m": ("mm", 1e3)}


def print_study(study: TrackingStudy) -> None:
    """Print every case beside what is known and what the paper prints."""
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 110)
    for case in study.cases:
        _print_case(console, case)
    if study.growth is not None:
        _print_growth(console, study.growth)
    if study.noise is not None:
        _print_noise(console, study.noise)
    if study.plant is not None:
        print_plant(console, study.plant)


def _print_case(console: Console, study: CaseStudy) -> None:
    case, pair = study.case, study.assessment.pairs[0]
    window = study.assessment.settings.window
    title = f"Case ({case.name}): {case.title}, window {window:.3g} s"
    found = table(title, "indicator", "unit", "known", "mean", "deviation", "rms error", "largest")
    for reading in study.readings:
        unit, factor = _SHOWN_AS.get(reading.unit, (reading.unit, 1.0))
        if not math.isfinite(reading.mean):
            continue
        numbers = (reading.known, reading.mean, reading.deviation, reading.error, reading.worst)
        found.add_row(reading.column, unit, *(number(factor * value) for value in numbers))
    console.print(found)
    for name, fei in (("FEI", pair.whole.fei), ("FEI under a Hann taper", pair.whole.fei_tapered)):
        console.print(
            f"whole record: {name} ratio {number(fei.ratio)}, phase {number(_DEGREES * fei.phase)} deg, delay "
            f"{number(1e3 * fei.delay)} ms"
        )
    console.print(criteria(pair.whole.criteria, case.sample_rate))
    units = {column.name: column.unit for column in study.assessment.series.columns}
    for name, total in pair.totals.items():
        if math.isfinite(total):
            console.print(f"{name} {number(total)} {units[name]}")
    _print_beside_the_paper(console, study)
    console.print()


def _print_beside_the_paper(console: Console, study: CaseStudy) -> None:
    from replay.studies.tracking.printed import printed_figures

    found = table("", "the paper prints", "unit", "paper", "ours")
    found.add_column("where", overflow="fold")
    figures = printed_figures(study)
    for figure in figures:
        unit = "" if figure.unit == "1" else figure.unit
        found.add_row(figure.label, unit, f"{figure.printed:g}", number(figure.ours), figure.where, style="cyan")
    console.print(found)
    for remark in dict.fromkeys(figure.remark for figure in figures if figure.remark):
        labels = "; ".join(dict.fromkeys(figure.label for figure in figures if figure.remark == remark))
        console.print(Text(f"{labels}: {remark}"), soft_wrap=False)


def _print_growth(console: Console, growth: dict[str, float]) -> None:
    found = table("Case (ii-b) over case (ii-a), where the load is twice as large", "indicator", "factor")
    for name, factor in growth.items():
        if math.isfinite(factor):
            found.add_row(name, number(factor))
    console.print(found)


def _print_noise(console: Console, rows: tuple[NoisyPhase, ...]) -> None:
    known = rows[0]
    title = (
        "Case (i) in white noise on both signals, 200 runs of 2 s: "
        f"phase, known {known.known:.4f} rad, and ratio, known {known.known_ratio:g}"
    )
    found = table(title, "indicator", "noise mm", "%", "phase rad", "deviation", "told", "ratio", "error %")
    for row in rows:
        numbers = (
            row.mean,
            row.deviation,
            row.told,
            row.mean_ratio,
            100.0 * (row.mean_ratio / row.known_ratio - 1.0),
        )
        found.add_row(row.indicator, f"{1e3 * row.noise:g}", f"{100.0 * row.level:.3g}", *map(number, numbers))
    console.print(found)
    console.print(
        "%: of the command's amplitude. Eq. 1 holds the coefficient a of the command's square at one; the direct fit "
        "(Fitzgibbon) holds 4ac - b² at one and opens a noisy loop."
    )

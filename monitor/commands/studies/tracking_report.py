"""The study of the tracking indicators as tables."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from replay.studies.tracking.paei_noise import NoisyPhase
    from replay.studies.tracking.plant import PlantStudy
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
        _print_plant(console, study.plant)


def _table(title: str, first: str, *headings: str) -> Table:
    table = Table(title=Text(title, "bold"), title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _print_case(console: Console, study: CaseStudy) -> None:
    case, pair = study.case, study.assessment.pairs[0]
    window = study.assessment.settings.window
    title = f"Case ({case.name}): {case.title}, window {window:.3g} s"
    table = _table(title, "indicator", "unit", "known", "mean", "deviation", "rms error", "largest")
    for reading in study.readings:
        unit, factor = _SHOWN_AS.get(reading.unit, (reading.unit, 1.0))
        if not math.isfinite(reading.mean):
            continue
        numbers = (reading.known, reading.mean, reading.deviation, reading.error, reading.worst)
        table.add_row(reading.column, unit, *(_number(factor * number) for number in numbers))
    console.print(table)
    for name, fei in (("FEI", pair.whole.fei), ("FEI under a Hann taper", pair.whole.fei_tapered)):
        console.print(
            f"whole record: {name} ratio {_number(fei.ratio)}, phase {_number(_DEGREES * fei.phase)} deg, delay "
            f"{_number(1e3 * fei.delay)} ms"
        )
    criteria = pair.whole.criteria
    console.print(f"J1 {_number(criteria.j1)} ms, J2 {_number(criteria.j2)} %, J3 {_number(criteria.j3)} %")
    units = {column.name: column.unit for column in study.assessment.series.columns}
    for name, total in pair.totals.items():
        if math.isfinite(total):
            console.print(f"{name} {_number(total)} {units[name]}")
    _print_beside_the_paper(console, study)
    console.print()


def _print_beside_the_paper(console: Console, study: CaseStudy) -> None:
    from replay.studies.tracking.printed import printed_figures

    table = _table("", "the paper prints", "unit", "paper", "ours")
    table.add_column("where", overflow="fold")
    figures = printed_figures(study)
    for figure in figures:
        unit = "" if figure.unit == "1" else figure.unit
        table.add_row(figure.label, unit, f"{figure.printed:g}", _number(figure.ours), figure.where, style="cyan")
    console.print(table)
    for remark in dict.fromkeys(figure.remark for figure in figures if figure.remark):
        labels = ", ".join(dict.fromkeys(figure.label for figure in figures if figure.remark == remark))
        console.print(Text(f"{labels}: {remark}"), soft_wrap=False)


def _print_growth(console: Console, growth: dict[str, float]) -> None:
    table = _table("Case (ii-b) over case (ii-a), where the load is twice as large", "indicator", "factor")
    for name, factor in growth.items():
        if math.isfinite(factor):
            table.add_row(name, _number(factor))
    console.print(table)


def _print_noise(console: Console, rows: tuple[NoisyPhase, ...]) -> None:
    known = rows[0]
    title = (
        "Case (i) in white noise on both signals, 200 runs of 2 s: "
        f"phase, known {known.known:.4f} rad, and ratio, known {known.known_ratio:g}"
    )
    table = _table(title, "indicator", "noise mm", "%", "phase rad", "deviation", "told", "ratio", "error %")
    for row in rows:
        numbers = (
            row.mean,
            row.deviation,
            row.told,
            row.mean_ratio,
            100.0 * (row.mean_ratio / row.known_ratio - 1.0),
        )
        table.add_row(row.indicator, f"{1e3 * row.noise:g}", f"{100.0 * row.level:.3g}", *map(_number, numbers))
    console.print(table)
    console.print(
        "%: of the command's amplitude. Eq. 1 holds the coefficient a of the command's square at one; the direct fit "
        "(Fitzgibbon) holds 4ac - b² at one and opens a noisy loop."
    )


def _print_plant(console: Console, study: PlantStudy) -> None:
    title = "The benchmark plant under sines"
    table = _table(title, "indicator", "Hz", "ratio", "known", "error %", "phase rad", "known", "error rad")
    for row in study.sines:
        numbers = (
            row.frequency,
            row.ratio,
            row.known_ratio,
            100.0 * (row.ratio / row.known_ratio - 1.0),
            row.phase,
            row.known_phase,
            row.phase - row.known_phase,
        )
        table.add_row(row.indicator, *map(_number, numbers))
    console.print(table)
    transfer, known = study.transfer, study.known_transfer
    table = _table("The same under noise from 0.3 to 8 Hz", "Hz", "coherence", "ratio", "known", "phase rad", "known")
    frequency, coherence = transfer.frequency, transfer.of("plant", "coherence")
    driven = np.flatnonzero((frequency >= 0.3) & (frequency <= 8.0))
    for i in driven[:: max(1, len(driven) // 10)].tolist():
        row_numbers = (
            coherence[i],
            transfer.of("plant", "ratio")[i],
            1.0 / abs(known[i]),
            transfer.of("plant", "phase")[i],
            float(np.angle(known[i])),
        )
        table.add_row(_number(frequency[i]), *map(_number, row_numbers))
    console.print(table)
    criteria = study.criteria
    console.print(f"J1 {_number(criteria.j1)} ms, J2 {_number(criteria.j2)} %, J3 {_number(criteria.j3)} %")


def _number(value: float) -> str:
    return f"{value:.5g}" if math.isfinite(value) else "—"

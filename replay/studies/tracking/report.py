"""The study of the tracking indicators as tables and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.commands.output import with_units
from monitor.text.numbers import number
from replay.tables import report_console, uncut

if TYPE_CHECKING:
    from monitor.indicators.benchmark_criteria import BenchmarkCriteria
    from replay.studies.tracking.paei_noise import NoisyPhase
    from replay.studies.tracking.plant import PlantResponse, PlantStudy
    from replay.studies.tracking.printed import PrintedFigure
    from replay.studies.tracking.study import CaseStudy, IndicatorAccuracy, TrackingStudy


_DEGREES = 180.0 / math.pi
_number = partial(number, form=".5g")
_SHOWN_AS = {"s": ("ms", 1e3), "rad": ("°", _DEGREES), "m": ("mm", 1e3)}


def print_study(study: TrackingStudy) -> None:
    """Print every case with the known and the printed values."""
    console = report_console(wrap=True)
    for case in study.cases:
        _print_case(console, case)
    if study.growth is not None:
        _print_growth(console, study.growth)
    if study.noise is not None:
        _print_noise(console, study.noise)
    if study.plant is not None:
        _print_plant(console, study.plant)


def _print_case(console: Console, study: CaseStudy) -> None:
    case, pair = study.case, study.assessment.pairs[0]
    window = study.assessment.settings.window
    title = f"Case ({case.name}): {case.title}, window {window:.3g} s"
    found = _table(title, "indicator", "unit", "known", "mean", "deviation", "rms error", "largest")
    for accuracy in study.accuracies:
        unit, factor = _SHOWN_AS.get(accuracy.unit, (accuracy.unit, 1.0))
        if not math.isfinite(accuracy.mean):
            continue
        cells = [_number(factor * value) for value in (accuracy.known, accuracy.mean)]
        cells += [number(factor * value, ".3g") for value in (accuracy.deviation, accuracy.error, accuracy.worst)]
        found.add_row(accuracy.column, unit, *cells)
    console.print(uncut(found), crop=False)
    for name, fei in (("FEI", pair.whole.fei), ("FEI under a Hann taper", pair.whole.fei_tapered)):
        console.print(
            f"whole record: {name} ratio {_number(fei.ratio)}, phase {_number(_DEGREES * fei.phase)}°, delay "
            f"{_number(1e3 * fei.delay)} ms"
        )
    console.print(_criteria(pair.whole.criteria, case.sample_rate))
    units = {column.name: column.unit for column in study.assessment.series.columns}
    for name, total in pair.totals.items():
        if math.isfinite(total):
            console.print(f"{name} {_number(total)} {units[name]}")
    _print_beside_the_paper(console, study)
    console.print()


def _print_beside_the_paper(console: Console, study: CaseStudy) -> None:
    from replay.studies.tracking.printed import printed_figures

    found = _table("", "the paper prints", "unit", "paper", "ours")
    found.add_column("where", overflow="fold")
    figures = printed_figures(study)
    for figure in figures:
        unit = "" if figure.unit == "1" else figure.unit
        found.add_row(figure.label, unit, f"{figure.printed:g}", _number(figure.ours), figure.where, style="cyan")
    console.print(uncut(found), crop=False)
    for remark in dict.fromkeys(figure.remark for figure in figures if figure.remark):
        labels = "; ".join(dict.fromkeys(figure.label for figure in figures if figure.remark == remark))
        console.print(Text(f"{labels}: {remark}"), soft_wrap=False)


def _print_growth(console: Console, growth: dict[str, float]) -> None:
    found = _table("Case (ii-b) over case (ii-a), where the load is twice as large", "indicator", "factor")
    for name, factor in growth.items():
        if math.isfinite(factor):
            found.add_row(name, _number(factor))
    console.print(uncut(found), crop=False)


def _print_noise(console: Console, rows: tuple[NoisyPhase, ...]) -> None:
    known = rows[0]
    title = (
        "Case (i) in white noise on both signals, 200 runs of 2 s: "
        f"phase, known {known.known:.4f} rad, and ratio, known {known.known_ratio:g}"
    )
    found = _table(title, "indicator", "noise mm", "%", "phase rad", "sd", "reported", "ratio", "error %")
    for row in rows:
        cells = (
            _number(row.mean),
            number(row.deviation, ".3g"),
            number(row.reported, ".3g"),
            _number(row.mean_ratio),
            number(100.0 * (row.mean_ratio / row.known_ratio - 1.0), ".3g"),
        )
        found.add_row(row.indicator, f"{1e3 * row.noise:g}", f"{100.0 * row.level:.3g}", *cells)
    console.print(uncut(found), crop=False)
    console.print(
        "%: of the command's amplitude. Eq. 1 holds the coefficient a of the command's square at one; the direct fit "
        "(Fitzgibbon) holds 4ac - b² at one and opens a noisy loop."
    )


def _print_plant(console: Console, study: PlantStudy) -> None:
    """Print the plant with and without a hold, and the indicators under sines and under noise."""
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    _print_responses(console, study)
    _print_sines(console, study)
    _print_transfer(console, study)
    console.print(_criteria(study.criteria, RATE))
    console.print(f"at {PUBLISHED_RATE:g} Hz, of 30 s: {_criteria(study.criteria_published, PUBLISHED_RATE)}")


def _table(title: str, first: str, *headings: str) -> Table:
    """Return an empty table: the first column of words, the others of numbers."""
    found = Table(title=Text(title, "bold"), title_justify="left")
    found.add_column(first, no_wrap=True)
    for heading in headings:
        found.add_column(heading, justify="right")
    return found


def _criteria(found: BenchmarkCriteria, sample_rate: float) -> str:
    """Return J1 to J3, with the step that J1 is rounded to and what makes it small."""
    return (
        f"J1 {_number(found.j1)} ms (in whole samples of {1000.0 / sample_rate:.3g} ms; too small where the record "
        f"does not begin and end at rest), J2 {_number(found.j2)} %, J3 {_number(found.j3)} %"
    )


def _print_responses(console: Console, study: PlantStudy) -> None:
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    found = _table(
        "The benchmark plant, in continuous time and behind a zero-order hold",
        "Hz",
        "ratio",
        f"held {RATE:g} Hz",
        "delay ms",
        f"held {PUBLISHED_RATE:g} Hz",
        f"held {RATE:g} Hz",
        "hold adds ms",
    )
    for row in study.responses:
        continuous, published, held = (1e3 * delay for delay in row.delays())
        numbers = (1.0 / abs(row.continuous), 1.0 / abs(row.held), continuous, published, held, held - continuous)
        found.add_row(_number(row.frequency), *map(_number, numbers))
    console.print(uncut(found), crop=False)
    console.print(
        f"The hold is half a sample: {500.0 / RATE:.3f} ms at {RATE:g} Hz, {500.0 / PUBLISHED_RATE:.3f} ms at the "
        f"benchmark's {PUBLISHED_RATE:g} Hz. What follows is held at {RATE:g} Hz."
    )


def _print_sines(console: Console, study: PlantStudy) -> None:
    title = "The held plant under sines"
    found = _table(title, "indicator", "Hz", "ratio", "known", "error %", "phase rad", "known", "error rad")
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
        found.add_row(row.indicator, *map(_number, numbers))
    console.print(uncut(found), crop=False)


def _print_transfer(console: Console, study: PlantStudy) -> None:
    title = "The same under noise from 0.3 to 8 Hz"
    found = _table(title, "Hz", "coherence", "ratio", "held", "continuous", "phase rad", "held", "continuous")
    transfer, frequency = study.transfer, study.transfer.frequency
    columns = [
        transfer.curve("plant", "coherence"),
        transfer.curve("plant", "ratio"),
        1.0 / np.abs(study.known_transfer),
        1.0 / np.abs(study.continuous_transfer),
        transfer.curve("plant", "phase"),
        np.angle(study.known_transfer),
        np.angle(study.continuous_transfer),
    ]
    driven = np.flatnonzero((frequency >= 0.3) & (frequency <= 8.0))
    for i in driven[:: max(1, len(driven) // 10)].tolist():
        found.add_row(_number(frequency[i]), *(_number(float(column[i])) for column in columns))
    console.print(uncut(found), crop=False)


def as_json(study: TrackingStudy) -> dict[str, Any]:
    """Return the study; SI and rad but for the criteria, which name their units.

    ``paper`` has the units of its numbers.
    """
    found: dict[str, Any] = {"study": "tracking", "cases": [_case(case) for case in study.cases]}
    if study.growth is not None:
        found["growth_from_ii_a_to_ii_b"] = study.growth
    if study.noise is not None:
        found["noise"] = study.noise
    if study.plant is not None:
        found["plant"] = _plant(study.plant)
    return found


def _case(study: CaseStudy) -> dict[str, Any]:
    from replay.studies.tracking.printed import printed_figures

    case, pair = study.case, study.assessment.pairs[0]
    return {
        "case": case.name,
        "title": case.title,
        "virtual": case.virtual,
        "sample_rate": case.sample_rate,
        "window_s": study.assessment.settings.window,
        "known": {accuracy.column: accuracy.known for accuracy in study.accuracies},
        "indicators": {accuracy.column: _accuracy_json(accuracy) for accuracy in study.accuracies},
        "totals": pair.totals,
        "fei": pair.whole.fei._asdict(),
        "fei_tapered": pair.whole.fei_tapered._asdict(),
        "criteria": with_units(pair.whole.criteria) | _resolution(case.sample_rate),
        "paper": {figure.name: _printed(figure) for figure in printed_figures(study)},
    }


def _accuracy_json(accuracy: IndicatorAccuracy) -> dict[str, float]:
    return {name: getattr(accuracy, name) for name in ("mean", "deviation", "error", "worst")}


def _printed(figure: PrintedFigure) -> dict[str, Any]:
    """Return a printed number and ours, in their unit."""
    return {name: value for name, value in asdict(figure).items() if name != "name"}


def _plant(study: PlantStudy) -> dict[str, Any]:
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    transfer = study.transfer
    known = np.isfinite(transfer.curve("plant", "coherence"))
    curves = {
        "frequency_hz": transfer.frequency,
        "ratio": transfer.curve("plant", "ratio"),
        "phase": transfer.curve("plant", "phase"),
        "coherence": transfer.curve("plant", "coherence"),
        "known_ratio": 1.0 / np.abs(study.known_transfer),
        "known_phase": np.angle(study.known_transfer),
        "continuous_ratio": 1.0 / np.abs(study.continuous_transfer),
        "continuous_phase": np.angle(study.continuous_transfer),
    }
    return {
        "responses": [_response(row) for row in study.responses],
        "sines": study.sines,
        "transfer": {name: curve[known] for name, curve in curves.items()},
        "criteria": with_units(study.criteria) | _resolution(RATE),
        "criteria_at_4096_hz": with_units(study.criteria_published) | _resolution(PUBLISHED_RATE),
    }


def _response(row: PlantResponse) -> dict[str, Any]:
    continuous, published, held = row.delays()
    return {
        "frequency_hz": row.frequency,
        "ratio_continuous": 1.0 / abs(row.continuous),
        "ratio_held": 1.0 / abs(row.held),
        "delay_continuous_s": continuous,
        "delay_held_at_4096_hz_s": published,
        "delay_held_at_1024_hz_s": held,
    }


def _resolution(sample_rate: float) -> dict[str, float]:
    """Return the resolution of J1, which is a whole number of samples."""
    return {"j1_resolution_ms": 1000.0 / sample_rate}

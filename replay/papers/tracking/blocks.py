"""The study of the tracking indicators as tables, data and figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import asdict, astuple
from functools import partial
from typing import Any

import numpy as np

from monitor.commands.output import with_units
from monitor.indicators.benchmark_criteria import BenchmarkCriteria
from monitor.text.blocks import Block, Column, Data, Figure, Row, Table, Text, Tone, words
from monitor.text.numbers import number
from replay import Progress
from replay.papers.tracking.paei_noise import RUNS, WINDOW, NoisyPhase
from replay.papers.tracking.pictures import case_overview, details, phase_in_noise, plant_response
from replay.papers.tracking.plant import BAND, PUBLISHED_RATE, RATE, PlantStudy
from replay.papers.tracking.study import PARTS, CaseStudy, TrackingStudy, printed_figures, run_study

_DEGREES = 180.0 / math.pi
_number = partial(number, form=".5g")
_value, _error = partial(Column, form=".5g"), partial(Column, form=".3g")
_SHOWN_AS = {"s": ("ms", 1e3), "rad": ("°", _DEGREES), "m": ("mm", 1e3), "1": ("", 1.0)}


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    return study_blocks(run_study(arguments.case or PARTS, arguments.seed, progress))


def study_blocks(study: TrackingStudy) -> Iterator[Block]:
    """Yield every case with the known and the printed values.

    In JSON all is in SI and rad but for the criteria, which name their units, and ``paper``, which has those of its
    numbers.
    """
    yield Data({"study": "tracking", "cases": [_record(case) for case in study.cases]})
    for case in study.cases:
        yield from _case(case)
    if study.growth is not None:
        yield Data({"growth_from_ii_a_to_ii_b": study.growth})
        known = [(name, factor) for name, factor in study.growth.items() if math.isfinite(factor)]
        title = "Case (ii-b) over case (ii-a), where the load is twice as large"
        yield Table(title, (words("indicator"), _value("factor")), known)
    if study.noise is not None:
        yield from _noise(study.noise)
        yield Figure("noise", partial(phase_in_noise, study.noise))
    if study.plant is not None:
        yield from _plant(study.plant)
        yield Figure("plant", partial(plant_response, study.plant))


def _record(study: CaseStudy) -> dict[str, Any]:
    case, pair = study.case, study.assessment.pairs[0]
    readings = ("mean", "deviation", "error", "worst")
    return {
        "case": case.name,
        "title": case.title,
        "virtual": case.virtual,
        "sample_rate": case.sample_rate,
        "window_s": study.assessment.settings.window,
        "known": {each.column: each.known for each in study.accuracies},
        "indicators": {each.column: {name: getattr(each, name) for name in readings} for each in study.accuracies},
        "totals": pair.totals,
        "fei": pair.whole.fei._asdict(),
        "fei_tapered": pair.whole.fei_tapered._asdict(),
        "criteria": _criteria(pair.whole.criteria, case.sample_rate),
        "paper": {figure.pop("name"): figure for figure in map(asdict, printed_figures(study))},
    }


def _case(study: CaseStudy) -> Iterator[Block]:
    case, pair = study.case, study.assessment.pairs[0]
    rows = []
    for each in study.accuracies:
        unit, factor = _SHOWN_AS.get(each.unit, (each.unit, 1.0))
        if math.isfinite(each.mean):
            readings = (each.known, each.mean, each.deviation, each.error, each.worst)
            rows.append((each.column, unit, *(factor * value for value in readings)))
    columns = words("indicator"), words("unit"), _value("known"), _value("mean")
    errors = _error("deviation"), _error("rms error"), _error("largest")
    title = f"Case ({case.name}): {case.title}, window {study.assessment.settings.window:.3g} s"
    yield Table(title, (*columns, *errors), rows)
    for name, fei in (("FEI", pair.whole.fei), ("FEI under a Hann taper", pair.whole.fei_tapered)):
        yield Text(
            f"whole record: {name} ratio {_number(fei.ratio)}, phase {_number(_DEGREES * fei.phase)}°, delay "
            f"{_number(1e3 * fei.delay)} ms"
        )
    yield Text(_criteria_words(pair.whole.criteria, case.sample_rate))
    units = {column.name: column.unit for column in study.assessment.series.columns}
    known = [f"{name} {_number(total)} {units[name]}" for name, total in pair.totals.items() if math.isfinite(total)]
    yield from map(Text, known)
    figures = printed_figures(study)
    printed = [
        (each.label, "" if each.unit == "1" else each.unit, each.printed, each.ours, each.where) for each in figures
    ]
    columns = words("the paper prints"), words("unit"), Column("paper", form="g"), _value("ours")
    yield Table("", (*columns, words("where")), [Row(cells, Tone.PAPER) for cells in printed])
    for remark in dict.fromkeys(figure.remark for figure in figures if figure.remark):
        labels = "; ".join(dict.fromkeys(figure.label for figure in figures if figure.remark == remark))
        yield Text(f"{labels}: {remark}")
    yield Figure(f"case-{case.name}", partial(case_overview, study))
    if case.force is not None:
        yield Figure(f"case-{case.name}-details", partial(details, study))


def _criteria(found: BenchmarkCriteria, sample_rate: float) -> dict[str, Any]:
    """Return J1 to J3 by their keys, with the resolution of J1, which is a whole number of samples."""
    return with_units(found) | {"j1_resolution_ms": 1000.0 / sample_rate}


def _criteria_words(found: BenchmarkCriteria, sample_rate: float) -> str:
    return (
        f"J1 {_number(found.j1)} ms (in whole samples of {1000.0 / sample_rate:.3g} ms; too small where the record "
        f"does not begin and end at rest), J2 {_number(found.j2)} %, J3 {_number(found.j3)} %"
    )


def _noise(rows: tuple[NoisyPhase, ...]) -> Iterator[Block]:
    columns = (
        words("indicator", "indicator"),
        Column("noise", "mm", "g", 1e3, "noise"),
        _error("noise", "%", factor=100.0, key="level"),
        Column(None, key="known"),
        _value("phase", "rad", key="mean"),
        _error("sd", key="deviation"),
        _error("reported", key="reported"),
        Column(None, key="known_ratio"),
        _value("ratio", key="mean_ratio"),
        Column(None, key="deviation_ratio"),
        _error("error", "%", factor=100.0),
    )
    yield Table(
        f"Case (i) in white noise on both signals, {RUNS} runs of {WINDOW:g} s: phase, known {rows[0].known:.4f} "
        f"rad, and ratio, known {rows[0].known_ratio:g}",
        columns,
        [(*astuple(row), row.mean_ratio / row.known_ratio - 1.0) for row in rows],
        key="noise",
    )
    yield Text(
        "%: of the command's amplitude. Eq. 1 holds the coefficient a of the command's square at one; the direct fit "
        "(Fitzgibbon) holds 4ac - b² at one and opens a noisy loop."
    )


def _plant(study: PlantStudy) -> Iterator[Block]:
    """Yield the plant with and without a hold, and the indicators under sines and under noise."""
    held, published = f"held {RATE:g} Hz", f"held {PUBLISHED_RATE:g} Hz"
    responses = []
    for row in study.responses:
        delays = row.delays()
        ratios = 1.0 / abs(row.continuous), 1.0 / abs(row.held)
        responses.append((row.frequency, *ratios, *delays, delays[2] - delays[0]))
    columns = (
        _value("", "Hz", key="frequency_hz"),
        _value("ratio", key="ratio_continuous"),
        _value(held, key="ratio_held"),
        _value("delay", "ms", factor=1e3, key="delay_continuous_s"),
        _value(published, factor=1e3, key="delay_held_at_4096_hz_s"),
        _value(held, factor=1e3, key="delay_held_at_1024_hz_s"),
        _value("hold adds", "ms", factor=1e3),
    )
    title = "The benchmark plant, in continuous time and behind a zero-order hold"
    yield Table(title, columns, responses, key="plant.responses")
    yield Text(
        f"The hold is half a sample: {500.0 / RATE:.3f} ms at {RATE:g} Hz, {500.0 / PUBLISHED_RATE:.3f} ms at the "
        f"benchmark's {PUBLISHED_RATE:g} Hz. What follows is held at {RATE:g} Hz."
    )
    under_sines = (
        _value("", "Hz", key="frequency"),
        words("indicator", "indicator"),
        _value("ratio", key="ratio"),
        _value("phase", "rad", key="phase"),
        _value("known ratio", key="known_ratio"),
        _value("phase", "rad", key="known_phase"),
        _value("ratio error", "%", factor=100.0),
        _value("phase error", "rad"),
    )
    sines = [(*astuple(row), row.ratio / row.known_ratio - 1.0, row.phase - row.known_phase) for row in study.sines]
    yield Table("The held plant under sines", under_sines, sines, key="plant.sines")
    yield from _transfer(study)
    criteria = (study.criteria, RATE), (study.criteria_published, PUBLISHED_RATE)
    now, at_published = (_criteria(*each) for each in criteria)
    yield Data({"plant.criteria": now, "plant.criteria_at_4096_hz": at_published})
    yield Text(_criteria_words(*criteria[0]))
    yield Text(f"at {PUBLISHED_RATE:g} Hz, of 30 s: {_criteria_words(*criteria[1])}")


def _transfer(study: PlantStudy) -> Iterator[Block]:
    transfer, frequency = study.transfer, study.transfer.frequency
    curves = {
        "frequency_hz": frequency,
        **{name: transfer.curve("plant", name) for name in ("ratio", "phase", "coherence")},
        "known_ratio": 1.0 / np.abs(study.known_transfer),
        "known_phase": np.angle(study.known_transfer),
        "continuous_ratio": 1.0 / np.abs(study.continuous_transfer),
        "continuous_phase": np.angle(study.continuous_transfer),
    }
    known = np.isfinite(curves["coherence"])
    yield Data({"plant.transfer": {name: curve[known] for name, curve in curves.items()}})
    driven = np.flatnonzero((frequency >= BAND[0]) & (frequency <= BAND[1]))
    kinds = "{}", "known_{}", "continuous_{}"
    shown = "frequency_hz", "coherence", *(kind.format(what) for what in ("ratio", "phase") for kind in kinds)
    names = "coherence", "ratio", "held", "continuous"
    yield Table(
        f"The same under noise from {BAND[0]:g} to {BAND[1]:g} Hz",
        (_value("", "Hz"), *map(_value, names), _value("phase", "rad"), _value("held"), _value("continuous")),
        [[float(curves[name][i]) for name in shown] for i in driven[:: max(1, len(driven) // 10)].tolist()],
    )

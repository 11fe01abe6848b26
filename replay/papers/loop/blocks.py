"""The study of the closed loop as tables, data and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from monitor.text.numbers import number
from replay.papers.loop import pictures
from replay.papers.loop.benchmark import CASES, COMPENSATORS, CRITERIA, SCENARIOS, Benchmark
from replay.papers.loop.stability import EARLY, Stability
from replay.papers.loop.study import LoopStudy, draw_statistics, paired_ratio
from sim.laboratory.building import Case

_MS = 1e3
DEFINITIONS = {
    "J1": ("ms", "delay of measured behind the command, at their largest correlation, in whole samples"),
    "J2": ("%", "standard deviation of measured - command, of that of the command"),
    "J3": ("%", "largest absolute measured - command, of the largest absolute command"),
    **{
        f"J{number}": ("%", f"{size} of floor {floor}'s error against the whole building, of {of}")
        for first, size, of in (
            (4, "standard deviation", "that of its displacement there"),
            (7, "largest absolute value", "its largest absolute displacement there"),
        )
        for floor, number in enumerate(range(first, first + 3), 1)
    },
}
"""Unit and definition of each criterion."""
# of the draws, as many as fit; the rest is in the JSON
_SHOWN = ("J1", "J2", "J3")
_J2 = CRITERIA.index("J2")
COMPARED = ("fixed", "recursive", "fdb", "paei", "broadband")
"""Compensators whose J2 is compared with that of `ats`, test by test."""


def study_blocks(study: LoopStudy) -> Iterator[Block]:
    """Yield when the loop is unstable, what announces it, and what the compensators make of it.

    In JSON everything but `computing_time_s` is the same whenever the seed and the draws are.
    """
    yield Data(_record(study))
    yield from _stability(study.stability)
    yield Figure("loop-instability", partial(pictures.instability, study.stability))
    yield from _nominal(study.benchmark)
    yield Figure("loop-benchmark", partial(pictures.nominal, study))
    yield from _uncertain(study)
    yield Figure("loop-draws", partial(pictures.draws, study))
    for note in study.motion.notes if study.motion else ():
        yield Text(f"ground motion: {note}")
    yield Text(f"computing time: {', '.join(f'{name} {value:.0f} s' for name, value in study.seconds.items())}")


def _record(study: LoopStudy) -> dict[str, Any]:
    stability, benchmark = study.stability, study.benchmark
    return {
        "study": "loop",
        "seed": study.seed,
        "stability": {
            "analytic_delay_ms": _MS * stability.analytic,
            "simulated_delay_ms": _MS * stability.simulated,
            "frequency_hz": stability.frequency,
            "damping_ratio": stability.damping_ratio,
            "specimen_share": stability.share,
            "sample_rate_hz": stability.sample_rate,
        },
        "warning": {
            "delay_from_ms": _MS * stability.delays[0],
            "delay_to_ms": _MS * stability.delays[1],
            "critical_s": stability.critical_at,
            "stroke_m": stability.stroke,
            "left_stroke_s": stability.runs["none"].left_at,
            "indicators": {
                each.column: {
                    "limit": each.limit,
                    "unit": each.unit,
                    "at_s": each.at,
                    "after_critical_s": each.at - stability.critical_at,
                    "before_left_stroke_s": stability.runs["none"].left_at - each.at,
                    "early_limit": each.early_limit,
                    "early_at_s": each.early_at,
                    "early_after_critical_s": each.early_at - stability.critical_at,
                }
                for each in stability.warnings
            },
            "compensators": {
                name: {"left_stroke_s": run.left_at, "largest_command_m": run.largest, "delay_ms": _MS * run.delay}
                for name, run in stability.runs.items()
            },
        },
        "criteria": {name: {"unit": unit, "definition": words} for name, (unit, words) in DEFINITIONS.items()},
        "cases": {
            str(case): {"floor_mass_kg": case.floor_mass, "damping_ratio": case.damping_ratio} for case in Case
        },
        "benchmark": {
            case: {
                name: {
                    **dict(zip(CRITERIA, benchmark.nominal[i, k].tolist(), strict=True)),
                    "left_stroke_s": benchmark.nominal_left_at[i, k],
                }
                for i, name in enumerate(COMPENSATORS)
            }
            for k, case in enumerate(CASES)
        },
        "draws": {
            "number": benchmark.n_draws,
            "sample_rate_hz": benchmark.sample_rate,
            "duration_s": benchmark.duration,
            "recorded_motion": study.motion is not None,
            **{scenario: _draws(benchmark, scenario) for scenario in benchmark.draws},
        },
        "scenarios": dict(SCENARIOS),
        "against_ats": {
            scenario: {
                name: asdict(paired_ratio(values[i, ..., _J2], values[COMPENSATORS.index("ats"), ..., _J2]))
                for i, name in enumerate(COMPENSATORS)
                if name in COMPARED
            }
            for scenario, values in benchmark.draws.items()
        },
        "notes": list(study.motion.notes if study.motion else ()),
        "computing_time_s": study.seconds,
    }


def _draws(benchmark: Benchmark, scenario: str) -> dict[str, Any]:
    values, left_at = benchmark.draws[scenario], benchmark.left_at[scenario]
    groups = {case: (values[:, k], left_at[:, k]) for k, case in enumerate(CASES)}
    groups["all-cases"] = _all_cases(values, left_at)
    return {
        group: {
            name: {
                "left_stroke": int(np.isfinite(left_at[i]).sum()),
                **{criterion: asdict(draw_statistics(values[i, :, j])) for j, criterion in enumerate(CRITERIA)},
            }
            for i, name in enumerate(COMPENSATORS)
        }
        for group, (values, left_at) in groups.items()
    }


def _all_cases(values: Samples, left_at: Samples) -> tuple[Samples, Samples]:
    return values.reshape(len(values), -1, values.shape[-1]), left_at.reshape(len(values), -1)


def _stability(found: Stability) -> Iterator[Block]:
    yield Text("One degree of freedom with a delay", Tone.HEADING)
    yield Text(
        f"{found.frequency:g} Hz, damping {100.0 * found.damping_ratio:g} %, {100.0 * found.share:g} % of the "
        f"stiffness in the rig, {found.sample_rate:g} Hz. Critical delay: analytic {_MS * found.analytic:.3f} ms, "
        f"simulated {_MS * found.simulated:.3f} ms ({100.0 * (found.simulated / found.analytic - 1.0):+.2f} %)."
    )
    first, last = (_MS * delay for delay in found.delays)
    none = found.runs["none"]
    yield Text(
        f"A delay that grows from {first:.3g} to {last:.3g} ms is critical at {found.critical_at:.2f} s; without "
        f"compensation the command leaves the stroke of {1e3 * found.stroke:g} mm {_at(none.left_at)}."
    )
    rows = [
        (
            each.label,
            f"{each.limit * each.scale:.3g} {each.shown}",
            *(each.at, each.at - found.critical_at, none.left_at - each.at),
            f"{each.early_limit * each.scale:.3g} {each.shown}",
            *(each.early_at, each.early_at - found.critical_at),
        )
        for each in found.warnings
    ]
    at, critical = Column("at", "s", ".2f"), Column("critical", "s", "+.2f")
    early = f"{100.0 * EARLY:.0f} %"
    yield Table(
        "What announces it",
        (
            words("indicator"),
            Column("limit"),
            at,
            critical,
            Column("stroke", "s", ".2f"),
            Column(early),
            at,
            critical,
        ),
        rows,
        f"Limits: the indicator at the critical delay, and at {early} of it. Critical: seconds since the delay is "
        "critical (negative: before); stroke: seconds until the stroke is left.",
    )
    yield Table(
        "What the compensators make of it",
        (
            *(words("compensator"), words("leaves the stroke"), Column("largest command", "mm", ".1f", 1e3)),
            Column("delay at the end", "ms", ".2f", _MS),
        ),
        [
            (name, "no" if math.isnan(run.left_at) else _at(run.left_at), run.largest, run.delay)
            for name, run in found.runs.items()
        ],
    )


def _nominal(benchmark: Benchmark) -> Iterator[Block]:
    yield Text("The benchmark building with the nominal plant", Tone.HEADING)
    yield Text(
        f"J1: delay [ms], in whole samples of {1e3 / benchmark.sample_rate:.3f} ms; J2, J3: rms and largest error of "
        "the actuator [%]; J4 to J6 and J7 to J9: rms and largest error of floors 1 to 3, against the whole building "
        "[%]. Of a test that leaves the stroke: until then."
    )
    split = CRITERIA.index("J4")
    for title, shown in (("Actuator", slice(split)), ("Building", slice(split, None))):
        rows: list[Sequence[object] | None] = []
        for k, case in enumerate(CASES):
            rows += [None] if rows else []
            for i, name in enumerate(COMPENSATORS):
                values = benchmark.nominal[i, k, shown].tolist()
                rows.append(("" if i else case, name, benchmark.nominal_left_at[i, k], *values))
        criteria = (Column(name, form=".3g") for name in CRITERIA[shown])
        columns = words("case"), words("compensator"), Column("left at", "s", ".2f"), *criteria
        yield Table(title, columns, rows)


def _uncertain(study: LoopStudy) -> Iterator[Block]:
    benchmark = study.benchmark
    yield Text(f"{benchmark.n_draws} draws of {study.drawn}", Tone.HEADING)
    yield Text("Median/90 %/worst. Left: tests that left the stroke, whose criteria are those until then.")
    first, *others = benchmark.draws
    groups = [(case, benchmark.draws[first][:, k], benchmark.left_at[first][:, k]) for k, case in enumerate(CASES)]
    for scenario in others:
        yield Text(f"{scenario}: {SCENARIOS[scenario]}, all cases.")
        groups.append((scenario, *_all_cases(benchmark.draws[scenario], benchmark.left_at[scenario])))
    rows: list[Sequence[object] | None] = []
    for label, values, left_at in groups:
        rows += [None] if rows else []
        for i, name in enumerate(COMPENSATORS):
            cells = [_spread(values[i, :, CRITERIA.index(criterion)]) for criterion in _SHOWN]
            left = f"{np.isfinite(left_at[i]).sum()} of {values.shape[1]}"
            rows.append(("" if i else label, name, left, *cells))
    yield Table("", (words(), words("compensator"), Column("left"), *map(Column, _SHOWN)), rows)
    yield _against_ats(benchmark)


def _against_ats(benchmark: Benchmark) -> Table:
    rows: list[Sequence[object] | None] = []
    for scenario, values in benchmark.draws.items():
        rows += [None] if rows else []
        for name in COMPARED:
            found = paired_ratio(*(values[COMPENSATORS.index(each), ..., _J2] for each in (name, "ats")))
            larger = f"{found.above} of {found.tests}"
            rows.append((scenario if name == COMPARED[0] else "", name, larger, found.median, found.worst))
    ratios = Column("median ratio", form=".2f"), Column("worst ratio", form=".2f")
    columns = words(), words("compensator"), Column("larger than ats in"), *ratios
    return Table("J2 over that of ats in the same test", columns, rows)


def _spread(values: Samples) -> str:
    found = draw_statistics(values)
    return "/".join(number(value, ".2g") for value in (found.median, found.p90, found.worst))


def _at(seconds: float) -> str:
    return "never" if math.isnan(seconds) else f"at {seconds:.2f} s"

"""The study of the closed loop as tables and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from monitor.text.numbers import number
from replay.studies.loop.benchmark import CASES, CRITERIA, SCENARIOS
from replay.studies.loop.compensators import COMPENSATORS
from replay.studies.loop.stability import EARLY
from replay.studies.loop.study import draw_statistics, paired_ratio
from replay.tables import print_table, report_console
from sim.laboratory.building import Case

if TYPE_CHECKING:
    from rich.console import Console

    from monitor.messages.blocks import Samples
    from replay.studies.loop.benchmark import Benchmark
    from replay.studies.loop.stability import Stability
    from replay.studies.loop.study import LoopStudy

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


def as_json(study: LoopStudy) -> dict[str, Any]:
    """Return the study; everything but `computing_time_s` is the same whenever the seed and the draws are."""
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


def print_study(study: LoopStudy) -> None:
    """Print when the loop is unstable, what announces it, and what the compensators make of it."""
    console = report_console(wrap=True)
    _print_stability(console, study.stability)
    _print_benchmark(console, study)
    _print_draws(console, study)
    seconds = ", ".join(f"{name} {value:.0f} s" for name, value in study.seconds.items())
    for note in study.motion.notes if study.motion else ():
        console.print(f"ground motion: {note}")
    console.print(f"computing time: {seconds}")


def _print_stability(console: Console, found: Stability) -> None:
    console.print(Text("One degree of freedom with a delay", "bold"))
    console.print(
        f"{found.frequency:g} Hz, damping {100.0 * found.damping_ratio:g} %, {100.0 * found.share:g} % of the "
        f"stiffness in the rig, {found.sample_rate:g} Hz. Critical delay: analytic {_MS * found.analytic:.3f} ms, "
        f"simulated {_MS * found.simulated:.3f} ms ({100.0 * (found.simulated / found.analytic - 1.0):+.2f} %)."
    )
    first, last = (_MS * delay for delay in found.delays)
    none = found.runs["none"]
    console.print(
        f"A delay that grows from {first:.3g} to {last:.3g} ms is critical at {found.critical_at:.2f} s; without "
        f"compensation the command leaves the stroke of {1e3 * found.stroke:g} mm {_at(none.left_at)}.\n"
    )
    rows = [
        (
            each.label,
            f"{each.limit * each.scale:.3g} {each.shown}",
            _seconds(each.at),
            _seconds(each.at - found.critical_at, "+.2f"),
            _seconds(none.left_at - each.at),
            f"{each.early_limit * each.scale:.3g} {each.shown}",
            _seconds(each.early_at),
            _seconds(each.early_at - found.critical_at, "+.2f"),
        )
        for each in found.warnings
    ]
    console.print(
        f"Limits: the indicator at the critical delay, and at {100.0 * EARLY:.0f} % of it. Critical: seconds since "
        "the delay is critical (negative: before); stroke: seconds until the stroke is left."
    )
    early = f"{100.0 * EARLY:.0f} %"
    headings = ("indicator", "limit", "at", "critical", "stroke", early, "at", "critical")
    print_table(console, "What announces it", headings, rows)
    left = [
        (
            name,
            "no" if math.isnan(run.left_at) else _at(run.left_at),
            f"{1e3 * run.largest:.1f} mm",
            number(_MS * run.delay, ".2f", "ms"),
        )
        for name, run in found.runs.items()
    ]
    columns = ("compensator", "leaves the stroke", "largest command", "delay at the end")
    console.print()
    print_table(console, "What the compensators make of it", columns, left)
    console.print()


def _print_benchmark(console: Console, study: LoopStudy) -> None:
    benchmark = study.benchmark
    console.print(Text("The benchmark building with the nominal plant", "bold"))
    console.print(
        f"J1: delay [ms], in whole samples of {1e3 / benchmark.sample_rate:.3f} ms; J2, J3: rms and largest error of "
        "the actuator [%]; J4 to J6 and J7 to J9: rms and largest error of floors 1 to 3, against the whole building "
        "[%]. Of a test that leaves the stroke: until then."
    )
    split = CRITERIA.index("J4")
    for title, shown in (("Actuator", CRITERIA[:split]), ("Building", CRITERIA[split:])):
        rows: list[tuple[str, ...] | None] = []
        for k, case in enumerate(CASES):
            rows += [None] if rows else []
            rows += [
                (
                    case if not i else "",
                    name,
                    number(benchmark.nominal_left_at[i, k], ".2f", "s"),
                    *(number(benchmark.nominal[i, k, CRITERIA.index(each)], ".3g") for each in shown),
                )
                for i, name in enumerate(COMPENSATORS)
            ]
        print_table(console, title, ("case", "compensator", "left at", *shown), rows, texts=2)
    console.print()


def _print_draws(console: Console, study: LoopStudy) -> None:
    benchmark = study.benchmark
    console.print(Text(f"{benchmark.n_draws} draws of {study.drawn}", "bold"))
    console.print("Median/90 %/worst. Left: tests that left the stroke, whose criteria are those until then.")
    first, *others = benchmark.draws
    groups = [(case, benchmark.draws[first][:, k], benchmark.left_at[first][:, k]) for k, case in enumerate(CASES)]
    for scenario in others:
        values, left_at = benchmark.draws[scenario], benchmark.left_at[scenario]
        console.print(f"{scenario}: {SCENARIOS[scenario]}, all cases.")
        groups.append((scenario, *_all_cases(values, left_at)))
    rows: list[tuple[str, ...] | None] = []
    for label, values, left_at in groups:
        rows += [None] if rows else []
        for i, name in enumerate(COMPENSATORS):
            cells = [_spread(values[i, :, CRITERIA.index(criterion)]) for criterion in _SHOWN]
            left = f"{np.isfinite(left_at[i]).sum()} of {values.shape[1]}"
            rows.append((label if not i else "", name, left, *cells))
    print_table(console, "", ("", "compensator", "left", *_SHOWN), rows, texts=2)
    _print_against_ats(console, benchmark)


def _print_against_ats(console: Console, benchmark: Benchmark) -> None:
    rows: list[tuple[str, ...] | None] = []
    for scenario, values in benchmark.draws.items():
        rows += [None] if rows else []
        for name in COMPARED:
            pair = (values[COMPENSATORS.index(each), ..., _J2] for each in (name, "ats"))
            found = paired_ratio(*pair)
            cells = f"{found.above} of {found.tests}", number(found.median, ".2f"), number(found.worst, ".2f")
            rows.append((scenario if name == COMPARED[0] else "", name, *cells))
    console.print()
    headings = ("", "compensator", "larger than ats in", "median ratio", "worst ratio")
    print_table(console, "J2 over that of ats in the same test", headings, rows, texts=2)
    console.print()


def _spread(values: np.ndarray[Any, Any]) -> str:
    found = draw_statistics(values)
    return "/".join(number(value, ".2g") for value in (found.median, found.p90, found.worst))


def _at(seconds: float) -> str:
    return "never" if math.isnan(seconds) else f"at {seconds:.2f} s"


def _seconds(seconds: float, form: str = ".2f") -> str:
    return number(seconds, form, "s")

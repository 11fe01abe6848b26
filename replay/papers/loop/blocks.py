"""The study of the closed loop as tables, data and figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from monitor.text.numbers import number
from replay import Progress
from replay.formats.ground_motion import read_ground_motion
from replay.papers.loop.benchmark import CASES, COMPENSATORS, CRITERIA, SCENARIOS, Benchmark
from replay.papers.loop.study import (
    DAMPING,
    DRAWS,
    EARLY,
    FREQUENCY,
    RATE,
    SHARE,
    STROKE,
    LoopStudy,
    Stability,
    draw_statistics,
    paired_ratio,
    run_study,
)
from replay.pictures import new_drawing
from sim.laboratory.building import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

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


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    motion = None
    if arguments.motion is not None:
        motion = read_ground_motion(arguments.motion, unit=arguments.motion_unit, column=arguments.motion_column)
    elif arguments.motion_unit is not None or arguments.motion_column is not None:
        raise ValueError("--motion-unit and --motion-column: are of a file, give it with --motion FILE")
    n_draws = DRAWS if arguments.draws is None else arguments.draws
    return study_blocks(run_study(n_draws, arguments.seed, motion, progress))


def study_blocks(study: LoopStudy) -> Iterator[Block]:
    """Yield when the loop is unstable, what announces it, and what the compensators make of it.

    In JSON everything but `computing_time_s` is the same whenever the seed and the draws are.
    """
    yield Data(_record(study))
    yield from _stability(study.stability)
    yield Figure("loop-instability", partial(instability, study.stability))
    yield from _nominal(study.benchmark)
    yield Figure("loop-benchmark", partial(nominal, study))
    yield from _uncertain(study)
    yield Figure("loop-draws", partial(draws, study))
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
            "frequency_hz": FREQUENCY,
            "damping_ratio": DAMPING,
            "specimen_share": SHARE,
            "sample_rate_hz": RATE,
        },
        "warning": {
            "delay_from_ms": _MS * stability.delays[0],
            "delay_to_ms": _MS * stability.delays[1],
            "critical_s": stability.critical_at,
            "stroke_m": STROKE,
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
        f"{FREQUENCY:g} Hz, damping {100.0 * DAMPING:g} %, {100.0 * SHARE:g} % of the "
        f"stiffness in the rig, {RATE:g} Hz. Critical delay: analytic {_MS * found.analytic:.3f} ms, "
        f"simulated {_MS * found.simulated:.3f} ms ({100.0 * (found.simulated / found.analytic - 1.0):+.2f} %)."
    )
    first, last = (_MS * delay for delay in found.delays)
    none = found.runs["none"]
    yield Text(
        f"A delay that grows from {first:.3g} to {last:.3g} ms is critical at {found.critical_at:.2f} s; without "
        f"compensation the command leaves the stroke of {1e3 * STROKE:g} mm {_at(none.left_at)}."
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
            found = [asdict(draw_statistics(values[i, :, CRITERIA.index(criterion)])) for criterion in _SHOWN]
            cells = ["/".join(number(value, ".2g") for value in each.values()) for each in found]
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


def _at(seconds: float) -> str:
    return "never" if math.isnan(seconds) else f"at {seconds:.2f} s"


_COLOURS = dict(
    zip(
        COMPENSATORS,
        ("black", "tab:gray", "tab:red", "tab:purple", "tab:blue", "tab:green", "tab:orange"),
        strict=True,
    )
)
_CRITERIA_SHOWN = {
    "J2": "rms error of the actuator",
    "J4": "rms error of the first floor",
    "J7": "largest error of the first floor",
}
_FEWEST_FOR_BOX = 5  # draws; quartiles of fewer are hardly more than the points themselves
# of the stroke: commands that are closer look like one line
_COINCIDE = 0.02


def instability(found: Stability) -> Drawing:
    """Return the indicators with their limits, and the commands with each compensator."""
    figure = new_drawing(
        11.0,
        9.5,
        f"A delay that grows beyond the critical one of {_MS * found.analytic:.2f} ms; {FREQUENCY:g} Hz, "
        f"damping {100.0 * DAMPING:g} %, {100.0 * SHARE:g} % of the stiffness in the rig",
    )
    delays, angle, damping, commands = figure.subplots(4, 1, sharex=True)
    by_column = {each.column: each for each in found.warnings}
    delays.plot(found.time, _MS * found.delay, color="0.6", linestyle=":", label="true")
    # nearly the same: the second is drawn on a pale line
    delays.plot(
        found.time, _MS * by_column["fdb_delay"].values, color=_COLOURS["fdb"], linewidth=4.0, alpha=0.4, label="FDB"
    )
    delays.plot(found.time, _MS * by_column["paei_delay"].values, "--", color=_COLOURS["paei"], label="PAEI")
    delays.axhline(_MS * found.analytic, color="tab:red", linestyle="--", label="limit")
    delays.set_ylabel("delay [ms]")
    for axis, column in ((angle, "ti_angle"), (damping, "hsem_added_damping")):
        each = by_column[column]
        axis.plot(found.time, each.scale * each.values, color="tab:purple")
        axis.axhline(each.scale * each.limit, color="tab:red", linestyle="--", label="limit")
        axis.set_ylabel(f"{each.label} [{each.shown}]")
    # those that leave the stroke on top: the others are alike
    for name, run in sorted(found.runs.items(), key=lambda pair: np.isfinite(pair[1].left_at)):
        commands.plot(found.time, _MS * run.command, color=_COLOURS[name], linewidth=0.8, label=name)
    for side in (-1.0, 1.0):
        commands.axhline(side * _MS * STROKE, color="tab:red", linestyle="--", linewidth=0.8)
    commands.set_ylabel("command [mm]")
    commands.set_title(_coinciding(found), fontsize="small")
    commands.set_xlabel("time [s]")
    early = min((each.early_at for each in found.warnings if np.isfinite(each.early_at)), default=np.nan)
    first = min((each.at for each in found.warnings if np.isfinite(each.at)), default=np.nan)
    instants = (
        (found.critical_at, "delay is critical", "0.4"),
        (early, f"first warning at {100.0 * EARLY:.0f} % of the critical delay", "gold"),
        (first, "first warning at the critical delay", "tab:orange"),
        (found.runs["none"].left_at, "stroke left without compensation", "tab:red"),
    )
    for axis in (delays, angle, damping, commands):
        for instant, label, colour in instants:
            axis.axvline(instant, color=colour, linewidth=1.0, label=label if axis is delays else None)
        axis.grid(alpha=0.3)
    delays.legend(fontsize="small", loc="upper left", ncols=2)
    commands.legend(fontsize="small", loc="lower right", ncols=6)
    return figure


def _coinciding(found: Stability) -> str:
    """Return which commands lie on one line in the picture; empty where each can be seen."""
    held = {name: run.command for name, run in found.runs.items() if not np.isfinite(run.left_at)}
    last = next(reversed(held), "")
    apart = {name: float(np.nanmax(np.abs(command - held[last]))) for name, command in held.items()}
    together = [name for name, distance in apart.items() if distance < _COINCIDE * STROKE]
    if len(together) < 2:
        return ""
    largest = max(apart[name] for name in together)
    return f"{', '.join(together)} coincide within {_MS * largest:.2g} mm"


def nominal(study: LoopStudy) -> Drawing:
    """Return some criteria of the building with the nominal plant."""
    figure = new_drawing(11.0, 4.4, "Benchmark building with the nominal plant; hatched: until the stroke was left")
    benchmark, width = study.benchmark, 0.8 / len(COMPENSATORS)
    axes = figure.subplots(1, 3)
    for axis, (criterion, meaning) in zip(axes, _CRITERIA_SHOWN.items(), strict=True):
        for i, name in enumerate(COMPENSATORS):
            places = np.arange(len(CASES)) + (i - 0.5 * (len(COMPENSATORS) - 1)) * width
            values = benchmark.nominal[i, :, CRITERIA.index(criterion)]
            bars = axis.bar(places, values, width, color=_COLOURS[name], label=name)
            for bar, left in zip(bars, np.isfinite(benchmark.nominal_left_at[i]), strict=True):
                if left:
                    bar.set(hatch="////", facecolor="white", edgecolor=_COLOURS[name])
        axis.set_yscale("log")
        axis.set_xticks(range(len(CASES)), CASES)
        axis.set_title(meaning, fontsize="medium")
        axis.set_ylabel(f"{criterion} [%]")
        axis.grid(alpha=0.3, axis="y")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=len(labels))
    return figure


def draws(study: LoopStudy) -> Drawing:
    """Return the rms error of the actuator in every draw of each scenario."""
    scenarios, number = study.benchmark.draws, study.benchmark.n_draws
    box = "box: quartiles, " if number >= _FEWEST_FOR_BOX else ""
    title = f"J2 of {number} draws of {study.drawn}; {box}cross: how many left the stroke"
    figure = new_drawing(11.0, 1.2 + 3.0 * len(scenarios), title)
    rows = figure.subplots(len(scenarios), len(CASES), sharey=True, squeeze=False)
    top = max(float(np.nanmax(values[..., _J2])) for values in scenarios.values())
    for row, (scenario, values) in zip(rows, scenarios.items(), strict=True):
        for k, (axis, case) in enumerate(zip(row, CASES, strict=True)):
            for i in range(len(COMPENSATORS)):
                _strip(axis, i, values[i, k, :, _J2], study.benchmark.left_at[scenario][i, k], top)
            axis.set_title(case, fontsize="medium")
            axis.set_yscale("log")
            axis.set_xticks(range(len(COMPENSATORS)), COMPENSATORS, rotation=45, ha="right", fontsize="small")
            axis.grid(alpha=0.3, axis="y")
        row[0].set_ylabel(f"{scenario}: J2 [%]")
    return figure


def _strip(axis: Axes, place: int, values: Samples, left_at: Samples, top: float) -> None:
    """Draw the (n_draws,) values of a compensator."""
    colour = _COLOURS[COMPENSATORS[place]]
    if len(values) >= _FEWEST_FOR_BOX:
        axis.boxplot(values, positions=[place], widths=0.7, showfliers=False, medianprops={"color": colour})
    axis.plot(place + np.linspace(-0.25, 0.25, len(values)), values, ".", color=colour, markersize=3.0, alpha=0.7)
    left = np.isfinite(left_at).sum()
    if left:
        axis.plot(place, 2.0 * top, "x", color=colour)
        axis.annotate(f"{left}", (place, 2.0 * top), textcoords="offset points", xytext=(5, -3), fontsize="small")

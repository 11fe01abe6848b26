"""The study of the closed loop as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Samples
from replay.papers.loop.benchmark import CASES, COMPENSATORS, CRITERIA
from replay.papers.loop.stability import EARLY, Stability
from replay.papers.loop.study import LoopStudy
from replay.pictures import new_drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

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
_J2 = CRITERIA.index("J2")
_MS = 1e3
_FEWEST_FOR_BOX = 5  # draws; quartiles of fewer are hardly more than the points themselves
# of the stroke: commands that are closer look like one line
_COINCIDE = 0.02


def instability(found: Stability) -> Drawing:
    """Return the indicators with their limits, and the commands with each compensator."""
    figure = new_drawing(
        11.0,
        9.5,
        f"A delay that grows beyond the critical one of {_MS * found.analytic:.2f} ms; {found.frequency:g} Hz, "
        f"damping {100.0 * found.damping_ratio:g} %, {100.0 * found.share:g} % of the stiffness in the rig",
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
        commands.axhline(side * _MS * found.stroke, color="tab:red", linestyle="--", linewidth=0.8)
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
    together = [name for name, distance in apart.items() if distance < _COINCIDE * found.stroke]
    if len(together) < 2:
        return ""
    largest = max(apart[name] for name in together)
    return f"{', '.join(together)} coincide within {_MS * largest:.2g} mm"


def nominal(study: LoopStudy) -> Drawing:
    """Return some criteria of the building with the nominal plant."""
    figure = new_drawing(11.0, 4.4, "Benchmark building with the nominal plant; hatched: until the stroke was left")
    benchmark, width = study.benchmark, 0.8 / len(COMPENSATORS)
    axes = figure.subplots(1, 3)
    for axis, (criterion, words) in zip(axes, _CRITERIA_SHOWN.items(), strict=True):
        for i, name in enumerate(COMPENSATORS):
            places = np.arange(len(CASES)) + (i - 0.5 * (len(COMPENSATORS) - 1)) * width
            values = benchmark.nominal[i, :, CRITERIA.index(criterion)]
            bars = axis.bar(places, values, width, color=_COLOURS[name], label=name)
            for bar, left in zip(bars, np.isfinite(benchmark.nominal_left_at[i]), strict=True):
                if left:
                    bar.set(hatch="////", facecolor="white", edgecolor=_COLOURS[name])
        axis.set_yscale("log")
        axis.set_xticks(range(len(CASES)), CASES)
        axis.set_title(words, fontsize="medium")
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

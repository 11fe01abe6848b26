"""The study of the eight masses as pictures: figures 7, 8, 19 and 20 of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.nonlinear.eight_dof_metrics import WORDS, DamageMetric
from replay.studies.nonlinear.eight_dof_tests import Case

if TYPE_CHECKING:
    from replay.studies.nonlinear.eight_dof import DamageStatistics, EightDofStudy

_COLOURS = {Case.FRICTION: "tab:blue", Case.BOTH: "tab:red"}
_MARKERS = "osD^v"
# the damage and what the paper's Figure 20 has for it, %
_DAMAGE, _PRINTED = -14.0, -17.0
_MODAL = (DamageMetric.FORCE, DamageMetric.HYBRID)
_IN_TIME = (DamageMetric.PCD, DamageMetric.UNKNOWN)


def draw_study(study: EightDofStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    figures = {
        "eight-dof-levels.png": _levels(study),
        "eight-dof-modal-adjustment.png": _adjustments(study, _MODAL, "Figure 19"),
        "eight-dof-time-adjustment.png": _adjustments(study, _IN_TIME, "Figure 20", last=DamageMetric.ROUGH),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def _levels(study: EightDofStudy) -> Figure:
    figure = Figure(figsize=(11.0, 5.5), layout="constrained")
    figure.suptitle("Modes identified in the sound chain, by the force (Figures 7 and 8)")
    frequency, damping = figure.subplots(1, 2)
    levels = study.levels
    for case, colour in _COLOURS.items():
        for axis, values in ((frequency, levels.frequencies[case]), (damping, 100.0 * levels.damping[case])):
            for mode, marker in enumerate(_MARKERS):
                axis.plot(levels.rms, values[:, mode], color=colour, marker=marker, linewidth=1.0, markersize=5.0)
    for axis, label in ((frequency, "frequency [Hz]"), (damping, "damping ratio [%]")):
        axis.set_xscale("log")
        axis.set_xticks(levels.rms, [f"{rms:g}" for rms in levels.rms])
        axis.minorticks_off()
        axis.set_xlabel("rms of the force [N]")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    frequency.set_ylim(0.0, None)
    damping.set_ylim(0.0, None)
    for case, colour in _COLOURS.items():
        damping.plot([], [], color=colour, label=str(case))
    for mode, marker in enumerate(_MARKERS):
        damping.plot([], [], color="0.4", marker=marker, linestyle="none", label=f"mode {mode + 1}")
    damping.legend(fontsize="small")
    return figure


def _adjustments(
    study: EightDofStudy, metrics: tuple[DamageMetric, ...], name: str, last: DamageMetric | None = None
) -> Figure:
    """Return bars of the springs' changes: a row for each metric, a column for each case."""
    cases = (Case.FRICTION, Case.BOTH)
    rows = [*metrics, *([last] if last else [])]
    figure = Figure(figsize=(11.0, 2.6 * len(rows) + 1.0), layout="constrained")
    figure.suptitle(f"Adjustment of the springs, spring 5 having lost 14 % ({name}); bars: mean, lines: scatter")
    grid = figure.subplots(len(rows), len(cases), sharex=True, sharey=True, squeeze=False)
    for axes, metric in zip(grid, rows, strict=True):
        for axis, case in zip(axes, cases, strict=True):
            found = study.damage[case].get(metric)
            if found is None:
                axis.text(4.0, 0.0, "not applied: no impact acts", ha="center", va="center", color="0.5")
                axis.set_title(f"{WORDS[metric]}; acts: {case}", fontsize="medium")
            else:
                _bars(axis, found, f"{WORDS[metric]}; acts: {case}")
            axis.axhline(_DAMAGE, color="black", linestyle="--", linewidth=0.8, label="true, spring 5")
            if metric is DamageMetric.PCD and case is Case.FRICTION:
                axis.plot([5.0], [_PRINTED], "k*", markersize=9.0, label="paper, spring 5")
        axes[0].set_ylabel("change [%]")
    for axis in grid[-1]:
        axis.set_xlabel("spring")
        axis.set_xticks(range(1, 8))
    grid[0, 0].legend(fontsize="small", loc="lower left")
    return figure


def _bars(axis: Axes, found: DamageStatistics, title: str) -> None:
    springs = np.arange(1, 8)
    means, scatter = np.transpose([found.loss_of(i) for i in springs.tolist()])
    colours = ["tab:red" if i == 5 else "tab:gray" for i in springs]
    axis.bar(springs, -means, color=colours, width=0.6)
    axis.errorbar(
        springs, -means, yerr=np.nan_to_num(scatter), fmt="none", ecolor="black", linewidth=1.0, capsize=2.0
    )
    axis.axhline(0.0, color="black", linewidth=0.6)
    axis.set_title(f"{title}: found in {found.found} of {len(found.updates)}", fontsize="medium")
    axis.grid(alpha=0.3, axis="y")

"""The study of the eight masses as pictures: figures 7, 8, 19 and 20 of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.nonlinear.eight_dof import DAMAGED, LOSS, DamageStatistics, EightDofStudy
from replay.studies.nonlinear.eight_dof_metrics import WORDS, DamageMetric
from replay.studies.nonlinear.eight_dof_report import PRINTED_LOSS
from replay.studies.nonlinear.eight_dof_tests import Case

_COLOURS = {Case.FRICTION: "tab:blue", Case.BOTH: "tab:red"}
_MARKERS = "osD^v"
_MODAL = (DamageMetric.FORCE, DamageMetric.HYBRID)
_IN_TIME = (DamageMetric.PCD, DamageMetric.UNKNOWN)
_PAPER = f"paper, Figure 20: {PRINTED_LOSS:g} %,\nby principal components and\nunknown forces together"


def draw(study: EightDofStudy, folder: Path) -> tuple[Path, ...]:
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
    """Return bars of what the springs have lost: a row for each metric, a column for each case.

    Parameters
    ----------
    last : a metric that is applied where impact acts; the legend is in the place of its other panel.
    """
    cases = (Case.FRICTION, Case.BOTH)
    rows = [*metrics, *([last] if last else [])]
    figure = Figure(figsize=(11.0, 2.6 * len(rows) + 1.0), layout="constrained")
    figure.suptitle(f"Stiffness lost by each spring, as found ({name}); bars: mean of the tests, lines: scatter")
    grid = figure.subplots(len(rows), len(cases), sharex=True, sharey=True, squeeze=False)
    for axes, metric in zip(grid, rows, strict=True):
        for axis, case in zip(axes, cases, strict=True):
            found = study.damage[case].get(metric)
            if found is None:
                axis.set_axis_off()
                continue
            _bars(axis, found, f"{WORDS[metric]}  |  acting: {case}")
            axis.plot(
                [4.6, 5.4], [LOSS, LOSS], color="black", linestyle="--", linewidth=1.2, label=f"truth: {LOSS:g} %"
            )
            if metric in _IN_TIME and case is Case.FRICTION:
                axis.plot([5.0], [PRINTED_LOSS], "k*", markersize=9.0, label=_PAPER)
            axis.set_ylabel("stiffness lost [%]")
            axis.set_xlabel("spring")
            axis.set_xticks(range(1, 8))
            axis.label_outer()
    handles, labels = grid[0, 0].get_legend_handles_labels()
    if last is None:
        grid[0, 0].legend(handles, labels, fontsize="small", loc="upper left")
    else:
        # neighbours of the panel that is not there have their own labels
        grid[-2, 0].tick_params(labelbottom=True)
        grid[-2, 0].set_xlabel("spring")
        grid[-1, 1].tick_params(labelleft=True)
        grid[-1, 1].set_ylabel("stiffness lost [%]")
        grid[-1, 0].legend(handles, labels, fontsize="medium", loc="center")
    return figure


def _bars(axis: Axes, found: DamageStatistics, title: str) -> None:
    springs = np.arange(1, 8)
    means, scatter = np.transpose([found.loss_of(i) for i in springs.tolist()])
    colours = ["tab:red" if i == DAMAGED else "tab:gray" for i in springs]
    axis.bar(springs, means, color=colours, width=0.6)
    axis.errorbar(springs, means, yerr=np.nan_to_num(scatter), fmt="none", ecolor="black", linewidth=1.0, capsize=2.0)
    axis.axhline(0.0, color="black", linewidth=0.6)
    axis.set_title(f"{title}  |  found in {found.found} of {len(found.updates)}", fontsize="medium")
    axis.grid(alpha=0.3, axis="y")

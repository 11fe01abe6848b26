"""The reliability examples as pictures, with the numbers of the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monitor.reliability.curves import NAMES
from replay.studies.reliability.study import Case, ReliabilityStudy
from replay.validation.tolerance_choice import OF_WHAT

_FIRST_FIGURE = {"beam": 5, "sandia": 15}
_WORDS = ("instantaneous", "first-passage", "accumulated")
_DRAWN = 40  # realizations
_COLOURS = {"ours": "tab:blue", "oracle": "tab:orange"}
# of the colour map's length: its end is too light for a line
_DARK = 0.9


def draw(study: ReliabilityStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    number = _FIRST_FIGURE[study.name]
    figures = {
        f"{study.name}-responses.png": _responses(study, number),
        f"{study.name}-good.png": _reliabilities([c for c in study.cases if not c.bad], study, number + 1),
        f"{study.name}-bad.png": _reliabilities([c for c in study.cases if c.bad], study, number + 4),
        f"{study.name}-tolerances.png": _tolerances(study, number + 7 if study.name == "beam" else None),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def _title(study: ReliabilityStudy, case: Case) -> str:
    model = "bad" if case.bad else "good"
    return f"{study.ensemble.name}, {model} model; tolerance: λ {OF_WHAT[case.policy]}"


def _responses(study: ReliabilityStudy, number: int) -> Figure:
    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    drawn = study.ensemble.response[:, :_DRAWN]
    m, n = study.ensemble.n_realizations, study.good.shape[1]
    figure.suptitle(f"{study.ensemble.name}: {drawn.shape[1]} of {m} realizations, and {n} experiments of each kind")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, letter, measured in zip(axes, "ab", (study.good, study.bad), strict=True):
        axis.plot(study.ensemble.time, drawn, color="tab:blue", alpha=0.25, linewidth=0.6)
        # a line of its own for the legend, where a faint one could not be seen
        axis.plot([], [], color="tab:blue", label="model")
        for line in axis.plot(study.ensemble.time, measured, color="black", linewidth=1.1)[:1]:
            line.set_label("measured")
        axis.set_title(f"Fig. {number} ({letter}): {'good' if letter == 'a' else 'bad'} model", fontsize="medium")
        axis.set_xlabel("time [s]")
        axis.legend(fontsize="small", loc="best")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"response [{study.ensemble.unit}]")
    return figure


def _reliabilities(cases: Sequence[Case], study: ReliabilityStudy, number: int) -> Figure:
    figure = Figure(figsize=(11.0, 7.6), layout="constrained")
    figure.suptitle(_title(study, cases[0]))
    axes = figure.subplots(3, 2, sharex=True, squeeze=False)
    for row, (name, words) in enumerate(zip(NAMES[:3], _WORDS, strict=True)):
        for axis, letter, case in zip(axes[row], "ab", cases, strict=True):
            _compare(axis, study.ensemble.time, case, name)
            title = f"Fig. {number + row} ({letter}): {words}, λ = {100.0 * case.tolerance:g} %"
            axis.set_title(title, fontsize="medium")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=len(labels))
    return figure


def _compare(axis: Axes, time: np.ndarray, case: Case, name: str) -> None:
    curve = getattr(case.reliability, name)
    axis.plot(time, curve.value, color=_COLOURS["ours"], linewidth=1.4, label="online, with two standard errors")
    low, high = curve.value - 2.0 * curve.standard_error, curve.value + 2.0 * curve.standard_error
    axis.fill_between(time, low, high, color=_COLOURS["ours"], alpha=0.3, linewidth=0.0)
    if case.oracle is not None:
        known = getattr(case.oracle, name)
        axis.plot(time, known, "--", color=_COLOURS["oracle"], linewidth=1.0, label=case.oracle.method)
    axis.set_ylim(-0.03, 1.03)
    axis.set_ylabel("reliability [-]")
    axis.grid(alpha=0.3)


def _tolerances(study: ReliabilityStudy, number: int | None) -> Figure:
    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    figure.suptitle(_title(study, study.thresholds[0]))
    axes = figure.subplots(1, 2, sharey=True)
    for place, (axis, name) in enumerate(zip(axes, ("first_passage", "accumulated"), strict=True)):
        for case in study.thresholds:
            colour = colormaps["viridis"](_DARK * case.tolerance / study.thresholds[-1].tolerance)
            value = getattr(case.reliability, name).value
            axis.plot(study.ensemble.time, value, color=colour, label=f"{100.0 * case.tolerance:g} %")
        words = name.replace("_", "-")
        axis.set_title(words if number is None else f"Fig. {number + place}: {words}", fontsize="medium")
        axis.set_xlabel("time [s]")
        axis.set_ylim(-0.03, 1.03)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("reliability [-]")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="λ", fontsize="small", loc="outside right center")
    return figure

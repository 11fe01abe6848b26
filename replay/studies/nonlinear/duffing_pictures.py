"""Figures 2, 21 and 22 of Hemez and Doebling: the response before and after, and the force that was missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.nonlinear.duffing import DuffingStudy

_LABELS = ("displacement [m]", "velocity [m/s]")
_SIZE = (10.0, 6.5)


def draw(study: DuffingStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    figures = {
        "duffing-before.png": before(study),
        "duffing-after.png": after(study),
        "duffing-force.png": force(study),
        "duffing-alpha.png": alpha(study),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def before(study: DuffingStudy) -> Figure:
    """Return Figure 2: the linear model beside the truth."""
    figure = Figure(figsize=_SIZE, layout="constrained")
    figure.suptitle("Figure 2: before updating, the model lacks the cubic force")
    for i, axis in enumerate(figure.subplots(2, 1, sharex=True)):
        axis.plot(study.time, study.true[:, i], color="black", label="truth")
        axis.plot(study.time, study.linear[:, i], "--", color="tab:red", label="linear model")
        _finish(axis, _LABELS[i], time=i == 1)
    return figure


def after(study: DuffingStudy) -> Figure:
    """Return Figure 21: the model with the force, from few and from many samples."""
    figure = Figure(figsize=(14.0, 6.5), layout="constrained")
    figure.suptitle("Figure 21: after updating, first run")
    axes = figure.subplots(2, len(study.sampled), sharex=True, sharey="row")
    for column, (count, found) in enumerate(study.sampled.items()):
        axes[0, column].set_title(f"{count} samples")
        for i in range(2):
            axis = axes[i, column]
            axis.plot(study.time, study.true[:, i], color="black", label="truth")
            axis.plot(found.windows.time, found.windows.displacement if i == 0 else found.windows.velocity,
                      ":", color="tab:orange", label="window form")  # fmt: skip
            smoothed = found.recovered.smoothed
            axis.plot(study.time, smoothed.means[:, i], "--", color="tab:blue", label="smoother")
            axis.plot(study.time, found.motion[:, i], "-.", color="tab:green", label="refined law")
            axis.plot(study.time, found.observed[:, i], ".", color="tab:red", markersize=5, label="samples")
            _finish(axis, _LABELS[i] if column == 0 else "", legend=False, time=i == 1)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def force(study: DuffingStudy) -> Figure:
    """Return Figure 22: the force that the model lacks, with its band."""
    figure = Figure(figsize=(12.0, 8.0), layout="constrained")
    figure.suptitle("Figure 22: the force that the model lacks, first run")
    for axis, (count, found) in zip(
        figure.subplots(len(study.sampled), 1, sharex=True), study.sampled.items(), strict=True
    ):
        recovered = found.recovered
        mean, sd = recovered.force[:, 0], recovered.force_sd[:, 0]
        low, high = mean - 1.96 * sd, mean + 1.96 * sd
        axis.fill_between(study.time, low, high, color="tab:blue", alpha=0.2, label="at least 95 %")
        largest, windows = 2.0 * float(np.max(np.abs(study.force))), found.windows.force[:, 0]
        label = "window form, cut off" if np.max(np.abs(windows)) > largest else "window form"
        axis.plot(found.windows.time, windows, color="tab:orange", linewidth=0.5, alpha=0.5, label=label)
        axis.plot(study.time, mean, "--", color="tab:blue", label="smoother")
        axis.plot(study.time, study.force, color="black", label="truth")
        axis.set_title(f"{count} samples")
        axis.set_ylim(-largest, largest)
        _finish(axis, "force [N]", time=count == list(study.sampled)[-1])
    return figure


def alpha(study: DuffingStudy) -> Figure:
    """Return alpha of all runs by method."""
    figure = Figure(figsize=(10.0, 4.5), layout="constrained")
    figure.suptitle("Alpha of all runs")
    for axis, (count, found) in zip(figure.subplots(1, len(study.sampled)), study.sampled.items(), strict=True):
        methods = list(reversed(found.alpha))
        axis.boxplot([found.alpha[method] for method in methods], tick_labels=methods)
        axis.axhline(study.oscillator.cubic, color="black", linewidth=0.8, label="truth")
        axis.set_title(f"{count} samples")
        axis.set_ylabel("alpha [N/m³]")
        axis.grid(alpha=0.3)
        axis.legend()
    return figure


def _finish(axis: Axes, label: str, *, legend: bool = True, time: bool = True) -> None:
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)
    if time:
        axis.set_xlabel("time [s]")
    if legend:
        low, high = axis.get_ylim()
        # room for the legend above the largest peak
        axis.set_ylim(low, high + 0.25 * (high - low))
        axis.legend(loc="upper right", ncols=2, framealpha=1.0)

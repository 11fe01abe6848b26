"""The study of the tracking indicators as pictures: one a case, one of the noise, one of the plant."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from replay.studies.tracking.paei_noise import NoisyPhase
from replay.studies.tracking.plant import BAND, PlantStudy
from replay.studies.tracking.study import CaseStudy, TrackingStudy

_DEGREES = 180.0 / math.pi
_COLOURS = {"fdb": "tab:blue", "paei": "tab:orange", "paei_adaptive": "tab:green", "broadband": "tab:purple"}
_TRUTH: dict[str, Any] = {"color": "0.75", "linewidth": 5.0, "label": "injected", "zorder": 0}
_NAMES = {"fdb": "FDB", "paei": "PAEI", "paei_adaptive": "PAEI, adaptive window", "broadband": "broadband"}

Curve = NDArray[np.float64]


def draw(study: TrackingStudy, folder: Path) -> tuple[Path, ...]:
    """Write every picture of a study into a folder that is there; return the files."""
    figures = {f"case-{case.case.name}.png": _case(case) for case in study.cases}
    if study.noise is not None:
        figures["noise.png"] = _noise(study.noise)
    if study.plant is not None:
        figures["plant.png"] = _plant(study.plant)
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def _case(study: CaseStudy) -> Figure:
    case = study.case
    figure = Figure(figsize=(11.0, 6.4), layout="constrained")
    figure.suptitle(f"Case ({case.name}): {case.title}")
    axes = figure.subplots(2, 3)
    _history(axes[0, 0], study)
    _subspace(axes[1, 0], study)
    # of two frequencies each has its own phase
    angle = np.isfinite(case.true_phase).any() and len(case.frequencies) == 1
    quantity, factor, label = ("phase", _DEGREES, "phase [deg]") if angle else ("delay", 1e3, "delay [ms]")
    _indicators(axes[0, 1], study, quantity, factor, label)
    axes[0, 1].set_title("> 0: measured leads" if angle else "> 0: measured lags", fontsize="medium")
    _indicators(axes[1, 1], study, "ratio", 1.0, "command / measured [-]")
    axes[1, 1].set_title("> 1: undershoot", fontsize="medium")
    _total(axes[0, 2], study, "ti_total", 1e6, "TI [mm²]")
    if case.force is not None:
        _total(axes[1, 2], study, "hsem_energy_total", 1.0, "HSEM, energy error [J]")
    else:
        _indicators(axes[1, 2], study, "amplitude_error", 1e3, "amplitude error [mm]")
    handles, labels = axes[1, 1].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=len(labels))
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return figure


def _history(axis: Axes, study: CaseStudy) -> None:
    case = study.case
    axis.plot(case.time, 1e3 * case.command, label="command", linewidth=1.0)
    axis.plot(case.time, 1e3 * case.measured, "--", label="measured", linewidth=1.0)
    axis.set(xlabel="time [s]", ylabel="displacement [mm]")
    axis.legend(fontsize="small", loc="upper right", ncols=2)
    axis.set_ylim(top=axis.get_ylim()[1] + 0.2 * float(np.ptp(axis.get_ylim())))


def _subspace(axis: Axes, study: CaseStudy) -> None:
    """Draw measured against command over the last window, and the ellipse that PAEI fitted to it."""
    case, values = study.case, study.assessment.series.values
    names = [column.name for column in study.assessment.series.columns]
    ratio, error, phase = (values[:, names.index(f"paei_{name}")] for name in ("ratio", "amplitude_error", "phase"))
    good = np.flatnonzero(np.isfinite(ratio) & np.isfinite(error))
    n_window = round(study.assessment.settings.window * case.sample_rate)
    last = int(good[-1]) if len(good) else len(case.time) - 1
    shown = slice(max(0, last + 1 - n_window), last + 1)
    c, m = 1e3 * case.command[shown], 1e3 * case.measured[shown]
    axis.plot(c, m, ".", markersize=1.5, label="last window")
    if len(good):
        gain = 1.0 / ratio[last]
        # the amplitude error is command minus measured amplitude
        amplitude = 1e3 * error[last] / (1.0 - gain) if abs(1.0 - gain) > 1e-9 else 0.5 * float(np.ptp(c))
        turn = np.linspace(0.0, 2.0 * math.pi, 200)
        x = 0.5 * (c.max() + c.min()) + amplitude * np.cos(turn)
        y = 0.5 * (m.max() + m.min()) + amplitude * gain * np.cos(turn + phase[last])
        axis.plot(x, y, color=_COLOURS["paei"], linewidth=1.2, label="ellipse of PAEI")
    ends = [min(c.min(), m.min()), max(c.max(), m.max())]
    axis.plot(ends, ends, color="0.6", linewidth=0.8, label="45°")
    axis.set(xlabel="command [mm]", ylabel="measured [mm]")
    axis.legend(fontsize="small", loc="upper left")


def _indicators(axis: Axes, study: CaseStudy, quantity: str, factor: float, label: str) -> None:
    case, names = study.case, [column.name for column in study.assessment.series.columns]
    truth = factor * getattr(case, f"true_{quantity}")
    axis.plot(case.time, truth, **_TRUTH)
    shown = [truth[np.isfinite(truth)]]
    for kind, colour in _COLOURS.items():
        if f"{kind}_{quantity}" not in names:
            continue
        values = factor * study.values(f"{kind}_{quantity}")
        axis.plot(study.time, values, color=colour, linewidth=1.1, label=_NAMES[kind])
        # the band of a single turn in noise would cover all others
        if f"{kind}_{quantity}_sd" in names and kind != "paei_adaptive":
            doubt = 2.0 * factor * study.values(f"{kind}_{quantity}_sd")
            axis.fill_between(study.time, values - doubt, values + doubt, color=colour, alpha=0.2, linewidth=0.0)
        shown.append(values[np.isfinite(values)])
    axis.set(xlabel="time [s]", ylabel=label, xlim=(case.time[0], case.time[-1]))
    _frame(axis, np.concatenate(shown))


def _frame(axis: Axes, values: Curve) -> None:
    """Show the middle 96 % of the values with some room around them: a switch may throw a few far out."""
    if not len(values):
        return
    low, high = np.percentile(values, [2.0, 98.0])
    room = max(0.4 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    axis.set_ylim(low - room, high + room)


def _total(axis: Axes, study: CaseStudy, column: str, factor: float, label: str) -> None:
    axis.plot(study.time, factor * study.values(column), color="tab:red", linewidth=1.2)
    axis.set(xlabel="time [s]", ylabel=label, xlim=(study.case.time[0], study.case.time[-1]))
    axis.set_title("since the start", fontsize="medium")


def _noise(rows: tuple[NoisyPhase, ...]) -> Figure:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axis = figure.subplots()
    names = list(dict.fromkeys(row.indicator for row in rows))
    axis.axhline(_DEGREES * rows[0].known, **_TRUTH)
    for i, name in enumerate(names):
        found = [row for row in rows if row.indicator == name]
        at = [100.0 * row.level + 0.12 * (i - 1) for row in found]
        means, deviations = ([_DEGREES * getattr(row, key) for row in found] for key in ("mean", "deviation"))
        axis.errorbar(at, means, yerr=deviations, fmt="o", capsize=4.0, label=name)
    axis.set(xlabel="noise [% of the command's amplitude]", ylabel="phase [deg], mean and deviation")
    axis.set_title("Case (i) in white noise, 200 runs")
    axis.legend(fontsize="small")
    axis.grid(alpha=0.3)
    return figure


def _plant(study: PlantStudy) -> Figure:
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    ratio, phase, coherence = figure.subplots(3, 1, sharex=True)
    transfer, known = study.transfer, study.known_transfer
    frequency = transfer.frequency
    shown = (frequency >= BAND[0]) & (frequency <= BAND[1])
    exact = _TRUTH | {"label": "exact"}
    ratio.plot(frequency[shown], 1.0 / np.abs(known[shown]), **exact)
    phase.plot(frequency[shown], _DEGREES * np.angle(known[shown]), **exact)
    ratio.plot(frequency[shown], transfer.of("plant", "ratio")[shown], label="transfer function, broadband command")
    phase.plot(frequency[shown], _DEGREES * transfer.of("plant", "phase")[shown])
    coherence.plot(frequency[shown], transfer.of("plant", "coherence")[shown])
    for kind, mark in (("fdb", "o"), ("paei", "x")):
        rows = [row for row in study.sines if row.indicator == kind and row.frequency <= BAND[1]]
        at = [row.frequency for row in rows]
        ratio.plot(at, [row.ratio for row in rows], mark, color="k", fillstyle="none", label=f"{_NAMES[kind]}, sines")
        phase.plot(at, [_DEGREES * row.phase for row in rows], mark, color="k", fillstyle="none")
    for axis, label in ((ratio, "command / measured [-]"), (phase, "phase [deg]"), (coherence, "coherence [-]")):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    coherence.set(xlabel="frequency [Hz]", ylim=(0.0, 1.05))
    ratio.legend(fontsize="small")
    ratio.set_title("The benchmark plant")
    return figure

"""The study of the tracking indicators as pictures: one or two a case, one of the noise, one of the plant."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monitor.messages.blocks import Samples
from replay.studies.tracking.paei_noise import METHODS, RUNS, NoisyPhase
from replay.studies.tracking.panels import (
    COLOURS,
    DEGREES,
    NAMES,
    TRUTH,
    details,
    new_figure,
    plot_indicators,
    plot_signals,
)
from replay.studies.tracking.plant import BAND, FREQUENCIES, RATE, PlantStudy
from replay.studies.tracking.study import CaseStudy, TrackingStudy
from sim.laboratory.plants import BenchmarkPlant


def draw(study: TrackingStudy, folder: Path) -> tuple[Path, ...]:
    """Write every picture of a study into a folder that is there; return the files."""
    figures = {}
    for case in study.cases:
        figures[f"case-{case.case.name}.png"] = _case(case)
        if case.case.force is not None:
            figures[f"case-{case.case.name}-details.png"] = details(case)
    if study.noise is not None:
        figures["noise.png"] = _phase_in_noise(study.noise)
    if study.plant is not None:
        figures["plant.png"] = _plant_response(study.plant)
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def _case(study: CaseStudy) -> Figure:
    case = study.case
    figure = new_figure(12.0, 6.4)
    figure.suptitle(f"Case ({case.name}): {case.title}")
    axes = figure.subplots(2, 3)
    plot_signals(axes[0, 0], study)
    _subspace(axes[1, 0], study)
    # of two frequencies each has its own phase
    angle = np.isfinite(case.true_phase).any() and len(case.frequencies) == 1
    quantity, factor, label = ("phase", DEGREES, "phase [deg]") if angle else ("delay", 1e3, "delay [ms]")
    plot_indicators(axes[0, 1], study, quantity, factor, label)
    axes[0, 1].set_title("> 0: measured leads" if angle else "> 0: measured lags", fontsize="medium")
    plot_indicators(axes[1, 1], study, "ratio", 1.0, "command / measured [-]")
    axes[1, 1].set_title("> 1: undershoot", fontsize="medium")
    _total(axes[0, 2], study, "ti_total", 1e6, "TI since the start", "[mm²]")
    if case.force is not None:
        _total(axes[1, 2], study, "hsem_energy_total", 1.0, "HSEM, energy error since the start", "[J]")
    else:
        plot_indicators(axes[1, 2], study, "amplitude_error", 1e3, "amplitude error [mm]")
        axes[1, 2].set_title("< 0: overshoot", fontsize="medium")
    _legend(figure, axes[1, 1])
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return figure


def _legend(figure: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    # the injected value first, then the order of the table
    order = [0, *range(len(labels) - 1, 0, -1)]
    figure.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        title="bands: two standard deviations",
        title_fontsize="small",
        fontsize="small",
        loc="outside lower center",
        ncols=len(labels),
    )


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
        axis.plot(x, y, color=COLOURS["paei"], linewidth=1.2, label="ellipse of PAEI")
    ends = [min(c.min(), m.min()), max(c.max(), m.max())]
    axis.plot(ends, ends, color="0.6", linewidth=0.8, label="45°")
    axis.set(xlabel="command [mm]", ylabel="measured [mm]")
    axis.legend(fontsize="small", loc="upper left")


def _total(axis: Axes, study: CaseStudy, column: str, factor: float, title: str, unit: str) -> None:
    axis.plot(study.time, factor * study.values(column), color="tab:red", linewidth=1.2)
    axis.set(xlabel="time [s]", ylabel=unit, xlim=(study.case.time[0], study.case.time[-1]))
    axis.set_title(title, fontsize="medium")


def _phase_in_noise(rows: tuple[NoisyPhase, ...]) -> Figure:
    """Draw the phase and the ratio that every method gives, with the deviation of one run."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    phase, ratio = figure.subplots(1, 2)
    phase.axhline(DEGREES * rows[0].known, **TRUTH)
    ratio.axhline(rows[0].known_ratio, **TRUTH)
    for place, name in enumerate(METHODS):
        found = [row for row in rows if row.indicator == name]
        at = [1e3 * row.noise + 0.0025 * (place - 1.5) for row in found]
        _marks(phase, at, [(DEGREES * row.mean, DEGREES * row.deviation) for row in found], name)
        _marks(ratio, at, [(row.mean_ratio, row.deviation_ratio) for row in found], name)
    for axis, label in ((phase, "phase [deg]"), (ratio, "command / measured [-]")):
        axis.set(xlabel="noise on either signal [mm]", ylabel=label)
        axis.set_xticks(sorted({round(1e3 * row.noise, 6) for row in rows}))
        axis.grid(alpha=0.3)
    phase.legend(fontsize="small")
    figure.suptitle(f"Case (i), 1.5 and 2 mm, in white noise: mean and deviation of {RUNS} windows of 2 s")
    return figure


def _marks(axis: Axes, at: list[float], values: list[tuple[float, float]], name: str) -> None:
    means, deviations = zip(*values, strict=True)
    axis.errorbar(at, means, yerr=deviations, fmt="o", markersize=4.0, capsize=3.0, label=name)


def _plant_response(study: PlantStudy) -> Figure:
    """Draw what is found at each frequency over the exact response, with the hold and without."""
    figure = Figure(figsize=(8.0, 8.4), layout="constrained")
    ratio, phase, delay, coherence = figure.subplots(4, 1, sharex=True)
    plant, fine = BenchmarkPlant(), np.linspace(BAND[0], FREQUENCIES[-1], 200)
    held = plant.response(fine, 1.0 / RATE)
    continuous = plant.frequency_response(fine)
    for response, look in (
        (held, TRUTH | {"label": f"exact, behind a hold at {RATE:g} Hz"}),
        (continuous, {"color": "tab:red", "linewidth": 1.0, "label": "exact, in continuous time"}),
    ):
        angle = np.angle(response)
        ratio.plot(fine, 1.0 / np.abs(response), **look)
        phase.plot(fine, DEGREES * angle, **look)
        delay.plot(fine, _milliseconds(fine, angle), **look)
    transfer = study.transfer
    shown = (transfer.frequency >= BAND[0]) & (transfer.frequency <= BAND[1])
    frequency, angle = transfer.frequency[shown], transfer.curve("plant", "phase")[shown]
    ratio.plot(frequency, transfer.curve("plant", "ratio")[shown], label="transfer function, broadband command")
    phase.plot(frequency, DEGREES * angle)
    delay.plot(frequency, _milliseconds(frequency, angle))
    coherence.plot(frequency, transfer.curve("plant", "coherence")[shown])
    for kind, mark in (("fdb", "o"), ("paei", "x")):
        rows = [row for row in study.sines if row.indicator == kind]
        at, angle = np.array([row.frequency for row in rows]), np.array([row.phase for row in rows])
        look = {"color": "k", "fillstyle": "none", "linestyle": "none", "marker": mark}
        ratio.plot(at, [row.ratio for row in rows], label=f"{NAMES[kind]}, sines", **look)
        phase.plot(at, DEGREES * angle, **look)
        delay.plot(at, _milliseconds(at, angle), **look)
    labels = ("command / measured [-]", "phase [deg]", "delay [ms]", "coherence [-]")
    for axis, label in zip((ratio, phase, delay, coherence), labels, strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    coherence.set(xlabel="frequency [Hz]", ylim=(0.0, 1.05))
    ratio.legend(fontsize="small")
    ratio.set_title(f"The benchmark plant; the hold adds half a sample, {500.0 / RATE:.3f} ms")
    return figure


def _milliseconds(frequency: Samples, phase: Samples) -> Samples:
    return -1e3 * phase / (2.0 * np.pi * frequency)

"""The study of the tracking indicators as pictures: one or two a case, one of the noise, one of the plant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.papers.tracking.paei_noise import METHODS, RUNS, NoisyPhase
from replay.papers.tracking.plant import BAND, FREQUENCIES, RATE, PlantStudy
from replay.papers.tracking.study import CaseStudy
from replay.pictures import new_drawing
from sim.laboratory.plants import BenchmarkPlant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

DEGREES = 180.0 / math.pi
COLOURS = {"fdb": "tab:blue", "paei": "tab:orange", "paei_adaptive": "tab:green", "broadband": "tab:purple"}
TRUTH: dict[str, Any] = {"color": "0.75", "linewidth": 5.0, "label": "injected", "zorder": 0}
NAMES = {"fdb": "FDB", "paei": "PAEI", "paei_adaptive": "PAEI, adaptive window", "broadband": "broadband"}
# s, where the paper enlarges a record, and s on either side
_PLACES = {"iv": (14.35,), "vii": (19.53, 23.35)}
_REACH = 0.04


def _new_drawing(height: float, title: str) -> Drawing:
    """Return an empty drawing with room for units between the panels."""
    drawing = new_drawing(12.0, height, title)
    engine = drawing.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=0.1, h_pad=0.05)  # type: ignore[call-arg]
    return drawing


def plot_signals(axis: Axes, study: CaseStudy) -> None:
    """Draw command and measured signal over time, with room for the legend above them."""
    case = study.case
    axis.plot(case.time, 1e3 * case.command, label="command", linewidth=1.0)
    axis.plot(case.time, 1e3 * case.measured, "--", label="measured", linewidth=1.0)
    axis.set(xlabel="time [s]", ylabel="displacement [mm]", xlim=(case.time[0], case.time[-1]))
    axis.legend(fontsize="small", loc="upper right", ncols=2)
    axis.set_ylim(top=axis.get_ylim()[1] + 0.2 * float(np.ptp(axis.get_ylim())))


def plot_indicators(axis: Axes, study: CaseStudy, quantity: str, factor: float, label: str) -> None:
    """Draw a quantity of every indicator and its injected value, with bands of two standard deviations."""
    case, names = study.case, [column.name for column in study.assessment.series.columns]
    truth = factor * getattr(case, f"true_{quantity}")
    axis.plot(case.time, truth, **TRUTH)
    shown = [truth[np.isfinite(truth)]]
    # what is noisiest lies at the back
    for order, kind in enumerate(reversed(COLOURS), 1):
        if f"{kind}_{quantity}" not in names:
            continue
        values = factor * study.values(f"{kind}_{quantity}")
        axis.plot(study.time, values, color=COLOURS[kind], linewidth=1.1, label=NAMES[kind], zorder=2.0 + 0.1 * order)
        if f"{kind}_{quantity}_sd" in names:
            doubt = 2.0 * factor * study.values(f"{kind}_{quantity}_sd")
            edges, at_back = (values - doubt, values + doubt), 1.0 + 0.1 * order
            axis.fill_between(study.time, *edges, color=COLOURS[kind], alpha=0.2, linewidth=0.0, zorder=at_back)
            # the band of one turn in noise is far wider than its values
            shown += [values[np.isfinite(values)] + np.nanmedian(doubt) * side for side in (-1.0, 1.0)]
        shown.append(values[np.isfinite(values)])
    axis.set(xlabel="time [s]", ylabel=label, xlim=(case.time[0], case.time[-1]))
    known = np.concatenate(shown)
    if len(known):
        # the middle 96 % with some room around them: a switch may throw a few far out
        low, high = np.percentile(known, [2.0, 98.0])
        room = max(0.4 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
        axis.set_ylim(low - room, high + room)


def details(study: CaseStudy) -> Drawing:
    """Draw the second picture of a case that has a force."""
    places = _PLACES.get(study.case.name, ())
    figure = _new_drawing(6.4 if places else 3.6, f"Case ({study.case.name}): {study.case.title}, in detail")
    axes = figure.subplots(2 if places else 1, 3, squeeze=False)
    assert study.case.force is not None
    axes[0, 0].plot(1e3 * study.case.measured, 1e-3 * study.case.force, color="tab:brown", linewidth=0.8)
    axes[0, 0].set(xlabel="measured displacement [mm]", ylabel="restoring force [kN]")
    axes[0, 0].set_title("specimen", fontsize="medium")
    plot_indicators(axes[0, 1], study, "amplitude_error", 1e3, "[mm]")
    axes[0, 1].set_title("amplitude error, < 0: overshoot", fontsize="medium")
    _legend_above(axes[0, 1])
    _inclination(axes[0, 2], study)
    for axis, place in zip(axes[-1], places, strict=False):
        _enlarged_signals(axis, study, place)
    if len(places) == 1:
        _enlarged_error(axes[-1, 1], study, places[0])
    if places:
        _enlarged_subspace(axes[-1, 2], study, places[0])
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return figure


def inclination(x_c: Samples, x_m: Samples, n_window: int) -> Samples:
    """Return (n,): rad, of the principal axis over the `n_window` samples up to each; NaN before the first are there.

    A quarter of pi is perfect tracking, more is overshoot. The review shows a theta_pc (Fig. 15c) and refers to
    another paper for it; that it is this angle is our accuracy.
    """
    pairs = np.stack([x_c - np.mean(x_c), x_m - np.mean(x_m)])
    sums = np.cumsum(np.stack([pairs[0], pairs[1], pairs[0] ** 2, pairs[0] * pairs[1], pairs[1] ** 2]), axis=1)
    sums = np.concatenate([np.zeros((5, 1)), sums], axis=1)
    c, m, cc, cm, mm = (sums[:, n_window:] - sums[:, :-n_window]) / n_window
    found = np.full(len(x_c), np.nan)
    found[n_window - 1 :] = 0.5 * np.arctan2(2.0 * (cm - c * m), (cc - c * c) - (mm - m * m))
    return found


def _inclination(axis: Axes, study: CaseStudy) -> None:
    case = study.case
    n_window = round(study.assessment.settings.window * case.sample_rate)
    # what the ratio alone would make of it
    axis.plot(case.time, DEGREES * np.arctan(1.0 / case.true_ratio), **TRUTH)
    values = DEGREES * inclination(case.command, case.measured, n_window)
    axis.plot(case.time, values, color="tab:cyan", linewidth=1.2, label="principal axis")
    axis.axhline(45.0, color="0.4", linewidth=0.8, linestyle=":", label="perfect")
    axis.set(xlabel="time [s]", ylabel="[deg]", xlim=(case.time[0], case.time[-1]))
    axis.set_title("inclination, > 45: overshoot", fontsize="medium")
    axis.set_ylim(min(np.nanmin(values), 45.0) - 0.05, max(np.nanmax(values), 45.0) + 0.05)
    _legend_above(axis)


def _legend_above(axis: Axes) -> None:
    """Put the legend where no curve is: above all of them."""
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.legend(fontsize="x-small", loc="upper right")


def _enlarged_signals(axis: Axes, study: CaseStudy, place: float) -> None:
    case = study.case
    about = np.flatnonzero(np.abs(case.time - place) <= 0.25 / case.frequency)
    middle = about[np.argmax(np.abs(case.command[about]))]
    near = np.abs(case.time - case.time[middle]) <= _REACH
    for signal, mark, label in ((case.command, "-", "command"), (case.measured, ".--", "measured")):
        axis.plot(case.time[near], 1e3 * signal[near], mark, markersize=3.0, linewidth=1.0, label=label)
    axis.set(xlabel="time [s]", ylabel="displacement [mm]")
    axis.set_title(f"the peak nearest {place:g} s", fontsize="medium")
    axis.legend(fontsize="small")


def _enlarged_error(axis: Axes, study: CaseStudy, place: float) -> None:
    case = study.case
    inside = np.abs(case.time - place) <= 0.5
    axis.plot(case.time[inside], 1e3 * case.true_amplitude_error[inside], **TRUTH)
    near = np.abs(study.time - place) <= 0.5
    for kind in ("paei", "paei_adaptive"):
        values = 1e3 * study.values(f"{kind}_amplitude_error")[near]
        axis.plot(study.time[near], values, color=COLOURS[kind], linewidth=1.2, label=NAMES[kind])
    axis.plot(place, -1e3 * case.printed["overshoot"], "k*", markersize=10.0, label="printed, of another record")
    axis.set(xlabel="time [s]", ylabel="amplitude error [mm]")
    axis.set_title(f"about {place:g} s, < 0: overshoot", fontsize="medium")
    axis.legend(fontsize="x-small")


def _enlarged_subspace(axis: Axes, study: CaseStudy, place: float) -> None:
    """Draw measured less command over command: on the scale of the loop itself its opening cannot be seen."""
    case = study.case
    half = round(0.55 * case.sample_rate / case.frequency)
    middle = int(np.argmin(np.abs(case.time - place)))
    shown = slice(middle - half, middle + half)
    c, e = 1e3 * case.command[shown], 1e3 * (case.measured - case.command)[shown]
    axis.plot(c, e, ".", markersize=2.0)
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    axis.set(xlabel="command [mm]", ylabel="measured - command [mm]")
    axis.set_title(f"the cycle about {place:g} s", fontsize="medium")


def case_overview(study: CaseStudy) -> Drawing:
    """Draw the first picture of a case: its signals, and every indicator beside its injected value."""
    case = study.case
    figure = _new_drawing(6.4, f"Case ({case.name}): {case.title}")
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


def _legend(figure: Drawing, axis: Axes) -> None:
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


def phase_in_noise(rows: tuple[NoisyPhase, ...]) -> Drawing:
    """Draw the phase and the ratio that every method gives, with the deviation of one run."""
    title = f"Case (i), 1.5 and 2 mm, in white noise: mean and deviation of {RUNS} windows of 2 s"
    figure = new_drawing(10.0, 4.4, title)
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
    return figure


def _marks(axis: Axes, at: list[float], values: list[tuple[float, float]], name: str) -> None:
    means, deviations = zip(*values, strict=True)
    axis.errorbar(at, means, yerr=deviations, fmt="o", markersize=4.0, capsize=3.0, label=name)


def plant_response(study: PlantStudy) -> Drawing:
    """Draw what is found at each frequency over the exact response, with the hold and without."""
    figure = new_drawing(8.0, 8.4)
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

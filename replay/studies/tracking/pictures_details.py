"""A second picture of a case with a specimen: its hysteresis, the amplitude error, and enlarged windows.

They stand beside the review's Figs 3b, 3d, 7e, 7k-l, 8c, 8h, 10, 11, 14b-d and 15c.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.tracking.inclination import inclination
from replay.studies.tracking.panels import COLOURS, DEGREES, NAMES, TRUTH, new_figure, plot_indicators
from replay.studies.tracking.study import CaseStudy

# s, where the paper enlarges a record, and s on either side
_PLACES = {"iv": (14.35,), "vii": (19.53, 23.35)}
_REACH = 0.04


def details(study: CaseStudy) -> Figure:
    """Draw the second picture of a case that has a force."""
    places = _PLACES.get(study.case.name, ())
    figure = new_figure(12.0, 6.4 if places else 3.6)
    figure.suptitle(f"Case ({study.case.name}): {study.case.title}, in detail")
    axes = figure.subplots(2 if places else 1, 3, squeeze=False)
    _hysteresis(axes[0, 0], study)
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


def _hysteresis(axis: Axes, study: CaseStudy) -> None:
    case = study.case
    assert case.force is not None
    axis.plot(1e3 * case.measured, 1e-3 * case.force, color="tab:brown", linewidth=0.8)
    axis.set(xlabel="measured displacement [mm]", ylabel="restoring force [kN]")
    axis.set_title("specimen", fontsize="medium")


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
    middle = _peak(study, place)
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


def _peak(study: CaseStudy, place: float) -> int:
    """Return the sample at which the command stands out most within a quarter of a cycle."""
    case = study.case
    near = np.flatnonzero(np.abs(case.time - place) <= 0.25 / case.frequency)
    return int(near[np.argmax(np.abs(case.command[near]))])

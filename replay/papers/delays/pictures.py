"""The examples with delays as pictures, with the numbers of the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Samples
from replay.papers.delays.examples import LATER, TIME, Method
from replay.papers.delays.study import REPEATS, NoiseLevel, histogram, quartiles
from replay.pictures import new_drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLOURS = {Method.POLYNOMIAL: "tab:orange", Method.DISTURBANCE: "tab:blue"}
_WORDS = {Method.POLYNOMIAL: "method 1: polynomial", Method.DISTURBANCE: "method 2: disturbance"}
_FIGURES = {"q0": 3, "q1": 4, "omega": 5}
_BINS = 30
# the first runs, so that their spread is seen
_DRAWN = 20


def prediction(levels: Sequence[NoiseLevel]) -> Drawing:
    """Return what both methods make of one example, during the observations and later, at each level of noise."""
    number = levels[0].example.number
    also = "; left as Fig. 1 of the paper" if number == 2 else ""
    title = f"Example {number}: fit to t = {TIME[-1]:g}, prediction to t = {LATER:g}; {_DRAWN} runs{also}"
    figure = new_drawing(11.0, 3.2 * len(levels), title)
    axes = figure.subplots(len(levels), 2, squeeze=False)
    later = np.linspace(0.0, LATER, 301)
    for row, level in zip(axes, levels, strict=True):
        row[0].plot(TIME, level.observed[0], ".", color="0.6", markersize=3.0, label="observed, one run")
        for axis, time in zip(row, (TIME, later), strict=True):
            for method, runs in level.free.items():
                curves = level.example.predict(method, runs.fits.parameters[:_DRAWN], time)
                axis.plot(time, curves.T, color=_COLOURS[method], alpha=0.35, linewidth=0.8)
                axis.plot([], [], color=_COLOURS[method], label=_WORDS[method])
            axis.plot(time, level.example.truth.response(time), "k--", linewidth=1.3, label="truth")
            axis.set_title(f"σ = {level.sigma:.4g}", fontsize="medium")
            axis.set_xlabel("time [s]")
            axis.grid(alpha=0.3)
        row[0].set_ylabel("x")
        limit = 2.0 * float(np.max(level.example.truth.response(later)))
        row[1].set_ylim(-limit, limit)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=len(labels))
    return figure


def estimates(levels: Sequence[NoiseLevel]) -> Drawing:
    """Return histograms of what method 2 finds of one example."""
    names = levels[0].free[Method.DISTURBANCE].fits.names
    number = levels[0].example.number
    also = "; as Fig. 3 to 5 of the paper" if number == 3 else ""
    runs = len(levels[0].observed)
    title = f"Example {number}: estimates of method 2, {runs} runs; dashed: truth, green: mean{also}"
    figure = new_drawing(11.0, 2.6 * len(levels), title)
    axes = figure.subplots(len(levels), len(names), squeeze=False)
    for row, level in zip(axes, levels, strict=True):
        for axis, name in zip(row, names, strict=True):
            _histogram(axis, level.free[Method.DISTURBANCE].fits.of(name), level.example.known(name))
            axis.set(xlabel=f"{name} [1/s]", ylabel="runs")
            figures = f"Fig. {_FIGURES[name]}: " if number == 3 else ""
            axis.set_title(f"{figures}{name}, σ = {level.sigma:.4g}", fontsize="medium")
    return figure


def steady_states(levels: Sequence[NoiseLevel]) -> Drawing:
    """Return histograms of the steady states of repeated observations."""
    # four side by side leave no room for their titles
    columns = len(levels) if len(levels) <= 3 else 2
    rows = math.ceil(len(levels) / columns)
    figure = new_drawing(11.0, 0.6 + 3.0 * rows)
    number = len(levels[0].mean_parameters)
    what = f"as Fig. 2 of the paper: steady state of {number} runs of {REPEATS} repeated observations"
    printed = levels[0].example.printed_steady_state["mean_of_repeated"]
    figure.suptitle(
        f"{what}\ndashed: truth, green: mean, dotted: the paper's mean {printed}, triangles: ± 2σ, bar: quartiles",
        fontsize="medium",
    )
    for place, level in enumerate(levels, 1):
        axis = figure.add_subplot(rows, columns, place)
        states = level.steady_states["mean_of_repeated"]
        axis.set_title(f"σ = {level.sigma:.4g}", fontsize="medium")
        axis.set(xlabel="steady state of x", ylabel=f"means of {REPEATS} runs")
        if len(states) < 2:
            continue
        _histogram(axis, states, level.example.truth.steady_state)
        axis.axvline(printed, color="tab:green", linestyle=":", linewidth=1.2)
        low, median, high = quartiles(states)
        mean, deviation = states.mean(), states.std(ddof=1)
        axis.plot([mean - 2.0 * deviation, mean + 2.0 * deviation], [0.0, 0.0], "k^", clip_on=False)
        axis.plot([low, high], [0.0, 0.0], color="black", linewidth=3.0, clip_on=False)
        axis.set_title(f"σ = {level.sigma:.4g}: mean {mean:.4f}, median {median:.4f}", fontsize="medium")
    return figure


def _histogram(axis: Axes, values: Samples, known: float) -> None:
    counts, edges = histogram(values, min(_BINS, max(len(values) // 6, 5)))
    axis.stairs(counts, edges, fill=True, color=_COLOURS[Method.DISTURBANCE], alpha=0.7)
    axis.axvline(known, color="black", linestyle="--", linewidth=1.2)
    axis.axvline(float(values.mean()), color="tab:green", linewidth=1.2)
    axis.grid(alpha=0.3)

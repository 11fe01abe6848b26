"""What the pictures of the tracking study have in common: colours, and one indicator of a case over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from replay.studies.tracking.study import CaseStudy

DEGREES = 180.0 / math.pi
COLOURS = {"fdb": "tab:blue", "paei": "tab:orange", "paei_adaptive": "tab:green", "broadband": "tab:purple"}
TRUTH: dict[str, Any] = {"color": "0.75", "linewidth": 5.0, "label": "injected", "zorder": 0}
NAMES = {"fdb": "FDB", "paei": "PAEI", "paei_adaptive": "PAEI, adaptive window", "broadband": "broadband"}

Curve = NDArray[np.float64]


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches, whose panels stand apart enough for the units between them."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.05))


def plot_signals(axis: Axes, study: CaseStudy) -> None:
    """Draw command and measured signal over time, with room for the legend above them."""
    case = study.case
    axis.plot(case.time, 1e3 * case.command, label="command", linewidth=1.0)
    axis.plot(case.time, 1e3 * case.measured, "--", label="measured", linewidth=1.0)
    axis.set(xlabel="time [s]", ylabel="displacement [mm]", xlim=(case.time[0], case.time[-1]))
    axis.legend(fontsize="small", loc="upper right", ncols=2)
    axis.set_ylim(top=axis.get_ylim()[1] + 0.2 * float(np.ptp(axis.get_ylim())))


def plot_indicators(axis: Axes, study: CaseStudy, quantity: str, factor: float, label: str) -> None:
    """Draw what every indicator says of a quantity beside what was injected, with bands of two deviations."""
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
    frame(axis, np.concatenate(shown))


def frame(axis: Axes, values: Curve) -> None:
    """Show the middle 96 % of the values with some room around them: a switch may throw a few far out."""
    if not len(values):
        return
    low, high = np.percentile(values, [2.0, 98.0])
    room = max(0.4 * (high - low), 0.02 * max(abs(low), abs(high)), 1e-9)
    axis.set_ylim(low - room, high + room)

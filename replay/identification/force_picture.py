"""The force that a model is missing as a picture: over time with its band, and over stretch and rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Samples
from replay.identification.missing_force import FoundForce
from replay.pictures import new_drawing
from sim.missing_force.law_fit import LawFit
from sim.missing_force.law_terms import SIGN_WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_BAND = 1.96
_MOST_POINTS = 5000


def force_drawing(found: FoundForce, places: Sequence[str]) -> Drawing:
    """Draw what was found, a row for each place."""
    rows = len(places)
    figure = new_drawing(13.0, 0.6 + 3.4 * rows)
    axes = figure.subplots(rows, 3, squeeze=False, width_ratios=(2.2, 1.0, 1.0))
    recovered = found.recovered
    every = slice(None, None, -(-len(recovered.time) // _MOST_POINTS))
    sampled = found.sampled
    gaps = recovered.time[np.flatnonzero(np.diff(sampled, prepend=True, append=True)).clip(max=len(sampled) - 1)]
    directions = np.asarray(found.problem.forces)
    law = next((each for each in found.laws if each.fit is not None and any(each.laws)), None)
    for e, (over_time, over_stretch, over_rate) in enumerate(axes):
        time, sd = recovered.time[every], recovered.force_sd[every, e]
        # no line through a gap
        force = np.where(sampled, recovered.force[:, e], np.nan)[every]
        over_time.fill_between(
            time, force - _BAND * sd, force + _BAND * sd, alpha=0.25, color="tab:blue", label="95 %"
        )
        over_time.plot(time, force, color="tab:blue", linewidth=1.0, label="missing force")
        for i, (start, end) in enumerate(gaps.reshape(-1, 2).tolist()):
            over_time.axvspan(start, end, color="tab:gray", alpha=0.3, label="no samples" if i == 0 else None)
        over_time.margins(x=0.0)
        over_time.set_title(places[e], loc="right")
        over_time.set_xlabel("time [s]")
        over_time.set_ylabel("force [N]")
        over_time.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
        for axis, motion, label in (
            (over_stretch, recovered.smoothed.displacement, "stretch [m]"),
            (over_rate, recovered.smoothed.velocity, "rate [m/s]"),
        ):
            along = (motion @ directions)[every, e]
            axis.plot(along, force, ".", markersize=3, color="tab:blue", label="missing force")
            if law is not None:
                fitted = np.where(sampled, _law_force(found, law, e), np.nan)[every]
                axis.plot(along, fitted, ".", markersize=1, color="tab:orange", label="law")
            axis.set_xlabel(label)
            axis.set_ylabel("force [N]")
            axis.set_title(", ".join(term.name for term in law.laws[e]) if law is not None else "")
            axis.legend(loc="best", markerscale=4, fontsize="small")
        for axis in (over_time, over_stretch, over_rate):
            axis.grid(alpha=0.3)
    return figure


def _law_force(found: FoundForce, law: LawFit, e: int) -> Samples:
    """Return (N,): a law at the recovered motion of one place."""
    smoothed, direction = found.recovered.smoothed, np.asarray(found.problem.forces)[:, e]
    stretch, rate = smoothed.displacement @ direction, smoothed.velocity @ direction
    width = SIGN_WIDTH * max(float(np.sqrt(np.mean(rate**2))), 1e-300)
    first = sum(map(len, law.laws[:e]))
    result = np.zeros(len(stretch))
    for value, term in zip(law.coefficients[first:].tolist(), law.laws[e], strict=False):
        result += value * term.of(stretch, rate, width)
    return result

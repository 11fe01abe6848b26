"""The force that a model is missing as a picture: over time with its band, and over stretch and rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from replay.identification.missing_force import FoundForce

_BAND = 1.96
_MOST_POINTS = 5000


def draw(found: FoundForce, places: Sequence[str], folder: Path) -> Path:
    """Write missing-force.png into a folder that is there; return the file."""
    rows = len(places)
    figure = Figure(figsize=(13.0, 0.6 + 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, 3, squeeze=False, width_ratios=(2.2, 1.0, 1.0))
    recovered = found.recovered
    every = slice(None, None, -(-len(recovered.time) // _MOST_POINTS))
    directions = np.asarray(found.problem.forces)
    for e, (over_time, over_stretch, over_rate) in enumerate(axes):
        time, force, sd = recovered.time[every], recovered.force[every, e], recovered.force_sd[every, e]
        over_time.fill_between(
            time, force - _BAND * sd, force + _BAND * sd, alpha=0.25, color="tab:blue", label="95 %"
        )
        over_time.plot(time, force, color="tab:blue", linewidth=1.0, label="missing force")
        over_time.set_title(places[e])
        over_time.set_xlabel("time [s]")
        over_time.set_ylabel("force [N]")
        over_time.legend(loc="upper right")
        for axis, motion, label in (
            (over_stretch, recovered.smoothed.displacement, "stretch [m]"),
            (over_rate, recovered.smoothed.velocity, "rate [m/s]"),
        ):
            axis.plot((motion @ directions)[every, e], force, ".", markersize=2, color="tab:blue")
            axis.set_xlabel(label)
        for axis in (over_time, over_stretch, over_rate):
            axis.grid(alpha=0.3)
    path = folder / "missing-force.png"
    figure.savefig(path, dpi=110)
    return path

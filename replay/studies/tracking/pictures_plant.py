"""The benchmark plant as a picture."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from replay.studies.tracking.panels import DEGREES, NAMES, TRUTH
from replay.studies.tracking.plant import BAND, PlantStudy


def plant(study: PlantStudy) -> Figure:
    """Draw what is found at each frequency over the exact response."""
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    ratio, phase, coherence = figure.subplots(3, 1, sharex=True)
    transfer, known = study.transfer, study.known_transfer
    frequency = transfer.frequency
    shown = (frequency >= BAND[0]) & (frequency <= BAND[1])
    exact = TRUTH | {"label": "exact"}
    ratio.plot(frequency[shown], 1.0 / np.abs(known[shown]), **exact)
    phase.plot(frequency[shown], DEGREES * np.angle(known[shown]), **exact)
    ratio.plot(frequency[shown], transfer.of("plant", "ratio")[shown], label="transfer function, broadband command")
    phase.plot(frequency[shown], DEGREES * transfer.of("plant", "phase")[shown])
    coherence.plot(frequency[shown], transfer.of("plant", "coherence")[shown])
    for kind, mark in (("fdb", "o"), ("paei", "x")):
        rows = [row for row in study.sines if row.indicator == kind and row.frequency <= BAND[1]]
        at = [row.frequency for row in rows]
        ratio.plot(at, [row.ratio for row in rows], mark, color="k", fillstyle="none", label=f"{NAMES[kind]}, sines")
        phase.plot(at, [DEGREES * row.phase for row in rows], mark, color="k", fillstyle="none")
    for axis, label in ((ratio, "command / measured [-]"), (phase, "phase [deg]"), (coherence, "coherence [-]")):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    coherence.set(xlabel="frequency [Hz]", ylim=(0.0, 1.05))
    ratio.legend(fontsize="small")
    ratio.set_title("The benchmark plant")
    return figure

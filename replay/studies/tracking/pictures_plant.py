"""The benchmark plant as a picture."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from replay.studies.tracking.panels import DEGREES, NAMES, TRUTH, Curve
from replay.studies.tracking.plant import BAND, FREQUENCIES, RATE, PlantStudy
from sim.benchmark_plant import BenchmarkPlant


def plant_response(study: PlantStudy) -> Figure:
    """Draw what is found at each frequency over the exact response, with the hold and without."""
    figure = Figure(figsize=(8.0, 8.4), layout="constrained")
    ratio, phase, delay, coherence = figure.subplots(4, 1, sharex=True)
    plant, fine = BenchmarkPlant(), np.linspace(BAND[0], FREQUENCIES[-1], 200)
    held = np.array([complex(plant.response(0.0, f, 1.0 / RATE)) for f in fine.tolist()])
    continuous = np.array([plant.frequency_response(f) for f in fine.tolist()])
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
    frequency, angle = transfer.frequency[shown], transfer.of("plant", "phase")[shown]
    ratio.plot(frequency, transfer.of("plant", "ratio")[shown], label="transfer function, broadband command")
    phase.plot(frequency, DEGREES * angle)
    delay.plot(frequency, _milliseconds(frequency, angle))
    coherence.plot(frequency, transfer.of("plant", "coherence")[shown])
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


def _milliseconds(frequency: Curve, phase: Curve) -> Curve:
    return -1e3 * phase / (2.0 * np.pi * frequency)

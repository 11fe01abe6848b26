"""PAEI in noise as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.tracking.paei_noise import METHODS, RUNS, NoisyPhase
from replay.studies.tracking.panels import DEGREES, TRUTH


def phase_in_noise(rows: tuple[NoisyPhase, ...]) -> Figure:
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

"""The thermal challenge as pictures: the material, the experiments beside the models, and the decision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from replay.studies.thermal import JUDGED, ThermalStudy
from sim.models.thermal_population import Conductivity
from sim.models.thermal_tables import ALLOWED, LEVELS, configurations, material, validation_runs

_COLOURS = {"constant": "tab:orange", "representative": "tab:green", "temperature_dependent": "tab:blue"}
_WORDS = {"constant": "constant k", "representative": "k at one temperature", "temperature_dependent": "k(T)"}
# of the specimens that a band leaves out at each side
_TAIL = 0.05
_DRAWN = 1000
_DPI = 110


def draw(study: ThermalStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    figures = {
        "thermal-material.png": _material(study),
        "thermal-validation.png": _validation(study),
        "thermal-decision.png": _decision(study),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=_DPI)
    return tuple(folder / name for name in figures)


def _material(study: ThermalStudy) -> Figure:
    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    known, data = study.levels[-1].characterization, material(LEVELS[-1])
    figure.suptitle(f"Table 4: {len(data.temperature)} specimens, and what is taken for the population")
    axes = figure.subplots(1, 2)
    ends = np.array([0.0, 1000.0])
    rows = (
        (data.conductivity, known.line, known.constant, "conductivity [W/(m K)]"),
        (data.heat_capacity, known.capacity_line, known.capacity, "heat capacity [J/(m³ K)]"),
    )
    for axis, (values, line, constant, label) in zip(axes, rows, strict=True):
        axis.plot(data.temperature, values, "k.", label="measured")
        for fit, colour, words in ((line, "tab:blue", "line"), (constant, "tab:orange", "constant")):
            mean = np.array([fit.at(end) for end in ends])
            axis.plot(ends, mean, color=colour, label=f"{words} ± deviation")
            deviation = fit.residual_deviation
            axis.fill_between(ends, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0.0)
        axis.set_xlabel("temperature [°C]")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    return figure


def _validation(study: ThermalStudy) -> Figure:
    figure = Figure(figsize=(11.0, 7.6), layout="constrained")
    figure.suptitle(f"Table 6, and {100.0 * (1.0 - 2.0 * _TAIL):.0f} % of the specimens of two models")
    axes = figure.subplots(2, 2, sharex=True).ravel()
    known = study.levels[-1].characterization
    for axis, (name, runs) in zip(axes, validation_runs().items(), strict=True):
        test = configurations()[name]
        for which in JUDGED:
            specimens = known.population(which).sample(np.random.default_rng(1), _DRAWN)
            band = np.quantile(specimens.temperature(test, runs.time)[:, 0], [_TAIL, 1.0 - _TAIL], axis=1)
            axis.fill_between(runs.time, *band, color=_COLOURS[which], alpha=0.3, linewidth=0.0, label=_WORDS[which])
        for line in axis.plot(runs.time, runs.temperature, "k", linewidth=1.0)[:1]:
            line.set_label("measured")
        axis.set_title(f"{name}: {test.flux:g} W/m², {1e3 * test.thickness:g} mm", fontsize="medium")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    for axis in axes[2:]:
        axis.set_xlabel("time [s]")
    for axis in axes[::2]:
        axis.set_ylabel("front [°C]")
    return figure


def _decision(study: ThermalStudy) -> Figure:
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    axis = figure.subplots()
    for place, which in enumerate(Conductivity):
        found = [level.failure[which] for level in study.levels]
        at = np.arange(len(found)) + 0.2 * (place - 1)
        values = np.array([each.quadrature for each in found])
        low, high = np.array([each.interval for each in found]).T
        error = np.maximum([values - low, high - values], 0.0)
        axis.errorbar(at, values, error, fmt="o", capsize=4.0, color=_COLOURS[which], label=_WORDS[which])
    axis.axhline(ALLOWED, color="tab:red", label="allowed")
    axis.set_xticks(range(len(study.levels)), [level.level for level in study.levels])
    axis.set_ylabel("share of units over 900 °C at 1000 s")
    axis.set_yscale("log")
    axis.set_title("Eq. 1, with 5 to 95 % of resampled data", fontsize="medium")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small")
    return figure

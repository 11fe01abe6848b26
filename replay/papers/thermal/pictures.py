"""The thermal challenge as pictures: the material, the experiments compared with the models, and the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replay.papers.thermal.study import ThermalStudy
from replay.papers.thermal.validation import VALIDATED
from replay.pictures import new_drawing
from sim.models.thermal_population import Characterization, Conductivity
from sim.models.thermal_slab import SlabTest
from sim.models.thermal_tables import (
    ACCREDITATION,
    ALLOWED,
    APPLICATION,
    DEPTHS,
    LEVELS,
    MeasuredRuns,
    accreditation_runs,
    configurations,
    material,
    validation_runs,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# points to the right of a mark and above it
_TEXT_OFFSET = (9.0, 5.0)
_COLOURS = dict(zip(Conductivity, ("tab:orange", "tab:green", "tab:blue"), strict=True))
# the level whose data the first three pictures show
_LEVEL = LEVELS[-1]
# of the specimens that a band leaves out at each side
_TAIL = 0.05
_SHARE = f"{100.0 * (1.0 - 2.0 * _TAIL):.0f} %"
_DRAWN = 1000
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def parameter_space() -> Drawing:
    """Draw flux over thickness of every configuration, with how many experiments the level High has there."""
    tests, level = configurations(), LEVELS[-1]
    of_validation = validation_runs(level)
    n_accreditation = accreditation_runs(level)["front"].temperature.shape[1]
    figure = new_drawing(7.0, 4.6)
    axis = figure.subplots()
    for name, runs in of_validation.items():
        words = f"{name}: {runs.temperature.shape[1]} experiments"
        _mark(figure, tests[name], "o", "tab:blue", words, "ensemble validation" if name == "1" else "")
    _mark(figure, tests[ACCREDITATION], "s", "tab:green", f"{n_accreditation} experiments", "accreditation")
    _mark(figure, tests[APPLICATION], "*", "tab:red", "no experiment", "application")
    axis.set(xlabel="thickness [cm]", ylabel="heat flux [W/m²]", xlim=(1.0, 3.1), ylim=(500.0, 4000.0))
    axis.set_title(f"Level {level}: the application is an extrapolation in flux")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small", loc="upper left")
    return figure


def _mark(figure: Drawing, test: SlabTest, mark: str, colour: str, words: str, label: str) -> None:
    (axis,) = figure.axes
    at = 100.0 * test.thickness, test.flux
    axis.plot(*at, mark, color=colour, markersize=11.0, label=label or "_nolegend_")
    axis.annotate(words, at, _TEXT_OFFSET, textcoords="offset points", fontsize="small")


def properties(study: ThermalStudy) -> Drawing:
    """Draw the material's data at one level and the population that is assumed."""
    known, data = study.levels[-1].characterization, material(_LEVEL)
    number = len(data.temperature)
    figure = new_drawing(11.0, 3.8, f"Level {_LEVEL}: {number} specimens (Table 4), and the assumed population")
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


def validation(study: ThermalStudy) -> Drawing:
    """Draw the measured fronts over the predictions of two models."""
    title = f"Level {_LEVEL}: fronts measured (Table 6), and {_SHARE} of the specimens of two models"
    figure = new_drawing(11.0, 7.6, title)
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (name, runs) in zip(axes.ravel(), validation_runs().items(), strict=True):
        test = configurations()[name]
        _experiments(axis, study.levels[-1].characterization, test, runs, 0.0)
        axis.set_title(f"configuration {name}: {test.flux:g} W/m², {1e3 * test.thickness:g} mm", fontsize="medium")
    axes[0, 0].legend(fontsize="small")
    for axis in axes[1]:
        axis.set_xlabel("time [s]")
    for axis in axes[:, 0]:
        axis.set_ylabel("temperature of the front [°C]")
    return figure


def accreditation(study: ThermalStudy) -> Drawing:
    """Draw the measurements at three depths over the predictions of two models."""
    test = configurations()[ACCREDITATION]
    figure = new_drawing(
        11.0,
        4.2,
        f"Level {_LEVEL}: accreditation (Table 8), {test.flux:g} W/m², {1e3 * test.thickness:g} mm, "
        f"and {_SHARE} of the specimens of two models",
    )
    axes = figure.subplots(1, len(DEPTHS))
    for axis, (name, depth) in zip(axes, DEPTHS.items(), strict=True):
        _experiments(axis, study.levels[-1].characterization, test, accreditation_runs()[name], depth)
        axis.set_title(name, fontsize="medium")
        axis.set_xlabel("time [s]")
    axes[0].legend(fontsize="small")
    axes[0].set_ylabel("temperature [°C]")
    return figure


def _experiments(axis: Axes, known: Characterization, test: SlabTest, runs: MeasuredRuns, depth: float) -> None:
    """Draw the measurements over the predictions of the two models: an area for k(T), two lines for constant k."""
    for which in VALIDATED:
        specimens = known.population(which).sample(np.random.default_rng(1), _DRAWN)
        low, high = np.quantile(specimens.temperature(test, runs.time, (depth,))[:, 0], [_TAIL, 1.0 - _TAIL], axis=1)
        colour, words = _COLOURS[which], which.label
        if which is Conductivity.CONSTANT:
            axis.plot(runs.time, low, "--", color=colour, label=words)
            axis.plot(runs.time, high, "--", color=colour)
        else:
            axis.fill_between(runs.time, low, high, color=colour, alpha=0.3, linewidth=0.0, label=words)
    for line in axis.plot(runs.time, runs.temperature, "k", linewidth=1.0)[:1]:
        line.set_label("measured")
    axis.grid(alpha=0.3)


def decision(study: ThermalStudy) -> Drawing:
    """Draw the share of too hot units at each level, with its bootstrap interval."""
    from matplotlib.ticker import NullFormatter, PercentFormatter

    figure = new_drawing(8.0, 4.2)
    axis = figure.subplots()
    for place, which in enumerate(Conductivity):
        found = [level.failure[which] for level in study.levels]
        at = np.arange(len(found)) + 0.2 * (place - 1)
        values = np.array([each.quadrature for each in found])
        low, high = np.array([each.interval for each in found]).T
        error = np.maximum([values - low, high - values], 0.0)
        axis.errorbar(at, values, error, fmt="o", capsize=4.0, color=_COLOURS[which], label=which.label)
    axis.axhline(ALLOWED, color="tab:red", label="allowed")
    axis.set_xticks(range(len(study.levels)), [level.level for level in study.levels])
    axis.set_xlim(-0.6, len(study.levels) - 0.4)
    axis.set_ylabel("units over 900 °C at 1000 s")
    axis.set_yscale("log")
    axis.set_ylim(0.5 * ALLOWED, 1.0)
    axis.set_yticks(_SHARES)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, 0))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_title("By quadrature, and 5 to 95 % of the bootstrap data sets", fontsize="medium")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small", ncols=2, loc="upper right")
    return figure

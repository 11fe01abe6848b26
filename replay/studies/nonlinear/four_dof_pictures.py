"""The study of four masses as pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monitor.messages.blocks import Samples
from replay.studies.nonlinear.four_dof import FourMassStudy
from replay.studies.nonlinear.four_dof_record import SPRINGS
from sim.models.chain import chain_response

_REACH = 1.96  # standard errors: 95 %
_SHOWN = 5.0  # s of the record


def draw(study: FourMassStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    figures = {
        "four-dof-fit.png": histories(study),
        "four-dof-stiffness.png": stiffness(study),
        "four-dof-force.png": force(study),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def histories(study: FourMassStudy) -> Figure:
    """Return the record beside the model before and after the fit."""
    record, fitted = study.record, study.parametric[0]
    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    k3 = fitted.percent[SPRINGS.index("k3")]
    figure.suptitle(
        f"Four masses, spring 3 damaged: the record beside the model before and after the fit (k3: {k3:.1f} %)"
    )
    before, after = (
        chain_response(chain, record.load, record.dt).acceleration for chain in (record.nominal, study.fitted_chain)
    )
    shown = record.time <= _SHOWN
    axes = np.atleast_1d(figure.subplots(len(record.sensors), 1, sharex=True))
    for axis, sensor, observed in zip(axes, record.sensors, record.observed.T, strict=True):
        axis.plot(record.time[shown], before[shown, sensor - 1], color="0.6", linewidth=1.0, label="before the fit")
        axis.plot(record.time[shown], after[shown, sensor - 1], color="tab:blue", label="after the fit")
        axis.plot(record.time[shown], observed[shown], ".", color="black", markersize=3.0, label="record")
        axis.set_ylabel(f"mass {sensor} [m/s²]")
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=3)
    return figure


def stiffness(study: FourMassStudy) -> Figure:
    """Return what was found of each spring, with its intervals, and what the paper aims at."""
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    known, unknown = figure.subplots(1, 2, sharey=True)
    number = len(study.parametric)
    one, several = "the record", f"{number} records, each with its interval of 95 %"
    figure.suptitle(
        f"Stiffness found less the true one: {one if number == 1 else several}\n"
        "Paper: spring 3 down 15 %, no estimates printed; 70 h for stiffnesses and force together"
    )
    for axis, title, found in (
        (known, "cubic law known", study.parametric),
        (unknown, "cubic force unknown, found too", study.joint),
    ):
        percent = np.array([each.percent for each in found])
        errors = np.array([each.standard_errors for each in found])
        _intervals(axis, percent - study.record.actual_percent, errors)
        axis.set_title(title, fontsize="medium")
        axis.axhline(0.0, color="black", linewidth=0.8)
        truth = study.record.actual_percent
        axis.set_xticks(
            range(len(SPRINGS)), [f"{name}\n{value:g} %" for name, value in zip(SPRINGS, truth, strict=True)]
        )
        axis.grid(alpha=0.3, axis="y")
    for axis in (known, unknown):
        axis.set_xlim(-0.5, len(SPRINGS) - 0.5)
    known.set_ylabel("found - true [% of nominal]")
    return figure


def force(study: FourMassStudy) -> Figure:
    """Return the recovered force over time and over the displacement of mass 1, with its law."""
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    figure.suptitle(
        "The force on mass 1 that the linear model is missing, found together with k2, k3 and k4\n"
        "Accelerations do not show a slow drift: the dots are shifted by it, and by the spring force that it takes"
    )
    grid = figure.add_gridspec(2, len(study.laws))
    record, displacement = study.record, study.record.motion.displacement[:, 0]
    cubic = float(np.asarray(record.actual.cubic)[0])
    one, axis = study.laws[0], figure.add_subplot(grid[0, :])
    recovered, deviation = one.recovered.force[:, 0], one.recovered.force_sd[:, 0]
    axis.fill_between(
        record.time,
        recovered - _REACH * deviation,
        recovered + _REACH * deviation,
        color="tab:blue",
        alpha=0.25,
        linewidth=0.0,
        label="band of 95 %",
    )
    axis.plot(record.time, recovered, color="tab:blue", label=f"recovered, k1 held at {one.held:g} %")
    axis.plot(record.time, cubic * displacement**3, "--", color="black", linewidth=1.0, label="true")
    axis.set(xlabel="time [s]", ylabel="force [N]")
    axis.legend(fontsize="small", loc="upper left", ncols=3)
    axis.grid(alpha=0.3)
    reach = 1.05 * np.abs(displacement).max()
    x = np.linspace(-reach, reach, 201)
    for column, each in enumerate(study.laws):
        axis = figure.add_subplot(grid[1, column])
        a, b = each.fitted.coefficients
        soft = float(np.asarray(record.actual.springs)[0]) - each.held
        moved = each.recovered.smoothed.displacement[:, 0]
        axis.plot(moved, each.recovered.force[:, 0], ".", color="tab:blue", markersize=3.0, label="recovered")
        axis.plot(x, a * x + b * x**3, color="tab:orange", linewidth=4.0, label=f"law: {a:.2f} x + {b:.1f} x³")
        axis.plot(
            x, soft * x + cubic * x**3, "--", color="black", linewidth=1.0, label=f"true: {soft:g} x + {cubic:g} x³"
        )
        axis.set_title(f"k1 held at {each.held:g} % of nominal", fontsize="medium")
        axis.set(xlabel="displacement of mass 1 [m]", ylabel="force [N]")
        axis.legend(fontsize="small", loc="upper left")
        axis.grid(alpha=0.3)
    return figure


def _intervals(axis: Axes, away: Samples, errors: Samples) -> None:
    """Draw (runs, 4) differences with their standard errors; a word where there is none."""
    runs = len(away)
    beside = np.linspace(-0.3, 0.3, runs) if runs > 1 else np.zeros(1)
    for i, colour in enumerate(("tab:gray", "tab:green", "tab:red", "tab:purple")):
        if np.isnan(away[:, i]).any():
            axis.text(i, 0.0, "not\nidentifiable", ha="center", va="bottom", fontsize="small")
            continue
        axis.errorbar(
            i + beside, away[:, i], _REACH * errors[:, i], fmt="o", color=colour, markersize=3.5, elinewidth=1.0
        )

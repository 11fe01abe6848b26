"""The thermal challenge as tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from replay.studies.thermal import LevelStudy, ThermalStudy
    from replay.studies.thermal_validation import Judgement
    from sim.models.thermal_population import Conductivity
    from sim.models.thermal_properties import PropertyFit

_SHOWN = ("first_passage", "accumulated")


def print_study(study: ThermalStudy) -> None:
    """Print every table of the paper that holds results beside ours, and the decision at each level of data."""
    console = Console(width=None if sys.stdout.isatty() else 110, markup=False, highlight=False)
    console.print(_check(study))
    console.print(_convergence(study))
    for level in study.levels:
        console.print(_material(level))
    console.print(_fits(study))
    activities = {
        "front of the four configurations": [(each.level, each.validation) for each in study.levels],
        "accreditation, three depths": [(each.level, each.accreditation) for each in study.levels],
    }
    for title, levels in activities.items():
        console.print(_reliability(title, levels))
    console.print(
        "tolerance: a share of the measured temperature in degC. Time zero, where model and specimen agree, is left "
        "out.\n"
    )
    console.print(_decision(study))
    for level in study.levels:
        console.print(level.statement + "\n")
    console.print(_bias(study))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table


def _check(study: ThermalStudy) -> Table:
    table = _table("Table 2: eq. 2 on the front, degC", "time [s]", "paper", "ours", "difference")
    for time, paper, ours in study.check.tolist():
        table.add_row(f"{time:g}", f"{paper:.6f}", f"{ours:.6f}", f"{ours - paper:.1e}")
    return table


def _convergence(study: ThermalStudy) -> Table:
    title = "finite volumes: error of the front at 1000 s of the application, degC"
    table = _table(title, "cells and steps", "constant k", "k(T)")
    found = study.convergence
    for n, *errors in zip(found.n_cells, found.constant, found.temperature_dependent, strict=True):
        table.add_row(str(n), *(f"{error:.4f}" for error in errors))
    return table


def _material(level: LevelStudy) -> Table:
    known = level.characterization
    title = (
        f"{level.level}: k in W/(m K), rho C_p in MJ/(m^3 K), with 95 % confidence; one k stands for all at "
        f"{known.representative_temperature:.0f} degC"
    )
    table = _table(title, "fit", "at 0 degC", "slope per 1000 degC", "deviation", "p of slope")
    rows: Mapping[str, tuple[PropertyFit, float]] = {
        "k(T)": (known.line, 1.0),
        "k": (known.constant, 1.0),
        "rho C_p(T)": (known.capacity_line, 1e-6),
        "rho C_p": (known.capacity, 1e-6),
    }
    for name, (fit, unit) in rows.items():
        coefficients = [
            _within(factor * value, factor * low, factor * high)
            for factor, value, (low, high) in zip((unit, 1e3 * unit), fit.coefficients, fit.interval(), strict=False)
        ]
        low, high = fit.deviation_interval()
        deviation = _within(unit * fit.residual_deviation, unit * low, unit * high)
        p_value = f"{fit.slope_p_value:.2g}" if np.isfinite(fit.slope_p_value) else ""
        table.add_row(name, *[*coefficients, ""][:2], deviation, p_value)
    return table


def _within(value: float, low: float, high: float) -> str:
    return f"{value:.4f} ({low:.4f} to {high:.4f})"


def _fits(study: ThermalStudy) -> Table:
    title = "each run of Table 6 fitted by k and rho C_p of its own: rms of what is left, degC"
    table = _table(title, "model", *(f"configuration {name}" for name in next(iter(study.fits.values()))))
    for which, fits in study.fits.items():
        cells = [" ".join(f"{run.rms:.2f}" for run in runs) for runs in fits.values()]
        table.add_row(_words(which), *cells)
    return table


def _reliability(title: str, levels: list[tuple[str, Mapping[Conductivity, tuple[Judgement, ...]]]]) -> Table:
    names = list(next(iter(levels[0][1].values()))[0].all)
    full = f"{title}: first-passage and accumulated reliability"
    table = _table(full, "level, model", "tolerance", *names)
    for level, models in levels:
        for which, judgements in models.items():
            for place, found in enumerate(judgements):
                cells = [
                    " ".join(f"{getattr(curves, metric).value[-1]:.2f}"[-4:] for metric in _SHOWN)
                    for curves in found.all.values()
                ]
                name = "" if place else f"{level}, {_words(which)}"
                table.add_row(name, f"{100.0 * found.tolerance:g} %", *cells)
    return table


def _decision(study: ThermalStudy) -> Table:
    title = "share of the units over 900 degC at 1000 s; allowed: 0.01"
    columns = "drawn", "integrated", "5 to 95 % of resampled data", "lognormal", "resampled"
    table = _table(title, "level, conductivity", *columns)
    for level in study.levels:
        for which, found in level.failure.items():
            low, high = found.interval
            others = [f"{value:.3f}" for family, value in found.families.items() if family != "normal"]
            drawn = f"{found.value:.4f} ± {found.standard_error:.4f}"
            interval = f"{low:.3f} to {high:.3f}"
            table.add_row(f"{level.level}, {_words(which)}", drawn, f"{found.quadrature:.4f}", interval, *others)
    return table


def _bias(study: ThermalStudy) -> Table:
    title = "constant k, corrected by what eq. 2 misses in the runs on the average: an extrapolation"
    columns = (
        "shift [degC]",
        "share too hot",
        "5 to 95 % of resampled runs",
        "rise: runs, application [K]",
        "flux [W/m^2]",
    )
    table = _table(title, "level", *columns)
    for level in study.levels:
        found = level.bias
        table.add_row(
            level.level,
            f"{found.shift:.1f}",
            f"{found.probability:.3f}",
            f"{found.low:.3f} to {found.high:.3f}",
            f"{found.farthest_rise:.0f}, {found.rise:.0f}",
            f"{found.farthest_flux:.0f}, {found.flux:.0f}",
        )
    return table


def _words(which: str) -> str:
    return {"constant": "constant k", "representative": "k at one T", "temperature_dependent": "k(T)"}[which]

"""The tables of the thermal challenge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from replay.studies.thermal.study import LevelStudy, ThermalStudy
    from replay.studies.thermal.validation import Judgement
    from sim.models.thermal_population import Conductivity
    from sim.models.thermal_properties import PropertyFit

_SHOWN = ("first_passage", "accumulated")


def check(study: ThermalStudy) -> Table:
    """Return Table 2 beside eq. 2."""
    table = _table(
        "Table 2: eq. 2 on the front of the slab of Table 1, degC", "time [s]", "paper", "ours", "difference"
    )
    for time, paper, ours in study.check.tolist():
        table.add_row(f"{time:g}", f"{paper:.6f}", f"{ours:.6f}", f"{ours - paper:.1e}")
    return table


def convergence(study: ThermalStudy) -> Table:
    """Return the solver's error over cells and steps."""
    title = "finite volumes: error of the front at 1000 s of the application, degC"
    table = _table(title, "cells and steps", "constant k", "k(T)")
    found = study.convergence
    for n, *errors in zip(found.n_cells, found.constant, found.temperature_dependent, strict=True):
        table.add_row(str(n), *(f"{error:.4f}" for error in errors))
    return table


def properties(level: LevelStudy) -> Table:
    """Return what a level's specimens say of the material."""
    known = level.characterization
    title = (
        f"{level.level} (Table 4): k in W/(m K), rho C_p in MJ/(m^3 K), with 95 % confidence; representative k at "
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


def fits(study: ThermalStudy) -> Table:
    """Return the specimen that fits each run, by each model, and how well."""
    title = "each run of Table 6 fitted by a specimen of its own: k at 0 degC, rho C_p, and the rms left in degC"
    columns = ("k", "rho C_p", "rms")
    table = _table(title, "run", *(f"{which.label}:\n{column}" for which in study.fits for column in columns))
    for name in next(iter(study.fits.values())):
        for place, runs in enumerate(zip(*(fitted[name] for fitted in study.fits.values()), strict=True), 1):
            cells = []
            for run in runs:
                cells.append(f"{run.conductivity:.4f} ± {run.conductivity_standard_error:.4f}")
                cells.append(f"{1e-6 * run.heat_capacity:.4f} ± {1e-6 * run.heat_capacity_standard_error:.4f}")
                cells.append(f"{run.rms:.2f}")
            table.add_row(f"{name}.{place}", *cells)
    return table


def reliability(title: str, levels: Mapping[str, Mapping[Conductivity, tuple[Judgement, ...]]]) -> Table:
    """Return first-passage and accumulated reliability of an activity at every level."""
    first = next(iter(levels.values()))
    names = list(next(iter(first.values()))[0].all)
    full = f"{title}: first-passage and accumulated reliability over all instants"
    table = _table(full, "level, model", "within", *names)
    for level, models in levels.items():
        for which, judgements in models.items():
            for place, found in enumerate(judgements):
                cells = [
                    " ".join(f"{getattr(curves, metric).value[-1]:.2f}" for metric in _SHOWN)
                    for curves in found.all.values()
                ]
                name = "" if place else f"{level}, {which.label}"
                table.add_row(name, f"{100.0 * found.tolerance:g} %", *cells)
    return table


def decision(study: ThermalStudy) -> Table:
    """Return the share of too hot units, every way."""
    title = "share of the units over 900 degC at 1000 s; allowed: 0.01; ± one standard error"
    columns = ("Monte Carlo", "quadrature", "bootstrap\n5 to 95 %", "lognormal", "resampled")
    table = _table(title, "level, k", *columns)
    for level in study.levels:
        table.add_row(level.level)
        for which, found in level.failure.items():
            low, high = found.interval
            others = [f"{value:.3f}" for family, value in found.families.items() if family != "normal"]
            drawn = f"{found.value:.4f} ± {found.standard_error:.4f}"
            interval = f"{low:.3f} to {high:.3f}"
            table.add_row(f" {which.label}", drawn, f"{found.quadrature:.4f}", interval, *others)
    return table


def bias_correction(study: ThermalStudy) -> Table:
    """Return the share with the bias of eq. 2 corrected."""
    title = "constant k, corrected by what eq. 2 misses in the runs on the average: an extrapolation"
    columns = (
        "shift [degC]",
        "share too hot",
        "bootstrap of\nruns, 5 to 95 %",
        "rise [K]: runs,\napplication",
        "flux [W/m^2]:\nruns, application",
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


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title, "bold"), box=box.SIMPLE_HEAD, pad_edge=False)
    # in a narrow terminal cells are broken, not cut off, and headings between words
    for place, column in enumerate(columns):
        longest = max(map(len, column.split()))
        table.add_column(
            column, justify="right" if place else "left", no_wrap=not place, overflow="fold", min_width=longest
        )
    return table

"""The thermal challenge as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from replay.tables import report_console

if TYPE_CHECKING:
    from replay.studies.thermal.compliance import FailureProbability
    from replay.studies.thermal.study import LevelStudy, ThermalStudy
    from replay.studies.thermal.validation import ToleranceResult
    from sim.models.thermal_population import Characterization, Conductivity, PropertyFit


_SHOWN = ("first_passage", "accumulated")


def print_study(study: ThermalStudy) -> None:
    """Print every table of results of the paper next to ours, and the decision at each level of data."""
    from replay.studies.thermal.statement import RULE

    console = report_console(wrap=True)
    console.print(_sources() + "\n")
    _show(console, _check(study), _convergence(study), *map(_properties, study.levels), _fits(study))
    validation = {each.level: each.validation for each in study.levels}
    accreditation = {each.level: each.accreditation for each in study.levels}
    _show(console, _reliability("validation on the fronts of configurations 1 to 4", validation))
    _show(console, _reliability("accreditation at three depths", accreditation))
    console.print(
        "within: the tolerance, a share of the measured temperature in degC. Time zero, where model and specimen "
        f"agree, is left out. Each value is of {study.n_specimens} specimens of the model; its standard error is "
        f"{0.5 / sqrt(study.n_specimens):.2g} or less.\n"
    )
    _show(console, _decision(study))
    console.print(
        f"Monte Carlo: ± one standard error (Agresti and Coull's). Bootstrap: quadrature with {study.n_resampled} "
        "data sets as they might have been measured. These three columns are of normal properties; lognormal and "
        "resampled (each property as it was measured) are by quadrature.\n"
    )
    for level in study.levels:
        _print_statement(console, level)
    console.print(RULE + "\n")
    _show(console, _bias_correction(study))


def _check(study: ThermalStudy) -> Table:
    """Return Table 2 next to eq. 2."""
    table = _table(
        "Table 2: eq. 2 on the front of the slab of Table 1, degC", "time [s]", "paper", "ours", "difference"
    )
    for time, paper, ours in study.check.tolist():
        table.add_row(f"{time:g}", f"{paper:.6f}", f"{ours:.6f}", f"{ours - paper:.1e}")
    return table


def _convergence(study: ThermalStudy) -> Table:
    """Return the solver's error over cells and steps."""
    title = "finite volumes: error of the front at 1000 s of the application, degC"
    table = _table(title, "cells and steps", "constant k", "k(T)")
    found = study.convergence
    for n, *errors in zip(found.n_cells, found.constant, found.temperature_dependent, strict=True):
        table.add_row(str(n), *(f"{error:.4f}" for error in errors))
    return table


def _properties(level: LevelStudy) -> Table:
    """Return the material properties from the specimens of a level."""
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


def _fits(study: ThermalStudy) -> Table:
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


def _reliability(title: str, levels: Mapping[str, Mapping[Conductivity, tuple[ToleranceResult, ...]]]) -> Table:
    """Return first-passage and accumulated reliability of an activity at every level."""
    first = next(iter(levels.values()))
    names = list(next(iter(first.values()))[0].all)
    full = f"{title}: first-passage and accumulated reliability over all instants"
    table = _table(full, "level, model", "within", *names)
    for level, models in levels.items():
        for which, reliabilities in models.items():
            for place, found in enumerate(reliabilities):
                cells = [
                    " ".join(f"{getattr(curves, metric).value[-1]:.2f}" for metric in _SHOWN)
                    for curves in found.all.values()
                ]
                name = "" if place else f"{level}, {which.label}"
                table.add_row(name, f"{100.0 * found.tolerance:g} %", *cells)
    return table


def _decision(study: ThermalStudy) -> Table:
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


def _bias_correction(study: ThermalStudy) -> Table:
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


def _sources() -> str:
    """Return what the numbers of tables, equations and configurations are."""
    from sim.models.thermal_tables import ACCREDITATION, APPLICATION, configurations

    tests = configurations()
    words = {name: f"{test.flux:g} W/m^2, {1e3 * test.thickness:g} mm" for name, test in tests.items()}
    numbered = "; ".join(f"{name}: {words[name]}" for name in "1234")
    return (
        "Numbers of tables and equations are those of Dowding, Pilch and Hills (2006): eq. 1 is the requirement, "
        "eq. 2 the temperature with constant properties, Table 4 the material, Table 6 the runs of validation, Table "
        f"8 those of accreditation. Configurations: {numbered}; {ACCREDITATION}: {words[ACCREDITATION]}; "
        f"{APPLICATION}: {words[APPLICATION]}. Run 2.3 is the third of configuration 2."
    )


def _show(console: Console, *tables: Table) -> None:
    """Print each under its title, which in a table would be broken at the table's width."""
    for table in tables:
        console.print(table.title)
        table.title = None
        console.print(table)


def _print_statement(console: Console, level: LevelStudy) -> None:
    """Print the verdict, and under it what it rests on."""
    verdict, *grounds = level.statement.splitlines()
    console.print(Text(verdict, "bold"))
    for line in grounds:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print()


_IN_JSON = ("instantaneous", "first_passage", "accumulated")


def as_json(study: ThermalStudy) -> dict[str, Any]:
    """Return the study, in SI and degC."""
    from replay.studies.thermal.statement import RULE

    levels = {each.level: each for each in study.levels}
    convergence = study.convergence
    return {
        "study": "thermal",
        "realizations": study.n_units,
        "bootstrap_data_sets": study.n_resampled,
        "specimens": study.n_specimens,
        "table2_max_error": study.table2_max_error,
        "table2": [dict(zip(("time_s", "paper", "ours"), row, strict=True)) for row in study.check.tolist()],
        "convergence": {
            "n_cells": convergence.n_cells,
            "error_constant": convergence.constant,
            "error_temperature_dependent": convergence.temperature_dependent,
        },
        "fits": study.fits,
        "characterization": {name: _characterization(each.characterization) for name, each in levels.items()},
        "validation": {name: _activity(each, "validation") for name, each in levels.items()},
        "accreditation": {name: _activity(each, "accreditation") for name, each in levels.items()},
        "share_of_model_cooler_at_the_end": {name: each.share_cooler for name, each in levels.items()},
        "failure_probability": {
            name: {which: _failure(found) for which, found in each.failure.items()} for name, each in levels.items()
        },
        "decision_rule": RULE,
        "decision": {name: _decision_json(each) for name, each in levels.items()},
        "bias_correction": {
            name: asdict(each.bias) | {"extrapolates": each.bias.extrapolates} for name, each in levels.items()
        },
    }


def _characterization(found: Characterization) -> dict[str, Any]:
    fits = {"conductivity_line": found.line, "conductivity": found.constant}
    fits |= {"heat_capacity_line": found.capacity_line, "heat_capacity": found.capacity}
    return {
        "representative_temperature": found.representative_temperature,
        **{name: _fit(fit) for name, fit in fits.items()},
    }


def _fit(fit: PropertyFit) -> dict[str, Any]:
    return {
        "coefficients": fit.coefficients,
        "standard_errors": fit.standard_errors,
        "interval_95": fit.interval(),
        "residual_deviation": fit.residual_deviation,
        "residual_deviation_95": fit.deviation_interval(),
        "slope_p_value": fit.slope_p_value,
    }


def _activity(level: LevelStudy, activity: str) -> dict[str, Any]:
    return {which: [_at_tolerance(each) for each in found] for which, found in getattr(level, activity).items()}


def _at_tolerance(found: ToleranceResult) -> dict[str, Any]:
    return {
        "tolerance": found.tolerance,
        "first_instant_left_out": True,
        **{
            name: {metric: getattr(curves, metric).value[-1] for metric in _IN_JSON}
            | {"standard_error": {metric: getattr(curves, metric).standard_error[-1] for metric in _IN_JSON}}
            for name, curves in found.all.items()
        },
    }


def _failure(found: FailureProbability) -> dict[str, float]:
    low, high = found.interval
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "quadrature": found.quadrature,
        "bootstrap_05": low,
        "bootstrap_95": high,
    }


def _decision_json(level: LevelStudy) -> dict[str, Any]:
    return {
        "statement": level.statement,
        "verdict": level.verdict,
        "share_of_resampled_data_that_comply": {
            which: found.share_complying for which, found in level.failure.items()
        },
        "other_families": {which: found.families for which, found in level.failure.items()},
    }

"""The thermal challenge for a reader: tables, and the verdict at each level of data."""

from __future__ import annotations

import sys
from math import sqrt
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from replay.studies.thermal.report_tables import (
    bias_correction,
    check,
    convergence,
    decision,
    fits,
    properties,
    reliability,
)

if TYPE_CHECKING:
    from replay.studies.thermal.study import LevelStudy, ThermalStudy


def print_study(study: ThermalStudy) -> None:
    """Print every table of the paper that holds results beside ours, and the decision at each level of data."""
    from replay.studies.thermal.statement import RULE

    console = Console(width=None if sys.stdout.isatty() else 110, markup=False, highlight=False)
    console.print(_sources() + "\n")
    _show(console, check(study), convergence(study), *map(properties, study.levels), fits(study))
    validation = {each.level: each.validation for each in study.levels}
    accreditation = {each.level: each.accreditation for each in study.levels}
    _show(console, reliability("validation on the fronts of configurations 1 to 4", validation))
    _show(console, reliability("accreditation at three depths", accreditation))
    console.print(
        "within: the tolerance, a share of the measured temperature in degC. Time zero, where model and specimen "
        f"agree, is left out. Each value is of {study.n_specimens} specimens of the model; its standard error is "
        f"{0.5 / sqrt(study.n_specimens):.2g} or less.\n"
    )
    _show(console, decision(study))
    console.print(
        f"Monte Carlo: ± one standard error (Agresti and Coull's). Bootstrap: quadrature with {study.n_resampled} "
        "data sets as they might have been measured. These three columns are of normal properties; lognormal and "
        "resampled (each property as it was measured) are by quadrature.\n"
    )
    for level in study.levels:
        _tell(console, level)
    console.print(RULE + "\n")
    _show(console, bias_correction(study))


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


def _tell(console: Console, level: LevelStudy) -> None:
    """Print the verdict, and under it what it rests on."""
    verdict, *grounds = level.statement.splitlines()
    console.print(Text(verdict, "bold"))
    for line in grounds:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    console.print()

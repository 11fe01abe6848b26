"""The thermal challenge for a reader: tables, and the verdict at each level of data."""

from __future__ import annotations

import sys
from math import sqrt
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.commands.studies.thermal_tables import (
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
    _show(console, check(study), convergence(study), *map(properties, study.levels), fits(study))
    _show(console, reliability("validation, front", {each.level: each.validation for each in study.levels}))
    _show(console, reliability("accreditation", {each.level: each.accreditation for each in study.levels}))
    console.print(
        "within: the tolerance, a share of the measured temperature in degC. Time zero, where model and specimen "
        f"agree, is left out. Each value is of {study.n_specimens} specimens of the model; its standard error is "
        f"{0.5 / sqrt(study.n_specimens):.2g} or less.\n"
    )
    _show(console, decision(study))
    for level in study.levels:
        _tell(console, level)
    console.print(RULE + "\n")
    _show(console, bias_correction(study))


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

"""Tables and JSON of the reliability examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from replay.tables import report_console

if TYPE_CHECKING:
    from replay.studies.reliability.study import Case, ReliabilityStudy

_SHOWN = ("instantaneous", "first_passage", "accumulated")
_MUST = "what it must be"


def as_json(study: ReliabilityStudy) -> dict[str, Any]:
    """Return every case at the end of the horizon, with its oracle."""
    return {
        "study": study.name,
        "quantity": study.ensemble.name,
        "unit": study.ensemble.unit,
        "realizations": study.ensemble.n_realizations,
        "replicates": study.good.shape[1],
        "horizon_s": float(study.ensemble.time[-1]),
        "cases": [_case(case) for case in study.cases],
        "as_printed": [_case(case) for case in study.literal],
        "tolerances": [_case(case) for case in study.thresholds],
    }


def _case(case: Case) -> dict[str, Any]:
    curves = {name: getattr(case.reliability, name) for name in _SHOWN}
    found: dict[str, Any] = {
        "model": "bad" if case.bad else "good",
        "tolerance": case.tolerance,
        "policy": case.policy,
        **{name: curve.value[-1] for name, curve in curves.items()},
        "standard_error": {name: curve.standard_error[-1] for name, curve in curves.items()},
    }
    if case.oracle is not None:
        known = {name: getattr(case.oracle, name)[-1] for name in _SHOWN}
        errors = dict(zip(_SHOWN, case.oracle.errors, strict=True))
        found["oracle"] = {**known, "standard_error": errors, "method": case.oracle.method}
    return found


def print_study(study: ReliabilityStudy) -> None:
    """Print the cases at the end of the horizon, and how the tolerance decides."""
    from replay.validation.tolerance_choice import OF_WHAT

    console = report_console(wrap=True)
    ensemble = study.ensemble
    console.print(
        f"{ensemble.name}: {ensemble.n_realizations} realizations, {study.good.shape[1]} replicates, at "
        f"{ensemble.time[-1]:g} s\n"
    )
    policy = study.cases[0].policy
    console.print(_cases(f"reliability ± standard error; tolerance: a share {OF_WHAT[policy]}", study.cases))
    known = study.cases[0].oracle
    if known is not None:
        console.print(f"{_MUST}: {known.method}\n")
    if study.literal:
        title = f"tolerance as the paper prints it: a share {OF_WHAT[study.literal[0].policy]}"
        console.print(_cases(title, study.literal))
    console.print(_cases("good model, by tolerance", study.thresholds))


def _cases(title: str, cases: Sequence[Case]) -> Table:
    table = Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model")
    table.add_column("tolerance", justify="right")
    for name in _SHOWN:
        table.add_column(name.replace("_", "-"), justify="right")
    for case in cases:
        curves = [getattr(case.reliability, name) for name in _SHOWN]
        found = [_cell(curve.value[-1], curve.standard_error[-1]) for curve in curves]
        table.add_row("bad" if case.bad else "good", f"{100.0 * case.tolerance:g} %", *found)
        if case.oracle is not None:
            values = [getattr(case.oracle, name)[-1] for name in _SHOWN]
            table.add_row("", _MUST, *map(_cell, values, case.oracle.errors), style="dim")
    return table


def _cell(value: float, error: float) -> str:
    # an error of zero is that of an exact value, and keeps its place in the column
    return f"{value:.4f} ± {error:.4f}" if error else f"{value:.4f}         "

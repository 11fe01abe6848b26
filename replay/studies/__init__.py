"""Studies: the examples of papers, compared with the printed results; one paper, one folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What a study found.

    Parameters
    ----------
    as_json : makes what ``--json`` prints, see `to_json_types`: of arrays and dataclasses too, NaN as null.
    show : prints the tables.
    draw : writes the pictures into a folder that is there, and returns their files.
    """

    as_json: Callable[[], dict[str, Any]]
    show: Callable[[], None]
    draw: Callable[[Path], tuple[Path, ...]]


def study_result(study: object, tables: str, pictures: str, json: str | None = None) -> StudyResult:
    """Return a study with its modules below `replay.studies`, which are imported when they are used.

    Parameters
    ----------
    study : what was found.
    tables : the module that has `print_study(study)`.
    pictures : the module that has `draw(study, folder)`.
    json : the module that has `as_json(study)`; None: that of the tables.
    """

    def call(module: str, function: str, *arguments: object) -> Any:
        return getattr(import_module(f"replay.studies.{module}"), function)(study, *arguments)

    return StudyResult(
        lambda: call(json or tables, "as_json"),
        lambda: call(tables, "print_study"),
        lambda folder: call(pictures, "draw", folder),
    )

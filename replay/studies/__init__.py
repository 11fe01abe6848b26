"""Studies: the examples of papers, compared with the printed results; one paper, one folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

"""What a study found, in every form that it can be told in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """What a study found.

    Parameters
    ----------
    as_json : makes the object that ``--json`` prints.
    show : prints the tables.
    draw : writes the pictures into a folder that is there, and returns their files.
    """

    as_json: Callable[[], dict[str, Any]]
    show: Callable[[], None]
    draw: Callable[[Path], tuple[Path, ...]]

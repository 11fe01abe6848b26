"""The columns that were chosen on the command line, of a file written by others."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.formats import Selection


def column_selection(arguments: argparse.Namespace, *, auxiliary: bool = False) -> Selection:
    """Return what was chosen of the columns.

    Raises
    ------
    RecordingError : the choice contradicts itself.
    """
    from replay.formats import Selection

    return Selection(
        command=tuple(arguments.command),
        measured=tuple(arguments.measured),
        force=tuple(arguments.force),
        time=arguments.time,
        rate=arguments.rate,
        auxiliary=auxiliary,
    )

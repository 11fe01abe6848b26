"""The commands that read recordings, run simulations and studies, or play them as a rig would."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.formats import Selection


def column_selection(arguments: argparse.Namespace, *, auxiliary: bool = False) -> Selection:
    """Return the columns that were chosen by options.

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
        dataset=arguments.dataset,
        resample=arguments.resample,
        remember=arguments.remember,
    )

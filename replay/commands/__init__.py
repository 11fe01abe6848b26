"""The commands that read recordings, run simulations and studies, or play them as a rig would."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.formats import Recording, Selection


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


def given_indicators(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings of the indicators in the options, or else in the settings file."""
    from monitor.commands.options import given_settings
    from monitor.config import load_settings

    configured: dict[str, object] = {}
    if arguments.config is not None:
        configured = load_settings(arguments.config, {}).indicators.model_dump(exclude_unset=True)
    return {**configured, **given_settings(arguments).get("indicators", {})}


def recording_part(path: Path, recording: Recording, arguments: argparse.Namespace) -> Recording:
    """Return the part between ``--start`` and ``--stop``, or the whole.

    Raises
    ------
    ValueError : the recording has no such part.
    """
    from replay.formats.parts import RecordingPart

    if arguments.start is None and arguments.stop is None:
        return recording
    start = 0.0 if arguments.start is None else arguments.start
    try:
        return RecordingPart(recording, start, math.inf if arguments.stop is None else arguments.stop)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from problem

"""A fit as the JSON that scripts read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.json_values import number
from replay.commands.identify_names import shown
from replay.identification.fit_json import fit_json

if TYPE_CHECKING:
    from monitor.messages.blocks import Stream
    from replay.formats import Recording
    from replay.identification.actuators import ActuatorFit, Identified


def as_json(path: Path, recording: Recording | None, found: Identified) -> dict[str, Any]:
    """Return what was identified of one record, or why nothing was; null where there is no value.

    A name says the unit where it is one of time; the others are those of the channels.
    """
    return {
        "file": str(path),
        "sample_rate": recording.stream.sample_rate if recording else None,
        "notes": list(recording.notes) if recording else [],
        "actuators": [_actuator(each, recording.stream) for each in found.fits] if recording else [],
        "problems": list(found.problems),
    }


def _actuator(found: ActuatorFit, stream: Stream) -> dict[str, Any]:
    command, measured = stream.channels[found.pair.command], stream.channels[found.pair.measured]
    keys = tuple(shown(name, command, measured).key for name in found.fit.names)
    # what was asked for and is not told has no value, but its name
    nothing = {shown(name, command, measured).key: None for name in found.not_told}
    fit = fit_json(replace(found.fit, names=keys))
    errors = dict(zip(keys, map(number, found.fit.correlated_standard_errors.tolist()), strict=True))
    intervals = [[number(end) for end in interval] for interval in found.fit.intervals().tolist()]
    return {
        "actuator": found.pair.actuator,
        "command": command.name,
        "measured": measured.name,
        **fit,
        "estimates": fit["estimates"] | nothing,
        "standard_errors": fit["standard_errors"] | nothing,
        "correlated_standard_errors": errors | nothing,
        "interval_95": dict(zip(keys, intervals, strict=True)) | nothing,
        "unidentified": [*fit["unidentified"], *nothing],
        "rivals": [dict(zip(keys, rival, strict=False)) for rival in found.rivals.tolist()],
        "explained": number(found.explained),
        "compared": found.compared,
        "left_out": found.left_out,
        "warnings": list(found.warnings),
        "notes": list(found.notes),
    }

"""The work on one file of an archive: a function that runs anywhere, and returns plain values."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.assessment.summary import Value, summarise
from replay.formats import RecordingError, Selection, open_recording

# results a second: as many as the monitor publishes by default; an indicator changes over its window
_RESULTS_RATE = 200.0


@dataclass(frozen=True)
class Assigned:
    """A file to assess: where it is, its name in the table, settings that were given, and columns."""

    path: str
    name: str
    given: dict[str, Any]
    selection: Selection


def assess_file(assigned: Assigned) -> list[dict[str, Value]]:
    """Return a row for each actuator of a run.

    Raises
    ------
    RecordingError : this machine does not have the file, or it cannot be read.
    ValueError : the settings do not fit it.
    ModuleNotFoundError : a package of its format is not installed on this machine.
    """
    path = Path(assigned.path)
    if not path.exists():
        raise RecordingError(
            f"{path}: the worker on {socket.gethostname()} has no such file: it must be there by the same path on "
            "every machine"
        )
    recording = open_recording(path, assigned.selection)
    settings, _ = record_settings(recording, assigned.given)
    if "every" not in assigned.given:
        every = max(settings.every, int(recording.stream.sample_rate // _RESULTS_RATE))
        settings = settings.model_copy(update={"every": every})
    # FEI is not in the table
    assessment = assess(recording, settings, fei=False)
    return [{**row, "problem": None} for row in summarise(assigned.name, recording, assessment).actuator_rows()]

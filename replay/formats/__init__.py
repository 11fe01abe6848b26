"""Files -> recordings, whatever their format."""

from __future__ import annotations

from pathlib import Path

from replay.formats import openfresco, run_file, text
from replay.formats.base import ArrayRecording, Recording, RecordingError, Selection

__all__ = ["ArrayRecording", "Recording", "RecordingError", "Selection", "open_recording"]

_FORMATS = (run_file.FORMAT, openfresco.FORMAT, text.FORMAT)  # asked in this order
_HEAD = 4096
_EVERYTHING = Selection()


def open_recording(path: str | Path, selection: Selection = _EVERYTHING) -> Recording:
    """Return the recording in the file `path`.

    Raises
    ------
    RecordingError : the file cannot be read, or is nothing that this program understands; one line.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head:
            raise RecordingError(f"{path}: the file is empty")
        for known in _FORMATS:
            if known.accepts(path, head, selection):
                return known.open(path, selection)
    except OSError as problem:
        raise RecordingError(f"{path}: {(problem.strerror or str(problem)).lower()}") from problem
    names = ", ".join(known.name for known in _FORMATS)
    raise RecordingError(f"{path}: not a recording; this program reads {names}")

"""Thousands of recorded runs -> one table, a row for each actuator of a run."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay import Progress, silent
from replay.archive.files import FoundFile, find_files
from replay.archive.table import FinishedRows, write_table
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.assessment.summary import Value, summarise
from replay.formats import RecordingError, Selection, open_recording
from replay.workers import Failure, Workers, run_tasks

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


__all__ = ["Archive", "ArchiveResult", "assess_archive", "find_files"]

_EVERYTHING = Selection()


@dataclass(frozen=True)
class Archive:
    """What is assessed, and how.

    Parameters
    ----------
    folders : searched through all subfolders; or files.
    table : ``.parquet`` or ``.csv``; beside it is ``TABLE.rows`` with the rows of the files that are finished.
    given : settings of the indicators that were given.
    selection : columns, the same for all files.
    """

    folders: tuple[Path, ...]
    table: Path
    given: Mapping[str, object]
    selection: Selection = _EVERYTHING


@dataclass(frozen=True)
class ArchiveResult:
    """What became of the files.

    Parameters
    ----------
    files : recordings that were found.
    rows : of the table.
    unchanged : files whose rows were there already.
    problems : file and one line, of each that has no result.
    """

    files: int
    rows: int
    unchanged: int
    problems: tuple[tuple[str, str], ...]


def assess_archive(archive: Archive, workers: Workers, progress: Progress = silent) -> ArchiveResult:
    """Assess every recording and write the table, in the order of the paths, whatever the workers.

    Rows of finished files are written to ``TABLE.rows`` at once; after an interruption the same call goes on from
    there. A file whose size or time of modification has changed is assessed again.

    Parameters
    ----------
    workers : started.
    progress : receives the number of files done.

    Raises
    ------
    ValueError : there are no recordings.
    WorkersLostError : the workers are gone; what is finished is kept.
    WriteError : the table cannot be written.
    """
    files = find_files(archive.folders, leave_out=archive.table)
    if not files:
        raise ValueError(f"{', '.join(map(str, archive.folders))}: no recordings in there")
    with FinishedRows(archive) as finished:
        rows = {file.name: known for file in files if (known := finished.of(file)) is not None}
        unchanged = len(rows)
        problems = {file.name: file.problem for file in files if file.problem is not None}
        to_do = [file for file in files if file.name not in rows and file.name not in problems]
        progress("files", unchanged + len(problems), len(files))
        for file, result in _results(archive, workers, to_do):
            if isinstance(result, str):
                problems[file.name] = result
            else:
                rows[file.name] = result
                finished.add(file, result)
            progress("files", len(rows) + len(problems), len(files))
        finished.leave_only(files)
    table: list[dict[str, Value]] = []
    for file in files:
        found = rows.get(file.name)
        table += [{"file": file.name, "problem": problems[file.name]}] if found is None else found
    write_table(archive.table, table)
    return ArchiveResult(len(files), len(table), unchanged, tuple(problems.items()))


def _results(
    archive: Archive, workers: Workers, files: list[FoundFile]
) -> Iterator[tuple[FoundFile, list[dict[str, Value]] | str]]:
    """Yield the rows of each file, or its problem, as they are ready."""
    assigned = [
        Assigned(str(file.path.absolute()), file.name, dict(archive.given), archive.selection) for file in files
    ]
    for outcome in run_tasks(workers, assess_file, assigned):
        file, result = files[outcome.number], outcome.result
        yield file, (_about(file, result.text) if isinstance(result, Failure) else result)


def _about(file: FoundFile, text: str) -> str:
    """Return what a problem is, without the name of the file, which the row has."""
    for name in (str(file.path.absolute()), str(file.path)):
        text = text.removeprefix(f"{name}: ")
    return text

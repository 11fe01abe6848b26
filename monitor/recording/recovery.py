"""Recovery of a run file that was left by a killed service, cut short or damaged."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Role
from monitor.recording import contents, layout
from monitor.recording.contents import HDF5_ERRORS
from monitor.recording.layout import EVENT_TYPE, EventTable, RunFileError, stored_text
from monitor.recording.opening import open_run_file
from monitor.recording.reader import RunReader
from monitor.recording.swmr_file import DISK_ERRORS, error_text, rename_to_free_name
from monitor.recording.verification import ChecksumTable, IntegrityReport, Progress, no_progress, verify_run

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Salvage:
    """The readable contents of a damaged or unfinished run file.

    Parameters
    ----------
    attributes : of the file.
    tables : settings, channels and, with results, result columns.
    series : datasets of samples and results, in the order of writing.
    rows : number of complete rows of each group.
    allocated : number of rows of samples, complete or not.
    events : as stored.
    checks : the stored checksums, so that doubtful rows stay doubtful; None in a file of an older version.
    outcome : the stored outcome word.
    warnings : one line per damaged or doubtful part.
    """

    attributes: dict[str, Any]
    tables: dict[str, NDArray[Any]]
    series: dict[str, tuple[h5py.Dataset, ...]]
    rows: dict[str, int]
    allocated: int
    events: EventTable
    checks: NDArray[np.void] | None
    outcome: str
    warnings: tuple[str, ...]


def salvage(file: h5py.File, size: int, growing: bool, progress: Progress = no_progress) -> Salvage:
    """Find the readable parts of an open file of `size` bytes; `growing`: it was not closed.

    Raises
    ------
    OSError, RuntimeError, ValueError, KeyError, TypeError : the samples themselves, or their rate, are lost.
    """
    warnings: list[str] = []

    def read_or(what: str, read: Callable[[], Found], default: Found, effect: str = "they are left out") -> Found:
        try:
            return read()
        except HDF5_ERRORS:
            warnings.append(f"{what} cannot be read: {effect}")
            return default

    known = read_or("the checksums", lambda: ChecksumTable.read(file, size, tolerant=True), ChecksumTable(None))

    def complete_rows(name: str) -> int:
        return contents.written_rows(file, name, size, tolerant=True, checked=known.covered(name))

    def results() -> tuple[NDArray[Any], tuple[h5py.Dataset, ...], int]:
        contents.read_result_stream(file, 0)
        return (
            contents.read_whole(file, layout.COLUMNS),
            contents.series(file, layout.RESULTS),
            complete_rows(layout.RESULTS),
        )

    rate = contents.sample_rate(file)
    series = {layout.SIGNALS: contents.series(file, layout.SIGNALS)}
    rows = {layout.SIGNALS: complete_rows(layout.SIGNALS)}
    generic = layout.text_table(_unnamed_channels(file, series[layout.SIGNALS][0].shape[1]))
    tables = {
        layout.SETTINGS: read_or(
            "the settings", lambda: contents.read_whole(file, layout.SETTINGS), layout.fixed_text("{}")
        ),
        layout.CHANNELS: read_or("the channels", lambda: _channels(file), generic, "names and roles are lost"),
    }
    if contents.has_results(file):
        found = read_or("the results", results, None)
        if found is not None:
            tables[layout.COLUMNS], series[layout.RESULTS], rows[layout.RESULTS] = found
    no_events = np.empty(0, EVENT_TYPE)
    events = read_or("the events", lambda: contents.event_table(file, size, tolerant=True), no_events)
    n_samples, n_results = rows[layout.SIGNALS], rows.get(layout.RESULTS, 0)
    integrity = verify_run(file, known, n_samples, n_results, len(events), rate, growing, progress)
    intact = {name for name, table in tables.items() if table is not generic}
    return Salvage(
        _attributes(file),
        tables,
        series,
        rows,
        contents.allocated_rows(file, layout.SIGNALS),
        events,
        _valid_checks(known, integrity, series, events, intact),
        read_or("the outcome", lambda: contents.read_outcome(file), layout.UNKNOWN, "it is unknown"),
        (*warnings, *integrity.messages()),
    )


def _channels(file: h5py.File) -> NDArray[Any]:
    contents.read_stream(file, 0)
    return contents.read_whole(file, layout.CHANNELS)


def _unnamed_channels(file: h5py.File, width: int) -> list[Channel]:
    """Return auxiliary channels, with their own names if these can be read."""
    default = [f"column_{number + 1}" for number in range(width)]
    try:
        names = [stored_text(row["name"]) for row in contents.dataset(file, layout.CHANNELS)[()]]
    except HDF5_ERRORS:
        names = default
    usable = len(names) == width == len(set(names))
    return [Channel(name, Role.AUXILIARY) for name in (names if usable else default)]


def _attributes(file: h5py.File) -> dict[str, Any]:
    texts = {name: layout.fixed_text(stored_text(file.attrs.get(name, b""))) for name in ("format", "rig", "created")}
    every = file.attrs.get("every", 0)
    return texts | {"version": layout.VERSION, "sample_rate": contents.number(file, "sample_rate"), "every": every}


def _valid_checks(
    known: ChecksumTable,
    integrity: IntegrityReport,
    series: dict[str, tuple[h5py.Dataset, ...]],
    events: EventTable,
    tables: set[str],
) -> NDArray[np.void] | None:
    """Return the checksums of the recovered parts; rows written just before a kill get their first one."""
    if not known.present:
        return None
    checks = [known.rows_of(name) for name in tables]
    checked_parts = {
        layout.SIGNALS: (integrity.signals, series[layout.SIGNALS]),
        layout.RESULTS: (integrity.results, series.get(layout.RESULTS, ())),
        layout.EVENTS: (integrity.events, (events,)),
    }
    for part, (found, columns) in checked_parts.items():
        own = known.rows_of(part)
        checks.append(own[own["start"] <= found.rows - own["rows"]])
        # but not those whose checksum was damaged
        for start, stop in found.unchecked if not known.damaged else ():
            checks.append(layout.check_table([layout.check_row(part, start, [c[start:stop] for c in columns])]))
    return np.concatenate(checks)


_SLICE_BYTES = 1 << 23
_METADATA_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """Result of a recovery.

    Parameters
    ----------
    path : the new file.
    samples, results, events : number of recovered rows.
    trimmed : number of incomplete rows of samples, which are left out.
    outcome_found : the outcome word of the old file; ``open`` if it was not closed.
    warnings : one line per damaged part, and per span of doubtful rows.
    """

    path: Path
    samples: int
    results: int
    events: int
    trimmed: int
    outcome_found: str
    warnings: tuple[str, ...] = ()


def recover(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, progress: Progress = no_progress
) -> RecoveryResult:
    """Write the readable parts of `path` to a new file that every HDF5 reader can open; `path` is not changed.

    Parameters
    ----------
    out : the new file; default ``<stem>.recovered.h5`` in the same folder, or ``-2``, ``-3`` ...
    progress : called while reading and writing.

    Raises
    ------
    RunFileError : nothing can be read, `out` exists, or the disk is full.
    """
    source = Path(path)
    wanted = Path(out) if out is not None else source.with_name(f"{source.stem}.recovered.h5")
    if out is not None and wanted.exists():
        raise RunFileError(f"{wanted} exists: choose another name")
    if not wanted.parent.is_dir():
        raise RunFileError(f"{wanted}: the folder does not exist")
    temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}.part")
    with open_run_file(source) as (file, block):
        try:
            found = salvage(file, block.size, block.writing, progress)
            _check_disk_space(found, wanted)
        except RunFileError:
            raise
        except HDF5_ERRORS as problem:
            raise RunFileError(f"{source} is damaged: its samples or sample rate cannot be read") from problem
        try:
            with h5py.File(temporary, "w", libver=layout.OLD_LIBRARY_VERSION) as target:
                _write(found, target, progress)
            recovered = rename_to_free_name(temporary, wanted)
        except DISK_ERRORS as problem:
            raise RunFileError(f"{wanted} could not be written: {error_text(problem)}") from problem
        finally:
            temporary.unlink(missing_ok=True)
    samples = found.rows[layout.SIGNALS]
    with RunReader(recovered) as run:
        late = run.results_message()
    return RecoveryResult(
        recovered,
        samples=samples,
        results=found.rows.get(layout.RESULTS, 0),
        events=len(found.events),
        trimmed=found.allocated - samples,
        outcome_found=found.outcome,
        warnings=(*found.warnings, *([late] if late else [])),
    )


def _check_disk_space(found: Salvage, wanted: Path) -> None:
    # HDF5 crashes the process on a full disk
    need = _METADATA_BYTES + sum(
        found.rows[name] * dataset.dtype.itemsize * math.prod(dataset.shape[1:])
        for name, columns in found.series.items()
        for dataset in columns
    )
    have = shutil.disk_usage(wanted.parent).free
    if need > have:
        raise RunFileError(f"{wanted} needs {need >> 20} MB, but its disk has {have >> 20} MB left")


def _write(found: Salvage, target: h5py.File, progress: Progress) -> None:
    for name, value in found.attributes.items():
        target.attrs[name] = value
    for name, table in found.tables.items():
        target.create_dataset(name, data=layout.ascii_texts(table) if name == layout.SETTINGS else table)
    layout.create_lists(target)
    target.create_dataset(layout.OUTCOME, data=layout.RECOVERED.encode(), dtype=layout.OUTCOME_TYPE)
    for name, columns in found.series.items():
        for column, dataset in zip(layout.series_names(name), columns, strict=True):
            _copy_rows(dataset, target, f"{name}/{column}", found.rows[name], progress)
    target.create_dataset(layout.EVENTS, data=found.events)
    if found.checks is not None:
        target.create_dataset(layout.CHECKS, data=found.checks)


def _copy_rows(dataset: h5py.Dataset, target: h5py.File, name: str, count: int, progress: Progress) -> None:
    shape = (count, *dataset.shape[1:])
    copy = target.create_dataset(name, shape, dataset.dtype)
    step = max(1, _SLICE_BYTES // max(1, dataset.dtype.itemsize * math.prod(shape[1:])))
    for start in range(0, count, step):
        stop = min(count, start + step)
        copy[start:stop] = dataset[start:stop]
        progress(f"writing {name}", stop, count)

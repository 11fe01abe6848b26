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
from monitor.recording import checksums, contents, layout, parts
from monitor.recording.event_table import EVENT_TYPE, stored_text
from monitor.recording.growing import DISK_ERRORS, place, reason
from monitor.recording.layout import RunFileError
from monitor.recording.verification import Checks, IntegrityReport, verify_run

Found = TypeVar("Found")
_GENERIC = "their names and roles are lost"


@dataclass(frozen=True, slots=True, eq=False)
class Salvage:
    """What is whole of a run file.

    Parameters
    ----------
    attributes : of the file.
    tables : settings, channels and, with results, result columns.
    series : the datasets of samples and results, in the order of writing.
    rows : of each, those that are whole.
    placed : rows of samples that have a place in the file.
    events : as they are stored.
    checks : of all that, as it was written: what is doubtful stays so; None in a file from before there were any.
    outcome : the word found.
    doubts : what is damaged or doubtful, a line each.
    """

    attributes: dict[str, Any]
    tables: dict[str, NDArray[Any]]
    series: dict[str, tuple[h5py.Dataset, ...]]
    rows: dict[str, int]
    placed: int
    events: layout.Table
    checks: NDArray[np.void] | None
    outcome: str
    doubts: tuple[str, ...]


def salvage(file: h5py.File, size: int, growing: bool) -> Salvage:
    """Look for all that is whole in an open file of `size` bytes; `growing` says that it was not closed.

    Raises
    ------
    OSError, RuntimeError, ValueError, KeyError, TypeError : the samples themselves, or their rate, are lost.
    """
    lost: list[str] = []

    def or_without(what: str, read: Callable[[], Found], instead: Found, so: str = "they are left out") -> Found:
        try:
            return read()
        except parts.HDF5_ERRORS:
            lost.append(f"{what} cannot be read: {so}")
            return instead

    known = or_without("the checksums", lambda: contents.read_checks(file, size, tolerant=True), contents.no_checks())

    def whole(name: str) -> int:
        return contents.written_rows(file, name, size, tolerant=True, checked=known.covered(name))

    def results() -> tuple[NDArray[Any], tuple[h5py.Dataset, ...], int]:
        contents.read_result_stream(file, 0)
        return parts.whole(file, layout.COLUMNS), parts.series(file, layout.RESULTS), whole(layout.RESULTS)

    rate = parts.sample_rate(file)
    series = {layout.SIGNALS: parts.series(file, layout.SIGNALS)}
    rows = {layout.SIGNALS: whole(layout.SIGNALS)}
    generic = layout.text_table(_without_roles(file, series[layout.SIGNALS][0].shape[1]))
    tables = {
        layout.SETTINGS: or_without(
            "the settings", lambda: parts.whole(file, layout.SETTINGS), layout.fixed_text("{}")
        ),
        layout.CHANNELS: or_without("the channels", lambda: _channels(file), generic, _GENERIC),
    }
    if contents.has_results(file):
        found = or_without("the results", results, None)
        if found is not None:
            tables[layout.COLUMNS], series[layout.RESULTS], rows[layout.RESULTS] = found
    nobody = np.empty(0, EVENT_TYPE)
    events = or_without("the events", lambda: contents.event_rows(file, size, tolerant=True), nobody)
    doubts = verify_run(file, known, rows[layout.SIGNALS], rows.get(layout.RESULTS, 0), len(events), rate, growing)
    return Salvage(
        _attributes(file),
        tables,
        series,
        rows,
        contents.placed_rows(file, layout.SIGNALS),
        events,
        _checks(known, doubts, series, events, {name for name, table in tables.items() if table is not generic}),
        or_without("the outcome", lambda: contents.read_outcome(file), layout.UNKNOWN, "it is not known"),
        (*lost, *doubts.in_words()),
    )


def _channels(file: h5py.File) -> NDArray[Any]:
    contents.read_stream(file, 0)
    return parts.whole(file, layout.CHANNELS)


def _without_roles(file: h5py.File, width: int) -> list[Channel]:
    """Return channels that are nothing but columns, under their own names where these can be read."""
    generic = [f"column_{number + 1}" for number in range(width)]
    try:
        names = [stored_text(row["name"]) for row in parts.dataset(file, layout.CHANNELS)[()]]
    except parts.HDF5_ERRORS:
        names = generic
    known = len(names) == width == len(set(names))
    return [Channel(name, Role.AUXILIARY) for name in (names if known else generic)]


def _attributes(file: h5py.File) -> dict[str, Any]:
    texts = {name: layout.fixed_text(stored_text(file.attrs.get(name, b""))) for name in ("format", "rig", "created")}
    every = file.attrs.get("every", 0)
    return texts | {"version": layout.VERSION, "sample_rate": parts.number(file, "sample_rate"), "every": every}


def _checks(
    known: Checks,
    doubts: IntegrityReport,
    series: dict[str, tuple[h5py.Dataset, ...]],
    events: layout.Table,
    tables: set[str],
) -> NDArray[np.void] | None:
    """Return the checks of what is kept; rows that were written last, before a kill, get their first one."""
    if not known.known:
        return None
    kept = [known.rows_of(name) for name in tables]
    about = {
        layout.SIGNALS: (doubts.signals, series[layout.SIGNALS]),
        layout.RESULTS: (doubts.results, series.get(layout.RESULTS, ())),
        layout.EVENTS: (doubts.events, (events,)),
    }
    for part, (verdict, columns) in about.items():
        own = known.rows_of(part)
        kept.append(own[own["start"] <= verdict.rows - own["rows"]])
        # but none that is missing because it was damaged
        for start, stop in verdict.unchecked if not known.damaged else ():
            kept.append(checksums.check_table([checksums.check_row(part, start, [c[start:stop] for c in columns])]))
    return np.concatenate(kept)


_SLICE_BYTES = 1 << 23
_OVERHEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was kept of a run.

    Parameters
    ----------
    path : the new file.
    samples, results, events : rows kept.
    trimmed : rows of samples that had a place in the file but not all of their data.
    outcome_found : the outcome word of the old file; ``open`` when nobody closed it.
    doubts : what was damaged in it, and which rows that were kept are not as they were recorded; a line each.
    """

    path: Path
    samples: int
    results: int
    events: int
    trimmed: int
    outcome_found: str
    doubts: tuple[str, ...] = ()


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Recovery:
    """Write what is whole in `path` to a new file that every HDF5 reader opens; `path` is not touched.

    Parameters
    ----------
    out : name of the new file; left out, ``<stem>.recovered.h5`` beside the old one, or ``-2``, ``-3`` ...

    Raises
    ------
    RunFileError : nothing can be read, `out` exists, or there is no room for it.
    """
    source = Path(path)
    wanted = Path(out) if out is not None else source.with_name(f"{source.stem}.recovered.h5")
    if out is not None and wanted.exists():
        raise RunFileError(f"{wanted} exists: choose another name")
    if not wanted.parent.is_dir():
        raise RunFileError(f"{wanted}: there is no such folder")
    temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}.part")
    with contents.open_run_file(source) as (file, block):
        try:
            found = salvage(file, block.size, block.writing)
            _check_room(found, wanted)
        except RunFileError:
            raise
        except parts.HDF5_ERRORS as problem:
            raise RunFileError(f"{source} is damaged where it begins: nothing can be kept") from problem
        try:
            with h5py.File(temporary, "w", libver=("earliest", "v110")) as target:
                _write(found, target)
            kept = place(temporary, wanted)
        except DISK_ERRORS as problem:
            raise RunFileError(f"{wanted} could not be written: {reason(problem)}") from problem
        finally:
            temporary.unlink(missing_ok=True)
    samples, results = found.rows[layout.SIGNALS], found.rows.get(layout.RESULTS, 0)
    return Recovery(kept, samples, results, len(found.events), found.placed - samples, found.outcome, found.doubts)


def _check_room(found: Salvage, wanted: Path) -> None:
    # HDF5 crashes the process on a full disk, so it must not come to that
    need = _OVERHEAD + sum(
        found.rows[name] * dataset.dtype.itemsize * math.prod(dataset.shape[1:])
        for name, columns in found.series.items()
        for dataset in columns
    )
    have = shutil.disk_usage(wanted.parent).free
    if need > have:
        raise RunFileError(f"{wanted} needs {need >> 20} MB, but its disk has {have >> 20} MB left")


def _write(found: Salvage, target: h5py.File) -> None:
    for name, value in found.attributes.items():
        target.attrs[name] = value
    for name, table in found.tables.items():
        target.create_dataset(name, data=table)
    recovered = layout.RECOVERED.encode()
    target.create_dataset(layout.OUTCOME, data=recovered, dtype=h5py.string_dtype("utf-8", layout.OUTCOME_BYTES))
    for name, columns in found.series.items():
        for column, dataset in zip(layout.series_names(name), columns, strict=True):
            _copy_rows(dataset, target, f"{name}/{column}", found.rows[name])
    target.create_dataset(layout.EVENTS, data=found.events)
    if found.checks is not None:
        target.create_dataset(layout.CHECKS, data=found.checks)


def _copy_rows(dataset: h5py.Dataset, target: h5py.File, name: str, count: int) -> None:
    shape = (count, *dataset.shape[1:])
    copy = target.create_dataset(name, shape, dataset.dtype)
    step = max(1, _SLICE_BYTES // max(1, dataset.dtype.itemsize * math.prod(shape[1:])))
    for start in range(0, count, step):
        copy[start : min(count, start + step)] = dataset[start : min(count, start + step)]

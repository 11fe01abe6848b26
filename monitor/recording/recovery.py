"""A run file left by a killed service, or cut short -> a clean one."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import h5py

from monitor.recording import contents, layout, parts
from monitor.recording.growing import TROUBLE, reason
from monitor.recording.layout import RunFileError
from monitor.recording.names import place
from monitor.recording.salvage import Salvage, salvage

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
    with contents.opened(source) as (file, block):
        try:
            found = salvage(file, block.size, block.writing)
            _check_room(found, wanted)
        except RunFileError:
            raise
        except parts.DAMAGE as problem:
            raise RunFileError(f"{source} is damaged where it begins: nothing can be kept") from problem
        try:
            with h5py.File(temporary, "w", libver=("earliest", "v110")) as target:
                _write(found, target)
            kept = place(temporary, wanted)
        except TROUBLE as problem:
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

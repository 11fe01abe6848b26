"""A run file left by a killed service, or cut short -> a clean one."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import h5py

from monitor.recording import contents, layout
from monitor.recording.growing import TROUBLE, place, reason
from monitor.recording.layout import RunFileError

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
    """

    path: Path
    samples: int
    results: int
    events: int
    trimmed: int
    outcome_found: str


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
            contents.read_stream(file, 0)
            rows = {name: contents.written_rows(file, name, block.size, tolerant=True) for name in layout.DATA}
            events = contents.read_events(file, block.size, tolerant=True)
            placed = max(len(file[layout.SIGNALS][name]) for name in layout.series_names(layout.SIGNALS))
            found = contents.read_outcome(file)
            _check_room(file, rows, wanted)
        except RunFileError:
            raise
        except contents.DAMAGE as problem:
            raise RunFileError(f"{source} is damaged where it begins: nothing can be kept") from problem
        try:
            with h5py.File(temporary, "w", libver=("earliest", "v110")) as target:
                _copy(file, target, rows)
                target.create_dataset(layout.EVENTS, data=layout.event_rows(events))
            kept = place(temporary, wanted)
        except TROUBLE as problem:
            raise RunFileError(f"{wanted} could not be written: {reason(problem)}") from problem
        finally:
            temporary.unlink(missing_ok=True)
    samples, results = rows[layout.SIGNALS], rows[layout.RESULTS]
    return Recovery(kept, samples, results, len(events), placed - samples, found)


def _check_room(file: h5py.File, rows: dict[str, int], wanted: Path) -> None:
    # HDF5 crashes the process on a full disk, so it must not come to that
    need = _OVERHEAD + sum(
        count * dataset.dtype.itemsize * math.prod(dataset.shape[1:])
        for name, count in rows.items()
        if name in file
        for dataset in file[name].values()
    )
    have = shutil.disk_usage(wanted.parent).free
    if need > have:
        raise RunFileError(f"{wanted} needs {need >> 20} MB, but its disk has {have >> 20} MB left")


def _copy(source: h5py.File, target: h5py.File, rows: dict[str, int]) -> None:
    for name, value in source.attrs.items():
        target.attrs[name] = layout.fixed_text(contents.text(value)) if isinstance(value, str | bytes) else value
    for name in (layout.SETTINGS, layout.CHANNELS, layout.COLUMNS):
        if name in source:
            target.create_dataset(name, data=source[name][()], dtype=source[name].dtype)
    outcome = source[layout.OUTCOME]
    target.create_dataset(layout.OUTCOME, data=layout.RECOVERED.encode(), dtype=outcome.dtype)
    for name, count in rows.items():
        for column in layout.series_names(name) if name in source else ():
            _copy_rows(source[name][column], target, f"{name}/{column}", count)


def _copy_rows(dataset: h5py.Dataset, target: h5py.File, name: str, count: int) -> None:
    shape = (count, *dataset.shape[1:])
    copy = target.create_dataset(name, shape, dataset.dtype)
    step = max(1, _SLICE_BYTES // max(1, dataset.dtype.itemsize * math.prod(shape[1:])))
    for start in range(0, count, step):
        copy[start : min(count, start + step)] = dataset[start : min(count, start + step)]

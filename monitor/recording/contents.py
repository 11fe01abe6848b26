"""An open HDF5 file -> what it says of a run, and how many of its rows were really written."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Column, ResultStream, Role, Stream
from monitor.recording import layout, parts
from monitor.recording.checksums import CHECK_TYPE
from monitor.recording.event_table import stored_text
from monitor.recording.layout import RunFileError
from monitor.recording.superblock import FileImage, NotHdf5Error, Superblock, read_superblock
from monitor.recording.verification import Checks
from monitor.system.files import check_regular

_SLICE = 1 << 20


@contextlib.contextmanager
def open_run_file(path: Path) -> Iterator[tuple[h5py.File, Superblock]]:
    """Open a run file for reading: finished, being written, left by a kill, or cut short.

    What is not finished is read through a view that HDF5 accepts. HDF5's own way (``swmr=True``) tries
    again for hours where such a file is damaged.

    Raises
    ------
    RunFileError : it is not a run file, or damaged where everything begins.
    """
    with contextlib.ExitStack() as stack:
        try:
            check_regular(path)
            block = read_superblock(path)
            if block.writing or block.cut:
                image = stack.enter_context(FileImage(path, block))
                file = stack.enter_context(h5py.File(image, "r"))
            else:
                file = stack.enter_context(h5py.File(path, "r"))
        except FileNotFoundError as problem:
            raise RunFileError(f"{path}: no such file") from problem
        except NotHdf5Error as problem:
            raise RunFileError(f"{path} is not a run file: {problem}") from problem
        except parts.HDF5_ERRORS as problem:
            if isinstance(problem, OSError) and problem.strerror:
                raise RunFileError(f"{path} cannot be read: {problem.strerror}") from problem
            raise RunFileError(f"{path} is damaged where everything begins: nothing can be read") from problem
        check_format(file, path)
        yield file, block


def damaged(path: Path, what: str) -> RunFileError:
    """Return the error for a file that may still be recovered."""
    return RunFileError(f"{path} {what}; run: synchroscope recover {path}")


def check_format(file: h5py.File, path: Path) -> None:
    """Raise RunFileError unless `file` is a run file of a version that this program reads."""
    try:
        ours = stored_text(file.attrs.get("format", b"")) == layout.FORMAT
        version = parts.number(file, "version") if ours else 0
    except parts.HDF5_ERRORS as problem:
        raise RunFileError(f"{path} is damaged at its root: nothing can be read") from problem
    if not ours:
        raise RunFileError(f"{path} is an HDF5 file but not a run file of Synchroscope")
    if version != layout.VERSION:
        raise RunFileError(f"{path} has version {version:g}; this program reads version {layout.VERSION}")


def read_stream(file: h5py.File, epoch: int) -> Stream:
    """Return what the channels are."""
    channels = tuple(
        Channel(
            stored_text(row["name"]),
            Role(stored_text(row["role"])),
            stored_text(row["unit"]),
            stored_text(row["actuator"]),
        )
        for row in parts.dataset(file, layout.CHANNELS)[()]
    )
    width = parts.dataset(file, f"{layout.SIGNALS}/{layout.DATA[layout.SIGNALS]}").shape[1]
    if len(channels) != width:
        raise parts.PartError(f"/{layout.CHANNELS} has {len(channels)} rows for {width} columns of samples")
    return Stream(stored_text(file.attrs["rig"]), epoch, parts.sample_rate(file), channels)


def has_results(file: h5py.File) -> bool:
    """Whether the run has results, be they damaged."""
    return layout.COLUMNS in file or layout.RESULTS in file


def read_result_stream(file: h5py.File, epoch: int) -> ResultStream | None:
    """Return what the result columns are; None when the run has no results."""
    if not has_results(file):
        return None
    columns = tuple(
        Column(stored_text(row["name"]), stored_text(row["unit"]), stored_text(row["actuator"]))
        for row in parts.dataset(file, layout.COLUMNS)[()]
    )
    width = parts.series(file, layout.RESULTS)[0].shape[1]
    if len(columns) != width:
        raise parts.PartError(f"/{layout.COLUMNS} has {len(columns)} rows for {width} columns of values")
    rate, every = parts.sample_rate(file), int(parts.number(file, "every"))
    return ResultStream(stored_text(file.attrs["rig"]), epoch, rate, every, columns)


def read_settings(file: h5py.File) -> dict[str, Any]:
    """Return the settings of the run."""
    return msgspec.json.decode(parts.dataset(file, layout.SETTINGS)[()], type=dict[str, Any])


def read_outcome(file: h5py.File) -> str:
    """Return the outcome word."""
    return stored_text(parts.dataset(file, layout.OUTCOME)[()])


def event_rows(file: h5py.File, size: int, tolerant: bool = False) -> layout.Table:
    """Return the events as they are stored."""
    stored = parts.dataset(file, layout.EVENTS)
    rows: layout.Table = stored[: _present(stored, size, tolerant)]
    return rows


def no_checks() -> Checks:
    """Return what a file has that was recorded before there were checks."""
    return Checks(np.empty(0, CHECK_TYPE), known=False)


def read_checks(file: h5py.File, size: int, tolerant: bool = False) -> Checks:
    """Return the checks that were written; none of a file from before there were any."""
    if layout.CHECKS not in file:
        return no_checks()
    stored = parts.dataset(file, layout.CHECKS)
    return Checks(stored[: _present(stored, size, tolerant)].astype(CHECK_TYPE))


def placed_rows(file: h5py.File, name: str) -> int:
    """Return how many rows of the group `name` have a place in the file, whole or not."""
    return max(len(column) for column in parts.series(file, name))


def cut_rows(file: h5py.File, name: str, size: int) -> int:
    """Return how many rows of the group `name` have a place in the file, but beyond its `size` in bytes."""
    return max(len(column) - _present(column, size, tolerant=False) for column in parts.series(file, name))


def written_rows(file: h5py.File, name: str, size: int, tolerant: bool = False, checked: int = 0) -> int:
    """Return how many rows of the group `name` are whole, in a file of `size` bytes.

    A row is whole when its index was written (that is done last), and its bytes are inside the file.
    Where the list of chunks is damaged, being `tolerant` is to take the rows before that.

    Parameters
    ----------
    checked : rows that have a check, which is written later still: their indices need not be looked at.
    """
    if name not in file:
        return 0
    columns = parts.series(file, name)
    rows = min(_present(column, size, tolerant) for column in columns)
    for start in range(min(checked, rows), rows, _SLICE):
        index: NDArray[np.int64] = columns[-1][start : min(rows, start + _SLICE)]
        missing = np.flatnonzero(index == layout.UNWRITTEN)
        if missing.size:
            return start + int(missing[0])
    return rows


def _present(dataset: h5py.Dataset, size: int, tolerant: bool) -> int:
    """Return how many rows, from the first on, have their bytes inside a file of `size` bytes."""
    row = dataset.dtype.itemsize * math.prod(dataset.shape[1:])
    total = len(dataset)
    if not total or not row:
        return total
    if dataset.chunks is None:
        start = dataset.id.get_offset()
        return 0 if start is None else max(0, min(total, (size - start) // row))
    per_chunk = dataset.chunks[0]
    packed = dataset.id.get_create_plist().get_nfilters() > 0
    places: dict[int, int] = {}

    def note(chunk: Any) -> None:
        # of a chunk that somebody has compressed all or nothing is there
        if not packed or chunk.byte_offset + chunk.size <= size:
            places[chunk.chunk_offset[0]] = size - per_chunk * row if packed else chunk.byte_offset

    # where the list of chunks breaks off, those named so far are good
    with contextlib.suppress(*parts.HDF5_ERRORS if tolerant else ()):
        dataset.id.chunk_iter(note)
    for first in range(0, total, per_chunk):
        inside = (size - places[first]) // row if first in places else 0
        if inside < min(per_chunk, total - first):
            return first + max(0, inside)
    return total

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

from monitor.blocks import Channel, Column, Event, EventKind, ResultStream, Role, Stream
from monitor.recording import layout
from monitor.recording.layout import RunFileError
from monitor.recording.superblock import FileImage, NotHdf5Error, Superblock, read_superblock

DAMAGE = (OSError, RuntimeError, ValueError, KeyError, TypeError)
"""What h5py raises on bytes that are not what they should be."""

_SLICE = 1 << 20


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[h5py.File, Superblock]]:
    """Open a run file for reading: finished, being written, left by a kill, or cut short.

    What is not finished is read through a view that HDF5 accepts. HDF5's own way (``swmr=True``) tries
    again for hours where such a file is damaged.

    Raises
    ------
    RunFileError : it is not a run file, or damaged where everything begins.
    """
    with contextlib.ExitStack() as stack:
        try:
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
        except DAMAGE as problem:
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
        ours, version = (
            text(file.attrs.get("format", b"")) == layout.FORMAT,
            int(file.attrs.get("version", 0)),
        )
    except DAMAGE as problem:
        raise RunFileError(f"{path} is damaged at its root: nothing can be read") from problem
    if not ours:
        raise RunFileError(f"{path} is an HDF5 file but not a run file of Synchroscope")
    if version != layout.VERSION:
        raise RunFileError(f"{path} has version {version}; this program reads version {layout.VERSION}")


def text(value: object) -> str:
    """Return stored text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def read_stream(file: h5py.File, epoch: int) -> Stream:
    """Return what the channels are."""
    channels = tuple(
        Channel(text(row["name"]), Role(text(row["role"])), text(row["unit"]), text(row["actuator"]))
        for row in file[layout.CHANNELS][()]
    )
    return Stream(text(file.attrs["rig"]), epoch, float(file.attrs["sample_rate"]), channels)


def read_result_stream(file: h5py.File, epoch: int) -> ResultStream | None:
    """Return what the result columns are; None when the run has no results."""
    if layout.COLUMNS not in file:
        return None
    columns = tuple(
        Column(text(row["name"]), text(row["unit"]), text(row["actuator"])) for row in file[layout.COLUMNS][()]
    )
    rate, every = float(file.attrs["sample_rate"]), int(file.attrs["every"])
    return ResultStream(text(file.attrs["rig"]), epoch, rate, every, columns)


def read_settings(file: h5py.File) -> dict[str, Any]:
    """Return the settings of the run."""
    return msgspec.json.decode(file[layout.SETTINGS][()], type=dict[str, Any])


def read_outcome(file: h5py.File) -> str:
    """Return the outcome word."""
    return text(file[layout.OUTCOME][()])


def read_events(file: h5py.File, size: int, tolerant: bool = False) -> list[Event]:
    """Return the events that were written; a kind of a later version reads as a note."""
    rows = file[layout.EVENTS][: _present(file[layout.EVENTS], size, tolerant)]
    known = set(EventKind)
    return [
        Event(
            EventKind(kind) if kind in known else EventKind.NOTE,
            float(row["time"]),
            int(row["index"]),
            int(row["count"]),
            text(row["detail"]),
        )
        for row in rows
        if (kind := text(row["kind"]))
    ]


def written_rows(file: h5py.File, name: str, size: int, tolerant: bool = False) -> int:
    """Return how many rows of the group `name` are whole, in a file of `size` bytes.

    A row is whole when its index was written (that is done last), and its bytes are inside the file.
    Where the list of chunks is damaged, being `tolerant` is to take the rows before that.
    """
    if name not in file:
        return 0
    group = file[name]
    rows = min(_present(group[column], size, tolerant) for column in layout.series_names(name))
    for start in range(0, rows, _SLICE):
        index: NDArray[np.int64] = group["index"][start : min(rows, start + _SLICE)]
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
    places: dict[int, int] = {}

    def note(chunk: Any) -> None:
        places[chunk.chunk_offset[0]] = chunk.byte_offset

    # where the list of chunks breaks off, those named so far are good
    with contextlib.suppress(*DAMAGE if tolerant else ()):
        dataset.id.chunk_iter(note)
    for first in range(0, total, per_chunk):
        inside = (size - places[first]) // row if first in places else 0
        if inside < min(per_chunk, total - first):
            return first + max(0, inside)
    return total

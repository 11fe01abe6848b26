"""Checked reading of an open run file: datasets, channels, events, and how many rows were completely written.

A file may be damaged or untrusted: types, shapes and sizes are checked before memory is allocated.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, NamedTuple

import h5py
import msgspec
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Column, ResultStream, Role, Stream
from monitor.recording import layout
from monitor.recording.layout import EventTable, stored_text
from monitor.system.hdf5_file import is_inside, is_stored_inside
from monitor.wire.native import MAX_RATE, MIN_RATE

HDF5_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError)
"""What h5py raises on damaged files."""

MAX_COLUMNS = 1 << 16
_MAX_TABLE_BYTES = 1 << 28  # of a dataset that is read as a whole
_MAX_CHUNK_BYTES = 1 << 26
_ROWS_AT_ONCE = 1 << 20


class PartError(ValueError):
    """A dataset or attribute of a run file is missing or malformed; the text names it."""


class _DatasetType(NamedTuple):
    """Kinds (NumPy's letters) of the values, or of the fields of a table, and the number of dimensions."""

    kinds: str | dict[str, str]
    dimensions: int


_TEXT_FIELDS = {"name": "S", "unit": "S", "actuator": "S"}
_SERIES_TYPES = {"time": _DatasetType("f", 1), "epoch": _DatasetType("i", 1), "index": _DatasetType("i", 1)}
_TYPES = {
    **{f"{group}/{name}": expected for group in layout.DATA for name, expected in _SERIES_TYPES.items()},
    **{f"{group}/{name}": _DatasetType("f", 2) for group, name in layout.DATA.items()},
    layout.SETTINGS: _DatasetType("S", 0),
    layout.OUTCOME: _DatasetType("S", 0),
    layout.CHANNELS: _DatasetType(_TEXT_FIELDS | {"role": "S"}, 1),
    layout.COLUMNS: _DatasetType(_TEXT_FIELDS, 1),
    layout.EVENTS: _DatasetType({"time": "f", "index": "i", "count": "i", "kind": "S", "detail": "S"}, 1),
    layout.CHECKS: _DatasetType({name: layout.CHECK_TYPE[name].kind for name in layout.CHECK_TYPE.names or ()}, 1),
}


def dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Return a dataset of a run file, such as ``signals/time``, after checking its type, shape and size.

    Raises
    ------
    PartError : it is missing, or not what a run file has there.
    OSError, RuntimeError, KeyError, ValueError : HDF5 cannot read it.
    """
    if not is_inside(file, name):
        raise PartError(f"/{name} is missing")
    data = file[name]
    if not isinstance(data, h5py.Dataset):
        raise PartError(f"/{name} is missing")
    expected = _TYPES[name]
    if data.shape is None or len(data.shape) != expected.dimensions or not _matches(data.dtype, expected.kinds):
        raise PartError(f"/{name} has the wrong type")
    _check_size(data, name)
    return data


def read_whole(file: h5py.File, name: str) -> NDArray[Any]:
    """Return all of a small dataset with its stored type; raises as `dataset`."""
    data = dataset(file, name)
    return np.array(data[()], data.dtype)


def series(file: h5py.File, group: str) -> tuple[h5py.Dataset, ...]:
    """Return the datasets of `group` in the order of writing; raises as `dataset`."""
    return tuple(dataset(file, f"{group}/{name}") for name in layout.series_names(group))


def number(file: h5py.File, name: str) -> float:
    """Return the numeric attribute `name`.

    Raises
    ------
    PartError : it is missing or not a finite number.
    """
    value = file.attrs.get(name)
    if not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise PartError(f"the attribute {name} is missing or not a number")
    return float(value)


def sample_rate(file: h5py.File) -> float:
    """Return the sample rate, Hz; raises as `number`, also for a rate that no stream can have."""
    rate = number(file, "sample_rate")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise PartError(f"the sample rate of {rate:g} Hz is out of range")
    return rate


def _matches(kind: np.dtype[np.generic], expected: str | dict[str, str]) -> bool:
    if isinstance(expected, str):
        return kind.kind == expected and (expected == "S" or kind.itemsize == 8)
    fields = kind.fields
    if fields is None:
        return False
    return all(name in fields and fields[name][0].kind == own for name, own in expected.items())


def _check_size(data: h5py.Dataset, name: str) -> None:
    if not is_stored_inside(data):
        raise PartError(f"/{name} is stored in another file")
    if data.ndim == 2 and data.shape[1] > MAX_COLUMNS:
        raise PartError(f"/{name} has {data.shape[1]} columns")
    stored = math.prod(data.shape) * data.dtype.itemsize
    if data.chunks is not None:
        if math.prod(data.chunks) * data.dtype.itemsize > _MAX_CHUNK_BYTES:
            raise PartError(f"/{name} is stored in chunks that are too large")
    elif stored > data.id.get_storage_size():
        raise PartError(f"/{name} claims more than the file holds")
    if "/" not in name and stored > _MAX_TABLE_BYTES:
        raise PartError(f"/{name} claims more than a run file holds")


def read_stream(file: h5py.File, epoch: int) -> Stream:
    """Return the stream with its channels."""
    channels = tuple(
        Channel(
            stored_text(row["name"]),
            Role(stored_text(row["role"])),
            stored_text(row["unit"]),
            stored_text(row["actuator"]),
        )
        for row in dataset(file, layout.CHANNELS)[()]
    )
    width = dataset(file, f"{layout.SIGNALS}/{layout.DATA[layout.SIGNALS]}").shape[1]
    if len(channels) != width:
        raise PartError(f"/{layout.CHANNELS} has {len(channels)} rows for {width} columns of samples")
    return Stream(stored_text(file.attrs["rig"]), epoch, sample_rate(file), channels)


def has_results(file: h5py.File) -> bool:
    """Whether the run has results, damaged or not."""
    return layout.COLUMNS in file or layout.RESULTS in file


def read_result_stream(file: h5py.File, epoch: int) -> ResultStream | None:
    """Return the result stream with its columns; None when the run has no results."""
    if not has_results(file):
        return None
    columns = tuple(
        Column(stored_text(row["name"]), stored_text(row["unit"]), stored_text(row["actuator"]))
        for row in dataset(file, layout.COLUMNS)[()]
    )
    width = series(file, layout.RESULTS)[0].shape[1]
    if len(columns) != width:
        raise PartError(f"/{layout.COLUMNS} has {len(columns)} rows for {width} columns of values")
    rate, every = sample_rate(file), int(number(file, "every"))
    return ResultStream(stored_text(file.attrs["rig"]), epoch, rate, every, columns)


def read_settings(file: h5py.File) -> dict[str, Any]:
    """Return the settings of the run."""
    return msgspec.json.decode(dataset(file, layout.SETTINGS)[()], type=dict[str, Any])


def read_outcome(file: h5py.File) -> str:
    """Return the outcome word."""
    return stored_text(dataset(file, layout.OUTCOME)[()])


def event_table(file: h5py.File, size: int, tolerant: bool = False) -> EventTable:
    """Return the rows of /events that are inside a file of `size` bytes."""
    stored = dataset(file, layout.EVENTS)
    rows: EventTable = stored[: rows_inside(stored, size, tolerant)]
    return rows


def allocated_rows(file: h5py.File, name: str) -> int:
    """Return the number of rows of the group `name`, complete or not."""
    return max(len(column) for column in series(file, name))


def cut_rows(file: h5py.File, name: str, size: int) -> int:
    """Return how many rows of the group `name` lie beyond the end of a file of `size` bytes."""
    return max(len(column) - rows_inside(column, size, tolerant=False) for column in series(file, name))


def written_rows(file: h5py.File, name: str, size: int, tolerant: bool = False, checked: int = 0) -> int:
    """Return how many rows of the group `name` are complete, in a file of `size` bytes.

    A row is complete when its index was written, which is done last, and its bytes are inside the file.

    Parameters
    ----------
    tolerant : where the chunk index is damaged, count the rows before the damage instead of raising.
    checked : rows that have a checksum, which is written last of all: their indices are not read.
    """
    if name not in file:
        return 0
    columns = series(file, name)
    rows = min(rows_inside(column, size, tolerant) for column in columns)
    for start in range(min(checked, rows), rows, _ROWS_AT_ONCE):
        index: NDArray[np.int64] = columns[-1][start : min(rows, start + _ROWS_AT_ONCE)]
        missing = np.flatnonzero(index == layout.UNWRITTEN)
        if missing.size:
            return start + int(missing[0])
    return rows


def rows_inside(data: h5py.Dataset, size: int, tolerant: bool) -> int:
    """Return how many rows, from the first on, have their bytes inside a file of `size` bytes."""
    row = data.dtype.itemsize * math.prod(data.shape[1:])
    total = len(data)
    if not total or not row:
        return total
    if data.chunks is None:
        start = data.id.get_offset()
        return 0 if start is None else max(0, min(total, (size - start) // row))
    per_chunk = data.chunks[0]
    compressed = data.id.get_create_plist().get_nfilters() > 0
    offsets: dict[int, int] = {}

    def add_chunk(chunk: Any) -> None:
        # a compressed chunk, as another program may have written it, is either complete or missing
        if not compressed or chunk.byte_offset + chunk.size <= size:
            offsets[chunk.chunk_offset[0]] = size - per_chunk * row if compressed else chunk.byte_offset

    # chunks listed before the damage are good
    with contextlib.suppress(*HDF5_ERRORS if tolerant else ()):
        data.id.chunk_iter(add_chunk)
    for first in range(0, total, per_chunk):
        inside = (size - offsets[first]) // row if first in offsets else 0
        if inside < min(per_chunk, total - first):
            return first + max(0, inside)
    return total

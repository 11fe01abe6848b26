"""Layout of a run file: names, types, chunk sizes and checksums of its datasets (docs/run-file.md)."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Column, ResultStream, Stream
from monitor.recording.rows import EVENT_TYPE

FORMAT = "synchroscope-run"
VERSION = 1

OPEN, CLEAN, LOSSY, TRUNCATED, RECOVERED = "open", "clean", "lossy", "truncated", "recovered"
UNKNOWN = "unknown"

SIGNALS, RESULTS, EVENTS = "signals", "results", "events"
CHANNELS, COLUMNS, SETTINGS, OUTCOME = "channels", "result_columns", "settings", "outcome"
CHECKS, LISTS = "checks", "lists"
DATA = {SIGNALS: "samples", RESULTS: "values"}
UNWRITTEN = -1
OUTCOME_BYTES = 16
OUTCOME_TYPE = h5py.string_dtype("ascii", OUTCOME_BYTES)

LIBRARY_VERSION = ("v110", "v110")
"""HDF5 1.10 is the oldest version with SWMR, so most programs can read the file."""
OLD_LIBRARY_VERSION = ("earliest", "v108")
"""Of a file that is written at once: older MATLAB and Octave can read it too."""

_DATA_CHUNK = 1 << 18
_ROWS_CHUNK = 1 << 13
_EVENTS_CHUNK, _CHECKS_CHUNK = 1 << 7, 1 << 8
CHUNK_CACHE = 2 * _DATA_CHUNK
"""Bytes of HDF5's chunk cache for each dataset: the growing chunk, instead of the default 8 MB."""

CHECK_TYPE = np.dtype(
    [("part", h5py.string_dtype("utf-8", 16)), ("start", "<i8"), ("rows", "<i8"), ("crc", "<u4"), ("own", "<u4")]
)
_OWN_OFFSET = CHECK_TYPE.fields["own"][1] if CHECK_TYPE.fields else 0

_image_numbers = itertools.count()

_NO_FILTERS: Mapping[str, Any] = {}

CheckRow = tuple[bytes, int, int, int, int]


class RunFileError(ValueError):
    """A run file cannot be written or read; the message is one line with the file and a remedy."""


def series_names(group: str) -> tuple[str, str, str, str]:
    """Return the datasets of `group` in the order of writing; the index, written last, completes a row."""
    return DATA[group], "time", "epoch", "index"


def image(
    stream: Stream,
    results: ResultStream | None,
    settings: bytes,
    created: str,
    libver: tuple[str, str] = LIBRARY_VERSION,
    filters: Mapping[str, Any] = _NO_FILTERS,
) -> bytes:
    """Return the bytes of a new run file, created in memory by `create`."""
    # a name of its own: HDF5 takes two images of one name, in two threads, for one file
    with h5py.File(f"image {next(_image_numbers)}", "w", libver=libver, driver="core", backing_store=False) as file:
        create(file, stream, results, settings, created, filters)
        file.flush()
        content: bytes = file.id.get_file_image()
    return content


def create(
    file: h5py.File,
    stream: Stream,
    results: ResultStream | None,
    settings: bytes,
    created: str,
    filters: Mapping[str, Any] = _NO_FILTERS,
) -> None:
    """Write attributes and tables, and create empty datasets for samples, results and events.

    `created` is ISO 8601, empty where it is not known.
    Without `results` there is no results group, and the attribute ``every`` is 0. `filters` compress samples and
    results.
    """
    for name, text in (("format", FORMAT), ("rig", stream.rig), ("created", created)):
        file.attrs[name] = fixed_text(text)
    file.attrs["version"] = VERSION
    file.attrs["sample_rate"] = stream.sample_rate
    file.attrs["every"] = results.every if results is not None else 0
    file.create_dataset(SETTINGS, data=ascii_json(settings))
    file.create_dataset(OUTCOME, data=OPEN.encode(), dtype=OUTCOME_TYPE)
    file.create_dataset(CHANNELS, data=text_table(stream.channels))
    _create_series(file, SIGNALS, len(stream.channels), filters)
    if results is not None:
        file.create_dataset(COLUMNS, data=text_table(results.columns))
        _create_series(file, RESULTS, len(results.columns), filters)
    create_lists(file)
    file.create_dataset(EVENTS, (0,), EVENT_TYPE, maxshape=(None,), chunks=(_EVENTS_CHUNK,))
    checks = [check_row(name, 0, [file[name][()]]) for name in (SETTINGS, CHANNELS, COLUMNS) if name in file]
    file.create_dataset(CHECKS, data=check_table(checks), maxshape=(None,), chunks=(_CHECKS_CHUNK,))


def _create_series(file: h5py.File, name: str, width: int, filters: Mapping[str, Any]) -> None:
    group = file.create_group(name)
    rows = min(_ROWS_CHUNK, max(1, _DATA_CHUNK // (8 * max(1, width))))
    group.create_dataset(
        DATA[name],
        (0, width),
        "<f8",
        maxshape=(None, width),
        chunks=(rows, max(1, width)),
        fillvalue=np.nan,
        **filters,
    )
    for column, kind, fill in (
        ("time", "<f8", np.nan),
        ("epoch", "<i8", UNWRITTEN),
        ("index", "<i8", UNWRITTEN),
    ):
        group.create_dataset(column, (0,), kind, maxshape=(None,), chunks=(_ROWS_CHUNK,), fillvalue=fill, **filters)


def create_lists(file: h5py.File) -> None:
    """Write every column of the tables of channels and results as a list, for programs that read no compounds."""
    for table, part in ((CHANNELS, "channel"), (COLUMNS, "result")):
        if table in file:
            rows = file[table][()]
            for name in rows.dtype.names:
                file.create_dataset(f"{LISTS}/{part}_{name}", data=ascii_texts(rows[name]))


def ascii_texts(texts: NDArray[Any]) -> NDArray[Any]:
    """Return fixed-length strings (UTF-8) as a type that is called ASCII: Octave reads no other."""
    return texts.astype(h5py.string_dtype("ascii", texts.dtype.itemsize))


def ascii_json(text: bytes) -> NDArray[Any]:
    """Return JSON as a fixed-length string, other characters as escape sequences."""
    plain = text if text.isascii() else json.dumps(json.loads(text), separators=(",", ":")).encode()
    return ascii_texts(np.array(plain, f"S{max(1, len(plain))}"))


def fixed_text(text: str) -> np.ndarray[Any, Any]:
    """Return `text` as a fixed-length string, which older readers and MATLAB can read."""
    data = text.encode(errors="replace")
    return np.array(data, dtype=h5py.string_dtype("utf-8", max(1, len(data))))


def text_table(rows: Sequence[Channel] | Sequence[Column]) -> NDArray[np.void]:
    """Return the table of channels or result columns."""
    names = ("name", "role", "unit", "actuator")
    texts = [[str(getattr(row, name, "")).encode(errors="replace") for name in names] for row in rows]
    widths = [max([1, *(len(row[column]) for row in texts)]) for column in range(len(names))]
    fields = [
        (name, h5py.string_dtype("utf-8", width))
        for name, width in zip(names, widths, strict=True)
        if name != "role" or any(isinstance(row, Channel) for row in rows)
    ]
    columns = [names.index(name) for name, _ in fields]
    return np.array([tuple(row[column] for column in columns) for row in texts], dtype=fields)


def crc(columns: Iterable[NDArray[Any]]) -> int:
    """Return the CRC-32 (that of zlib) of the bytes of `columns`, one after the other."""
    value = 0
    for column in columns:
        value = zlib.crc32(np.ascontiguousarray(column).data, value)
    return value


def check_row(part: str, start: int, columns: Sequence[NDArray[Any]]) -> CheckRow:
    """Return the checksum row of `columns` (in the order of writing), the rows of `part` from `start` on."""
    row = (part.encode(), start, len(columns[0]) if columns[0].ndim else 1, crc(columns), 0)
    return *row[:-1], _own(np.array(row, CHECK_TYPE))


def check_table(rows: Sequence[CheckRow]) -> NDArray[np.void]:
    """Return checksum rows as the table /checks."""
    return np.array(list(rows), CHECK_TYPE)


def valid_checks(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return which rows of /checks match their own checksum and have a possible range."""
    own = np.array([_own(row) for row in table], np.uint32)
    good: NDArray[np.bool_] = (own == table["own"]) & (table["start"] >= 0) & (table["rows"] > 0)
    return good


def _own(row: Any) -> int:
    return zlib.crc32(row.tobytes()[:_OWN_OFFSET])

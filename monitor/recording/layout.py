"""What is where in a run file: names, types and chunk sizes; docs/run-file.md tells it to others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import h5py
import numpy as np

from monitor.messages.blocks import Channel, Column, ResultStream, Stream
from monitor.recording import checksums, event_table

FORMAT = "synchroscope-run"
VERSION = 1

OPEN, CLEAN, LOSSY, TRUNCATED, RECOVERED = "open", "clean", "lossy", "truncated", "recovered"
UNKNOWN = "unknown"

SIGNALS, RESULTS, EVENTS = "signals", "results", "events"
CHANNELS, COLUMNS, SETTINGS, OUTCOME = "channels", "result_columns", "settings", "outcome"
CHECKS = "checks"
DATA = {SIGNALS: "samples", RESULTS: "values"}
UNWRITTEN = -1
OUTCOME_BYTES = 16

LIBRARY_VERSION = ("v110", "v110")
"""Of HDF5: 1.10 is the oldest with SWMR, so the most programs can read such a file."""

_DATA_CHUNK = 1 << 18
_ROWS_CHUNK = 1 << 13
_EVENTS_CHUNK, _CHECKS_CHUNK = 1 << 7, 1 << 8
CHUNK_CACHE = 2 * _DATA_CHUNK
"""Bytes that HDF5 keeps of a dataset that is written: the chunk that grows, not the 8 MB that it takes by itself."""

Table = event_table.Table


class RunFileError(ValueError):
    """A run file cannot be written or read; one line that names the file and says what to do."""


def series_names(group: str) -> tuple[str, str, str, str]:
    """Return the datasets of `group` in the order of writing: a row exists once its index is there."""
    return DATA[group], "time", "epoch", "index"


def image(stream: Stream, results: ResultStream | None, settings: bytes, created: datetime) -> bytes:
    """Return the bytes of a new run file, made in memory: as `create` makes it, without a row."""
    with h5py.File("image", "w", libver=LIBRARY_VERSION, driver="core", backing_store=False) as file:
        create(file, stream, results, settings, created)
        file.flush()
        made: bytes = file.id.get_file_image()
    return made


def create(file: h5py.File, stream: Stream, results: ResultStream | None, settings: bytes, created: datetime) -> None:
    """Write everything but samples, results and events, and make room for these.

    Without `results` there is no results group, and the attribute ``every`` is 0.
    """
    for name, text in (("format", FORMAT), ("rig", stream.rig), ("created", created.isoformat())):
        file.attrs[name] = fixed_text(text)
    file.attrs["version"] = VERSION
    file.attrs["sample_rate"] = stream.sample_rate
    file.attrs["every"] = results.every if results is not None else 0
    file.create_dataset(SETTINGS, data=fixed_text(settings.decode()))
    file.create_dataset(OUTCOME, data=OPEN.encode(), dtype=h5py.string_dtype("utf-8", OUTCOME_BYTES))
    file.create_dataset(CHANNELS, data=text_table(stream.channels))
    _create_series(file, SIGNALS, len(stream.channels))
    if results is not None:
        file.create_dataset(COLUMNS, data=text_table(results.columns))
        _create_series(file, RESULTS, len(results.columns))
    file.create_dataset(EVENTS, (0,), event_table.EVENT_TYPE, maxshape=(None,), chunks=(_EVENTS_CHUNK,))
    told = [checksums.check_row(name, 0, [file[name][()]]) for name in (SETTINGS, CHANNELS, COLUMNS) if name in file]
    file.create_dataset(CHECKS, data=checksums.check_table(told), maxshape=(None,), chunks=(_CHECKS_CHUNK,))


def _create_series(file: h5py.File, name: str, width: int) -> None:
    group = file.create_group(name)
    rows = min(_ROWS_CHUNK, max(1, _DATA_CHUNK // (8 * max(1, width))))
    group.create_dataset(
        DATA[name], (0, width), "<f8", maxshape=(None, width), chunks=(rows, max(1, width)), fillvalue=np.nan
    )
    for column, kind, fill in (
        ("time", "<f8", np.nan),
        ("epoch", "<i8", UNWRITTEN),
        ("index", "<i8", UNWRITTEN),
    ):
        group.create_dataset(column, (0,), kind, maxshape=(None,), chunks=(_ROWS_CHUNK,), fillvalue=fill)


def fixed_text(text: str) -> np.ndarray[Any, Any]:
    """Return `text` as a scalar of fixed length, which older readers and MATLAB understand."""
    data = text.encode(errors="replace")
    return np.array(data, dtype=h5py.string_dtype("utf-8", max(1, len(data))))


def text_table(rows: Sequence[Channel] | Sequence[Column]) -> Table:
    """Return channels or result columns as rows of their table."""
    names = ("name", "role", "unit", "actuator")
    texts = [[str(getattr(row, name, "")).encode(errors="replace") for name in names] for row in rows]
    widths = [max([1, *(len(row[column]) for row in texts)]) for column in range(len(names))]
    fields = [
        (name, h5py.string_dtype("utf-8", width))
        for name, width in zip(names, widths, strict=True)
        if name != "role" or any(isinstance(row, Channel) for row in rows)
    ]
    kept = [names.index(name) for name, _ in fields]
    return np.array([tuple(row[column] for column in kept) for row in texts], dtype=fields)

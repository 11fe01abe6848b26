"""Layout of a run file (docs/run-file.md): its datasets and checksums, and the rows of blocks and events."""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.alarms import AlarmAction, AlarmState, LimitChange, Severity, Transition
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Samples,
    SignalBlock,
    Stream,
)
from monitor.system.safe_text import printable

Integers = NDArray[np.int64]

_ROUNDING = 8.0


@dataclass(frozen=True, slots=True)
class SeriesRows:
    """Rows of /signals or /results: data (n, width), and time [s], epoch and index (n,) each."""

    data: Samples
    time: Samples
    epoch: Integers
    index: Integers

    def __len__(self) -> int:
        return len(self.index)


class SampleTimes:
    """Time of every sample, such that recording, reading and recording again gives the same times.

    A block whose time agrees, up to rounding, with an earlier block and the sample rate is timed from that block; any
    other block is timed from its own first sample.
    """

    def __init__(self) -> None:
        self._epoch, self._index, self._time = -1, 0, 0.0

    def anchor(self, block: SignalBlock) -> tuple[int, float]:
        """Return the reference index and time [s] of the samples of `block`."""
        span = (block.index - self._index) / block.stream.sample_rate
        deviation = abs(self._time + span - block.time)
        if block.stream.epoch != self._epoch or not deviation <= _ROUNDING * np.spacing(abs(self._time) + abs(span)):
            self._epoch, self._index, self._time = block.stream.epoch, block.index, block.time
        return self._index, self._time


def signal_columns(blocks: Sequence[SignalBlock], times: SampleTimes) -> SeriesRows:
    """Return the samples of `blocks`, of which there is at least one, all with the same rate and width."""
    lengths = [len(block) for block in blocks]
    anchors = [times.anchor(block) for block in blocks]
    index = np.repeat(np.array([block.index for block in blocks], np.int64), lengths) + _block_offsets(lengths)
    since = index - np.repeat(np.array([first for first, _ in anchors], np.int64), lengths)
    start = np.repeat(np.array([time for _, time in anchors]), lengths)
    epoch = np.repeat(np.array([block.stream.epoch for block in blocks], np.int64), lengths)
    data = np.concatenate([block.samples for block in blocks])
    return SeriesRows(data, start + since / blocks[0].stream.sample_rate, epoch, index)


def result_columns(blocks: Sequence[ResultBlock]) -> SeriesRows:
    """Return the rows of `blocks`, of which there is at least one, all with the same columns and rate."""
    lengths = [len(block) for block in blocks]
    stream = blocks[0].stream
    step = _block_offsets(lengths) * stream.every
    index = np.repeat(np.array([block.index for block in blocks], np.int64), lengths) + step
    start = np.repeat(np.array([block.time for block in blocks]), lengths)
    epoch = np.repeat(np.array([block.stream.epoch for block in blocks], np.int64), lengths)
    data = np.concatenate([block.values for block in blocks])
    return SeriesRows(data, start + step / stream.sample_rate, epoch, index)


def _block_offsets(lengths: list[int]) -> Integers:
    """Return 0, 1, 2 ... counted from the start of each block."""
    ends = np.cumsum(lengths)
    steps: Integers = np.arange(sum(lengths)) - np.repeat(ends - lengths, lengths)
    return steps


EventTable = NDArray[np.void]

DETAIL_BYTES = 200
_LONGEST = 256  # characters of a stored text

_ALARM_TEXTS = {"alarm": 96, "actuator": 48, "quantity": 48, "severity": 8, "action": 24, "previous": 32, "state": 32}
_ALARM_TEXTS |= {"unit": 16, "by": 64}
_ALARM_FIELDS: list[tuple[str, Any]] = [
    ("number", "<i8"),
    ("value", "<f8"),
    ("limit", "<f8"),
    *((name, h5py.string_dtype("utf-8", width)) for name, width in _ALARM_TEXTS.items()),
]
_DECISION_TEXTS = {"site": 96, "verdict": 16}
_DECISION_FIELDS = [(name, h5py.string_dtype("utf-8", width)) for name, width in _DECISION_TEXTS.items()]
_LIMITS = ("low", "high", "previous_low", "previous_high")
_LIMIT_FIELDS = [(name, "<f8") for name in _LIMITS]
EVENT_TYPE = np.dtype(
    [
        ("time", "<f8"),
        ("index", "<i8"),
        ("count", "<i8"),
        ("kind", h5py.string_dtype("utf-8", 16)),
        ("detail", h5py.string_dtype("utf-8", DETAIL_BYTES)),
        *_ALARM_FIELDS,
        *_DECISION_FIELDS,
        *_LIMIT_FIELDS,
    ]
)
_NO_ALARM = (0, math.nan, math.nan, *(b"" for _ in _ALARM_TEXTS))


def event_rows(events: Sequence[Event]) -> EventTable:
    """Return `events` as rows of /events; texts that are too long are cut between characters."""
    rows = [
        (
            *(e.time, e.index, e.count, e.kind.encode(), _clip(e.detail, DETAIL_BYTES)),
            *_alarm_columns(e.alarm, e.limits),
            *map(_clip, (e.site, e.verdict), _DECISION_TEXTS.values()),
            *(_or_nan(None if e.limits is None else getattr(e.limits, name)) for name in _LIMITS),
        )
        for e in events
    ]
    return np.array(rows, dtype=EVENT_TYPE)


def events_of(rows: EventTable) -> list[Event]:
    """Return stored events; kinds of later versions become notes."""
    known = set(EventKind)
    # a file of another program may lack the columns of alarms, decisions and limits
    has_alarms, has_decisions, has_limits = (
        _has_columns(rows, fields) for fields in (_ALARM_FIELDS, _DECISION_FIELDS, _LIMIT_FIELDS)
    )
    found = []
    for row in rows:
        if not (kind := stored_text(row["kind"])):
            continue
        event = Event(
            EventKind(kind) if kind in known else EventKind.NOTE,
            float(row["time"]),
            int(row["index"]),
            int(row["count"]),
            stored_text(row["detail"]),
            site=stored_text(row["site"]) if has_decisions else "",
            verdict=stored_text(row["verdict"]) if has_decisions else "",
        )
        if event.kind is EventKind.ALARM:
            transition = _transition_from_columns(row, event) if has_alarms else None
            event = event if transition is None else Event.of_alarm(transition)
        if event.kind is EventKind.LIMITS and has_alarms and has_limits:
            event = replace(event, limits=_change_from_columns(row))
        found.append(event)
    return found


def _has_columns(rows: EventTable, fields: Sequence[tuple[str, Any]]) -> bool:
    return all(
        rows.dtype.fields is not None
        and name in rows.dtype.fields
        and rows.dtype[name].kind == EVENT_TYPE[name].kind
        and rows.dtype[name].shape == ()
        for name, _ in fields
    )


def stored_text(value: object) -> str:
    """Return stored text, printable, and not longer than any that is recorded."""
    return printable((value.decode(errors="replace") if isinstance(value, bytes) else str(value))[:_LONGEST])


def _alarm_columns(transition: Transition | None, change: LimitChange | None) -> tuple[Any, ...]:
    if (t := transition) is not None:
        texts = [t.name, t.actuator, t.quantity, t.severity, t.action, t.previous, t.state, t.unit, t.by]
        return t.number, _or_nan(t.value), _or_nan(t.limit), *map(_clip, texts, _ALARM_TEXTS.values())
    if (c := change) is not None:
        texts = [c.name, c.actuator, c.quantity, c.severity, "", "", "", c.unit, c.by]
        return 0, math.nan, math.nan, *map(_clip, texts, _ALARM_TEXTS.values())
    return _NO_ALARM


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number


def _clip(text: str, n_bytes: int) -> bytes:
    return text.encode(errors="replace")[:n_bytes].decode(errors="ignore").encode()


def _change_from_columns(row: Any) -> LimitChange | None:
    name, unit, by, actuator, quantity = (
        stored_text(row[column]) for column in ("alarm", "unit", "by", "actuator", "quantity")
    )
    low, high, previous_low, previous_high = (
        float(row[column]) if math.isfinite(row[column]) else None for column in _LIMITS
    )
    try:
        severity = Severity(stored_text(row["severity"]))
    except ValueError:
        return None
    return LimitChange(name, severity, low, high, previous_low, previous_high, unit, by, actuator, quantity)


def _transition_from_columns(row: Any, event: Event) -> Transition | None:
    texts = {name: stored_text(row[name]) for name in _ALARM_TEXTS}
    value, limit = (float(row[name]) if math.isfinite(row[name]) else None for name in ("value", "limit"))
    try:
        return Transition(
            int(row["number"]),
            texts["alarm"],
            Severity(texts["severity"]),
            AlarmAction(texts["action"]),
            AlarmState(texts["previous"]),
            AlarmState(texts["state"]),
            event.time,
            event.index,
            value,
            limit,
            texts["unit"],
            event.detail,
            texts["by"],
            texts["actuator"],
            texts["quantity"],
        )
    except ValueError:
        # from a later version, or damaged
        return None


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

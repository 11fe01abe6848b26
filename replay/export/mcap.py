"""Export as MCAP with JSON messages and their schemas, for Foxglove and PlotJuggler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from mcap.well_known import MessageEncoding, SchemaEncoding
from mcap.writer import CompressionType, Writer
from numpy.typing import NDArray

from monitor.messages.alarms import Severity
from monitor.messages.blocks import Event, EventKind, kind_text
from monitor.transport.plotjuggler import NumberTree, channel_tree
from replay import Progress
from replay.export.contents import RunContents, SeriesTable
from replay.export.target_files import TargetFiles

_INFO, _WARNING, _ERROR = 2, 3, 4
_WARNINGS = {
    EventKind.GAP,
    EventKind.RESTART,
    EventKind.CLOCK_JUMP,
    EventKind.CONTRADICTION,
    EventKind.REJECTED,
    EventKind.REORDERED,
}
_MOST_SECONDS = 9e9  # as nanoseconds in 64 bits
_ROUNDING = 1e-6  # s, of a clock that counts from 1970

# the log of Foxglove, and what else an event has
_EVENT_SCHEMA = {
    "title": "foxglove.Log",
    "type": "object",
    "properties": {
        "timestamp": {
            "type": "object",
            "title": "time",
            "properties": {"sec": {"type": "integer", "minimum": 0}, "nsec": {"type": "integer", "minimum": 0}},
        },
        "level": {"type": "integer", "minimum": 0},
        "message": {"type": "string"},
        "name": {"type": "string"},
        "file": {"type": "string"},
        "line": {"type": "integer", "minimum": 0},
        "index": {"type": "integer"},
        "count": {"type": "integer"},
    },
}


def write_mcap(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the file: a message a sample in ``/signals``, a message a row in ``/results``, events in ``/events``."""
    clock = _Clock(contents)
    with files.temporary().open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start("", f"synchroscope {contents.metadata['version']}")
        texts = {name: value if isinstance(value, str) else _json(value) for name, value in contents.metadata.items()}
        writer.add_metadata("synchroscope", {**texts, "clock": clock.description})
        _write_series(writer, contents.signals, channel_tree(contents.stream), clock, progress)
        if contents.results is not None:
            tree = NumberTree((column.actuator, column.name) for column in contents.results.columns)
            _write_series(writer, contents.results, tree, clock, progress)
        _write_events(writer, contents, clock)
        writer.finish()  # type: ignore[no-untyped-call]


class _Clock:
    """Times in ns: of the publisher's clock, or since the first sample where that clock is negative or goes back."""

    def __init__(self, contents: RunContents) -> None:
        self._offsets = contents.offsets
        offsets = list(self._offsets.values())
        # the first sample is at 0 in the run; a clock that continues leaves the time of a restart out of the run
        self._direct = all(-_MOST_SECONDS / 2 < offset <= 0.0 for offset in offsets[:1]) and all(
            after <= before + _ROUNDING for before, after in pairwise(offsets)
        )

    @property
    def description(self) -> str:
        """Which clock it is."""
        return "of the publisher" if self._direct else "since the first sample, through gaps and restarts"

    def of_rows(self, time: NDArray[np.float64], epoch: NDArray[np.int64]) -> list[int]:
        """Return the ns of rows."""
        seconds = time
        if not self._direct:
            seconds = time.copy()
            for each in np.unique(epoch).tolist():
                seconds[epoch == each] += self._offsets.get(each, 0.0)
        return self._ns(seconds)

    def of_event(self, event: Event, seconds: float) -> int:
        """Return the ns of an event; `seconds` is its time in the run."""
        (found,) = self._ns(np.array([event.time if self._direct else seconds]))
        return found

    @staticmethod
    def _ns(seconds: NDArray[np.float64]) -> list[int]:
        inside = np.clip(np.nan_to_num(seconds), 0.0, _MOST_SECONDS)
        whole = np.floor(inside)
        found: list[int] = (
            whole.astype(np.int64) * 10**9 + np.rint((inside - whole) * 1e9).astype(np.int64)
        ).tolist()
        return found


def _write_series(writer: Writer, table: SeriesTable, tree: NumberTree, clock: _Clock, progress: Progress) -> None:
    topic = f"/{table.name}"
    described = {
        f"{group}.{key}": _json({"name": c.name, "unit": c.unit, "role": c.role, "actuator": c.actuator})
        for group, positions, keys in tree.groups
        for key, c in zip(keys, (table.columns[position] for position in positions), strict=True)
    }
    schema = _register(writer, f"synchroscope.{table.name.capitalize()}", _series_schema(table, tree))
    channel = writer.register_channel(topic, MessageEncoding.JSON, schema, described)
    for _, rows in table.pieces(progress):
        times, numbers = clock.of_rows(rows.time, rows.epoch), (rows.index & 0xFFFFFFFF).tolist()
        for time, number, values in zip(times, numbers, rows.data.tolist(), strict=True):
            writer.add_message(channel, time, _message(tree, values), time, number)


def _message(tree: NumberTree, values: Sequence[float]) -> bytes:
    # JSON has no NaN, and viewers take no null where the schema has a number
    return msgspec.json.encode(
        {
            group: {key: values[at] for at, key in zip(positions, keys, strict=True) if math.isfinite(values[at])}
            for group, positions, keys in tree.groups
        }
    )


def _series_schema(table: SeriesTable, tree: NumberTree) -> dict[str, Any]:
    groups = {
        group: {
            "type": "object",
            "properties": {
                key: {"type": "number", "description": f"{c.name} [{c.unit}]" if c.unit else c.name}
                for key, c in zip(keys, (table.columns[position] for position in positions), strict=True)
            },
        }
        for group, positions, keys in tree.groups
    }
    return {"type": "object", "properties": groups}


def _write_events(writer: Writer, contents: RunContents, clock: _Clock) -> None:
    channel = writer.register_channel(
        "/events", MessageEncoding.JSON, _register(writer, "foxglove.Log", _EVENT_SCHEMA)
    )
    for number, (event, seconds) in enumerate(contents.events):
        time = clock.of_event(event, seconds)
        message = {
            "timestamp": {"sec": time // 10**9, "nsec": time % 10**9},
            "level": _level(event),
            "message": event.detail or kind_text(event) or event.kind.value,
            "name": event.kind.value,
            "file": "",
            "line": 0,
            "index": event.index,
            "count": event.count,
        }
        writer.add_message(channel, time, _encoded(message), time, number)


def _level(event: Event) -> int:
    if event.alarm is not None:
        return _ERROR if event.alarm.severity is Severity.TRIP else _WARNING
    return _WARNING if event.kind in _WARNINGS else _INFO


def _register(writer: Writer, name: str, schema: dict[str, Any]) -> int:
    number: int = writer.register_schema(name, SchemaEncoding.JSONSchema, _encoded(schema))
    return number


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _json(value: Any) -> str:
    return _encoded(value).decode()

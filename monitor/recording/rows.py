"""Rows of the run file: blocks and events as they are stored, and events read back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.alarms import AlarmAction, AlarmState, LimitChange, Severity, Transition
from monitor.messages.blocks import Event, EventKind, ResultBlock, Samples, SignalBlock
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

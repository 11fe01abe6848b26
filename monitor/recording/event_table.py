"""The events of a run file: rows of /events <-> `Event`, with the step of an alarm in columns of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.system.safe_text import printable

Table = NDArray[np.void]

DETAIL_BYTES = 200

_ALARM_TEXTS = {"alarm": 96, "actuator": 48, "quantity": 48, "severity": 8, "action": 24, "previous": 32, "state": 32}
_ALARM_TEXTS |= {"unit": 16, "by": 64}
_ALARM_FIELDS: list[tuple[str, Any]] = [
    ("number", "<i8"),
    ("value", "<f8"),
    ("limit", "<f8"),
    *((name, h5py.string_dtype("utf-8", width)) for name, width in _ALARM_TEXTS.items()),
]
EVENT_TYPE = np.dtype(
    [
        ("time", "<f8"),
        ("index", "<i8"),
        ("count", "<i8"),
        ("kind", h5py.string_dtype("utf-8", 16)),
        ("detail", h5py.string_dtype("utf-8", DETAIL_BYTES)),
        *_ALARM_FIELDS,
    ]
)
_NO_ALARM = (0, math.nan, math.nan, *(b"" for _ in _ALARM_TEXTS))


def event_rows(events: Sequence[Event]) -> Table:
    """Return `events` as rows of /events; a text that is too long loses its end, never half a character."""
    rows = [
        (e.time, e.index, e.count, e.kind.encode(), _clip(e.detail, DETAIL_BYTES), *_alarm_columns(e.alarm))
        for e in events
    ]
    return np.array(rows, dtype=EVENT_TYPE)


def events_of(rows: Table) -> list[Event]:
    """Return stored events; a kind of a later version reads as a note."""
    known = set(EventKind)
    # files from before there were columns for alarms tell their steps in the detail
    has_columns = all(
        rows.dtype.fields is not None
        and name in rows.dtype.fields
        and rows.dtype[name].kind == EVENT_TYPE[name].kind
        and rows.dtype[name].shape == ()
        for name, _ in _ALARM_FIELDS
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
        )
        if event.kind is EventKind.ALARM:
            step = _step_in_columns(row, event) if has_columns else _step_in_detail(event)
            event = event if step is None else Event.of_alarm(step)
        found.append(event)
    return found


def stored_text(value: object) -> str:
    """Return stored text, without what would steer a terminal."""
    return printable(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def _alarm_columns(step: Transition | None) -> tuple[Any, ...]:
    if step is None:
        return _NO_ALARM
    value, limit = (math.nan if number is None else number for number in (step.value, step.limit))
    texts = (step.name, step.actuator, step.quantity, step.severity, step.action, step.previous, step.state)
    widths = _ALARM_TEXTS.values()
    return step.number, value, limit, *map(_clip, (*texts, step.unit, step.by), widths)


def _clip(text: str, most: int) -> bytes:
    return text.encode(errors="replace")[:most].decode(errors="ignore").encode()


def _step_in_columns(row: Any, event: Event) -> Transition | None:
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
        # of a later version, or damaged
        return None


_STATES = "|".join(AlarmState)
_NUMBER = r"[-+.0-9einfa]+"
_DETAIL = re.compile(
    rf"#(?P<number>\d{{1,16}}) (?P<name>.+?) (?P<action>{'|'.join(AlarmAction)}): (?P<previous>{_STATES}) -> "
    rf"(?P<state>{_STATES})(?:, value (?P<value>{_NUMBER}))?(?:, limit (?P<limit>{_NUMBER}))?"
    rf"(?: (?P<unit>[^,:]*))?: (?P<reason>.*)",
    re.DOTALL | re.ASCII,
)


def _step_in_detail(event: Event) -> Transition | None:
    """Return the step that the detail of an event tells, in a file from before it had columns of its own.

    Names, units and reasons that were too long are cut there; who asked is in the reason.
    """
    found = _DETAIL.fullmatch(event.detail)
    if found is None:
        return None
    said = found.groupdict()
    try:
        value, limit = (None if said[name] is None else float(said[name]) for name in ("value", "limit"))
    except ValueError:
        return None
    severity = Severity.TRIP if said["name"].endswith(".trip") else Severity.WARN
    actuator, _, quantity = said["name"].removesuffix(f".{severity}").rpartition(".")
    return Transition(
        int(said["number"]),
        said["name"],
        severity,
        AlarmAction(said["action"]),
        AlarmState(said["previous"]),
        AlarmState(said["state"]),
        event.time,
        event.index,
        value,
        limit,
        said["unit"] or "",
        said["reason"],
        "",
        actuator,
        quantity,
    )

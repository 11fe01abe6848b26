"""Alarms, their states and transitions, in the terms of ISA-18.2 and IEC 62682, and their JSON form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

MAX_ALARMS = 512
"""Alarms of a service."""

MAX_TRANSITIONS = 256
"""Transitions in one report; more are split into several."""

NOT_JUDGED = "not judged: "
"""Begins the reason of a transition with `AlarmAction.LOSE_VALUE`."""

_MAX_REPORT = 1 << 20


class AlarmState(StrEnum):
    """Where an alarm is in its life (ISA-18.2, alarm state transition diagram; the letters are the standard's)."""

    NORMAL = "normal"  # A
    UNACKNOWLEDGED = "unacknowledged"  # B
    ACKNOWLEDGED = "acknowledged"  # C
    RETURNED = "returned_unacknowledged"  # D: the condition has cleared without acknowledgement
    LATCHED_UNACKNOWLEDGED = "latched_unacknowledged"  # E
    LATCHED_ACKNOWLEDGED = "latched_acknowledged"  # F: until a reset
    SHELVED = "shelved"  # G
    OUT_OF_SERVICE = "out_of_service"  # I
    NOT_JUDGED = "not_judged"  # A, with a measurement of bad quality: the value does not come


class AlarmAction(StrEnum):
    """Action that changes the state of an alarm."""

    OCCUR = "occur"
    RETURN_TO_NORMAL = "return_to_normal"
    ACKNOWLEDGE = "acknowledge"
    RESET = "reset"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"
    LOSE_VALUE = "lose_value"
    REGAIN_VALUE = "regain_value"


class Severity(StrEnum):
    """Severity of an alarm."""

    WARN = "warn"
    TRIP = "trip"


class Alarm(msgspec.Struct, frozen=True):
    """Current state of an alarm; a struct, because hundreds are made and encoded five times a second.

    Parameters
    ----------
    name : such as ``north.fdb_delay.trip``.
    value : the published value that it monitors, such as ``fdb_delay``.
    actuator : of the value; empty for values of the service.
    unit : of `low`, `high` and `last`.
    severity : warn or trip.
    low, high : the normal range; None: open to that side.
    state : of its life cycle.
    active : the condition is met, whatever the state.
    last : the newest value evaluated; None before the first, and where it is not judged.
    time, index : s and sample number of the last transition, on the rig's clock.
    shelved_for : s until it is unshelved; 0 otherwise.
    advice : action for the operator.
    changeable : a request may change its limits, see docs/alarms.md.
    configured : (low, high) of the settings, if a request has changed them; None: they are in force.
    not_judged : why no value has come lately; empty: it is judged. A normal alarm is `NOT_JUDGED` then; any other one
        keeps its state.
    source : the column that the value is read from, where that may change: ``paei_delay`` for ``delay``.
    """

    name: str
    value: str
    actuator: str
    unit: str
    severity: Severity
    low: float | None = None
    high: float | None = None
    state: AlarmState = AlarmState.NORMAL
    active: bool = False
    last: float | None = None
    time: float = 0.0
    index: int = 0
    shelved_for: float = 0.0
    advice: str = ""
    changeable: bool = False
    configured: tuple[float | None, float | None] | None = None
    not_judged: str = ""
    source: str = ""

    @property
    def needs_acknowledgement(self) -> bool:
        """Whether it is unacknowledged."""
        return self.state in _UNACKNOWLEDGED

    @property
    def is_annunciated(self) -> bool:
        """Whether it is displayed: neither normal, not judged nor suppressed."""
        return self.state not in _QUIET


_UNACKNOWLEDGED = (AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED, AlarmState.LATCHED_UNACKNOWLEDGED)
_QUIET = (AlarmState.NORMAL, AlarmState.NOT_JUDGED, AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


@dataclass(frozen=True, slots=True)
class Transition:
    """Transition of an alarm from one state to another.

    Parameters
    ----------
    number : of all transitions of the service, continued over restarts where its alarms are saved.
    name, severity : the alarm's.
    action : that caused it.
    previous, state : before and after.
    time, index : s and sample number on the rig's clock.
    value : evaluated; None if unknown.
    limit : that was crossed, or is nearest; None if there is none.
    unit : of both.
    reason : one line.
    by : operator; empty: none, or unknown.
    actuator : of the value; empty for values of the service.
    quantity : the published value that it monitors, such as ``fdb_delay``.
    """

    number: int
    name: str
    severity: Severity
    action: AlarmAction
    previous: AlarmState
    state: AlarmState
    time: float
    index: int
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    reason: str = ""
    by: str = ""
    actuator: str = ""
    quantity: str = ""

    @property
    def not_judged(self) -> str:
        """Why its alarm is not judged from now on; empty: it is, or was not before."""
        return self.reason.removeprefix(NOT_JUDGED) if self.action is AlarmAction.LOSE_VALUE else ""


@dataclass(frozen=True, slots=True)
class LimitChange:
    """Change of an alarm's limits by a request.

    Parameters
    ----------
    name, severity : the alarm's.
    low, high : the new normal range; None: open to that side.
    previous_low, previous_high : the former one.
    unit : of all four.
    by : operator; empty: unknown.
    actuator : of the value; empty for values of the service.
    quantity : the published value that it monitors.
    """

    name: str
    severity: Severity
    low: float | None
    high: float | None
    previous_low: float | None
    previous_high: float | None
    unit: str = ""
    by: str = ""
    actuator: str = ""
    quantity: str = ""


@dataclass(frozen=True, slots=True)
class AlarmReport:
    """All alarms of a service, and the transitions since the last report."""

    alarms: tuple[Alarm, ...] = ()
    transitions: tuple[Transition, ...] = ()


def alarm_counts(alarms: Sequence[Alarm]) -> dict[str, int]:
    """Return the number of alarms by kind."""
    return {
        "all": len(alarms),
        "standing": sum(alarm.is_annunciated for alarm in alarms),
        "unacknowledged": sum(alarm.needs_acknowledgement for alarm in alarms),
        "shelved": sum(alarm.shelved_for > 0.0 for alarm in alarms),
        "not_judged": sum(bool(alarm.not_judged) for alarm in alarms),
    }


_decoder = msgspec.json.Decoder(AlarmReport)


def encode(report: AlarmReport) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(report)


def decode(payload: bytes) -> AlarmReport:
    """Return the decoded report; raises ``msgspec.DecodeError`` for anything else, or for a report too long."""
    if len(payload) > _MAX_REPORT:
        raise msgspec.DecodeError(f"a report of {len(payload)} bytes; the limit is {_MAX_REPORT}")
    try:
        report = _decoder.decode(payload)
    except RecursionError as problem:
        raise msgspec.DecodeError("the report is nested too deeply") from problem
    if len(report.alarms) > MAX_ALARMS:
        raise msgspec.DecodeError(f"{len(report.alarms)} alarms; the limit is {MAX_ALARMS}")
    return report

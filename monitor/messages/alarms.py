"""What is said of alarms: states and transitions, in the terms of ISA-18.2 and IEC 62682, and their JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

MAX_ALARMS = 512
"""Alarms that a service watches at most."""

MAX_TRANSITIONS = 256
"""Transitions that a report has at most: more are told in several."""

_MAX_REPORT = 1 << 20


class AlarmState(StrEnum):
    """Where an alarm is in its life (ISA-18.2, alarm state transition diagram; the letters are the standard's)."""

    NORMAL = "normal"  # A
    UNACKNOWLEDGED = "unacknowledged"  # B
    ACKNOWLEDGED = "acknowledged"  # C
    RETURNED = "returned_unacknowledged"  # D: the condition has gone, nobody has taken note
    LATCHED_UNACKNOWLEDGED = "latched_unacknowledged"  # E
    LATCHED_ACKNOWLEDGED = "latched_acknowledged"  # F: waits for a reset
    SHELVED = "shelved"  # G
    OUT_OF_SERVICE = "out_of_service"  # I


class AlarmAction(StrEnum):
    """What takes an alarm from one state to another."""

    OCCUR = "occur"
    RETURN_TO_NORMAL = "return_to_normal"
    ACKNOWLEDGE = "acknowledge"
    RESET = "reset"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"


class Severity(StrEnum):
    """How much an alarm matters."""

    WARN = "warn"
    TRIP = "trip"


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm as it is.

    Parameters
    ----------
    name : its own, such as ``north.fdb_delay.trip``.
    value : the published value that is watched, such as ``fdb_delay``.
    actuator : whose value; empty for those of the service.
    unit : of `low`, `high` and `last`.
    severity : warn or trip.
    low, high : the normal range; None: open to that side.
    state : where it is in its life.
    active : the condition holds, whatever the state.
    last : the newest value that was judged; None before the first.
    time, index : s and sample number of the last transition, on the rig's clock.
    shelved_for : s that it stays shelved; 0 otherwise.
    advice : what the operator is to do.
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

    @property
    def needs_acknowledgement(self) -> bool:
        """Nobody has taken note of it yet."""
        return self.state in _UNACKNOWLEDGED

    @property
    def standing(self) -> bool:
        """It is to be seen: neither normal nor put aside."""
        return self.state not in _QUIET


_UNACKNOWLEDGED = (AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED, AlarmState.LATCHED_UNACKNOWLEDGED)
_QUIET = (AlarmState.NORMAL, AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)


@dataclass(frozen=True, slots=True)
class Transition:
    """One alarm's step from a state to another.

    Parameters
    ----------
    number : of all transitions of the service, counting on over restarts where its alarms are kept.
    name, severity : the alarm's.
    action : what happened.
    previous, state : before and after.
    time, index : s and sample number on the rig's clock.
    value : that was judged; None where it is not known.
    limit : that was crossed, or is nearest; None where there is none.
    unit : of both.
    reason : one line.
    by : who asked for it; empty: nobody, or unknown.
    actuator : whose value; empty for those of the service.
    quantity : the published value that is watched, such as ``fdb_delay``.
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


@dataclass(frozen=True, slots=True)
class AlarmReport:
    """All alarms of a service, and the transitions that led there since the report before."""

    alarms: tuple[Alarm, ...] = ()
    transitions: tuple[Transition, ...] = ()


_decoder = msgspec.json.Decoder(AlarmReport)


def encode(report: AlarmReport) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(report)


def decode(payload: bytes) -> AlarmReport:
    """Return what `encode` was given; raises ``msgspec.DecodeError`` for anything else, or reports without end."""
    if len(payload) > _MAX_REPORT:
        raise msgspec.DecodeError(f"a report of {len(payload)} bytes; the limit is {_MAX_REPORT}")
    try:
        report = _decoder.decode(payload)
    except RecursionError as problem:
        raise msgspec.DecodeError("the report is nested too deeply") from problem
    if len(report.alarms) > MAX_ALARMS:
        raise msgspec.DecodeError(f"{len(report.alarms)} alarms; the limit is {MAX_ALARMS}")
    return report

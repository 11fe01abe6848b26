"""One alarm of a service: its state transitions, after ISA-18.2 and IEC 62682, and what of it survives a restart.

Three rules are additions to the standard. A shelved alarm has an underlying state that still follows its condition,
so that shelving does not clear a latched alarm. A request without effect is not a transition: it is rejected with a
reason. An alarm whose value does not come is not judged: where it would be normal its state says so, and any other
state, which an operator may have to acknowledge, stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec
from msgspec.structs import replace

from monitor.alarms import text
from monitor.messages.alarms import MAX_ALARMS, NOT_JUDGED, Alarm, AlarmAction, AlarmState, Transition

VERSION = 1
"""Of the saved form."""
_MAX_BYTES = 1 << 20
MAX_RIGS = 16
"""Other rigs whose alarms are saved."""


class SavedAlarm(msgspec.Struct, frozen=True):
    """An alarm that was not normal.

    Parameters
    ----------
    alarm : its state.
    underlying : the state if it were not shelved.
    latching, acknowledge : see `AlarmKind`.
    """

    alarm: Alarm
    underlying: AlarmState
    latching: bool
    acknowledge: bool


class SavedLimits(msgspec.Struct, frozen=True):
    """Limits that a request has changed; `configured` are those of the settings. None: open to that side."""

    low: float | None
    high: float | None
    configured: tuple[float | None, float | None]


_Limits = Annotated[dict[str, SavedLimits], msgspec.Meta(max_length=MAX_ALARMS)]
_Alarms = Annotated[tuple[SavedAlarm, ...], msgspec.Meta(max_length=MAX_ALARMS)]


class SavedAlarms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All saved alarms, and the number of the last transition.

    Parameters
    ----------
    rig : the rig that they belong to; empty if not known.
    aside : those of other rigs, by the name of the rig, until its stream is received again.
    limits, limits_aside : changed limits, by the name of the alarm, and those of other rigs.
    """

    version: int
    number: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
    alarms: _Alarms
    rig: str = ""
    aside: Annotated[dict[str, _Alarms], msgspec.Meta(max_length=MAX_RIGS)] = {}
    limits: _Limits = {}
    limits_aside: Annotated[dict[str, _Limits], msgspec.Meta(max_length=MAX_RIGS)] = {}


_decoder = msgspec.json.Decoder(SavedAlarms)


def decode_alarms(data: bytes) -> SavedAlarms:
    """Return the alarms saved by a service; raises ValueError, with a message of one line, for anything else."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{len(data)} bytes of alarms; the limit is {_MAX_BYTES}")
    try:
        found = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(f"the saved alarms cannot be read: {problem}") from None
    if found.version != VERSION:
        raise ValueError(f"the saved alarms have version {found.version}, not {VERSION}")
    for alarms in (found.alarms, *found.aside.values()):
        names = [each.alarm.name for each in alarms]
        if len(set(names)) != len(names):
            raise ValueError("the saved alarms have duplicate names")
        for each in alarms:
            if each.underlying in (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE):
                raise ValueError(f"the saved alarm {each.alarm.name!r} has the underlying state {each.underlying}")
    return found


_S, _A = AlarmState, AlarmAction
LATCHED = (_S.LATCHED_UNACKNOWLEDGED, _S.LATCHED_ACKNOWLEDGED)

# transitions that do not depend on the kind of alarm
_TABLE = {
    (_S.UNACKNOWLEDGED, _A.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.RETURNED, _A.ACKNOWLEDGE): _S.NORMAL,
    (_S.LATCHED_UNACKNOWLEDGED, _A.ACKNOWLEDGE): _S.LATCHED_ACKNOWLEDGED,
    (_S.LATCHED_ACKNOWLEDGED, _A.RESET): _S.NORMAL,
}
_INACTIVE = (_S.NORMAL, _S.NOT_JUDGED, _S.RETURNED, *LATCHED)

_REJECTIONS = {
    _A.ACKNOWLEDGE: {
        _S.NORMAL: "it is normal: there is nothing to acknowledge",
        _S.NOT_JUDGED: "it is not judged: there is nothing to acknowledge",
        _S.ACKNOWLEDGED: "it has been acknowledged",
        _S.LATCHED_ACKNOWLEDGED: "it has been acknowledged; reset it",
        _S.SHELVED: "it is shelved: unshelve it first",
    },
    _A.RESET: {
        _S.NORMAL: "it is normal: there is nothing to reset",
        _S.NOT_JUDGED: "it is not judged: there is nothing to reset",
        _S.UNACKNOWLEDGED: "its condition is still active: acknowledge it now, reset it when it has cleared",
        _S.ACKNOWLEDGED: "its condition is still active: reset it when it has cleared",
        _S.RETURNED: "it is not latched: acknowledge it",
        _S.LATCHED_UNACKNOWLEDGED: "acknowledge it first",
        _S.SHELVED: "it is shelved: unshelve it first",
    },
}


NO_VALUE = "no value yet"
"""Why an alarm is not judged at the start of a service."""


class AlarmKind(NamedTuple):
    """Whether an alarm latches until it is reset, and whether it must be acknowledged."""

    latching: bool = False
    acknowledge: bool = True


def state_on_occurrence(kind: AlarmKind) -> AlarmState:
    """Return the state of an alarm whose condition has just become active."""
    return _S.UNACKNOWLEDGED if kind.acknowledge else _S.ACKNOWLEDGED


def next_state(state: AlarmState, action: AlarmAction, kind: AlarmKind) -> AlarmState:
    """Return the state after `action`; the same state if it has no effect.

    Without shelving, for which see `state_after_unshelve`: shelved and out of service are left by no other action.
    """
    if action is _A.OCCUR and state in _INACTIVE:
        return state_on_occurrence(kind)
    if action is _A.RETURN_TO_NORMAL and state is _S.UNACKNOWLEDGED:
        return _S.LATCHED_UNACKNOWLEDGED if kind.latching else _S.RETURNED
    if action is _A.RETURN_TO_NORMAL and state is _S.ACKNOWLEDGED:
        return _S.LATCHED_ACKNOWLEDGED if kind.latching else _S.NORMAL
    return _TABLE.get((state, action), state)


def state_after_unshelve(underlying: AlarmState, kind: AlarmKind, *, active: bool) -> AlarmState:
    """Return the state of an alarm after unshelving.

    An active alarm must be acknowledged again; a latched one is still latched; any other is normal.
    """
    if active:
        return state_on_occurrence(kind)
    return underlying if underlying in LATCHED else _S.NORMAL


def rejection_reason(state: AlarmState, action: AlarmAction) -> str:
    """Return why `action` has no effect in `state`."""
    if state is _S.OUT_OF_SERVICE:
        return "it is out of service"
    return _REJECTIONS.get(action, {}).get(state, f"it is {state.replace('_', ' ')}")


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Time [s] and sample number of the stream, on the rig's clock."""

    time: float
    index: int


class AlarmInstance:
    """The current state of one alarm; its transitions are not numbered yet.

    Parameters
    ----------
    alarm : initial or saved state.
    kind : latching, and with acknowledgement.
    underlying : the state if it were not shelved; by default that of `alarm`.

    Attributes
    ----------
    reads : column that its value is read from, where that may change; `Alarm.source` is that of the last value.
    """

    __slots__ = (
        *("_alarm", "_at", "_changed", "_last", "_shelved_for", "_underlying"),
        *("active", "kind", "not_judged", "reads", "source", "state"),
    )

    def __init__(self, alarm: Alarm, kind: AlarmKind, underlying: AlarmState | None = None) -> None:
        self.kind = kind
        self._alarm, self._changed = alarm, True
        self.not_judged, self.reads, self.source = alarm.not_judged, alarm.source, alarm.source
        self.state, self.active = self._with_judgement(alarm.state), alarm.active
        self._last, self._shelved_for = alarm.last, alarm.shelved_for
        self._at = StreamPosition(alarm.time, alarm.index)
        self._underlying = self._with_judgement(alarm.state if underlying is None else underlying)

    @classmethod
    def from_saved(cls, saved: SavedAlarm) -> AlarmInstance:
        """Restore a saved alarm, whose value has not come to this service yet."""
        alarm = replace(saved.alarm, last=None, not_judged=NO_VALUE)
        return cls(alarm, AlarmKind(saved.latching, saved.acknowledge), saved.underlying)

    @property
    def alarm(self) -> Alarm:
        """The alarm in its current state."""
        # created on access: changes are more frequent than reports
        if self._changed:
            self._alarm = replace(
                self._alarm,
                state=self.state,
                active=self.active,
                last=self._last,
                time=self._at.time,
                index=self._at.index,
                shelved_for=self._shelved_for,
                not_judged=self.not_judged,
                source=self.source,
            )
            self._changed = False
        return self._alarm

    @property
    def name(self) -> str:
        """Name of the alarm."""
        return self._alarm.name

    @property
    def saved(self) -> SavedAlarm:
        """The state to be saved."""
        return SavedAlarm(self.alarm, self._underlying, self.kind.latching, self.kind.acknowledge)

    @property
    def must_be_saved(self) -> bool:
        """Whether it is neither normal, not judged nor out of service."""
        return self.state not in (AlarmState.NORMAL, AlarmState.NOT_JUDGED, AlarmState.OUT_OF_SERVICE)

    @property
    def resettable(self) -> bool:
        """Whether a reset returns it to normal."""
        return self.state is AlarmState.LATCHED_ACKNOWLEDGED

    def continue_from(self, other: AlarmInstance) -> None:
        """Copy the state of `other`, of the same name, and keep the own limits.

        If either is out of service nothing is copied.
        """
        if AlarmState.OUT_OF_SERVICE in (self.state, other.state):
            return
        self._changed = True
        self._underlying, self._at = other._underlying, other._at
        self.state, self.active, self.not_judged = other.state, other.active, other.not_judged
        self.source = other.source
        self._last, self._shelved_for = other._last, other._shelved_for

    def set_limits(self, alarm: Alarm) -> None:
        """Copy the limits of `alarm`; the state is unchanged."""
        self._alarm = replace(self.alarm, low=alarm.low, high=alarm.high, configured=alarm.configured)

    def remove_definition(self) -> None:
        """Mark it as one whose limits cannot be changed: it has no definition."""
        self._alarm = replace(self.alarm, changeable=False)

    def set_active(self, active: bool, value: float | None, reason: str, at: StreamPosition) -> Transition | None:
        """Set whether the condition is active; return the transition, None if there is none."""
        action = AlarmAction.OCCUR if active else AlarmAction.RETURN_TO_NORMAL
        self.active, self._changed = active, True
        if value is not None:
            self.record_value(value)
        if self.state is AlarmState.OUT_OF_SERVICE:
            return None
        self._underlying = self._with_judgement(next_state(self._underlying, action, self.kind))
        if self.state in (AlarmState.SHELVED, self._underlying):
            return None
        return self._transition(self._underlying, action, at, reason, value=value)

    def set_not_judged(self, reason: str, at: StreamPosition, *, reported: bool = True) -> Transition | None:
        """Set why it is not judged, empty where it is; return the transition, None if there is none.

        Parameters
        ----------
        reported : False: that it was not judged was no transition either, as before the first value.
        """
        if self.state is AlarmState.OUT_OF_SERVICE:
            return None
        was, self.not_judged, self._changed = self.not_judged, reason, True
        if reason:
            self._last = None
        self._underlying = self._with_judgement(self._underlying)
        if self.state is AlarmState.SHELVED or (bool(was) == bool(reason) and not (reported and was == NO_VALUE)):
            return None
        action = AlarmAction.LOSE_VALUE if reason else AlarmAction.REGAIN_VALUE
        said = NOT_JUDGED + reason if reason else "judged again"
        transition = self._transition(self._underlying, action, at, said)
        return transition if reported else None

    def _with_judgement(self, state: AlarmState) -> AlarmState:
        """Return `state`, which is `NOT_JUDGED` instead of normal where it is not judged."""
        if state in (AlarmState.NORMAL, AlarmState.NOT_JUDGED):
            return AlarmState.NOT_JUDGED if self.not_judged else AlarmState.NORMAL
        return state

    def acknowledge_or_reset(self, action: AlarmAction, by: str, at: StreamPosition) -> Transition:
        """Acknowledge or reset it; raises ValueError if that has no effect."""
        state = self._with_judgement(next_state(self.state, action, self.kind))
        if state is self.state:
            raise ValueError(f"{self.name}: {rejection_reason(self.state, action)}")
        self._underlying = state
        done = "acknowledged" if action is AlarmAction.ACKNOWLEDGE else "reset"
        return self._transition(state, action, at, text.attributed(done, by), by)

    def shelve(self, seconds: float, by: str, at: StreamPosition) -> Transition:
        """Shelve it, or change the time if it is shelved; raises ValueError if it is out of service."""
        if self.state is AlarmState.OUT_OF_SERVICE:
            raise ValueError(f"{self.name}: {rejection_reason(self.state, AlarmAction.SHELVE)}")
        reason = text.attributed(f"shelved for {seconds:g} s", by)
        self._shelved_for = float(seconds)
        return self._transition(AlarmState.SHELVED, AlarmAction.SHELVE, at, reason, by)

    def unshelve(self, by: str, at: StreamPosition, reason: str = "unshelved") -> Transition:
        """Unshelve it; raises ValueError if it is not shelved."""
        if self.state is not AlarmState.SHELVED:
            raise ValueError(f"{self.name}: it is not shelved")
        self._underlying = self._with_judgement(state_after_unshelve(self._underlying, self.kind, active=self.active))
        self._shelved_for = 0.0
        return self._transition(self._underlying, AlarmAction.UNSHELVE, at, text.attributed(reason, by), by)

    def advance_shelving(self, elapsed: float) -> bool:
        """Subtract `elapsed` s from the time that it stays shelved; return whether that is over."""
        if self.state is not AlarmState.SHELVED:
            return False
        self._shelved_for, self._changed = max(self._shelved_for - elapsed, 0.0), True
        return self._shelved_for == 0.0

    def record_value(self, value: float) -> None:
        """Store the newest value; NaN and infinity are ignored."""
        if math.isfinite(value) and (value != self._last or self.reads != self.source):
            self._last, self.source, self._changed = value, self.reads, True

    def _transition(
        self,
        state: AlarmState,
        action: AlarmAction,
        at: StreamPosition,
        reason: str,
        by: str = "",
        value: float | None = None,
    ) -> Transition:
        alarm = self._alarm
        # a transition by request has the newest known value
        value = self._last if value is None else value if math.isfinite(value) else None
        transition = Transition(
            0,
            alarm.name,
            alarm.severity,
            action,
            self.state,
            state,
            at.time,
            at.index,
            value,
            text.crossed_limit(alarm, value),
            alarm.unit,
            reason,
            by,
            alarm.actuator,
            alarm.value,
        )
        self.state, self._at, self._changed = state, at, True
        return transition

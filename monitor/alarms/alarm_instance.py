"""One alarm of a service: its state transitions, after ISA-18.2 and IEC 62682, and the instance that takes them.

Two things are ours. While an alarm is shelved its life goes on unseen underneath, so that a latched one is not lost
by shelving it. And a request without effect is no transition: it is rejected with a reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from monitor.alarms import text
from monitor.alarms.saved_alarm import SavedAlarm
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Transition

_S, _A = AlarmState, AlarmAction
LATCHED = (_S.LATCHED_UNACKNOWLEDGED, _S.LATCHED_ACKNOWLEDGED)

# what does not depend on the kind of alarm
_TABLE = {
    (_S.UNACKNOWLEDGED, _A.ACKNOWLEDGE): _S.ACKNOWLEDGED,
    (_S.RETURNED, _A.ACKNOWLEDGE): _S.NORMAL,
    (_S.LATCHED_UNACKNOWLEDGED, _A.ACKNOWLEDGE): _S.LATCHED_ACKNOWLEDGED,
    (_S.LATCHED_ACKNOWLEDGED, _A.RESET): _S.NORMAL,
}
_RESTING = (_S.NORMAL, _S.RETURNED, *LATCHED)

_REJECTIONS = {
    _A.ACKNOWLEDGE: {
        _S.NORMAL: "it is normal: there is nothing to acknowledge",
        _S.ACKNOWLEDGED: "it has been acknowledged",
        _S.LATCHED_ACKNOWLEDGED: "it has been acknowledged; reset it to let it go",
        _S.SHELVED: "it is shelved: unshelve it first",
    },
    _A.RESET: {
        _S.NORMAL: "it is normal: there is nothing to reset",
        _S.UNACKNOWLEDGED: "its condition is still active: acknowledge it now, reset it when it has gone",
        _S.ACKNOWLEDGED: "its condition is still active: reset it when it has gone",
        _S.RETURNED: "it is not latched: acknowledge it",
        _S.LATCHED_UNACKNOWLEDGED: "acknowledge it first",
        _S.SHELVED: "it is shelved: unshelve it first",
    },
}


class Kind(NamedTuple):
    """What kind of alarm it is: one that stays when its condition has gone, one that somebody must take note of."""

    latching: bool = False
    acknowledge: bool = True


def occurred(kind: Kind) -> AlarmState:
    """Return the state of an alarm whose condition has just begun to hold."""
    return _S.UNACKNOWLEDGED if kind.acknowledge else _S.ACKNOWLEDGED


def following(state: AlarmState, action: AlarmAction, kind: Kind) -> AlarmState:
    """Return the state after `action`; the same where it has no effect.

    Shelving has no place here: see `state_after_unshelve`. A shelved alarm, and one out of service, stay as they are.
    """
    if action is _A.OCCUR and state in _RESTING:
        return occurred(kind)
    if action is _A.RETURN_TO_NORMAL and state is _S.UNACKNOWLEDGED:
        return _S.LATCHED_UNACKNOWLEDGED if kind.latching else _S.RETURNED
    if action is _A.RETURN_TO_NORMAL and state is _S.ACKNOWLEDGED:
        return _S.LATCHED_ACKNOWLEDGED if kind.latching else _S.NORMAL
    return _TABLE.get((state, action), state)


def state_after_unshelve(underlying: AlarmState, kind: Kind, *, active: bool) -> AlarmState:
    """Return the state of an alarm that is taken from the shelf, where its life came to `underlying` meanwhile.

    One whose condition holds has to be seen anew; a latched one is still latched; any other is normal.
    """
    if active:
        return occurred(kind)
    return underlying if underlying in LATCHED else _S.NORMAL


def rejection_reason(state: AlarmState, action: AlarmAction) -> str:
    """Return why `action` has no effect in `state`."""
    if state is _S.OUT_OF_SERVICE:
        return "it is out of service"
    return _REJECTIONS.get(action, {}).get(state, f"it is {state.replace('_', ' ')}")


@dataclass(frozen=True, slots=True)
class Moment:
    """Time [s] and sample number of the stream, on the rig's clock."""

    time: float
    index: int


class AlarmInstance:
    """An alarm and its life; the transitions have no numbers yet.

    Parameters
    ----------
    alarm : as it begins, or as it was kept.
    kind : how its life goes.
    underlying : the state that it would have if it were not shelved; by default its own.
    """

    __slots__ = ("_alarm", "_at", "_changed", "_last", "_shelved_for", "_underlying", "active", "kind", "state")

    def __init__(self, alarm: Alarm, kind: Kind, underlying: AlarmState | None = None) -> None:
        self.kind = kind
        self._alarm, self._changed = alarm, False
        self.state, self.active = alarm.state, alarm.active
        self._last, self._shelved_for = alarm.last, alarm.shelved_for
        self._at = Moment(alarm.time, alarm.index)
        self._underlying = alarm.state if underlying is None else underlying

    @classmethod
    def of(cls, kept: SavedAlarm) -> AlarmInstance:
        """Return one that was kept."""
        return cls(kept.alarm, Kind(kept.latching, kept.acknowledge), kept.underlying)

    @property
    def alarm(self) -> Alarm:
        """The alarm as it is."""
        # made when somebody looks: a step costs less than what is told of it
        if self._changed:
            self._alarm = replace(
                self._alarm,
                state=self.state,
                active=self.active,
                last=self._last,
                time=self._at.time,
                index=self._at.index,
                shelved_for=self._shelved_for,
            )
            self._changed = False
        return self._alarm

    @property
    def name(self) -> str:
        """The alarm's."""
        return self._alarm.name

    @property
    def kept(self) -> SavedAlarm:
        """What is to be kept of it."""
        return SavedAlarm(self.alarm, self._underlying, self.kind.latching, self.kind.acknowledge)

    @property
    def must_be_saved(self) -> bool:
        """It is neither normal nor out of service."""
        return self.state not in (AlarmState.NORMAL, AlarmState.OUT_OF_SERVICE)

    @property
    def resettable(self) -> bool:
        """A reset lets it go."""
        return self.state is AlarmState.LATCHED_ACKNOWLEDGED

    def take_over(self, other: AlarmInstance) -> None:
        """Go on where `other` of the same name has come to, under this one's limits.

        One that is out of service now, or was, begins anew.
        """
        if AlarmState.OUT_OF_SERVICE in (self.state, other.state):
            return
        self._changed = True
        self._underlying, self._at = other._underlying, other._at
        self.state, self.active = other.state, other.active
        self._last, self._shelved_for = other._last, other._shelved_for

    def turn(self, value: float | None, reason: str, at: Moment, *, entered: bool) -> Transition | None:
        """Let the condition begin or cease to hold; None where no transition comes of it."""
        action = AlarmAction.OCCUR if entered else AlarmAction.RETURN_TO_NORMAL
        self.active, self._changed = entered, True
        if value is not None:
            self.seen(value)
        if self.state is AlarmState.OUT_OF_SERVICE:
            return None
        self._underlying = following(self._underlying, action, self.kind)
        if self.state in (AlarmState.SHELVED, self._underlying):
            return None
        return self._go(self._underlying, action, at, reason, value=value)

    def ask(self, action: AlarmAction, by: str, at: Moment) -> Transition:
        """Acknowledge or reset it; raises ValueError where that is in vain."""
        state = following(self.state, action, self.kind)
        if state is self.state:
            raise ValueError(f"{self.name}: {rejection_reason(self.state, action)}")
        self._underlying = state
        what = "acknowledged" if action is AlarmAction.ACKNOWLEDGE else "reset"
        return self._go(state, action, at, text.asked(what, by), by)

    def shelve(self, seconds: float, by: str, at: Moment) -> Transition:
        """Put it aside, or for another time if it is; raises ValueError where it is out of service."""
        if self.state is AlarmState.OUT_OF_SERVICE:
            raise ValueError(f"{self.name}: {rejection_reason(self.state, AlarmAction.SHELVE)}")
        reason = text.asked(f"shelved for {seconds:g} s", by)
        self._shelved_for = float(seconds)
        return self._go(AlarmState.SHELVED, AlarmAction.SHELVE, at, reason, by)

    def unshelve(self, by: str, at: Moment, reason: str = "unshelved") -> Transition:
        """Take it from the shelf; raises ValueError where it is not there."""
        if self.state is not AlarmState.SHELVED:
            raise ValueError(f"{self.name}: it is not shelved")
        self._underlying = state_after_unshelve(self._underlying, self.kind, active=self.active)
        self._shelved_for = 0.0
        return self._go(self._underlying, AlarmAction.UNSHELVE, at, text.asked(reason, by), by)

    def wait(self, passed: float) -> bool:
        """Let `passed` s go by; tell whether its time on the shelf is over."""
        if self.state is not AlarmState.SHELVED:
            return False
        self._shelved_for, self._changed = max(self._shelved_for - passed, 0.0), True
        return self._shelved_for == 0.0

    def seen(self, value: float) -> None:
        """Remember the newest value that was judged."""
        if math.isfinite(value) and value != self._last:
            self._last, self._changed = value, True

    def _go(
        self,
        state: AlarmState,
        action: AlarmAction,
        at: Moment,
        reason: str,
        by: str = "",
        value: float | None = None,
    ) -> Transition:
        alarm = self._alarm
        # what is asked for stands beside the newest value that is known
        value = self._last if value is None else value if math.isfinite(value) else None
        made = Transition(
            0,
            alarm.name,
            alarm.severity,
            action,
            self.state,
            state,
            at.time,
            at.index,
            value,
            text.crossed(alarm, value),
            alarm.unit,
            reason,
            by,
            alarm.actuator,
            alarm.value,
        )
        self.state, self._at, self._changed = state, at, True
        return made

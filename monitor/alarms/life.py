"""The life of one alarm: which state follows which, after ISA-18.2 and IEC 62682 (alarm state transition diagram).

Two things are ours. While an alarm is shelved its life goes on unseen beneath, so that a latched one is not lost by
shelving it. And what is asked for in vain is no transition: it is refused with a reason.
"""

from __future__ import annotations

from typing import NamedTuple

from monitor.messages.alarms import AlarmAction, AlarmState

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

_IN_VAIN = {
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

    Shelving has no place here: see `unshelved`. Of a shelved alarm, and of one out of service, nothing follows.
    """
    if action is _A.OCCUR and state in _RESTING:
        return occurred(kind)
    if action is _A.RETURN_TO_NORMAL and state is _S.UNACKNOWLEDGED:
        return _S.LATCHED_UNACKNOWLEDGED if kind.latching else _S.RETURNED
    if action is _A.RETURN_TO_NORMAL and state is _S.ACKNOWLEDGED:
        return _S.LATCHED_ACKNOWLEDGED if kind.latching else _S.NORMAL
    return _TABLE.get((state, action), state)


def unshelved(beneath: AlarmState, kind: Kind, *, active: bool) -> AlarmState:
    """Return the state of an alarm that is taken from the shelf, where its life came to `beneath` meanwhile.

    One whose condition holds has to be seen anew; a latched one is still latched; any other is normal.
    """
    if active:
        return occurred(kind)
    return beneath if beneath in LATCHED else _S.NORMAL


def why_in_vain(state: AlarmState, action: AlarmAction) -> str:
    """Return why `action` has no effect in `state`."""
    if state is _S.OUT_OF_SERVICE:
        return "it is out of service"
    return _IN_VAIN.get(action, {}).get(state, f"it is {state.replace('_', ' ')}")

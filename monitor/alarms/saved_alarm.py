"""What of alarms outlives the service, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import msgspec

from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmState

_VERSION = 1
_MOST_BYTES = 1 << 20
MOST_RIGS = 16
"""Whose alarms are put aside."""


class SavedAlarm(msgspec.Struct, frozen=True, rename={"underlying": "beneath"}):
    """One alarm that was not normal.

    Parameters
    ----------
    alarm : as it was.
    underlying : the state that a shelved alarm has come to unseen; else its own.
    latching, acknowledge : its kind.
    """

    alarm: Alarm
    underlying: AlarmState
    latching: bool
    acknowledge: bool


_Alarms = Annotated[tuple[SavedAlarm, ...], msgspec.Meta(max_length=MAX_ALARMS)]


class SavedAlarms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them, and the number of the last transition.

    Parameters
    ----------
    rig : whose they are; empty: not known.
    aside : those of other rigs, by the rig's name, until it is followed again.
    """

    version: int
    number: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
    alarms: _Alarms
    rig: str = ""
    aside: Annotated[dict[str, _Alarms], msgspec.Meta(max_length=MOST_RIGS)] = {}


_decoder = msgspec.json.Decoder(SavedAlarms)


def encode(
    number: int,
    alarms: tuple[SavedAlarm, ...],
    rig: str = "",
    aside: Mapping[str, tuple[SavedAlarm, ...]] = MappingProxyType({}),
) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(SavedAlarms(_VERSION, number, alarms, rig, dict(aside)))


def decode(kept: bytes) -> SavedAlarms:
    """Return what `encode` was given; raises ValueError, with one line, for anything else."""
    if len(kept) > _MOST_BYTES:
        raise ValueError(f"{len(kept)} bytes of alarms; the limit is {_MOST_BYTES}")
    try:
        found = _decoder.decode(kept)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(f"the alarms that were kept cannot be read: {problem}") from None
    if found.version != _VERSION:
        raise ValueError(f"the alarms that were kept are of version {found.version}, not {_VERSION}")
    for alarms in (found.alarms, *found.aside.values()):
        names = [each.alarm.name for each in alarms]
        if len(set(names)) != len(names):
            raise ValueError("the alarms that were kept have names in common")
        for each in alarms:
            if each.underlying in (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE):
                raise ValueError(f"the alarms that were kept have {each.alarm.name!r} {each.underlying} twice")
    return found

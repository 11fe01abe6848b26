"""Saved alarms: the state that survives a restart of the service, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import msgspec

from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmState

_VERSION = 1
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


def encode(
    number: int,
    alarms: tuple[SavedAlarm, ...],
    rig: str = "",
    aside: Mapping[str, tuple[SavedAlarm, ...]] = MappingProxyType({}),
    limits: Mapping[str, SavedLimits] = MappingProxyType({}),
    limits_aside: Mapping[str, Mapping[str, SavedLimits]] = MappingProxyType({}),
) -> bytes:
    """Return the JSON form."""
    others = {name: dict(each) for name, each in limits_aside.items()}
    return msgspec.json.encode(SavedAlarms(_VERSION, number, alarms, rig, dict(aside), dict(limits), others))


def decode(data: bytes) -> SavedAlarms:
    """Return what `encode` was given; raises ValueError, with a message of one line, for anything else."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"{len(data)} bytes of alarms; the limit is {_MAX_BYTES}")
    try:
        found = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(f"the saved alarms cannot be read: {problem}") from None
    if found.version != _VERSION:
        raise ValueError(f"the saved alarms have version {found.version}, not {_VERSION}")
    for alarms in (found.alarms, *found.aside.values()):
        names = [each.alarm.name for each in alarms]
        if len(set(names)) != len(names):
            raise ValueError("the saved alarms have duplicate names")
        for each in alarms:
            if each.underlying in (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE):
                raise ValueError(f"the saved alarm {each.alarm.name!r} has the underlying state {each.underlying}")
    return found

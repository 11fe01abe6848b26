"""Limits of alarms that requests have changed, which replace those of the settings, also after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from msgspec import structs

from monitor.alarms import text
from monitor.alarms.alarm_instance import SavedLimits
from monitor.alarms.definitions import AlarmDefinition
from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmState, LimitChange, Severity
from monitor.messages.requests import NewLimits, SetLimitsRequest

_MAX_LISTED = 3  # names in a note


class ChangedLimits:
    """Changed limits by the name of the alarm.

    Parameters
    ----------
    saved : those of the alarm state file.

    Notes
    -----
    A change is discarded when the settings have other limits than at the time of the change: the newer decision
    is in force.
    """

    def __init__(self, saved: Mapping[str, SavedLimits] = MappingProxyType({})) -> None:
        self.saved = dict(saved)

    def apply(self, definitions: Sequence[AlarmDefinition]) -> tuple[list[AlarmDefinition], list[str]]:
        """Return the definitions of the settings with the changed limits, and a note on those that are discarded."""
        if not self.saved:
            return list(definitions), []
        by_settings = {each.alarm.name: each for each in definitions}
        found, discarded = dict(by_settings), list[str]()
        for name, definition in by_settings.items():
            if (saved := self.saved.get(name)) is None:
                continue
            configured = definition.alarm.low, definition.alarm.high
            if definition.alarm.changeable and configured == saved.configured:
                found[name] = definition.with_limits(saved.low, saved.high, configured)
            else:
                discarded.append(name)
        for name in [name for name in found if found[name] is not by_settings[name]]:
            if _problem(found[name], found):
                found[name] = by_settings[name]
                discarded.append(name)
        for name in discarded:
            del self.saved[name]
        return list(found.values()), [_discarded_note(discarded)] if discarded else []

    def change(
        self, definitions: Mapping[str, AlarmDefinition], request: SetLimitsRequest
    ) -> tuple[dict[str, AlarmDefinition], tuple[LimitChange, ...]]:
        """Return the definitions with new limits, by name, and what has changed.

        Parameters
        ----------
        definitions : the current ones, by name; those of the request are among them.

        Raises
        ------
        ValueError : one of the limits is not possible, or none would change; the text is the reason.
        """
        new = {each.alarm: _changed(definitions[each.alarm], each) for each in request.limits}
        new = {name: each for name, each in new.items() if _range(each.alarm) != _range(definitions[name].alarm)}
        if not new:
            raise ValueError(f"{request.limits[0].alarm}: it has these limits already")
        together = {**definitions, **new}
        for each in new.values():
            if problem := _problem(each, together):
                raise ValueError(problem)
        for name, each in new.items():
            self._remember(name, each.alarm, definitions)
        return new, tuple(_change_of(definitions[name].alarm, each.alarm, request.by) for name, each in new.items())

    def _remember(self, name: str, alarm: Alarm, definitions: Mapping[str, AlarmDefinition]) -> None:
        self.saved.pop(name, None)
        if alarm.configured is None:
            return
        if len(self.saved) >= MAX_ALARMS:
            # there are at most as many definitions: the oldest change of an alarm that is not defined now is removed
            del self.saved[next(each for each in self.saved if each not in definitions)]
        self.saved[name] = SavedLimits(alarm.low, alarm.high, alarm.configured)


def _changed(definition: AlarmDefinition, new: NewLimits) -> AlarmDefinition:
    alarm = definition.alarm
    if not alarm.changeable:
        out_of_service = alarm.state is AlarmState.OUT_OF_SERVICE
        raise ValueError(f"{alarm.name}: {'it is out of service' if out_of_service else 'its limit is built in'}")
    configured = _range(alarm) if alarm.configured is None else alarm.configured
    return definition.with_limits(new.low, new.high, None if configured == (new.low, new.high) else configured)


def _range(alarm: Alarm) -> tuple[float | None, float | None]:
    return alarm.low, alarm.high


def _problem(definition: AlarmDefinition, definitions: Mapping[str, AlarmDefinition]) -> str:
    """Return why an alarm cannot have its limits beside those of the other severity; empty if it can."""
    name = definition.alarm.name
    if definition.low > definition.high:
        return f"{name}: low {definition.low:g} is above high {definition.high:g}"
    if definition.high - definition.low < 2.0 * definition.deadband:
        return f"{name}: deadband {definition.deadband:g} leaves nothing between the limits"
    base = name.rpartition(".")[0]
    warn, trip = (definitions.get(f"{base}.{severity}") for severity in (Severity.WARN, Severity.TRIP))
    if warn is None or trip is None or (trip.low <= warn.low and warn.high <= trip.high):
        return ""
    # of two alarms with one name before the severity, only those on one value belong together
    if (warn.alarm.value, warn.alarm.actuator) != (trip.alarm.value, trip.alarm.actuator):
        return ""
    ranges = (text.range_text(each.alarm.low, each.alarm.high, each.alarm.unit) for each in (trip, warn))
    return "{}: the trip limit ({}) must be further out than the warning limit ({})".format(base, *ranges)


def changes_in_force(alarms: Iterable[Alarm]) -> tuple[LimitChange, ...]:
    """Return how the limits of `alarms` differ from those of the settings."""
    changed = [(alarm, alarm.configured) for alarm in alarms if alarm.configured is not None]
    return tuple(_change_of(structs.replace(a, low=limits[0], high=limits[1]), a, "") for a, limits in changed)


def _change_of(before: Alarm, after: Alarm, by: str) -> LimitChange:
    return LimitChange(
        after.name,
        after.severity,
        after.low,
        after.high,
        before.low,
        before.high,
        after.unit,
        by,
        after.actuator,
        after.value,
    )


def _discarded_note(names: Iterable[str]) -> str:
    listed = sorted(names)
    shown = ", ".join(chain(listed[:_MAX_LISTED], ["..."] if len(listed) > _MAX_LISTED else []))
    return f"alarms: changed limits are discarded, the settings have changed: {shown}"

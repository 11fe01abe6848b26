"""Alarms of a service: their summary and sort order, and their limits as lines in plots and levels of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from gui.wording.event_text import severity_level, severity_shape, severity_word, value_name
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition

_ASIDE = {AlarmState.NOT_JUDGED: 2, AlarmState.SHELVED: 3, AlarmState.OUT_OF_SERVICE: 4, AlarmState.NORMAL: 5}


@dataclass(frozen=True, slots=True)
class AlarmSummary:
    """Counts of the active alarms.

    Parameters
    ----------
    trips, warns : active alarms by severity.
    unacknowledged : of these.
    not_judged : have no recent value; also active and shelved ones.
    shelved : not annunciated for a time.
    configured : all alarms.
    first : active alarm with the highest priority; None: no active alarm.
    """

    trips: int = 0
    warns: int = 0
    unacknowledged: int = 0
    not_judged: int = 0
    shelved: int = 0
    configured: int = 0
    first: Alarm | None = None

    @property
    def any_active(self) -> bool:
        """Whether any alarm is active."""
        return self.first is not None

    @property
    def level(self) -> Level:
        """Level of the highest active severity."""
        return Level.BAD if self.trips else Level.WARN if self.warns else Level.NONE

    @property
    def aside(self) -> tuple[str, ...]:
        """``3 not judged``, ``1 shelved``: counts of alarms that are not active, without zeros."""
        counts = (("not judged", self.not_judged), ("shelved", self.shelved))
        return tuple(f"{n} {words}" for words, n in counts if n)

    @property
    def words(self) -> str:
        """``■ TRIP 2 · ▲ WARN 1``; empty without active alarms."""
        counts = ((Severity.TRIP, self.trips), (Severity.WARN, self.warns))
        return " · ".join(f"{severity_shape(each)} {severity_word(each)} {n}" for each, n in counts if n)

    @property
    def plain_words(self) -> str:
        """`words` without shapes, and what is not judged, for a title."""
        counts = ((Severity.TRIP, self.trips), (Severity.WARN, self.warns))
        active = [f"{severity_word(each)} {n}" for each, n in counts if n]
        return ", ".join((*active, *self.aside[: bool(self.not_judged)]))


def summarize(alarms: Iterable[Alarm]) -> AlarmSummary:
    """Return the counts of `alarms`."""
    every = tuple(alarms)
    active = [alarm for alarm in every if alarm.is_annunciated]
    trips = sum(alarm.severity is Severity.TRIP for alarm in active)
    return AlarmSummary(
        trips,
        len(active) - trips,
        sum(alarm.needs_acknowledgement for alarm in active),
        sum(bool(alarm.not_judged) for alarm in every),
        sum(alarm.state is AlarmState.SHELVED for alarm in every),
        len(every),
        min(active, key=_rank, default=None),
    )


def unknown_now(alarms: Iterable[Alarm], reason: str) -> tuple[Alarm, ...]:
    """Return alarms of a service whose values are not current: none is judged, and none has a value."""
    normal, idle = AlarmState.NORMAL, AlarmState.OUT_OF_SERVICE
    return tuple(
        each
        if each.state is idle
        else replace(
            each,
            state=AlarmState.NOT_JUDGED if each.state is normal else each.state,
            last=None,
            not_judged=each.not_judged or reason,
        )
        for each in alarms
    )


def sorted_alarms(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Return alarms in the order of the list: unacknowledged, active, not judged, shelved, out of service, normal.

    Among these trips are first, then the newest.
    """
    return tuple(sorted(alarms, key=_rank))


def _rank(alarm: Alarm) -> tuple[int, bool, float, str]:
    """Return the sort key."""
    place = 0 if alarm.needs_acknowledgement else _ASIDE.get(alarm.state, 1)
    # normal alarms are sorted by name, so that the list does not change all the time
    time = 0.0 if alarm.state is AlarmState.NORMAL else -alarm.time
    return place, alarm.severity is not Severity.TRIP, time, alarm.name


def most_severe(alarms: Iterable[Alarm], actuator: str) -> tuple[Alarm | None, int]:
    """Return the most severe active alarm of an actuator, and the number of its other active alarms."""
    active = [alarm for alarm in alarms if alarm.actuator == actuator and alarm.is_annunciated]
    if not active:
        return None, 0
    return min(active, key=lambda alarm: (severity_level(alarm.severity) is not Level.BAD, _rank(alarm))), (
        len(active) - 1
    )


@dataclass(frozen=True, slots=True)
class AlarmSpan:
    """Span, s on the display's axis, in which the condition of an alarm held; `end` is infinite while it does."""

    actuator: str
    quantity: str
    severity: Severity
    begin: float
    end: float = math.inf

    @property
    def name(self) -> str:
        """Actuator and value."""
        return f"{self.actuator} {value_name(self.quantity)}".strip()


def alarm_spans(steps: Iterable[tuple[float, Transition]]) -> tuple[AlarmSpan, ...]:
    """Return the spans in which alarms were active.

    Parameters
    ----------
    steps : x, s, and transition, the oldest first.
    """
    active: dict[str, AlarmSpan] = {}
    ended: list[AlarmSpan] = []
    for x, step in steps:
        if step.action is AlarmAction.OCCUR:
            active.setdefault(step.name, AlarmSpan(step.actuator, step.quantity, step.severity, x))
        elif step.action is AlarmAction.RETURN_TO_NORMAL and (span := active.pop(step.name, None)):
            ended.append(AlarmSpan(span.actuator, span.quantity, span.severity, span.begin, x))
    return (*ended, *active.values())


@dataclass(frozen=True, slots=True)
class DisplayLimit:
    """Limits of the window on the magnitude of a deviation.

    Parameters
    ----------
    quantity : delay [ms], phase [deg] or ratio [% off 1].
    warn, trip : positive; infinite for none.

    Raises
    ------
    ValueError : a limit is not positive, or trip comes before warn.
    """

    quantity: str
    warn: float = math.inf
    trip: float = math.inf

    def __post_init__(self) -> None:
        if not self.warn > 0.0:
            raise ValueError(f"{self.quantity}: warn at {self.warn:g}: must be more than 0")
        if not self.trip > 0.0 or (self.warn < math.inf and self.trip < self.warn):
            raise ValueError(f"{self.quantity}: trip at {self.trip:g}: must not come before warn at {self.warn:g}")


DisplayLimits = Mapping[str, DisplayLimit]
"""By quantity."""

LIMITED_QUANTITIES = ("delay", "phase", "ratio")
"""Those that can have a limit of the window."""


@dataclass(frozen=True, slots=True)
class AlarmLimit:
    """One alarm's limits, in the unit of its value; None: no limit on that side.

    Parameters
    ----------
    name : of the alarm where a request may change its limits; else empty.
    pending : they are requested, and the service has not confirmed them.
    """

    value: str
    actuator: str
    severity: Severity
    low: float | None
    high: float | None
    name: str = ""
    pending: bool = False

    def broken(self, value: float) -> bool:
        """Whether a value is outside; NaN is not."""
        under = self.low is not None and value < self.low
        return under or (self.high is not None and value > self.high)

    @property
    def sides(self) -> Iterator[float]:
        """The finite limits, the upper one first."""
        return (limit for limit in (self.high, self.low) if limit is not None and math.isfinite(limit))


AlarmLimits = tuple[AlarmLimit, ...]


NormalRange = tuple[float | None, float | None]
"""Low and high of an alarm; None: open to that side."""


def alarm_limits(alarms: Iterable[Alarm], requested: Mapping[str, NormalRange]) -> AlarmLimits:
    """Return the limits of all alarms in service; those of `requested`, by the name of the alarm, are pending."""
    return tuple(
        AlarmLimit(
            alarm.value,
            alarm.actuator,
            alarm.severity,
            *requested.get(alarm.name, (alarm.low, alarm.high)),
            name=alarm.name if alarm.changeable else "",
            pending=alarm.name in requested,
        )
        for alarm in alarms
        if alarm.state is not AlarmState.OUT_OF_SERVICE and (alarm.low is not None or alarm.high is not None)
    )


def display_limits_apply(watched: Iterable[AlarmLimit]) -> bool:
    """Whether the window's limits are shown: not beside those of alarms, which look the same."""
    return not any(limit.actuator for limit in watched)

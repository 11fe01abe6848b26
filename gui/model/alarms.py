"""Alarms of a service: their summary and sort order, and their limits as lines in plots and levels of values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gui.model.tracking_status import DELAY_TOLERANCE, LARGE_PHASE_LAG, RATIO_TOLERANCE
from gui.wording.event_text import severity_level, severity_shape, severity_word
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmState, Severity

_ASIDE = {AlarmState.SHELVED: 2, AlarmState.OUT_OF_SERVICE: 3, AlarmState.NORMAL: 4}


@dataclass(frozen=True, slots=True)
class AlarmSummary:
    """What stands.

    Parameters
    ----------
    trips, warns : how many of each stand.
    unacknowledged : of these, how many nobody has taken note of.
    shelved : how many are put aside.
    configured : all there are.
    first : the one that matters most; None where none stands.
    """

    trips: int = 0
    warns: int = 0
    unacknowledged: int = 0
    shelved: int = 0
    configured: int = 0
    first: Alarm | None = None

    @property
    def any_active(self) -> bool:
        """There is something to be seen."""
        return self.first is not None

    @property
    def level(self) -> Level:
        """Of the gravest that stands."""
        return Level.BAD if self.trips else Level.WARN if self.warns else Level.NONE

    @property
    def words(self) -> str:
        """``■ TRIP 2 · ▲ WARN 1``; empty where none stands."""
        counts = ((Severity.TRIP, self.trips), (Severity.WARN, self.warns))
        return " · ".join(f"{severity_shape(each)} {severity_word(each)} {n}" for each, n in counts if n)

    @property
    def plain_words(self) -> str:
        """The same without shapes, for a title."""
        counts = ((Severity.TRIP, self.trips), (Severity.WARN, self.warns))
        return ", ".join(f"{severity_word(each)} {n}" for each, n in counts if n)


def summarize(alarms: Iterable[Alarm]) -> AlarmSummary:
    """Return what stands of `alarms`."""
    everything = tuple(alarms)
    standing = [alarm for alarm in everything if alarm.is_annunciated]
    trips = sum(alarm.severity is Severity.TRIP for alarm in standing)
    return AlarmSummary(
        trips,
        len(standing) - trips,
        sum(alarm.needs_acknowledgement for alarm in standing),
        sum(alarm.state is AlarmState.SHELVED for alarm in everything),
        len(everything),
        min(standing, key=_rank, default=None),
    )


def sorted_alarms(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Return alarms as they are listed: those that nobody has taken note of, trips first, of these the newest first.

    Then come others that stand, then what is shelved, out of service, and normal.
    """
    return tuple(sorted(alarms, key=_rank))


def _rank(alarm: Alarm) -> tuple[int, bool, float, str]:
    """Return what alarms are sorted by."""
    place = 0 if alarm.needs_acknowledgement else _ASIDE.get(alarm.state, 1)
    # what is normal stands by its name, or the list would never rest
    time = 0.0 if alarm.state is AlarmState.NORMAL else -alarm.time
    return place, alarm.severity is not Severity.TRIP, time, alarm.name


def most_severe(alarms: Iterable[Alarm], actuator: str) -> tuple[Alarm | None, int]:
    """Return the gravest alarm of an actuator that stands, and how many more of it do; trips come before all else."""
    standing = [alarm for alarm in alarms if alarm.actuator == actuator and alarm.is_annunciated]
    if not standing:
        return None, 0
    return min(standing, key=lambda alarm: (severity_level(alarm.severity) is not Level.BAD, _rank(alarm))), (
        len(standing) - 1
    )


@dataclass(frozen=True, slots=True)
class DisplayLimit:
    """Where a deviation begins to warn, and where it is too large, up or down.

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

DEFAULT_LIMITS: DisplayLimits = {
    line.quantity: line
    for line in (
        DisplayLimit("delay", warn=1e3 * DELAY_TOLERANCE),
        DisplayLimit("phase", trip=math.degrees(LARGE_PHASE_LAG)),
        DisplayLimit("ratio", warn=1e2 * RATIO_TOLERANCE),
    )
}
"""What the words of a verdict change at."""


@dataclass(frozen=True, slots=True)
class AlarmLimit:
    """One alarm's limits, in the unit of its value; None: open to that side."""

    value: str
    actuator: str
    severity: Severity
    low: float | None
    high: float | None

    def broken(self, value: float) -> bool:
        """Whether a value lies outside; what means nothing does not."""
        under = self.low is not None and value < self.low
        return under or (self.high is not None and value > self.high)

    @property
    def sides(self) -> Iterator[float]:
        """The limits there are, the upper one first."""
        return (limit for limit in (self.high, self.low) if limit is not None and math.isfinite(limit))


AlarmLimits = tuple[AlarmLimit, ...]


def alarm_limits(alarms: Iterable[Alarm]) -> AlarmLimits:
    """Return the limits of all alarms that can occur."""
    return tuple(
        AlarmLimit(alarm.value, alarm.actuator, alarm.severity, alarm.low, alarm.high)
        for alarm in alarms
        if alarm.state is not AlarmState.OUT_OF_SERVICE and (alarm.low is not None or alarm.high is not None)
    )


def display_limits_apply(watched: Iterable[AlarmLimit]) -> bool:
    """Whether the window's own limits are to be seen: beside a laboratory's they would look like these."""
    return not any(limit.actuator for limit in watched)


def select_limits(watched: Iterable[AlarmLimit], owners: Collection[str], names: Collection[str]) -> AlarmLimits:
    """Return the limits of some values of some actuators or sites."""
    return tuple(limit for limit in watched if limit.actuator in owners and limit.value in names)


def severity_of(limits: Iterable[AlarmLimit], value: float) -> Level:
    """Return how grave a value is by these limits."""
    broken = [limit.severity for limit in limits if limit.broken(value)]
    return severity_level(min(broken, key=lambda severity: severity is not Severity.TRIP)) if broken else Level.NONE

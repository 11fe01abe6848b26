"""Limits as lines in plots and levels of values: the window's own, and those of the service's alarms."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gui.model.verdict import DELAY_TOLERANCE, LARGE_PHASE_LAG, RATIO_TOLERANCE
from gui.wording.alarm_text import severity_level
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmState, Severity


@dataclass(frozen=True, slots=True)
class LimitLine:
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


Limits = Mapping[str, LimitLine]
"""By quantity."""

DEFAULT: Limits = {
    line.quantity: line
    for line in (
        LimitLine("delay", warn=1e3 * DELAY_TOLERANCE),
        LimitLine("phase", trip=math.degrees(LARGE_PHASE_LAG)),
        LimitLine("ratio", warn=1e2 * RATIO_TOLERANCE),
    )
}
"""What the words of a verdict change at."""


@dataclass(frozen=True, slots=True)
class WatchedLimit:
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


WatchedLimits = tuple[WatchedLimit, ...]


def watched_limits(alarms: Iterable[Alarm]) -> WatchedLimits:
    """Return the limits of all alarms that can occur."""
    return tuple(
        WatchedLimit(alarm.value, alarm.actuator, alarm.severity, alarm.low, alarm.high)
        for alarm in alarms
        if alarm.state is not AlarmState.OUT_OF_SERVICE and (alarm.low is not None or alarm.high is not None)
    )


def own_limits_hold(watched: Iterable[WatchedLimit]) -> bool:
    """Whether the window's own limits are to be seen: beside a laboratory's they would look like these."""
    return not any(limit.actuator for limit in watched)


def limits_of(watched: Iterable[WatchedLimit], owners: Collection[str], names: Collection[str]) -> WatchedLimits:
    """Return the limits of some values of some actuators or sites."""
    return tuple(limit for limit in watched if limit.actuator in owners and limit.value in names)


def level_of(limits: Iterable[WatchedLimit], value: float) -> Level:
    """Return how grave a value is by these limits."""
    broken = [limit.severity for limit in limits if limit.broken(value)]
    return severity_level(min(broken, key=lambda severity: severity is not Severity.TRIP)) if broken else Level.NONE

"""What one alarm watches, and when its condition holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.alarms import text
from monitor.alarms.alarm_instance import AlarmInstance, Kind, Moment
from monitor.alarms.limits import Limit
from monitor.messages.alarms import Alarm, Transition

HEALTH = "health."

SHORTEST = 0.5
"""Seconds of the stream for which a condition holds at least, so that a value that chatters holds up nobody."""

_ROUNDING = 1e-6  # rows: 0.3 s at 10 rows a second are 3 rows


@dataclass(frozen=True, slots=True)
class Watch:
    """One alarm that is to be, and when its condition holds.

    Parameters
    ----------
    alarm : as it begins.
    kind : how its life goes.
    low, high, deadband, on_delay, off_delay : of the condition; low and high may be infinite, delays are in s.
    column : of the value in the results; -1 where it is the service's.
    metric : of the value, where it is the service's.
    occurs, returns : what is said of it, with {value} and {limit}; empty: what is said of any value.
    """

    alarm: Alarm
    kind: Kind
    low: float
    high: float
    deadband: float = 0.0
    on_delay: float = 0.0
    off_delay: float = 0.0
    column: int = -1
    metric: str = ""
    occurs: str = ""
    returns: str = ""

    def limit(self, rows_a_second: float) -> Limit:
        """Return the condition in rows of results; delays are rounded up."""
        delays = (self.on_delay, self.off_delay, SHORTEST)
        rows = (math.ceil(delay * rows_a_second - _ROUNDING) for delay in delays)
        return Limit(self.column, self.low, self.high, self.deadband, *rows)

    def turned(
        self,
        instance: AlarmInstance,
        value: float,
        at: Moment,
        *,
        entered: bool,
        suppressed: int = 0,
        returns: str = "",
    ) -> Transition | None:
        """Let the condition begin or cease to hold, and say why; `suppressed` ends came too soon."""
        crossed = text.crossed(self.alarm, value)
        if entered:
            reason = text.occurred(self.alarm, value, crossed, self.on_delay, self.occurs)
        else:
            reason = text.returned(self.alarm, value, crossed, returns or self.returns, suppressed)
        return instance.turn(value, reason, at, entered=entered)

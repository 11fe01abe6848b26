"""All alarms of a service at a glance: how many stand, how grave they are, which comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gui.wording.alarm_text import severity_level, severity_shape, severity_word
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
    watched : all there are.
    first : the one that matters most; None where none stands.
    """

    trips: int = 0
    warns: int = 0
    unacknowledged: int = 0
    shelved: int = 0
    watched: int = 0
    first: Alarm | None = None

    @property
    def stands(self) -> bool:
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


def summary(alarms: Iterable[Alarm]) -> AlarmSummary:
    """Return what stands of `alarms`."""
    everything = tuple(alarms)
    standing = [alarm for alarm in everything if alarm.standing]
    trips = sum(alarm.severity is Severity.TRIP for alarm in standing)
    return AlarmSummary(
        trips,
        len(standing) - trips,
        sum(alarm.needs_acknowledgement for alarm in standing),
        sum(alarm.state is AlarmState.SHELVED for alarm in everything),
        len(everything),
        min(standing, key=_rank, default=None),
    )


def in_order(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
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


def worst_of(alarms: Iterable[Alarm], actuator: str) -> tuple[Alarm | None, int]:
    """Return the gravest alarm of an actuator that stands, and how many more of it do; trips come before all else."""
    standing = [alarm for alarm in alarms if alarm.actuator == actuator and alarm.standing]
    if not standing:
        return None, 0
    return min(standing, key=lambda alarm: (severity_level(alarm.severity) is not Level.BAD, _rank(alarm))), (
        len(standing) - 1
    )

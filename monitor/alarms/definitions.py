"""Alarm definitions: those that every service has, those of the settings, and the metrics of its health."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from msgspec import structs

from monitor.alarms import text
from monitor.alarms.alarm_instance import NO_VALUE, AlarmInstance, AlarmKind, StreamPosition
from monitor.alarms.conditions import RowCondition
from monitor.catalogue import CATALOGUE, CODE_UNIT, measure_of
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmState, Severity, Transition
from monitor.messages.blocks import Column
from monitor.messages.headline import FALLBACKS, HEADLINE, QUANTITIES, label_of
from monitor.messages.health import LONGEST_UNWRITTEN, Health

MetricReader = Callable[[Health], float]


def _count(name: str) -> MetricReader:
    return lambda health: getattr(health.counts, name)


_SAMPLES = ("lost", "duplicates", "reordered", "rejected_samples")
_TIMES = ("gaps", "restarts", "clock_jumps", "contradictions", "reconnects")


def _age(health: Health) -> float:
    # the age of an ended stream does not increase; that of one that has not started is unknown
    if health.state == "waiting":
        return math.nan
    return 0.0 if health.state == "ended" else health.age


def _free(health: Health) -> float:
    if not health.recording:
        return math.inf
    return float(health.disk_free) if health.disk_free >= 0 else math.nan


# value -> (unit, reader); counters are evaluated by their increase since the last evaluation
_COUNTERS: dict[str, tuple[str, MetricReader]] = {
    **{name: ("samples", _count(name)) for name in _SAMPLES},
    **{name: ("", _count(name)) for name in _TIMES},
    "rejected": ("messages", _count("rejected")),
    "unrecorded": ("samples", lambda health: health.unrecorded),
    "recording_breaks": ("", lambda health: health.recording_breaks),
    "requests_refused": ("requests", lambda health: health.requests_refused),
    "broker_dropped": ("messages", lambda health: health.broker.dropped),
    "unpublished": ("messages", lambda health: health.unpublished),
}
_GAUGES: dict[str, tuple[str, MetricReader]] = {
    "age": ("s", _age),
    "latency": ("s", lambda health: health.latency),
    "lag": ("s", lambda health: health.lag),
    "load": ("", lambda health: health.load),
    "sample_rate": ("Hz", lambda health: health.sample_rate if health.state != "waiting" else math.nan),
    "measured_rate": ("Hz", lambda health: health.measured_rate if health.state == "receiving" else math.nan),
    "disk_free": ("B", _free),
    "unwritten_age": ("s", lambda health: health.unwritten_age),
    "broker_waiting": ("messages", lambda health: health.broker.waiting),
    "broker_denied": ("messages", lambda health: health.broker.denied),
    "all_unrecorded": ("samples", lambda health: health.unrecorded),
    "unaccounted": ("samples", lambda health: health.unaccounted),
    "paused": ("measures", lambda health: len(set(health.shed) & CATALOGUE.keys())),
    "not_judged": ("alarms", lambda health: health.not_judged),
    "memory_used": ("", lambda health: health.memory_used),
}


METRICS = (*_COUNTERS, *_GAUGES)


def metric_unit(name: str) -> str:
    """Return the unit of a health metric."""
    return (_COUNTERS.get(name) or _GAUGES[name])[0]


class HealthMetric:
    """One value of the service's health; NaN if it is not known.

    Gauges are read as they are, counters as the increase since the last reading.
    """

    def __init__(self, name: str) -> None:
        self._is_counter = name in _COUNTERS
        self._read = (_COUNTERS.get(name) or _GAUGES[name])[1]
        self._previous: float | None = None

    def read(self, health: Health) -> float:
        """Return the value, or the increase of a counter; NaN at the first reading of a counter."""
        now = float(self._read(health))
        if not self._is_counter:
            return now
        previous, self._previous = self._previous, now
        return math.nan if previous is None else now - previous


HEALTH_PREFIX = "health."

MIN_DURATION = 0.5
"""Seconds of the stream for which an alarm stays active at least, to suppress chattering alarms."""

_ROUNDING = 1e-6  # of a row: 0.3 s at 10 rows a second are 3 rows


@dataclass(frozen=True, slots=True)
class AlarmDefinition:
    """One alarm, and when its condition is active.

    Parameters
    ----------
    alarm : initial state.
    kind : latching, and with acknowledgement.
    low, high, deadband, on_delay, off_delay : of the condition; low and high may be infinite, delays are in s.
    column : of the value in the results; -1 for a health metric.
    sources : for a headline value, the names and columns of the indicators that speak, in order of preference.
    metric : name of the health metric, without prefix.
    occurs, returns : templates of the reasons, with {value}; empty: the default text. {seconds} is what the memory
        for samples that wait holds.
    """

    alarm: Alarm
    kind: AlarmKind
    low: float
    high: float
    deadband: float = 0.0
    on_delay: float = 0.0
    off_delay: float = 0.0
    column: int = -1
    sources: tuple[tuple[str, int], ...] = ()
    metric: str = ""
    occurs: str = ""
    returns: str = ""

    @property
    def measures(self) -> frozenset[str]:
        """Measures that its value may come from; empty for those of the service and of a model."""
        names = [name for name, _ in self.sources] or [self.alarm.value]
        return frozenset(map(measure_of, names)) - {""}

    def row_condition(self, row_rate: float) -> RowCondition:
        """Return the condition for results with `row_rate` rows a second; delays are rounded up."""
        delays = (self.on_delay, self.off_delay, MIN_DURATION)
        rows = (math.ceil(delay * row_rate - _ROUNDING) for delay in delays)
        return RowCondition(self.column, self.low, self.high, self.deadband, *rows)

    def with_limits(
        self, low: float | None, high: float | None, configured: tuple[float | None, float | None] | None
    ) -> AlarmDefinition:
        """Return the definition with other limits, None where open; `configured` are those of the settings."""
        alarm = structs.replace(self.alarm, low=low, high=high, configured=configured)
        return replace(
            self, alarm=alarm, low=-math.inf if low is None else low, high=math.inf if high is None else high
        )

    def change(
        self,
        instance: AlarmInstance,
        value: float,
        at: StreamPosition,
        *,
        active: bool,
        suppressed: int = 0,
        returns: str = "",
    ) -> Transition | None:
        """Set whether `instance` is active, with the reason; `suppressed` returns were too brief to be reported."""
        crossed = text.crossed_limit(self.alarm, value)
        if active:
            reason = text.occurrence_reason(self.alarm, value, crossed, self.on_delay, self.occurs)
            if instance.reads:
                reason += f", by {label_of(instance.reads)}"
        else:
            reason = text.return_reason(self.alarm, value, crossed, returns or self.returns, suppressed)
        return instance.set_active(active, value, reason, at)


_CALM = 5.0  # s without a loss until the alarm returns
_CONTRADICTED = 60.0  # s
_SETTLED = 1.0  # s: the recorder moves samples between the counts while they are read
_MAX_LATENCY = 2.0  # s
_MEMORY_USED = 0.5
_DISK_DEADBAND = 0.05  # of the limit
_TOO_MUCH = "use fewer measures, a larger every, or a faster machine"


class _Texts(NamedTuple):
    """Templates of the reasons, and the action for the operator."""

    occurs: str
    returns: str
    advice: str


# of the alarms that every service has, by their metrics
_TEXTS = {
    "age": _Texts("no data for {value}", "samples are received again", "check the rig and its connection"),
    "latency": _Texts("results are {value} behind the rig", "results keep up with the rig", _TOO_MUCH),
    "paused": _Texts("{value} paused: results did not keep up with the rig", "all measures are computed", _TOO_MUCH),
    "memory_used": _Texts(
        "{value} of the memory for samples that wait is used; all of it holds {seconds} s at this rate",
        "samples wait in less than a quarter of the memory",
        "use fewer measures, a faster machine or disk: beyond it samples have no results",
    ),
    "not_judged": _Texts("{value} not judged", "all alarms are judged", "see their reasons in the list of alarms"),
    "lost": _Texts("{value} lost", f"nothing lost for {_CALM:g} s", "check the network and the load of the machines"),
    "contradictions": _Texts(
        "what the rig sends contradicts itself",
        f"no contradiction for {_CONTRADICTED:g} s",
        "see the events; correct what the rig sends",
    ),
    "unaccounted": _Texts(
        "{value} missing from the counts of the service, or counted twice",
        "the counts of the service add up",
        "a defect of the service: save its log and the run file, and report it",
    ),
    "all_unrecorded": _Texts(
        "{value} could not be recorded",
        "the recording is complete",
        "check the disk; samples are missing in the run",
    ),
    "unwritten_age": _Texts(
        "the samples of the last {value} are not on disk yet",
        "all samples are on disk",
        "check the disk; samples not written are lost if the service is killed",
    ),
    "recording_breaks": _Texts(
        "the run file is missing or cannot be written: a new file is started as soon as possible",
        f"no break for {_CALM:g} s",
        "see the notes; the run is in several files",
    ),
    "disk_free": _Texts("", "", "free disk space"),
}


def standard_alarms(settings: AlarmSettings, stale_after: float) -> Iterator[AlarmDefinition]:
    """Yield the alarms that every service has, except those disabled in the settings."""
    trip, warn = Severity.TRIP, Severity.WARN
    if settings.dead_stream:
        yield _service_alarm("dead_stream", trip, "age", high=stale_after)
    if settings.overload:
        yield _service_alarm("overload", warn, "latency", high=_MAX_LATENCY)
        yield _service_alarm("paused", warn, "paused")
        yield _service_alarm("memory", warn, "memory_used", high=_MEMORY_USED, deadband=_MEMORY_USED / 2.0)
    if settings.not_judged:
        yield _service_alarm("not_judged", warn, "not_judged")
    if settings.lost_data:
        yield _service_alarm("lost_data", warn, "lost", off_delay=_CALM)
        yield _service_alarm("contradiction", warn, "contradictions", off_delay=_CONTRADICTED)
        yield _service_alarm("account", trip, "unaccounted", on_delay=_SETTLED)
    if settings.recording:
        yield _service_alarm("recording", trip, "all_unrecorded")
        yield _service_alarm("recording", warn, "unwritten_age", high=LONGEST_UNWRITTEN)
        yield _service_alarm("run_file", warn, "recording_breaks", off_delay=_CALM)
        for severity, least in ((warn, settings.disk_warn), (trip, settings.disk_trip)):
            if least > 0.0:
                deadband = _DISK_DEADBAND * least
                yield _service_alarm("disk", severity, "disk_free", least, math.inf, deadband=deadband)


def _service_alarm(
    name: str, severity: Severity, metric: str, low: float = -math.inf, high: float = 0.0, *, deadband: float = 0.0,
    on_delay: float = 0.0, off_delay: float = 0.0,
) -> AlarmDefinition:  # fmt: skip
    occurs, returns, advice = _TEXTS[metric]
    alarm = Alarm(
        name=f"{name}.{severity}",
        value=HEALTH_PREFIX + metric,
        actuator="",
        unit=metric_unit(metric),
        severity=severity,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        advice=advice,
        not_judged=NO_VALUE,
    )
    condition = low, high, deadband, on_delay, off_delay
    return AlarmDefinition(alarm, AlarmKind(), *condition, metric=metric, occurs=occurs, returns=returns)


_MAX_LISTED = 120  # characters of the list of names in a note


def define_alarms(
    settings: AlarmSettings, stale_after: float, columns: Sequence[Column], retained: Collection[str] = ()
) -> tuple[list[AlarmDefinition], list[str]]:
    """Return the alarms on the service and on `columns`, and notes, one line each.

    Parameters
    ----------
    retained : names of alarms that are not normal. If there are more than `MAX_ALARMS` they have precedence, with or
        without definition; then those of the service.
    """
    notes: list[str] = []
    found: dict[str, AlarmDefinition] = {}
    duplicates = 0
    for each in (*standard_alarms(settings, stale_after), *_on_columns(settings, columns, notes)):
        duplicates += each.alarm.name in found
        found.setdefault(each.alarm.name, each)
    room = MAX_ALARMS - sum(name not in found for name in retained)
    first = sorted(found, key=lambda name: 0 if name in retained else 1 if found[name].column < 0 else 2)
    omitted = set(first[room:])
    if duplicates:
        notes.append(f"{duplicates} omitted that have the name of another: give their limits names")
    if omitted:
        notes.append(f"{len(omitted)} omitted: the maximum is {MAX_ALARMS}")
    return [each for name, each in found.items() if name not in omitted], notes


def missing_values(settings: AlarmSettings, columns: Sequence[Column]) -> list[str]:
    """Return a note for each limit on a value that is neither a health metric nor among `columns`."""
    notes: list[str] = []
    for _ in _on_columns(settings, columns, notes):
        pass
    return notes


def _on_columns(settings: AlarmSettings, columns: Sequence[Column], notes: list[str]) -> Iterator[AlarmDefinition]:
    own = {(limit.alarm_name, limit.actuator) for limit in settings.limit if limit.actuator}
    changeable = settings.limits_changeable != "never"
    for limit in settings.limit:
        if limit.value.startswith(HEALTH_PREFIX):
            metric = limit.value.removeprefix(HEALTH_PREFIX)
            yield from _both(limit, "", metric_unit(metric), metric=metric, changeable=changeable)
            continue
        matching = [source for source in enumerate(columns) if _is_on(limit, source[1])]
        if not matching:
            notes.append(_missing_note(limit, columns))
        # a limit for one actuator replaces the one for all
        kept = [each for each in matching if limit.actuator or (limit.alarm_name, each[1].actuator) not in own]
        for sources in _by_alarm(limit, kept):
            position, column = sources[0]
            several = tuple((each.name, at) for at, each in sources) if limit.value in QUANTITIES else ()
            yield from _both(
                limit, column.actuator, column.unit, column=position, sources=several, changeable=changeable
            )


_INDICATORS = (HEADLINE, *FALLBACKS)


def _is_on(limit: LimitSettings, column: Column) -> bool:
    """Return whether a limit is on a column; a headline value is that of one of several."""
    indicator, _, quantity = column.name.rpartition("_")
    headline = limit.value in QUANTITIES and quantity == limit.value and indicator in _INDICATORS
    return (column.name == limit.value or headline) and limit.actuator in ("", column.actuator)


def _by_alarm(limit: LimitSettings, matching: Iterable[tuple[int, Column]]) -> Iterable[Sequence[tuple[int, Column]]]:
    """Return the columns of each alarm of a limit, the preferred one first."""
    if limit.value not in QUANTITIES:
        return [(each,) for each in matching]
    found: dict[str, list[tuple[int, Column]]] = {}
    for each in matching:
        found.setdefault(each[1].actuator, []).append(each)
    for sources in found.values():
        sources.sort(key=lambda source: _INDICATORS.index(source[1].name.rpartition("_")[0]))
    return found.values()


def _both(
    limit: LimitSettings,
    actuator: str,
    unit: str,
    *,
    column: int = -1,
    sources: tuple[tuple[str, int], ...] = (),
    metric: str = "",
    changeable: bool,
) -> Iterator[AlarmDefinition]:
    """Yield the warn and the trip alarm of one value, as far as they are set."""
    for severity, boundary in ((Severity.WARN, limit.warn), (Severity.TRIP, limit.trip)):
        if boundary is None:
            continue
        low, high = limit.bounds(boundary)
        alarm = Alarm(
            name=".".join(filter(None, (actuator, limit.alarm_name, severity))),
            value=limit.value,
            actuator=actuator,
            unit="" if unit == "1" else unit,
            severity=severity,
            low=low if math.isfinite(low) else None,
            high=high if math.isfinite(high) else None,
            state=AlarmState.NORMAL if limit.in_service else AlarmState.OUT_OF_SERVICE,
            advice=limit.advice,
            changeable=changeable and limit.in_service,
            not_judged=NO_VALUE if limit.in_service else "",
            source=sources[0][0] if sources else "",
        )
        yield AlarmDefinition(
            alarm,
            AlarmKind(limit.latching, limit.acknowledge),
            low,
            high,
            limit.deadband,
            limit.on_delay,
            limit.off_delay,
            column,
            sources,
            metric,
        )


def _missing_note(limit: LimitSettings, columns: Sequence[Column]) -> str:
    what = f"value {limit.value!r}" + (f" of {limit.actuator!r}" if limit.actuator else "")
    there = dict.fromkeys(column.name for column in columns if column.unit != CODE_UNIT)
    if limit.value in there:
        there = dict.fromkeys(column.actuator for column in columns if column.name == limit.value)
    listed = ", ".join(there)
    if len(listed) > _MAX_LISTED:
        listed = listed[:_MAX_LISTED].rpartition(",")[0] + ", ..."
    return f"no {what}; there are {listed}" if listed else f"no {what}"

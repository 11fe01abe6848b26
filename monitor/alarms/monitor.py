"""All alarms of a service: their definitions, current states, and the requests of operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import msgspec

from monitor.alarms import text
from monitor.alarms.alarm_instance import (
    MAX_RIGS,
    VERSION,
    AlarmInstance,
    SavedAlarm,
    SavedAlarms,
    SavedLimits,
    StreamPosition,
    decode_alarms,
)
from monitor.alarms.changed_limits import ChangedLimits, changes_in_force
from monitor.alarms.conditions import ConditionChange, ConditionEvaluator
from monitor.alarms.conditions import warm_up as warm_up_conditions
from monitor.alarms.definitions import HEALTH_PREFIX, AlarmDefinition, define_alarms
from monitor.alarms.health import HealthAlarm
from monitor.alarms.judgement import Judgement, PresenceChange
from monitor.alarms.judgement import warm_up as warm_up_judgement
from monitor.config import AlarmSettings
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, LimitChange, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason
from monitor.messages.requests import AcknowledgeRequest, AlarmRequest, ResetRequest, SetLimitsRequest, ShelveRequest

_MAX_NAME = 60  # characters of a rig's name in a note
_SHORTEST_AGE = 3.0  # s, default of `max_value_age` for shorter windows


class AlarmMonitor:
    """Evaluate results and health against limits.

    Parameters
    ----------
    settings : the limits; None: no alarms.
    stale_after : s without data after which the stream is dead.
    window : s, of the indicators.

    Notes
    -----
    Whether a condition is active depends on the last value that was not NaN: NaN, a gap, a restart and the end of the
    stream only restart the delays. So an alarm continues over a restart of the rig, and over one of the service if
    the result of `snapshot` is restored. An alarm whose value is not published or whose limit was removed returns to
    normal, and is listed until it is acknowledged or reset.

    An alarm whose value has not come for `max_value_age` is not judged, until the next value (`ValuePresence`); so is
    at once one whose measure is paused. This is decided here alone.
    """

    def __init__(self, settings: AlarmSettings | None = None, stale_after: float = 5.0, window: float = 0.0) -> None:
        self._settings = settings
        self._stale_after = stale_after
        age = None if settings is None else settings.max_value_age
        self.max_age = max(window, _SHORTEST_AGE) if age is None else age
        """s, of the oldest value that is judged."""
        self._paused: Mapping[str, Reason] = {}
        self._number = 0
        # the rig that the alarms belong to, and the saved alarms of other rigs
        self._rig, self._aside = "", dict[str, tuple[SavedAlarm, ...]]()
        self._limits_aside = dict[str, dict[str, SavedLimits]]()
        self._clear()

    def _clear(self) -> None:
        self._alarms: dict[str, AlarmInstance] = {}
        # alarms without definition that are not normal
        self._undefined: dict[str, AlarmInstance] = {}
        self._stream: ResultStream | None = None
        self._next = 0
        self._on_rows: list[tuple[AlarmDefinition, AlarmInstance]] = []
        self._evaluator = ConditionEvaluator(())
        self._judgement = Judgement((), None, self.max_age)
        self._release_due = False
        self._notes: list[str] = []
        self._limits = ChangedLimits()
        self._limit_notes: list[str] = []
        self._limits_restored = False
        self._on_health: list[HealthAlarm] = []
        if self._settings is not None:
            definitions, _ = define_alarms(self._settings, self._stale_after, ())
            self._on_health = [HealthAlarm(definition, self.max_age) for definition in definitions]
            self._alarms = {each.instance.name: each.instance for each in self._on_health}

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms in their current states."""
        self._record_values()
        return tuple(instance.alarm for instance in self._all())

    @property
    def not_judged(self) -> int:
        """Number of alarms that are not judged."""
        return sum(bool(instance.not_judged) for instance in self._all())

    @property
    def watched(self) -> frozenset[str]:
        """Measures whose values have alarms in the current stream; without those of a headline value."""
        return self._measures(headline=False)

    @property
    def headline(self) -> frozenset[str]:
        """Measures that can speak for an alarm on the headline delay or ratio; empty without such an alarm."""
        return self._measures(headline=True)

    def _measures(self, *, headline: bool) -> frozenset[str]:
        in_service = [each for each, instance in self._on_rows if instance.state is not AlarmState.OUT_OF_SERVICE]
        return frozenset().union(*(each.measures for each in in_service if bool(each.sources) is headline))

    def _record_values(self) -> None:
        values = self._evaluator.last_values.tolist()
        for position in self._judgement.presence.there:
            self._on_rows[position][1].record_value(values[position])

    def set_stream(self, stream: ResultStream, now: float = 0.0) -> tuple[str, ...]:
        """Evaluate the columns of a new stream from now on; return notes, one line each.

        If the current alarms belong to another rig they are set aside until the stream of that rig is set again.

        Parameters
        ----------
        now : s, monotonic, on the clock of `evaluate` and `evaluate_health`.
        """
        notes = self._change_rig(stream.rig)
        self._stream = stream
        if self._settings is None:
            return notes
        self._record_values()
        before = {each.name: each for each in self._all()}
        positions = {instance.name: position for position, (_, instance) in enumerate(self._on_rows)}
        definitions = self._define(before, stream.columns)
        self._on_rows = [(each, AlarmInstance(each.alarm, each.kind)) for each in definitions if each.column >= 0]
        for _, instance in self._on_rows:
            if instance.name in before:
                instance.continue_from(before[instance.name])
        row_rate = stream.sample_rate / stream.every
        conditions = [each.row_condition(row_rate) for each, _ in self._on_rows]
        self._evaluator = ConditionEvaluator(conditions, [instance.active for _, instance in self._on_rows])
        judgement = Judgement([each for each, _ in self._on_rows], stream, self.max_age, now)
        continued = [(here, positions.get(each.name, -1)) for here, (_, each) in enumerate(self._on_rows)]
        judgement.presence.continue_from(self._judgement.presence, [pair for pair in continued if pair[1] >= 0])
        self._judgement, self._next = judgement, -1
        self._read_from(judgement.pause(self._paused))
        self._index_defined()
        self._undefined = {n: each for n, each in before.items() if n not in self._alarms and each.must_be_saved}
        for each in self._undefined.values():
            each.remove_definition()
        self._release_due = bool(self._undefined)
        limit_notes, self._limit_notes = self._limit_notes, []
        return (*notes, *self._notes, *limit_notes)

    def _index_defined(self) -> None:
        instances = (*(each.instance for each in self._on_health), *(instance for _, instance in self._on_rows))
        self._alarms = {instance.name: instance for instance in instances}

    def _change_rig(self, rig: str) -> tuple[str, ...]:
        former, self._rig = self._rig, rig
        if former in ("", rig):
            return ()
        alarms, limits = self._to_be_saved(), self._limits.saved
        self._clear()
        self._restore_alarms(self._aside.pop(rig, ()), self._limits_aside.pop(rig, {}))
        if limits:
            self._limits_aside[former] = limits
        if alarms:
            self._aside[former] = alarms
        for aside in (self._limits_aside, self._aside):
            while len(aside) > MAX_RIGS:
                del aside[next(iter(aside))]
        if not alarms:
            return ()
        return (f"alarms of rig {former[:_MAX_NAME]!r} ({len(alarms)}) are set aside until its stream is back",)

    def evaluate(self, results: ResultBlock, arrived: float = 0.0, now: float = 0.0) -> tuple[Transition, ...]:
        """Evaluate rows of the current stream; raises ValueError for those of another.

        Parameters
        ----------
        arrived : s, monotonic: when the newest of their samples came to the service.
        now : s on the same clock.
        """
        stream = results.stream
        if stream is not self._stream:
            raise ValueError("results of another stream than the current one")
        transitions = (
            self._release_undefined(StreamPosition(results.time, results.index)) if self._release_due else ()
        )
        lost = results.index - self._next if self._next >= 0 else 0
        if results.index != self._next:
            self._evaluator.interrupt()
        self._next = results.index + len(results) * stream.every
        presence = self._judgement.advance(results, lost, arrived, now)
        changes: list[ConditionChange | PresenceChange] = [*presence, *self._evaluator.advance(results.values)]
        if not changes:
            return transitions
        # a value that is back comes before what it says
        changes.sort(key=attrgetter("row"))
        return transitions + self._numbered(self._change(each, results) for each in changes)

    def _change(self, change: ConditionChange | PresenceChange, results: ResultBlock) -> Transition | None:
        samples = change.row * results.stream.every
        at = StreamPosition(results.time + samples / results.stream.sample_rate, results.index + samples)
        if isinstance(change, PresenceChange):
            return self._set_missing(change.position, at, missing=change.missing, reported=change.reported)
        definition, instance = self._on_rows[change.condition]
        return definition.change(instance, change.value, at, active=change.active, suppressed=change.suppressed)

    def _set_missing(
        self, position: int, at: StreamPosition, *, missing: bool = True, reported: bool = True
    ) -> Transition | None:
        definition, instance = self._on_rows[position]
        reason = self._judgement.reason(position, instance.reads or definition.alarm.value) if missing else ""
        return instance.set_not_judged(reason, at, reported=reported)

    def pause(self, reasons: Mapping[str, Reason], time: float, index: int) -> tuple[Transition, ...]:
        """Set which measures are not computed, and why; alarms that no other can speak for are not judged at once."""
        self._paused = dict(reasons)
        self._read_from(self._judgement.pause(self._paused))
        return self._report_missing(StreamPosition(time, index))

    def _read_from(self, sources: Mapping[int, tuple[str, int]]) -> None:
        for position, (name, column) in sources.items():
            self._evaluator.set_column(position, column)
            self._on_rows[position][1].reads = name

    def _report_missing(self, at: StreamPosition) -> tuple[Transition, ...]:
        """Set the reasons of all alarms that are not judged; return the transitions of those that were."""
        return self._numbered(self._set_missing(position, at) for position in self._judgement.presence.missing)

    def evaluate_health(
        self, health: Health, time: float, index: int, elapsed: float, now: float = 0.0
    ) -> tuple[Transition, ...]:
        """Evaluate the health of the service, `elapsed` s after the previous time, and unshelve alarms in time.

        Parameters
        ----------
        now : s, monotonic, on the clock of `evaluate`.
        """
        at = StreamPosition(time, index)
        self._undefined = {name: each for name, each in self._undefined.items() if each.must_be_saved}
        expired = [each for each in self._all() if each.advance_shelving(elapsed)]
        found: list[Transition | None] = [each.unshelve("", at, "the shelving time is over") for each in expired]
        # the definitions of alarms on health do not change with the stream
        removed = [e for e in self._undefined.values() if e.active and e.alarm.value.startswith(HEALTH_PREFIX)]
        found += [e.set_active(False, None, text.removed_reason(e.alarm, published=True), at) for e in removed]
        self._judgement.update(health, now)
        found += [transition for each in self._on_health for transition in each.evaluate(health, at, elapsed)]
        return self._numbered(found) + self._report_missing(at)

    def handle_request(self, request: AlarmRequest, time: float, index: int) -> tuple[Transition, ...]:
        """Carry out a request; raises ValueError, with a reason of one line, if it has no effect."""
        self._record_values()
        at, by = StreamPosition(time, index), request.by
        if not any(True for _ in self._all()):
            raise ValueError("there are no alarms")
        match request:
            case AcknowledgeRequest():
                waiting = [each for each in self._all() if each.alarm.needs_acknowledgement]
                if not waiting and not request.alarm:
                    raise ValueError("there is no unacknowledged alarm")
                chosen = [self._find(request.alarm)] if request.alarm else waiting
                return self._numbered([each.acknowledge_or_reset(AlarmAction.ACKNOWLEDGE, by, at) for each in chosen])
            case ResetRequest():
                waiting = [each for each in self._all() if each.resettable]
                if not waiting and not request.alarm:
                    raise ValueError("there is no alarm to reset, which must be latched and acknowledged")
                chosen = [self._find(request.alarm)] if request.alarm else waiting
                return self._numbered([each.acknowledge_or_reset(AlarmAction.RESET, by, at) for each in chosen])
            case ShelveRequest():
                return self._numbered([self._shelve(request, at)])

    def _shelve(self, request: ShelveRequest, at: StreamPosition) -> Transition:
        instance = self._find(request.alarm)
        if request.seconds == 0.0:
            return instance.unshelve(request.by, at)
        longest = self._settings.shelve_at_most if self._settings is not None else 0.0
        if not 0.0 < request.seconds <= longest:
            raise ValueError(
                f"{request.alarm}: cannot be shelved for {request.seconds:g} s: the maximum is {longest:g} s"
            )
        return instance.shelve(request.seconds, request.by, at)

    def set_limits(self, request: SetLimitsRequest, *, trusted: bool = True) -> tuple[LimitChange, ...]:
        """Change limits from the next evaluation on, all those of the request or none.

        Parameters
        ----------
        trusted : the request comes from this machine, or from a client with keys.

        Raises
        ------
        ValueError : the settings do not allow it, an alarm is not known, or a limit is not possible.
        """
        allowed = "never" if self._settings is None else self._settings.limits_changeable
        if allowed == "never" or (allowed == "trusted" and not trusted):
            reason = "requests may not" if allowed == "never" else "only requests from its machine or with keys may"
            raise ValueError(f"{reason} change limits of this monitor: alarms.limits_changeable is {allowed!r}")
        on_health = {each.instance.name: each for each in self._on_health}
        definitions = {definition.alarm.name: definition for definition, _ in self._on_rows}
        definitions |= {name: each.definition for name, each in on_health.items()}
        for each in request.limits:
            if self._find(each.alarm).name not in definitions:
                raise ValueError(f"{each.alarm}: its limit is not in the settings any more")
        changed, changes = self._limits.change(definitions, request)
        for name in changed.keys() & on_health.keys():
            on_health[name].set_limits(changed[name])
        for position, (_, instance) in enumerate(self._on_rows):
            definition = changed.get(instance.name)
            if definition is not None and self._stream is not None:
                row_rate = self._stream.sample_rate / self._stream.every
                self._evaluator.set_limits(position, definition.row_condition(row_rate))
                instance.set_limits(definition.alarm)
                self._on_rows[position] = definition, instance
        return changes

    def pop_restored_limits(self) -> tuple[LimitChange, ...]:
        """Return the changed limits that were restored, once: those in force from the start of a run."""
        restored, self._limits_restored = self._limits_restored, False
        defined = (*(each.instance for each in self._on_health), *(instance for _, instance in self._on_rows))
        return changes_in_force(each.alarm for each in defined) if restored else ()

    def snapshot(self) -> bytes:
        """Return the state to be restored after a restart of the service."""
        alarms, limits = self._to_be_saved(), self._limits.saved
        aside, limits_aside = self._aside, self._limits_aside
        return msgspec.json.encode(SavedAlarms(VERSION, self._number, alarms, self._rig, aside, limits, limits_aside))

    def _to_be_saved(self) -> tuple[SavedAlarm, ...]:
        self._record_values()
        return tuple(each.saved for each in self._all() if each.must_be_saved)

    def restore(self, state: bytes) -> None:
        """Restore the result of `snapshot` of another service; raises ValueError for anything else."""
        found = decode_alarms(state)
        self._number, self._aside, self._limits_aside = found.number, dict(found.aside), dict(found.limits_aside)
        self._rig = found.rig
        self._restore_alarms(found.alarms, found.limits)

    def _restore_alarms(self, alarms: Sequence[SavedAlarm], limits: Mapping[str, SavedLimits]) -> None:
        if self._settings is None:
            return
        self._limits, self._limits_restored = ChangedLimits(limits), True
        before = {instance.name: instance for instance in map(AlarmInstance.from_saved, alarms)}
        self._define(before)
        self._index_defined()
        for name, instance in before.items():
            if name in self._alarms:
                self._alarms[name].continue_from(instance)
            else:
                self._undefined[name] = instance
                instance.remove_definition()
        for each in self._on_health:
            each.restore_condition()
        if self._stream is not None:
            self.set_stream(self._stream)

    def _define(self, before: Mapping[str, AlarmInstance], columns: Sequence[Column] = ()) -> list[AlarmDefinition]:
        """Return the definitions that have room beside those of `before` that are not normal."""
        assert self._settings is not None
        retained = {name for name, instance in before.items() if instance.must_be_saved}
        definitions, notes = define_alarms(self._settings, self._stale_after, columns, retained)
        self._notes = [f"alarms: {note}" for note in notes]
        definitions, discarded = self._limits.apply(definitions)
        self._limit_notes += discarded
        by_name = {definition.alarm.name: definition for definition in definitions}
        self._on_health = [each for each in self._on_health if each.instance.name in by_name]
        for each in self._on_health:
            if each.definition != by_name[each.instance.name]:
                each.set_limits(by_name[each.instance.name])
        return definitions

    def _all(self) -> Iterator[AlarmInstance]:
        yield from self._alarms.values()
        yield from self._undefined.values()

    def _find(self, name: str) -> AlarmInstance:
        found = self._alarms.get(name) or self._undefined.get(name)
        if found is None:
            nearest = text.nearest_name(name, [each.name for each in self._all()])
            raise ValueError(f"there is no alarm {name!r}" + (f"; the nearest is {nearest!r}" if nearest else ""))
        return found

    def _release_undefined(self, at: StreamPosition) -> tuple[Transition, ...]:
        """Return alarms to normal whose value is not published or whose limit was removed."""
        self._release_due = False
        columns = {(column.name, column.actuator) for column in self._stream.columns} if self._stream else set()
        found = []
        for each in self._undefined.values():
            if each.active:
                published = (each.alarm.value, each.alarm.actuator) in columns
                found.append(each.set_active(False, None, text.removed_reason(each.alarm, published=published), at))
        return self._numbered(found)

    def _numbered(self, transitions: Iterable[Transition | None]) -> tuple[Transition, ...]:
        numbered = []
        for transition in transitions:
            if transition is not None:
                self._number += 1
                numbered.append(replace(transition, number=self._number))
        return tuple(numbered)


def warm_up() -> None:
    """Compile the kernels, or load them from disk."""
    warm_up_conditions()
    warm_up_judgement()

"""All alarms of a service: which values they watch, what has become of them, what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from monitor.alarms import saved_alarm, text
from monitor.alarms.alarm_instance import AlarmInstance, Moment
from monitor.alarms.health_alarms import HealthAlarm
from monitor.alarms.limits import LimitJudge
from monitor.alarms.watch import HEALTH, Watch
from monitor.alarms.watches import plan
from monitor.config import AlarmSettings
from monitor.messages.alarms import Alarm, AlarmAction, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.requests import AcknowledgeRequest, AlarmRequest, ResetRequest, ShelveRequest

_NEAR = 0.6  # of the longer name


def nearest(name: str, names: Sequence[str]) -> str:
    """Return the one of `names` that is most like `name`, from its beginning and its end; empty if none is."""
    near = max(names, key=lambda other: _alike(name, other))
    return near if _alike(name, near) >= _NEAR * max(len(name), len(near)) else ""


def _alike(one: str, other: str) -> int:
    before = _common(one, other)
    return before + _common(one[before:][::-1], other[before:][::-1])


def _common(one: str, other: str) -> int:
    """Return how many letters are the same from the beginning."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)


_MOST_NAME = 60


class AlarmMonitor:
    """Judge results and health by limits.

    Parameters
    ----------
    settings : the limits; None: none at all.
    stale_after : s of silence after which the stream is dead.

    Notes
    -----
    Whether a condition holds is told by the last value that could be judged: NaN, a gap, a restart and the end of the
    stream change nothing but that delays are counted anew. So an alarm goes on over a restart of the rig, and of
    the service where what `snapshot` gives is restored. An alarm that is not watched any more, because its value
    is not published or its limit is gone, has returned; it is kept until it is normal.
    """

    def __init__(self, settings: AlarmSettings | None = None, stale_after: float = 5.0) -> None:
        self._settings = settings
        self._stale_after = stale_after
        self._number = 0
        # whose the alarms are, and those of other rigs that were kept
        self._rig, self._aside = "", dict[str, tuple[saved_alarm.SavedAlarm, ...]]()
        self._begin()

    def _begin(self) -> None:
        self._alarms: dict[str, AlarmInstance] = {}
        # those that are not normal and not watched, or not yet
        self._unwatched: dict[str, AlarmInstance] = {}
        self._stream: ResultStream | None = None
        self._next = 0
        self._rows: list[tuple[Watch, AlarmInstance]] = []
        self._judge = LimitJudge(())
        self._release_due = False
        self._notes: list[str] = []
        self._service: list[HealthAlarm] = []
        if self._settings is not None:
            watches, _ = plan(self._settings, self._stale_after, ())
            self._service = [HealthAlarm(watch) for watch in watches]
            self._alarms = {each.instance.name: each.instance for each in self._service}

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All of them, as they are."""
        for (_, instance), last in zip(self._rows, self._judge.last.tolist(), strict=True):
            instance.seen(last)
        return tuple(instance.alarm for instance in self._all())

    def follow(self, stream: ResultStream) -> tuple[str, ...]:
        """Watch the columns of a new stream; return what there is to note, one line each.

        Where the alarms that were kept are those of another rig, they are put aside until that one is followed again.
        """
        aside = self._change_rig(stream.rig)
        self._stream = stream
        if self._settings is None:
            return aside
        _ = self.alarms
        before = {each.name: each for each in self._all()}
        watches = self._planned(before, stream.columns)
        self._rows = [(watch, AlarmInstance(watch.alarm, watch.kind)) for watch in watches if watch.column >= 0]
        for _, instance in self._rows:
            if instance.name in before:
                instance.take_over(before[instance.name])
        rows_a_second = stream.sample_rate / stream.every
        limits = [watch.limit(rows_a_second) for watch, _ in self._rows]
        self._judge = LimitJudge(limits, [instance.active for _, instance in self._rows])
        alarms = [*(each.instance for each in self._service), *(instance for _, instance in self._rows)]
        self._alarms = {instance.name: instance for instance in alarms}
        self._unwatched = {n: each for n, each in before.items() if n not in self._alarms and each.must_be_saved}
        self._release_due = bool(self._unwatched)
        return (*aside, *self._notes)

    def _change_rig(self, rig: str) -> tuple[str, ...]:
        former, self._rig = self._rig, rig
        if former in ("", rig):
            return ()
        mine = self._to_be_saved()
        self._begin()
        self._take_up(self._aside.pop(rig, ()))
        if not mine:
            return ()
        self._aside = {**self._aside, former: mine}
        while len(self._aside) > saved_alarm.MOST_RIGS:
            del self._aside[next(iter(self._aside))]
        return (f"alarms of rig {former[:_MOST_NAME]!r} were kept ({len(mine)}): put aside until it comes again",)

    def judge(self, results: ResultBlock) -> tuple[Transition, ...]:
        """Judge the rows of the stream that is followed; raises ValueError for those of another."""
        stream = results.stream
        if stream is not self._stream:
            raise ValueError("results of a stream that is not followed")
        made = self._release_unwatched(Moment(results.time, results.index)) if self._release_due else ()
        if results.index != self._next:
            self._judge.interrupt()
        self._next = results.index + len(results) * stream.every
        changes = self._judge.advance(results.values)
        if changes:
            found = []
            for row, position, entered, value, suppressed in changes:
                samples = row * stream.every
                at = Moment(results.time + samples / stream.sample_rate, results.index + samples)
                watch, instance = self._rows[position]
                found.append(watch.turned(instance, value, at, entered=entered, suppressed=suppressed))
            made += self._numbered(found)
        return made

    def judge_health(self, health: Health, time: float, index: int, passed: float) -> tuple[Transition, ...]:
        """Judge the service's health, `passed` s after the last look; what is shelved comes back in time."""
        at = Moment(time, index)
        self._unwatched = {name: each for name, each in self._unwatched.items() if each.must_be_saved}
        made = [each.unshelve("", at, "the time on the shelf is over") for each in self._all() if each.wait(passed)]
        # what is watched here is watched from the first look on, or never
        lost = [e for e in self._unwatched.values() if e.active and e.alarm.value.startswith(HEALTH)]
        gone = [each.turn(None, text.unwatched(each.alarm, published=True), at, entered=False) for each in lost]
        return self._numbered([*made, *gone, *(each.look(health, at, passed) for each in self._service)])

    def carry_out(self, request: AlarmRequest, time: float, index: int) -> tuple[Transition, ...]:
        """Do what is asked; raises ValueError, with one line that says why, where that cannot be done."""
        alarms, at, by = self.alarms, Moment(time, index), request.by
        if not alarms:
            raise ValueError("there are no alarms here")
        match request:
            case AcknowledgeRequest():
                waiting = [each for each in self._all() if each.alarm.needs_acknowledgement]
                if not waiting and not request.alarm:
                    raise ValueError("no alarm waits for being acknowledged")
                chosen = [self._named(request.alarm)] if request.alarm else waiting
                return self._numbered([each.ask(AlarmAction.ACKNOWLEDGE, by, at) for each in chosen])
            case ResetRequest():
                waiting = [each for each in self._all() if each.resettable]
                if not waiting and not request.alarm:
                    raise ValueError("no alarm waits for a reset: it is for what is latched and acknowledged")
                chosen = [self._named(request.alarm)] if request.alarm else waiting
                return self._numbered([each.ask(AlarmAction.RESET, by, at) for each in chosen])
            case ShelveRequest():
                return self._numbered([self._shelve(request, at)])

    def _shelve(self, request: ShelveRequest, at: Moment) -> Transition:
        instance = self._named(request.alarm)
        if request.seconds == 0.0:
            return instance.unshelve(request.by, at)
        most = self._settings.shelve_at_most if self._settings is not None else 0.0
        if not 0.0 < request.seconds <= most:
            raise ValueError(f"{request.alarm}: shelved for {request.seconds:g} s, where {most:g} s are the most")
        return instance.shelve(request.seconds, request.by, at)

    def snapshot(self) -> bytes:
        """Return what must outlive the service."""
        return saved_alarm.encode(self._number, self._to_be_saved(), self._rig, self._aside)

    def _to_be_saved(self) -> tuple[saved_alarm.SavedAlarm, ...]:
        _ = self.alarms
        return tuple(each.kept for each in self._all() if each.must_be_saved)

    def restore(self, state: bytes) -> None:
        """Take over what `snapshot` returned, in another service; raises ValueError for anything else."""
        found = saved_alarm.decode(state)
        self._number, self._aside = found.number, dict(found.aside)
        self._rig = found.rig
        self._take_up(found.alarms)

    def _take_up(self, alarms: Sequence[saved_alarm.SavedAlarm]) -> None:
        if self._settings is None:
            return
        before = {instance.name: instance for instance in map(AlarmInstance.of, alarms)}
        self._planned(before)
        self._alarms = {
            each.name: each for each in (*(s.instance for s in self._service), *(s for _, s in self._rows))
        }
        for name, instance in before.items():
            if name in self._alarms:
                self._alarms[name].take_over(instance)
            else:
                self._unwatched[name] = instance
        for each in self._service:
            each.go_on()
        if self._stream is not None:
            self.follow(self._stream)

    def _planned(self, before: Mapping[str, AlarmInstance], columns: Sequence[Column] = ()) -> list[Watch]:
        """Return what is to be watched beside those of `before` that are not normal, which come first."""
        assert self._settings is not None
        kept = {name for name, instance in before.items() if instance.must_be_saved}
        watches, self._notes = plan(self._settings, self._stale_after, columns, kept)
        names = {watch.alarm.name for watch in watches}
        self._service = [each for each in self._service if each.instance.name in names]
        return watches

    def _all(self) -> Iterator[AlarmInstance]:
        yield from self._alarms.values()
        yield from self._unwatched.values()

    def _named(self, name: str) -> AlarmInstance:
        found = self._alarms.get(name) or self._unwatched.get(name)
        if found is None:
            near = nearest(name, [each.name for each in self._all()])
            raise ValueError(f"there is no alarm {name!r}" + (f"; the nearest is {near!r}" if near else ""))
        return found

    def _release_unwatched(self, at: Moment) -> tuple[Transition, ...]:
        """Let those return to normal whose value is not published any more."""
        self._release_due = False
        lost = [each for each in self._unwatched.values() if each.active]
        columns = {(column.name, column.actuator) for column in self._stream.columns} if self._stream else set()
        published = [(each.alarm.value, each.alarm.actuator) in columns for each in lost]
        whys = [text.unwatched(each.alarm, published=there) for each, there in zip(lost, published, strict=True)]
        return self._numbered([each.turn(None, why, at, entered=False) for each, why in zip(lost, whys, strict=True)])

    def _numbered(self, made: Iterable[Transition | None]) -> tuple[Transition, ...]:
        numbered = []
        for transition in made:
            if transition is not None:
                self._number += 1
                numbered.append(replace(transition, number=self._number))
        return tuple(numbered)

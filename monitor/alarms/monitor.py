"""All alarms of a service: which values they watch, what has become of them, what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches

from monitor.alarm_report import MAX_ALARMS, Alarm, AlarmAction, Transition
from monitor.alarms import kept, text
from monitor.alarms.limits import LimitJudge
from monitor.alarms.of_service import ServiceWatch
from monitor.alarms.standing import Moment, StandingAlarm
from monitor.alarms.watches import Watch, plan
from monitor.blocks import ResultBlock, ResultStream
from monitor.config import AlarmSettings
from monitor.health import Health
from monitor.requests import AcknowledgeRequest, AlarmRequest, ResetRequest, ShelveRequest


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
    the service where what `snapshot` gives is restored. An alarm whose value is not published any more has
    returned; it is kept until it is normal.
    """

    def __init__(self, settings: AlarmSettings | None = None, stale_after: float = 5.0) -> None:
        self._settings = settings
        self._stale_after = stale_after
        self._number = 0
        self._alarms: dict[str, StandingAlarm] = {}
        # those whose value is not published, or not yet
        self._orphans: dict[str, StandingAlarm] = {}
        self._stream: ResultStream | None = None
        self._next = 0
        self._rows: list[tuple[Watch, StandingAlarm]] = []
        self._judge = LimitJudge(())
        self._gone = False
        self._service: list[ServiceWatch] = []
        if settings is not None:
            watches, _ = plan(settings, stale_after, ())
            self._service = [ServiceWatch(watch) for watch in watches]
            self._alarms = {each.watch.alarm.name: each.standing for each in self._service}

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All of them, as they are."""
        for (_, standing), last in zip(self._rows, self._judge.last.tolist(), strict=True):
            standing.seen(last)
        return tuple(standing.alarm for standing in self._all())

    def follow(self, stream: ResultStream) -> tuple[str, ...]:
        """Watch the columns of a new stream; return what there is to note, one line each."""
        self._stream = stream
        if self._settings is None:
            return ()
        _ = self.alarms
        watches, notes = plan(self._settings, self._stale_after, stream.columns)
        before = {each.alarm.name: each for each in self._all()}
        self._rows = [(watch, StandingAlarm(watch.alarm, watch.kind)) for watch in watches if watch.column >= 0]
        for _, standing in self._rows:
            if standing.alarm.name in before:
                standing.succeed(before[standing.alarm.name])
        rows_a_second = stream.sample_rate / stream.every
        limits = [watch.limit(rows_a_second) for watch, _ in self._rows]
        self._judge = LimitJudge(limits, [standing.alarm.active for _, standing in self._rows])
        alarms = [*(each.standing for each in self._service), *(standing for _, standing in self._rows)]
        self._alarms = {standing.alarm.name: standing for standing in alarms}
        left = {n: each for n, each in before.items() if n not in self._alarms and each.worth_keeping}
        self._orphans = dict(list(left.items())[: MAX_ALARMS - len(self._alarms)])
        self._gone = bool(self._orphans)
        return tuple(notes)

    def judge(self, results: ResultBlock) -> tuple[Transition, ...]:
        """Judge the rows of the stream that is followed; raises ValueError for those of another."""
        stream = results.stream
        if stream is not self._stream:
            raise ValueError("results of a stream that is not followed")
        made = self._let_go(Moment(results.time, results.index)) if self._gone else ()
        if results.index != self._next:
            self._judge.interrupt()
        self._next = results.index + len(results) * stream.every
        changes = self._judge.advance(results.values)
        if changes:
            found = []
            for row, position, entered, value in changes:
                samples = row * stream.every
                at = Moment(results.time + samples / stream.sample_rate, results.index + samples)
                watch, standing = self._rows[position]
                found.append(watch.turned(standing, value, at, entered=entered))
            made += self._numbered(found)
        return made

    def look(self, health: Health, time: float, index: int, passed: float) -> tuple[Transition, ...]:
        """Judge the service's health, `passed` s after the last look; what is shelved comes back in time."""
        at = Moment(time, index)
        self._orphans = {name: each for name, each in self._orphans.items() if each.worth_keeping}
        made = [each.unshelve("", at, "the time on the shelf is over") for each in self._all() if each.wait(passed)]
        return self._numbered([*made, *(each.look(health, at, passed) for each in self._service)])

    def obey(self, request: AlarmRequest, time: float, index: int) -> tuple[Transition, ...]:
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
        standing = self._named(request.alarm)
        if request.seconds == 0.0:
            return standing.unshelve(request.by, at)
        most = self._settings.shelve_at_most if self._settings is not None else 0.0
        if not 0.0 < request.seconds <= most:
            raise ValueError(f"{request.alarm}: shelved for {request.seconds:g} s, where {most:g} s are the most")
        return standing.shelve(request.seconds, request.by, at)

    def snapshot(self) -> bytes:
        """Return what must outlive the service."""
        _ = self.alarms
        return kept.encode(self._number, tuple(each.kept for each in self._all() if each.worth_keeping))

    def restore(self, state: bytes) -> None:
        """Take over what `snapshot` returned, in another service; raises ValueError for anything else."""
        found = kept.decode(state)
        self._number = found.number
        if self._settings is None:
            return
        for standing in map(StandingAlarm.of, found.alarms):
            name = standing.alarm.name
            if name in self._alarms:
                self._alarms[name].succeed(standing)
            elif len(self._alarms) + len(self._orphans) < MAX_ALARMS:
                self._orphans[name] = standing
        for each in self._service:
            each.go_on()
        if self._stream is not None:
            self.follow(self._stream)

    def _all(self) -> Iterator[StandingAlarm]:
        yield from self._alarms.values()
        yield from self._orphans.values()

    def _named(self, name: str) -> StandingAlarm:
        found = self._alarms.get(name) or self._orphans.get(name)
        if found is None:
            near = get_close_matches(name, [each.alarm.name for each in self._all()], 1, 0.0)
            raise ValueError(f"there is no alarm {name!r}; the nearest is {near[0]!r}")
        return found

    def _let_go(self, at: Moment) -> tuple[Transition, ...]:
        """Let those return to normal whose value is not published any more."""
        self._gone = False
        lost = [each for each in self._orphans.values() if each.alarm.active]
        return self._numbered([each.turn(None, text.unpublished(each.alarm), at, entered=False) for each in lost])

    def _numbered(self, made: Iterable[Transition | None]) -> tuple[Transition, ...]:
        numbered = []
        for transition in made:
            if transition is not None:
                self._number += 1
                numbered.append(replace(transition, number=self._number))
        return tuple(numbered)

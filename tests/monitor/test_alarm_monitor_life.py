"""All alarms of a service under anything that may happen to it, against a model in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from monitor.alarms.alarm_instance import AlarmKind, next_state, rejection_reason, state_after_unshelve
from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import AlarmAction, AlarmState, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.requests import (
    AcknowledgeRequest,
    AlarmRequest,
    NewLimits,
    ResetRequest,
    SetLimitsRequest,
    ShelveRequest,
)
from tests.oracles.alarms import Condition, Life, arrows

RATE, EVERY = 100.0, 5


LIMITS = (
    LimitSettings(value="v", warn=1.0, trip=2.0, deadband=0.25, on_delay=0.1, off_delay=0.05, latching=True),
    LimitSettings(value="w", warn=(-1.0, 1.0), deadband=0.25),
    LimitSettings(value="w", name="deaf", trip=(-2.0, 2.0), latching=True, acknowledge=False),
    LimitSettings(value="health.latency", name="slow", warn=1.0, deadband=0.25, on_delay=1.0, off_delay=0.5),
)


SETTINGS = AlarmSettings(limit=LIMITS, dead_stream=False, overload=False, lost_data=False, recording=False)


INF = math.inf


LEAST = 10  # rows in half a second


# name -> (column, low, high, deadband, on, off, latching, acknowledge); delays in rows, of the service in s
MODEL = {
    "n.v.warn": ("v", -INF, 1.0, 0.25, 2, 1, True, True),
    "n.v.trip": ("v", -INF, 2.0, 0.25, 2, 1, True, True),
    "n.w.warn": ("w", -1.0, 1.0, 0.25, 0, 0, False, True),
    "n.deaf.trip": ("w", -2.0, 2.0, 0.0, 0, 0, True, False),
    "slow.warn": ("", -INF, 1.0, 0.25, 1.0, 0.5, False, True),
}


NAMES = st.sampled_from([*MODEL])


VALUE = st.sampled_from([-3.0, -1.5, -1.0, 0.0, 0.75, 0.9, 1.0, 1.5, 2.5, math.nan])


def judged(state: AlarmState) -> str:
    """Return the state in the life of an alarm: whether a normal one is judged is a matter of its values."""
    return "normal" if state is AlarmState.NOT_JUDGED else str(state)


class AlarmLife(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.service = AlarmMonitor(SETTINGS)
        self.lives = {name: Life(*each[6:]) for name, each in MODEL.items()}
        self.conditions: dict[str, Condition] = {}
        self.limits = {name: each[1:3] for name, each in MODEL.items()}
        self.slow_since: float | None = None
        self.told: list[Transition] = []
        self.time = 0.0
        self.follow(with_w=True)

    def columns(self) -> tuple[str, ...]:
        return ("v", "w") if self.with_w else ("v",)

    @rule(with_w=st.booleans())
    def follow(self, with_w: bool) -> None:
        """A restart of the rig, after which `w` may not be published."""
        self.with_w, self.index = with_w, 0
        self.stream = ResultStream("rig", 1, RATE, EVERY, tuple(Column(name, "s", "n") for name in self.columns()))
        self.service.set_stream(self.stream)
        for name, (column, _, _, deadband, on, off, *_) in MODEL.items():
            low, high = self.limits[name]
            self.conditions[name] = Condition(low, high, deadband, on, off, LEAST, self.lives[name].active)
            if column == "w" and not with_w and self.lives[name].active:
                self.conditions[name].active = False
                self.lives[name].happen("return_to_normal")
        nothing = np.empty((0, len(self.columns())))
        self.told += self.service.evaluate(ResultBlock(self.stream, 0, self.time, nothing))

    @rule(rows=st.lists(st.tuples(VALUE, VALUE), max_size=12), held=st.booleans(), cut=st.integers(1, 5))
    def rows_come(self, rows, held, cut) -> None:
        if held and rows:
            # long enough for every delay
            rows = [rows[0]] * 12
        for start in range(0, len(rows), cut):
            values = np.array([row[: len(self.columns())] for row in rows[start : start + cut]])
            self.told += self.service.evaluate(ResultBlock(self.stream, self.index, self.time, values))
            self.index += EVERY * len(values)
            for row in values.tolist():
                for name, (column, *_) in MODEL.items():
                    if column in self.columns() and self.conditions[name].step(row[self.columns().index(column)]):
                        self.happened(name)

    @rule(value=st.sampled_from([1.5, 2.5]), name=NAMES, shelved=st.sampled_from(["", "before", "between"]))
    def out_and_back(self, value, name, shelved) -> None:
        """Long enough for every delay; one alarm may be on the shelf for some of it, and come back."""
        if shelved == "before":
            self.shelve(name, 10.0)
        self.rows_come([(value, value)] * 4, False, 3)
        self.rows_come([(0.0, 0.0)] * 12, False, 5)
        if shelved == "between":
            self.shelve(name, 10.0)
        if shelved:
            self.unshelve(name)

    def happened(self, name: str) -> None:
        self.lives[name].happen("occur" if self.conditions[name].active else "return_to_normal")

    @rule(missing=st.integers(1, 9))
    def rows_are_missing(self, missing) -> None:
        self.index += EVERY * missing
        for name, condition in self.conditions.items():
            if name != "slow.warn":
                condition.hole()

    @rule(latency=VALUE, passed=st.sampled_from([0.25, 0.5, 2.0]))
    def look(self, latency, passed) -> None:
        self.time += passed
        self.told += self.service.evaluate_health(Health(latency=latency), self.time, self.index, passed)
        for life in self.lives.values():
            life.wait(passed)
        slow = self.conditions["slow.warn"]
        turns = slow.back(latency) if slow.active else slow.out(latency)
        if math.isnan(latency) or not turns:
            self.slow_since = None
            return
        self.slow_since = 0.0 if self.slow_since is None else self.slow_since + passed
        if self.slow_since >= (slow.off_rows if slow.active else slow.on_rows):
            slow.active, self.slow_since = not slow.active, None
            self.happened("slow.warn")

    def ask(self, request: AlarmRequest) -> bool:
        try:
            self.told += self.service.handle_request(request, self.time, self.index)
        except ValueError as problem:
            assert "\n" not in str(problem)
            return False
        return True

    @rule(name=NAMES, by=st.sampled_from(["", "kim"]))
    def acknowledge(self, name, by) -> None:
        assert self.ask(AcknowledgeRequest(alarm=name, by=by)) == self.lives[name].happen("acknowledge")

    @rule()
    def acknowledge_all(self) -> None:
        done = [life.happen("acknowledge") for life in self.lives.values()]
        assert self.ask(AcknowledgeRequest()) == any(done)

    @rule(name=NAMES)
    def reset_one(self, name) -> None:
        assert self.ask(ResetRequest(alarm=name)) == self.lives[name].happen("reset")

    @rule()
    def reset_all(self) -> None:
        done = [life.happen("reset") for life in self.lives.values()]
        assert self.ask(ResetRequest()) == any(done)

    @rule(name=NAMES, seconds=st.sampled_from([0.5, 1.0, 10.0]))
    def shelve(self, name, seconds) -> None:
        # what is not published and normal is not there any more
        known = name in {alarm.name for alarm in self.service.alarms}
        assert self.ask(ShelveRequest(alarm=name, seconds=seconds)) == known
        if known:
            self.lives[name].shelve(seconds)

    @rule(name=NAMES)
    def unshelve(self, name) -> None:
        assert self.ask(ShelveRequest(alarm=name, seconds=0.0)) == self.lives[name].unshelve()

    @rule(
        names=st.lists(NAMES, min_size=1, max_size=2, unique=True),
        low=st.sampled_from([None, -2.0, -0.8, 0.8]),
        high=st.sampled_from([None, 0.9, 1.2, 3.0]),
    )
    def set_limits(self, names, low, high) -> None:
        """All of the request or none; evaluated from the next row on."""
        if low is None and high is None:
            return
        known = {alarm.name for alarm in self.service.alarms if alarm.changeable}
        asked = (-INF if low is None else low, INF if high is None else high)
        after = self.limits | dict.fromkeys(names, asked)
        warn, trip = after["n.v.warn"], after["n.v.trip"]
        possible = (
            known >= set(names)
            and all(asked[1] - asked[0] >= 2.0 * MODEL[name][3] for name in names)
            and any(self.limits[name] != asked for name in names)
            # the order matters where the request touches it
            and ((trip[0] <= warn[0] and warn[1] <= trip[1]) or not {"n.v.warn", "n.v.trip"} & set(names))
        )
        request = SetLimitsRequest(
            limits=tuple(NewLimits(alarm=each, low=low, high=high) for each in names), by="kim"
        )
        before = self.limits
        try:
            changes = self.service.set_limits(request)
        except ValueError as problem:
            assert "\n" not in str(problem)
            assert not possible, problem
            return
        assert possible
        self.limits = after
        assert [each.name for each in changes] == [name for name in names if before[name] != asked]
        for name in (each.name for each in changes):
            condition = self.conditions[name]
            condition.low, condition.high = asked
            condition.hole()
            if name == "slow.warn":
                self.slow_since = None

    @invariant()
    def every_limit_is_where_the_model_has_it(self) -> None:
        if not hasattr(self, "service"):
            return
        for alarm in self.service.alarms:
            # one that is not published any more has the limits that it had
            if alarm.name in self.limits and (self.with_w or (".w." not in alarm.name and "deaf" not in alarm.name)):
                low, high = self.limits[alarm.name]
                assert (alarm.low, alarm.high) == (low if low > -INF else None, high if high < INF else None)
                changed = self.limits[alarm.name] != MODEL[alarm.name][1:3]
                assert (alarm.configured is not None) == changed

    @rule()
    def the_service_starts_anew(self) -> None:
        kept = self.service.snapshot()
        self.service = AlarmMonitor(SETTINGS)
        self.service.restore(kept)
        self.slow_since = None
        self.follow(self.with_w)

    @invariant()
    def every_alarm_is_where_the_model_has_it(self) -> None:
        if not hasattr(self, "service"):
            return
        alarms = {alarm.name: alarm for alarm in self.service.alarms}
        for name, life in self.lives.items():
            if name not in alarms:
                assert life.state == "normal"
                assert not self.with_w
                continue
            assert (judged(alarms[name].state), alarms[name].active) == (life.state, life.active), name
            assert alarms[name].shelved_for == (life.left if life.state == "shelved" else 0.0)

    @invariant()
    def no_transition_is_lost_doubled_or_out_of_order(self) -> None:
        if not hasattr(self, "service"):
            return
        assert [transition.number for transition in self.told] == [*range(1, len(self.told) + 1)]
        steps = defaultdict(list)
        for step in self.told:
            if step.action not in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
                steps[step.name].append((step.action, judged(step.previous), judged(step.state)))
        for name, life in self.lives.items():
            assert steps[name] == life.steps, name
            assert all(a[2] == b[1] for a, b in zip(steps[name], steps[name][1:], strict=False))


TestAlarmLife = AlarmLife.TestCase


TestAlarmLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


KINDS = [AlarmKind(latching, acknowledge) for latching, acknowledge in product((False, True), repeat=2)]


LIVING = [state for state in AlarmState if state not in (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)]


ACTIONS = [AlarmAction.OCCUR, AlarmAction.RETURN_TO_NORMAL, AlarmAction.ACKNOWLEDGE, AlarmAction.RESET]


def reachable(kind: AlarmKind) -> set[str]:
    table = arrows(*kind)
    return {state for state, _ in table} | set(table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_arrow_of_the_diagram_and_no_other(kind) -> None:
    table = arrows(*kind)
    for state, action in product(LIVING, ACTIONS):
        if state in reachable(kind):
            assert next_state(state, action, kind) == table.get((state, action), state), (state, action)


@pytest.mark.parametrize("kind", KINDS)
def test_under_settings_that_have_changed_every_state_can_be_left(kind) -> None:
    for start in LIVING:
        seen, todo = {start}, [start]
        while todo:
            state = todo.pop()
            steps = {next_state(state, action, kind) for action in ACTIONS} - seen
            seen |= steps
            todo += steps
        assert AlarmState.NORMAL in seen, start


@pytest.mark.parametrize("action", ACTIONS)
def test_a_shelved_alarm_and_one_out_of_service_stay(action) -> None:
    for state, kind in product((AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE), KINDS):
        assert next_state(state, action, kind) is state


def test_from_the_shelf_comes_what_holds_what_is_latched_and_nothing_else() -> None:
    for beneath, kind in product(LIVING, KINDS):
        expected = AlarmState.UNACKNOWLEDGED if kind.acknowledge else AlarmState.ACKNOWLEDGED
        assert state_after_unshelve(beneath, kind, active=True) is expected
        quiet = beneath if beneath.startswith("latched") else AlarmState.NORMAL
        assert state_after_unshelve(beneath, kind, active=False) is quiet


def test_what_is_in_vain_is_told_in_one_line() -> None:
    for state, action in product(AlarmState, AlarmAction):
        told = rejection_reason(state, action)
        assert told.startswith(("it", "its", "acknowledge"))
        assert "\n" not in told

"""No alarm is normal on a value older than its bound, whatever the stream, the load and the service do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason

RATE, EVERY, WINDOW = 100.0, 10, 2.0
BOUND = 3.0  # s
ROW = EVERY / RATE
COLUMNS = ("fdb_delay", "paei_delay", "broadband_delay", "nrmse")
MEASURES = {"fdb_delay": "fdb", "paei_delay": "paei", "broadband_delay": "broadband", "nrmse": "nrmse"}
QUIET = {"dead_stream": False, "overload": False, "lost_data": False, "recording": False}
LIMITS = tuple(LimitSettings(value=value, warn=0.06) for value in ("delay", "broadband_delay", "fdb_delay", "nrmse"))
# the measures that speak for each value, the first that is computed
SPEAKERS = {"delay": ("broadband_delay", "paei_delay", "fdb_delay")}


def stream(epoch: int = 1) -> ResultStream:
    return ResultStream("rig", epoch, RATE, EVERY, tuple(Column(name, "s", "a") for name in COLUMNS))


class Judgements(RuleBasedStateMachine):
    """A service on a clock of its own, against the newest value of every alarm in plain Python."""

    @initialize()
    def begin(self) -> None:
        self.service = AlarmMonitor(AlarmSettings(limit=LIMITS, **QUIET), window=WINDOW)
        self.clock = self.arrived = 500.0  # now, and when the newest computed samples came
        self.epoch, self.index = 0, 0
        self.paused: frozenset[str] = frozenset()
        # of the newest value of each alarm: the clock at its arrival, and the seconds of the stream since it
        self.heard = dict.fromkeys((each.value for each in LIMITS), self.clock)
        self.ages = dict.fromkeys(self.heard, 0.0)
        self.ever = dict.fromkeys(self.heard, False)
        self.withdrawn = dict.fromkeys(self.heard, False)
        self.told: list[Transition] = []
        self.restart()

    @rule()
    def restart(self) -> None:
        """The rig starts again: its numbers and times begin anew, and what was lost before is not known."""
        self.epoch, self.index, self.lost = self.epoch + 1, 0, 0.0
        self.stream = stream(self.epoch)
        self.service.set_stream(self.stream, self.clock)
        self.told += self.service.pause(dict.fromkeys(self.paused, Reason.PAUSED), 0.0, self.index)

    @rule(
        rows=st.integers(1, 40),
        absent=st.sets(st.sampled_from(COLUMNS)),
        lag=st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.9, 3.5, 40.0]),
        cut=st.integers(1, 40),
    )
    def rows_come(self, rows: int, absent: set[str], lag: float, cut: int) -> None:
        """Some measures decline, and results are late."""
        self.ages = {value: age + self.lost for value, age in self.ages.items()}
        self.lost = 0.0
        for start in range(0, rows, cut):
            n = min(cut, rows - start)
            self.clock += n * ROW
            self.arrived = self.clock - lag
            values = np.full((n, len(COLUMNS)), 0.01)
            for column, name in enumerate(COLUMNS):
                if name in absent or MEASURES[name] in self.paused:
                    values[:, column] = np.nan
            block = ResultBlock(self.stream, self.index, self.index / RATE, values)
            self.told += self.service.evaluate(block, self.arrived, self.clock)
            self.index += n * EVERY
            for value in self.heard:
                if (speaker := self.speaker(value)) and speaker not in absent:
                    # a late row brings no value back, but is one
                    self.heard[value], self.ages[value] = self.arrived, 0.0
                    if lag <= BOUND:
                        self.ever[value], self.withdrawn[value] = True, False
                else:
                    self.ages[value] += n * ROW
                    self.withdrawn[value] |= self.ages[value] > BOUND + 1e-9
        self.look(lag)

    @precondition(lambda self: self.index > 0)
    @rule(missing=st.integers(1, 50))
    def samples_are_lost(self, missing: int) -> None:
        self.index += missing * EVERY
        self.lost += missing * ROW

    @rule(seconds=st.sampled_from([0.2, 1.0, 2.0, 10.0]), state=st.sampled_from(["receiving", "stale", "ended"]))
    def silence(self, seconds: float, state: str) -> None:
        """Nothing comes: a pause of the rig, its death, or a service that computes nothing."""
        self.clock += seconds
        self.look(0.0, state)

    @rule(measures=st.sets(st.sampled_from(sorted(set(MEASURES.values())))))
    def pause(self, measures: set[str]) -> None:
        """Load is shed: told at once where no other measure speaks."""
        self.paused = frozenset(measures)
        self.told += self.service.pause(dict.fromkeys(self.paused, Reason.PAUSED), 0.0, self.index)
        for value in self.heard:
            self.withdrawn[value] |= not self.speaker(value)

    def look(self, lag: float, state: str = "receiving") -> None:
        health = Health(state=state, lag=lag)
        self.told += self.service.evaluate_health(health, 0.0, self.index, 0.2, self.clock)
        for value, heard in self.heard.items():
            self.withdrawn[value] |= self.clock - heard > BOUND

    def speaker(self, value: str) -> str:
        return next((name for name in SPEAKERS.get(value, (value,)) if MEASURES[name] not in self.paused), "")

    def alarms(self) -> dict[str, Alarm]:
        return {alarm.value: alarm for alarm in self.service.alarms}

    @invariant()
    def none_is_normal_on_an_old_value_or_not_judged_on_a_new_one(self) -> None:
        for value, alarm in self.alarms().items():
            judged = self.ever[value] and not self.withdrawn[value]
            assert alarm.state is (AlarmState.NORMAL if judged else AlarmState.NOT_JUDGED), (value, alarm)
            assert bool(alarm.not_judged) is not judged
            assert (alarm.last is None) is not judged
            if judged:
                assert self.clock - self.heard[value] <= BOUND + 40 * ROW
            elif not self.speaker(value):
                assert alarm.not_judged.endswith("paused: overload") or not self.ever[value]

    @invariant()
    def every_change_is_told_in_order(self) -> None:
        states = {alarm.name: alarm.state for alarm in self.service.alarms}
        assert [step.number for step in self.told] == [*range(1, len(self.told) + 1)]
        last: dict[str, AlarmState] = {}
        for step in self.told:
            assert step.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE)
            assert last.get(step.name, step.previous) in (step.previous, AlarmState.NOT_JUDGED)
            last[step.name] = step.state
        for name, state in last.items():
            assert states[name] is state


TestJudgements = Judgements.TestCase
TestJudgements.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)


def evaluated(values: dict[str, float], seconds: float, health: Health, **limit: object) -> Alarm:
    """Return the alarm after so long of these values."""
    service = AlarmMonitor(AlarmSettings(limit=(LimitSettings(warn=0.06, **limit),), **QUIET), window=WINDOW)
    names = (*COLUMNS, "broadband_reason")
    service.set_stream(ResultStream("rig", 1, RATE, EVERY, tuple(Column(name, "s", "a") for name in names)))
    rows = np.tile([values.get(name, math.nan) for name in names], (round(seconds / ROW), 1))
    service.evaluate(ResultBlock(service._stream, 0, 0.0, rows))
    service.evaluate_health(health, seconds, 0, 0.2)
    return service.alarms[-1]


RECEIVING = Health(state="receiving")


@pytest.mark.parametrize(
    ("values", "seconds", "health", "reason"),
    [
        ({}, 1.0, RECEIVING, "no value yet"),
        ({}, 5.0, RECEIVING, "no value"),
        ({"broadband_reason": Reason.GATE}, 5.0, RECEIVING, "too little motion"),
        # unrelated signals are not judged by another measure
        ({"paei_delay": 0.01, "broadband_reason": Reason.UNRELATED}, 5.0, RECEIVING, "unrelated signals"),
        ({"broadband_reason": 99.0}, 5.0, RECEIVING, "reason 99"),
        ({}, 5.0, Health(state="stale"), "no data"),
        ({}, 5.0, Health(state="ended"), "the stream has ended"),
        ({}, 5.0, Health(state="receiving", lag=37.0), "results come late: overload"),
        ({}, 5.0, Health(state="receiving", age=3.1), "no data"),
        ({"broadband_delay": 0.01}, 5.0, RECEIVING, ""),
    ],
)
def test_the_reason_is_given(values: dict[str, float], seconds: float, health: Health, reason: str) -> None:
    assert evaluated(values, seconds, health, value="delay").not_judged == reason


def test_who_speaks_for_the_headline_is_named_and_trips() -> None:
    limit = LimitSettings(value="delay", warn=0.02, trip=0.06)
    service = AlarmMonitor(AlarmSettings(limit=(limit,), **QUIET), window=WINDOW)
    service.set_stream(stream())
    assert {alarm.source for alarm in service.alarms} == {"broadband_delay"}
    service.pause({"broadband": Reason.PAUSED}, 0.0, 0)
    rows = np.array([[0.07, 0.0697, math.nan, 0.5]])
    steps = service.evaluate(ResultBlock(service._stream, 0, 0.0, rows))
    assert [(step.name, step.state, step.value) for step in steps] == [
        ("a.delay.warn", AlarmState.UNACKNOWLEDGED, 0.0697),
        ("a.delay.trip", AlarmState.UNACKNOWLEDGED, 0.0697),
    ]
    assert {step.reason for step in steps} == {
        "a delay 0.0697 s is above 0.02 s, by PAEI",
        "a delay 0.0697 s is above 0.06 s, by PAEI",
    }
    assert {alarm.source for alarm in service.alarms} == {"paei_delay"}


@pytest.mark.parametrize("longest", [1.0, 10.0])
def test_the_bound_is_a_setting(longest: float) -> None:
    service = AlarmMonitor(AlarmSettings(limit=LIMITS[-1:], max_value_age=longest, **QUIET), window=WINDOW)
    service.set_stream(stream())
    there, gone = np.zeros((1, 4)), np.full((200, 4), np.nan)
    service.evaluate(ResultBlock(service._stream, 0, 0.0, there))
    (step,) = service.evaluate(ResultBlock(service._stream, EVERY, ROW, gone))
    assert step.action is AlarmAction.LOSE_VALUE
    # the first row at which the value is older
    assert step.time == pytest.approx(longest + ROW)

"""Limits changed by request: what is accepted, what follows from it, what is recorded and kept."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from monitor.alarms import conditions
from monitor.alarms.conditions import ConditionEvaluator, RowCondition
from monitor.alarms.monitor import AlarmMonitor
from monitor.alarms.text import describe_change
from monitor.commands.service_settings import with_alarms
from monitor.config import AlarmSettings, LimitSettings, Settings, load_settings
from monitor.messages.alarms import Alarm, AlarmState, LimitChange, Severity
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.requests import NewLimits, RequestError, SetLimitsRequest, decode_request, encode
from monitor.recording.layout import event_rows, events_of
from monitor.transport.mqtt.sink import MqttCommandHandler
from monitor.transport.zeromq.requests import ZmqRequestServer
from tests.oracles.alarms import Condition

QUIET = {"dead_stream": False, "overload": False, "lost_data": False, "recording": False}
V = {"value": "v", "warn": 1.0, "trip": 2.0, "deadband": 0.1}
BAND = {"value": "w", "warn": [0.9, 1.1], "trip": [0.5, 1.5]}
STREAM = ResultStream("rig", 1, 100.0, 10, (Column("v", "s", "n"), Column("v", "s", "s"), Column("w", "1", "n")))


def settings(*limits: dict[str, object], **more) -> AlarmSettings:
    return AlarmSettings(limit=tuple(LimitSettings(**each) for each in limits), **(QUIET | more))


def made(*limits: dict[str, object], stream: ResultStream = STREAM, **more) -> AlarmMonitor:
    service = AlarmMonitor(settings(*limits, **more))
    service.set_stream(stream)
    return service


def change(*limits: tuple[str, float | None, float | None]) -> SetLimitsRequest:
    return SetLimitsRequest(limits=tuple(NewLimits(alarm=a, low=low, high=high) for a, low, high in limits), by="kim")


def alarm(service: AlarmMonitor, name: str) -> Alarm:
    return next(each for each in service.alarms if each.name == name)


def rows(*values: float, index: int = 0) -> ResultBlock:
    return ResultBlock(STREAM, index, index / 100.0, np.tile(np.array(values)[:, None], (1, 3)))


def test_a_limit_is_changed_for_one_alarm_and_the_change_says_from_what_to_what() -> None:
    service = made(V)
    (found,) = service.set_limits(change(("n.v.warn", None, 1.5)))
    assert found == LimitChange("n.v.warn", Severity.WARN, None, 1.5, None, 1.0, "s", "kim", "n", "v")
    assert describe_change(found) == "n.v.warn: limits changed to at most 1.5 s, from at most 1 s, by kim"
    assert describe_change(replace(found, by="")) == "n.v.warn: limits changed to at most 1.5 s, from at most 1 s"
    assert {each.name: each.high for each in service.alarms} == {
        "n.v.warn": 1.5,
        "n.v.trip": 2.0,
        "s.v.warn": 1.0,
        "s.v.trip": 2.0,
    }
    assert alarm(service, "n.v.warn").configured == (None, 1.0)
    assert alarm(service, "s.v.warn").configured is None
    service.set_limits(change(("n.v.warn", None, 1.0)))
    assert alarm(service, "n.v.warn").configured is None


def test_the_next_rows_are_evaluated_against_it() -> None:
    service = made(V)
    # within both, then above the new one
    assert not service.evaluate(rows(0.9))
    service.set_limits(change(("n.v.warn", None, 0.5)))
    (occurred,) = service.evaluate(rows(0.9, index=10))
    assert (occurred.name, occurred.index, occurred.limit) == ("n.v.warn", 10, 0.5)
    assert occurred.reason == "n v 0.9 s is above 0.5 s"
    service.set_limits(change(("n.v.warn", None, 1.5)))
    (back,) = service.evaluate(rows(*[0.9] * 6, index=20))
    assert back.state is AlarmState.RETURNED
    assert back.reason == "n v 0.9 s is back below 1.5 s"


def test_a_limit_on_the_health_of_the_service_is_changed_too() -> None:
    service = made({"value": "health.latency", "name": "slow", "warn": 1.0})
    service.set_limits(change(("slow.warn", None, 0.2)))
    (occurred,) = service.evaluate_health(Health(latency=0.5), 1.0, 100, 0.2)
    assert (occurred.limit, occurred.reason) == (0.2, "health.latency 0.5 s is above 0.2 s")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ([("n.v.wan", None, 3.0)], "there is no alarm 'n.v.wan'; the nearest is 'n.v.warn'"),
        ([("n.v.warn", None, 1.0)], "n.v.warn: it has these limits already"),
        (
            [("n.v.warn", None, 2.5)],
            r"n.v: the trip limit \(at most 2 s\) must be further out than the warning limit",
        ),
        ([("n.v.warn", 0.0, None)], "n.v: the trip limit"),
        ([("n.v.trip", None, 0.5)], "n.v: the trip limit"),
        ([("n.v.warn", 0.5, 0.6)], "deadband 0.1 leaves nothing"),
        ([("n.v.warn", None, 1.5), ("s.v.warn", None, 5.0)], "s.v: the trip limit"),
        ([("disk.warn", 1e9, None)], "disk.warn: its limit is built in"),
        ([("deaf.warn", None, 5.0)], "deaf.warn: it is out of service"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(limits, reason) -> None:
    deaf = {"value": "health.lag", "name": "deaf", "warn": 1.0, "in_service": False}
    service = made(V, BAND, deaf, recording=True)
    before, kept = service.alarms, service.snapshot()
    with pytest.raises(ValueError, match=reason):
        service.set_limits(change(*limits))
    assert (service.alarms, service.snapshot()) == (before, kept)


def test_warning_and_trip_move_past_each_other_in_one_request() -> None:
    service = made(BAND)
    service.set_limits(change(("n.w.warn", 0.2, 1.0), ("n.w.trip", 0.1, 1.05)))
    assert [(each.low, each.high) for each in service.alarms] == [(0.2, 1.0), (0.1, 1.05)]


@pytest.mark.parametrize(
    ("allowed", "trusted", "accepted"),
    [("trusted", True, True), ("trusted", False, False), ("always", False, True), ("never", True, False)],
)
def test_who_may_change_limits_is_a_setting(allowed, trusted, accepted) -> None:
    service = made(V, limits_changeable=allowed)
    assert alarm(service, "n.v.warn").changeable == (allowed != "never")
    if accepted:
        assert service.set_limits(change(("n.v.warn", None, 1.5)), trusted=trusted)
        return
    with pytest.raises(ValueError, match=r"alarms\.limits_changeable"):
        service.set_limits(change(("n.v.warn", None, 1.5)), trusted=trusted)


def test_whom_the_service_can_trust() -> None:
    local = ZmqRequestServer("tcp://127.0.0.1:*")
    remote = ZmqRequestServer("tcp://0.0.0.0:*", insecure=True)
    assert (local.trusted, remote.trusted, MqttCommandHandler(lambda _: None).trusted) == (True, False, False)
    local.close()
    remote.close()


def test_changes_are_kept_over_a_restart_and_before_the_stream_is_there() -> None:
    service = made(V, {"value": "health.latency", "name": "slow", "warn": 1.0})
    service.set_limits(change(("n.v.warn", None, 1.5), ("slow.warn", None, 0.2)))
    again = AlarmMonitor(settings(V, {"value": "health.latency", "name": "slow", "warn": 1.0}))
    again.restore(service.snapshot())
    assert alarm(again, "slow.warn").high == 0.2
    assert not again.set_stream(STREAM)
    assert (alarm(again, "n.v.warn").high, alarm(again, "n.v.warn").configured) == (1.5, (None, 1.0))
    # a run says at its start what differs from its settings, once
    found = {each.name: (each.previous_high, each.high, each.by) for each in again.pop_restored_limits()}
    assert found == {"slow.warn": (1.0, 0.2, ""), "n.v.warn": (1.0, 1.5, "")}
    assert again.pop_restored_limits() == ()
    # a later stream too
    again.set_stream(replace(STREAM, epoch=2))
    assert alarm(again, "n.v.warn").high == 1.5


@pytest.mark.parametrize(
    "later",
    [
        settings(V | {"warn": 1.2}),
        settings(V | {"trip": 1.4}),
        settings(V, limits_changeable="never"),
        settings(V | {"in_service": False}),
    ],
)
def test_settings_that_were_edited_since_are_in_force(later) -> None:
    service = made(V)
    service.set_limits(change(("n.v.warn", None, 1.5)))
    again = AlarmMonitor(later)
    again.restore(service.snapshot())
    assert again.set_stream(STREAM) == ("alarms: changed limits are discarded, the settings have changed: n.v.warn",)
    assert alarm(again, "n.v.warn").high == later.limit[0].warn
    assert not again.set_stream(STREAM)


def test_changes_belong_to_their_rig() -> None:
    service = made(V)
    service.set_limits(change(("n.v.warn", None, 1.5)))
    other = replace(STREAM, rig="other")
    service.set_stream(other)
    assert alarm(service, "n.v.warn").high == 1.0
    kept = AlarmMonitor(settings(V))
    kept.restore(service.snapshot())
    kept.set_stream(other)
    assert alarm(kept, "n.v.warn").high == 1.0
    kept.set_stream(STREAM)
    assert alarm(kept, "n.v.warn").high == 1.5


def test_an_alarm_that_stands_keeps_its_state_over_the_change() -> None:
    service = made(V | {"latching": True})
    service.evaluate(rows(3.0))
    before = alarm(service, "n.v.warn")
    service.set_limits(change(("n.v.warn", None, 1.8)))
    assert structs.replace(alarm(service, "n.v.warn"), high=1.0, configured=None) == before


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ("[]", "length"),
        ('[{"alarm":"a","low":null,"high":null}]', "a: it needs a limit"),
        ('[{"alarm":"a","low":2,"high":1}]', "a: low 2 is above high 1"),
        ('[{"alarm":"a","low":null,"high":1e999}]', "out of range|must be finite"),
        ('[{"alarm":"a","high":1}]', "low"),
        ('[{"alarm":"a\\u0007","low":0,"high":1}]', "cannot be printed"),
        ('[{"alarm":"a","low":0,"high":1},{"alarm":"a","low":0,"high":2}]', "listed twice"),
    ],
)
def test_requests_that_make_no_sense_are_refused_when_they_are_read(limits, reason) -> None:
    with pytest.raises(RequestError, match=reason) as refused:
        decode_request(f'{{"request":"set_limits","limits":{limits},"id":4}}'.encode())
    assert refused.value.number == 4


def test_a_request_survives_its_json() -> None:
    request = change(("n.v.warn", None, 1.5), ("n.w.warn", 0.9, 1.2))
    assert decode_request(encode(request)) == request


def test_the_run_file_has_the_change_in_columns() -> None:
    found = LimitChange("n.v.warn", Severity.WARN, None, 1.5, -1.0, 1.0, "s", "kim", "n", "v")
    event = Event(EventKind.LIMITS, 1.5, 150, 0, describe_change(found), limits=found)
    stored = event_rows([event, Event(EventKind.NOTE, 2.0, 200, 0, "pump off")])
    assert events_of(stored) == [event, Event(EventKind.NOTE, 2.0, 200, 0, "pump off")]
    older = stored[[name for name in stored.dtype.names or () if not name.startswith(("previous_", "low", "high"))]]
    assert events_of(older)[0] == replace(event, limits=None)


NAN = math.nan
# few values, and the limits among them, so that equality happens
VALUES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, NAN, math.inf, -math.inf])


@st.composite
def limit(draw, columns: int = 3) -> RowCondition:
    low, high = draw(st.sampled_from([(-math.inf, 1.0), (0.0, math.inf), (-1.0, 1.0), (0.5, 0.5)]))
    deadband = draw(st.sampled_from([0.0, 0.25, 0.5])) if high - low > 1.0 else 0.0
    rows = draw(st.tuples(*[st.integers(0, 4)] * 2, st.integers(0, 7)))
    return RowCondition(draw(st.integers(0, columns - 1)), low, high, deadband, *rows)


def twin(limits: list[RowCondition], active: list[bool]) -> list[Condition]:
    return [Condition(*each[1:], active=held) for each, held in zip(limits, active, strict=True)]


def found_by(judge: ConditionEvaluator, rows: np.ndarray, start: int = 0) -> list[tuple[int, int, bool, float, int]]:
    return [(start + c.row, c.condition, c.active, c.value, c.suppressed) for c in judge.advance(rows)]


@given(
    st.lists(limit(), min_size=1, max_size=5),
    st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=30),
    st.lists(st.integers(0, 30), max_size=5),
    st.data(),
)
def test_a_naive_twin_agrees_after_every_row_however_the_rows_are_cut(limits, rows, cuts, data) -> None:
    active = data.draw(st.lists(st.booleans(), min_size=len(limits), max_size=len(limits)))
    values = np.array(rows, float).reshape(-1, 3)
    conditions = twin(limits, active)
    expected = [
        (i, w, condition.active, row[condition_limit.column], condition.suppressed)
        for i, row in enumerate(values.tolist())
        for w, (condition, condition_limit) in enumerate(zip(conditions, limits, strict=True))
        if condition.step(row[condition_limit.column])
    ]
    by_row = ConditionEvaluator(limits, active)
    assert [c for i in range(len(values)) for c in found_by(by_row, values[i : i + 1], i)] == expected
    cut = ConditionEvaluator(limits, active)
    edges = sorted({0, len(values), *(c for c in cuts if c < len(values))})
    pieces = [c for a, b in pairwise(edges) for c in found_by(cut, values[a:b].copy(), a)]
    assert pieces == expected
    assert cut.last_values.tobytes() == by_row.last_values.tobytes()


@given(limit(1), st.lists(st.one_of(VALUES, st.none()), max_size=30))
def test_a_hole_begins_the_count_anew(one, values) -> None:
    judge, condition = ConditionEvaluator([one]), Condition(*one[1:])
    for value in values:
        if value is None:
            judge.interrupt()
            condition.hole()
            continue
        turned = condition.step(value)
        assert [c.active for c in judge.advance(np.array([[value]]))] == [condition.active] * turned


def changes(values: list[float], **options: float) -> list[tuple[int, bool]]:
    judge = ConditionEvaluator([RowCondition(0, **{"low": -math.inf, "high": 1.0, **options})])
    return [(c.row, c.active) for c in judge.advance(np.array(values)[:, None])]


def test_a_value_on_the_limit_is_normal_and_so_is_one_on_the_edge_of_the_deadband() -> None:
    assert changes([1.0, 1.0, np.nextafter(1.0, 2.0)]) == [(2, True)]
    assert changes([2.0, 1.0]) == [(0, True), (1, False)]
    assert changes([2.0, 1.0, 0.875, 0.75], deadband=0.25) == [(0, True), (3, False)]
    assert changes([0.0, np.nextafter(0.0, -1.0)], low=0.0, high=math.inf) == [(1, True)]


def test_nothing_chatters_inside_the_deadband() -> None:
    assert changes([1.1, 0.9, 1.1, 0.9, 1.1, 0.5], deadband=0.5) == [(0, True), (5, False)]


def test_delays_count_rows_from_the_first_that_is_out_and_an_interruption_begins_anew() -> None:
    assert changes([2.0] * 3, on_rows=3) == []
    assert changes([2.0] * 4, on_rows=3) == [(3, True)]
    assert changes([2.0, 2.0, 0.0, 2.0, 2.0, 2.0], on_rows=2) == [(5, True)]
    assert changes([2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0], off_rows=2) == [(0, True), (6, False)]


def test_what_chatters_is_told_no_more_often_than_may_be_and_what_is_left_out_is_counted() -> None:
    chatter = np.tile([2.0, 0.0], 500)[:, None]
    judge = ConditionEvaluator([RowCondition(0, -math.inf, 1.0, min_rows=99)])
    told = [(c.row, c.active, c.suppressed) for c in judge.advance(chatter)]
    # out at 0, back at 1, 3, ... 97 in vain, at 99 at last
    assert told[:3] == [(0, True, 0), (99, False, 49), (100, True, 0)]
    assert len(told) == 20


def test_nan_changes_nothing_but_that_counting_begins_anew() -> None:
    assert changes([2.0, NAN, 0.0]) == [(0, True), (2, False)]
    assert changes([2.0, 2.0, NAN, 2.0, 2.0], on_rows=2) == []
    assert changes([2.0, 0.0, 0.0, NAN, 0.0, 0.0, 0.0], off_rows=2) == [(0, True), (6, False)]
    assert changes([NAN] * 5) == []


def test_more_changes_than_are_handed_out_at_once_are_all_there() -> None:
    rows = 5000
    values = np.where(np.arange(rows) % 2, 0.0, 2.0)[:, None]
    judge = ConditionEvaluator([RowCondition(0, -math.inf, 1.0)])
    assert [(c.row, c.active, c.value) for c in judge.advance(values)] == [
        (row, row % 2 == 0, 0.0 if row % 2 else 2.0) for row in range(rows)
    ]


def test_no_signature_is_compiled_for_what_comes_in_another_shape_of_memory() -> None:
    conditions.warm_up()
    before = len(conditions._advance_conditions.signatures)
    assert before == 1
    judge = ConditionEvaluator([RowCondition(1, -math.inf, 1.0)])
    values = np.arange(6.0).reshape(3, 2)
    frozen = values.copy()
    frozen.flags.writeable = False
    for rows in (values, values[:0], np.asfortranarray(values), values[::2], frozen, np.frombuffer(values.tobytes())):
        judge.advance(rows.reshape(-1, 2))
    assert len(conditions._advance_conditions.signatures) == before


def test_without_limits_nothing_happens() -> None:
    assert not ConditionEvaluator(()).advance(np.ones((3, 0)))


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_the_rows_are_not_written_to(rows) -> None:
    values = np.full((rows, 1), 2.0)
    ConditionEvaluator([RowCondition(0, -math.inf, 1.0)]).advance(values)
    assert (values == 2.0).all()


def given_settings(**sections: dict[str, object]) -> Settings:
    return load_settings(None, sections)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fdb_delay=0.02", ("fdb_delay", 0.02, None, "above")),
        ("fdb_delay=0.02:0.05", ("fdb_delay", 0.02, 0.05, "above")),
        ("paei_ratio=:1.5", ("paei_ratio", None, 1.5, "above")),
        ("reliability_accumulated=0.8:0.6", ("reliability_accumulated", 0.8, 0.6, "below")),
        ("paei_ratio=0.9..1.1:0.8..1.2", ("paei_ratio", (0.9, 1.1), (0.8, 1.2), "above")),
        ("fdb_delay=-0.02..2e-2", ("fdb_delay", (-0.02, 0.02), None, "above")),
        ("health.latency=0.1", ("health.latency", 0.1, None, "above")),
    ],
)
@pytest.mark.parametrize("deadband", ["", ",deadband=0.002"])
def test_limits_from_the_command_line(text, expected, deadband) -> None:
    (limit,) = with_alarms(given_settings(), [text + deadband]).alarms.limit
    assert (limit.value, limit.warn, limit.trip, limit.side) == expected
    assert limit.deadband == (0.002 if deadband else 0.0)


def test_a_limit_from_the_command_line_takes_the_place_of_the_files() -> None:
    file = given_settings(alarms={"limit": [{"value": "v", "warn": 1.0}, {"value": "w", "warn": 1.0}]})
    given = with_alarms(file, ["v=3"]).alarms.limit
    assert [(limit.value, limit.warn) for limit in given] == [("w", 1.0), ("v", 3.0)]
    assert with_alarms(file, []) is file


@pytest.mark.parametrize(
    "text", ["v", "v=", "=1", "v=x", "v=1:", "v=1..", "v=1..2..3", "v=2..1", "v=1,deadband=", "v=1,0.1", "health.x=1"]
)
def test_what_is_not_a_limit_is_refused_in_one_line(text) -> None:
    with pytest.raises(ValueError, match=f"--alarm {text}: ") as problem:
        with_alarms(given_settings(), [text])
    assert "\n" not in str(problem.value)


def test_one_value_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="--alarm v: given twice"):
        with_alarms(given_settings(), ["v=1", "v=2"])


@pytest.mark.parametrize("text", ["v=nan", "v=1:inf", "v=-inf..1", "v=1:0..nan"])
def test_a_limit_that_is_not_finite_is_refused_in_words(text) -> None:
    with pytest.raises(ValueError, match="limits must be finite"):
        with_alarms(Settings(), [text])

"""Which alarms there are, what is told of them, and what becomes of them where the stream or the settings change."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from pydantic import ValidationError

from monitor.alarms.conditions import _advance_conditions, warm_up
from monitor.alarms.definitions import METRICS, HealthMetric, metric_unit
from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, LimitSettings
from monitor.config.service import HEALTH_VALUES
from monitor.messages.alarms import MAX_ALARMS, AlarmReport, AlarmState, decode, encode
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import BrokerStatus, Health, StreamCounts
from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest

QUIET = {"dead_stream": False, "overload": False, "lost_data": False, "recording": False}
COLUMNS = tuple(Column(name, unit, who) for who in ("n", "s") for name, unit in (("v", "s"), ("w", "1")))
STREAM = ResultStream("rig", 1, 100.0, 10, COLUMNS)


def made(
    *limits: dict[str, object], stream: ResultStream = STREAM, **options
) -> tuple[AlarmMonitor, tuple[str, ...]]:
    settings = AlarmSettings(limit=tuple(LimitSettings(**each) for each in limits), **(QUIET | options))
    service = AlarmMonitor(settings)
    return service, service.set_stream(stream)


def names(service: AlarmMonitor) -> list[str]:
    return [alarm.name for alarm in service.alarms]


def rows(*values: float, index: int = 0, stream: ResultStream = STREAM) -> ResultBlock:
    """Rows where every column has the value."""
    return ResultBlock(stream, index, index / 100.0, np.tile(np.array(values)[:, None], (1, len(stream.columns))))


def test_a_limit_makes_an_alarm_for_each_actuator_and_severity() -> None:
    service, notes = made({"value": "v", "warn": 1.0, "trip": 2.0, "advice": "stop"})
    assert names(service) == ["n.v.warn", "n.v.trip", "s.v.warn", "s.v.trip"]
    assert not notes
    first = service.alarms[0]
    assert (first.actuator, first.unit, first.low, first.high, first.advice) == ("n", "s", None, 1.0, "stop")


def test_a_limit_for_one_actuator_takes_the_place_of_the_one_for_all() -> None:
    service, notes = made({"value": "v", "warn": 1.0, "trip": 2.0}, {"value": "v", "actuator": "s", "trip": 5.0})
    assert {alarm.name: alarm.high for alarm in service.alarms} == {"n.v.warn": 1.0, "n.v.trip": 2.0, "s.v.trip": 5.0}
    assert not notes


def test_what_no_column_has_is_told_in_one_line_with_what_there_is() -> None:
    _, notes = made({"value": "x", "warn": 1.0}, {"value": "v", "actuator": "t", "warn": 1.0})
    assert notes == ("alarms: no value 'x'; there are v, w", "alarms: no value 'v' of 't'; there are n, s")


def test_there_are_no_more_alarms_than_a_report_may_have() -> None:
    many = replace(STREAM, columns=tuple(Column("v", "s", f"a{i}") for i in range(MAX_ALARMS + 8)))
    service, notes = made({"value": "v", "warn": 1.0}, stream=many)
    assert len(service.alarms) == MAX_ALARMS
    assert notes == (f"alarms: 8 omitted: the maximum is {MAX_ALARMS}",)
    assert decode(encode(AlarmReport(service.alarms))).alarms == service.alarms


def test_names_that_meet_are_told() -> None:
    _, notes = made({"value": "health.lost", "name": "n.v", "warn": 1.0}, {"value": "v", "warn": 1.0})
    assert notes == ("alarms: 1 omitted that have the name of another: give their limits names",)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ([{"value": "v", "warn": 1.0}, {"value": "v", "trip": 2.0}], "two on v: write both bounds as a pair"),
        ([{"value": "health.nothing", "warn": 1.0}], "no health.nothing: the metrics of the service are age"),
        ([{"value": "v"}], "neither warn nor trip"),
        ([{"value": "v", "warn": 2.0, "trip": 1.0}], "is within warn"),
        ([{"value": "v", "warn": [0.0, 1.0], "deadband": 0.6}], "leaves nothing between 0 and 1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(limits, reason) -> None:
    with pytest.raises(ValidationError, match=reason):
        AlarmSettings.model_validate({"limit": limits})


def test_every_value_of_the_service_that_settings_name_can_be_read() -> None:
    assert sorted(HEALTH_VALUES) == sorted(METRICS)
    for name in HEALTH_VALUES:
        assert isinstance(HealthMetric(name).read(Health()), float)
        assert isinstance(metric_unit(name), str)


def test_delays_are_rows_rounded_up_and_times_are_those_of_the_rows() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0, "on_delay": 0.25, "off_delay": 0.1})
    # ten rows a second: three rows after the first that is out, one after the first that is back
    (occurred,) = service.evaluate(rows(0.0, 2.0, 2.0, 2.0, 2.0, 2.0))
    assert (occurred.index, occurred.time, occurred.value, occurred.limit) == (40, 0.4, 2.0, 1.0)
    assert occurred.reason == "n v 2 s is above 1 s, for 0.25 s"
    assert not service.evaluate(rows(2.0, 2.0, 2.0, index=60))
    (back,) = service.evaluate(rows(0.5, 0.5, index=90))
    assert (back.index, back.state, back.reason) == (100, AlarmState.RETURNED, "n v 0.5 s is back below 1 s")


def test_what_chatters_is_told_twice_in_half_a_second_at_most_and_the_rest_is_counted() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0})
    told = service.evaluate(rows(*[2.0, 0.0] * 500))
    # 100 s of the stream: out at row 0, back at row 5, out at row 6
    assert [t.index for t in told[:3]] == [0, 50, 60]
    assert told[1].reason == "n v 0 s is back below 1 s, 2 times before too briefly"
    assert len(told) <= 4 * 100


def test_what_stands_has_room_before_what_is_to_be_watched_anew() -> None:
    def actuators(letter: str) -> ResultStream:
        return replace(STREAM, columns=tuple(Column("v", "s", f"{letter}{i}") for i in range(300)))

    before, after = actuators("a"), actuators("b")
    service, _ = made({"value": "v", "warn": 1.0, "latching": True}, stream=before)
    service.evaluate(rows(2.0, stream=before))
    assert service.set_stream(after) == (f"alarms: 88 omitted: the maximum is {MAX_ALARMS}",)
    assert sum(alarm.is_annunciated for alarm in service.alarms) == 300
    assert len(service.alarms) == MAX_ALARMS
    # those that are there again are watched, however late they come in the stream
    both = replace(STREAM, columns=(*after.columns, *before.columns))
    again, _ = made({"value": "v", "warn": 1.0, "latching": True}, stream=before)
    again.evaluate(rows(2.0, stream=before))
    again.set_stream(both)
    steps = again.evaluate(rows(0.0, stream=both)) + again.evaluate(rows(0.0, index=10, stream=both))
    assert {t.reason.split(" ", 1)[1] for t in steps} == {"v 0 s is back below 1 s"}
    assert len(steps) == 300
    restored = AlarmMonitor(service._settings)
    restored.restore(service.snapshot())
    assert sum(alarm.is_annunciated for alarm in restored.alarms) == 300
    assert len(service.evaluate(rows(0.0, stream=after))) == 300


def test_a_limit_that_is_gone_is_not_a_value_that_is_gone() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0}, {"value": "health.latency", "warn": 1.0})
    service.evaluate(rows(2.0))
    service.evaluate_health(Health(latency=2.0), 0.0, 0, 0.5)
    without = AlarmMonitor(AlarmSettings(**QUIET))
    without.restore(service.snapshot())
    (step,) = without.evaluate_health(Health(latency=2.0), 0.0, 0, 0.5)
    assert (step.name, step.reason) == ("latency.warn", "health.latency has no such limit any more")
    without.set_stream(STREAM)
    (step,) = without.evaluate(rows(2.0))
    assert (step.name, step.reason) == ("n.v.warn", "n v has no such limit any more")


def test_alarms_of_another_rig_are_put_aside_until_it_comes_again() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0, "latching": True})
    service.evaluate(rows(2.0))
    other = replace(STREAM, rig="another")

    later = AlarmMonitor(service._settings)
    later.restore(service.snapshot())
    told = later.set_stream(other)
    assert told == (f"alarms of rig {STREAM.rig!r} (1) are set aside until its stream is back",)
    assert not any(alarm.is_annunciated for alarm in later.alarms)
    # an alarm of its own is its own
    (step,) = later.evaluate(rows(3.0, stream=other))
    assert (step.name, step.previous, step.number) == ("n.v.warn", AlarmState.NORMAL, 2)

    back = AlarmMonitor(service._settings)
    back.restore(later.snapshot())
    assert back.set_stream(STREAM) == ("alarms of rig 'another' (1) are set aside until its stream is back",)
    (alarm,) = [alarm for alarm in back.alarms if alarm.is_annunciated]
    # what is restored has no value yet
    assert (alarm.name, alarm.last, alarm.not_judged) == ("n.v.warn", None, "no value yet")
    again = AlarmMonitor(service._settings)
    again.restore(back.snapshot())
    assert again.set_stream(STREAM) == ()
    assert [alarm.is_annunciated for alarm in again.alarms if alarm.name == "n.v.warn"] == [True]


def test_what_was_kept_before_rigs_were_is_taken_up() -> None:
    service, _ = made({"value": "v", "warn": 1.0, "latching": True})
    service.evaluate(rows(2.0))
    old = msgspec.json.decode(service.snapshot())
    del old["rig"], old["aside"]
    later = AlarmMonitor(service._settings)
    later.restore(msgspec.json.encode(old))
    assert later.set_stream(STREAM) == ()
    assert any(alarm.is_annunciated for alarm in later.alarms)


def test_a_disk_must_have_more_room_than_the_limit_before_its_alarm_returns() -> None:
    def left(disk_free: float) -> Health:
        return Health(recording="run.h5", disk_free=int(disk_free))

    assert len(looks(left(1e9), left(2.05e9))) == 1
    assert len(looks(left(1e9), left(2.15e9))) == 2


def test_a_name_that_nothing_is_like_is_only_refused() -> None:
    service, _ = made({"value": "v", "warn": 1.0})
    with pytest.raises(ValueError, match=r"there is no alarm 'something else'$"):
        service.handle_request(AcknowledgeRequest(alarm="something else"), 0.0, 0)


def test_rows_of_a_stream_that_is_not_followed_are_refused() -> None:
    service, _ = made({"value": "v", "warn": 1.0})
    with pytest.raises(ValueError, match="another stream"):
        service.evaluate(rows(1.0, stream=replace(STREAM, epoch=2)))


def test_no_kernel_is_compiled_after_the_first_block() -> None:
    warm_up()
    before = len(_advance_conditions.signatures)
    service, _ = made({"value": "v", "warn": (0.0, 1.0)}, {"value": "w", "trip": 1.0})
    for index, block in enumerate([rows(0.5), rows(), rows(2.0, math.nan, 0.5)]):
        service.evaluate(replace(block, index=100 * index))
    service.evaluate_health(Health(), 0.0, 0, 0.5)
    assert len(_advance_conditions.signatures) == before


def test_an_alarm_whose_value_is_gone_returns_and_is_kept_until_it_is_normal() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0}, {"value": "w", "warn": 1.0, "latching": True})
    service.evaluate(rows(2.0))
    less = replace(STREAM, epoch=2, columns=COLUMNS[2:3])
    assert service.set_stream(less) == (
        "alarms: no value 'v' of 'n'; there are s",
        "alarms: no value 'w'; there are v",
    )
    steps = service.evaluate(rows(2.0, stream=less))
    assert {(t.name, t.state, t.reason) for t in steps} == {
        ("n.v.warn", AlarmState.RETURNED, "n v is not published any more"),
        ("n.w.warn", AlarmState.LATCHED_UNACKNOWLEDGED, "n w is not published any more"),
        ("s.w.warn", AlarmState.LATCHED_UNACKNOWLEDGED, "s w is not published any more"),
    }
    service.handle_request(AcknowledgeRequest(), 0.0, 0)
    service.handle_request(ResetRequest(alarm="s.w.warn"), 0.0, 0)
    service.evaluate_health(Health(), 0.0, 0, 0.5)
    assert names(service) == ["n.w.warn"]


def test_a_restored_alarm_stands_before_its_stream_has_come_and_goes_on_with_it() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0, "latching": True})
    service.evaluate(rows(2.0))
    later = AlarmMonitor(service._settings)
    later.restore(service.snapshot())
    (kept,) = later.alarms
    assert (kept.state, kept.active, kept.last) == (AlarmState.UNACKNOWLEDGED, True, None)
    (taken,) = later.handle_request(AcknowledgeRequest(by="kim"), 0.0, 0)
    assert (taken.number, taken.reason, taken.by) == (2, "acknowledged by kim", "kim")
    later.set_stream(STREAM)
    assert not later.evaluate(rows(2.0))
    (back,) = later.evaluate(rows(0.0, index=10))
    assert (back.number, back.previous, back.state) == (3, AlarmState.ACKNOWLEDGED, AlarmState.LATCHED_ACKNOWLEDGED)


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{}",
        b"[" * 5000,
        b"\xff",
        b'{"version":2,"number":0,"alarms":[]}',
        b'{"version":1,"number":-1,"alarms":[]}',
        b'{"version":1,"number":0,"alarms":[{}]}',
        b" " * (2 << 20),
    ],
)
def test_what_is_not_a_snapshot_is_refused_in_one_line_and_changes_nothing(state) -> None:
    service, _ = made({"value": "v", "warn": 1.0})
    before = service.alarms
    with pytest.raises(ValueError, match="alarms") as problem:
        service.restore(state)
    assert "\n" not in str(problem.value)
    assert service.alarms == before


def test_a_snapshot_with_doubled_or_twice_shelved_alarms_is_refused() -> None:
    service, _ = made({"value": "v", "warn": 1.0})
    service.evaluate(rows(2.0))
    service.handle_request(ShelveRequest(alarm="n.v.warn", seconds=5.0), 0.0, 0)
    state = service.snapshot()
    for wrong in (
        state.replace(b"s.v.warn", b"n.v.warn"),
        state.replace(b'"underlying":"unacknowledged"', b'"underlying":"shelved"'),
    ):
        with pytest.raises(ValueError, match="saved alarm"):
            service.restore(wrong)
    service.restore(state)


def test_what_is_out_of_service_is_listed_and_never_occurs() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0, "in_service": False})
    assert not service.evaluate(rows(2.0, 0.0, 2.0))
    (alarm,) = service.alarms
    assert (alarm.state, alarm.active, alarm.last) == (AlarmState.OUT_OF_SERVICE, True, 2.0)
    for request in (
        AcknowledgeRequest(alarm=alarm.name),
        ResetRequest(alarm=alarm.name),
        ShelveRequest(alarm=alarm.name, seconds=1.0),
    ):
        with pytest.raises(ValueError, match="it is out of service"):
            service.handle_request(request, 0.0, 0)
    service.restore(service.snapshot())
    assert service.alarms[0].state is AlarmState.OUT_OF_SERVICE


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (AcknowledgeRequest(), "there is no unacknowledged alarm"),
        (ResetRequest(), "there is no alarm to reset"),
        (AcknowledgeRequest(alarm="n.v.wan"), "there is no alarm 'n.v.wan'; the nearest is 'n.v.warn'"),
        (ResetRequest(alarm="n.v.warn"), "n.v.warn: it is not judged: there is nothing to reset"),
        (ResetRequest(alarm="s.v.warn"), "s.v.warn: it is normal: there is nothing to reset"),
        (ShelveRequest(alarm="n.v.warn", seconds=0.0), "n.v.warn: it is not shelved"),
        (ShelveRequest(alarm="n.v.warn", seconds=90.0), "cannot be shelved for 90 s: the maximum is 60 s"),
    ],
)
def test_what_is_asked_in_vain_is_refused(request_, reason) -> None:
    service, _ = made({"value": "v", "warn": 1.0}, shelve_at_most=60.0)
    values = np.array([[np.nan, 0.0, 0.0, 0.0]])
    service.evaluate(ResultBlock(STREAM, 0, 0.0, values))
    with pytest.raises(ValueError, match=reason):
        service.handle_request(request_, 0.0, 0)


def test_without_settings_there_is_nothing() -> None:
    service = AlarmMonitor()
    assert service.set_stream(STREAM) == ()
    assert service.evaluate(rows(9.0)) == ()
    assert service.evaluate_health(Health(state="stale", age=99.0), 0.0, 0, 0.5) == ()
    service.restore(service.snapshot())
    with pytest.raises(ValueError, match="there are no alarms"):
        service.handle_request(AcknowledgeRequest(), 0.0, 0)


def looks(*healths: Health, **options) -> list[tuple[str, str, str]]:
    service = AlarmMonitor(AlarmSettings(**options), stale_after=5.0)
    steps = [t for health in healths for t in service.evaluate_health(health, 1.0, 7, 0.5)]
    return [(t.name, t.state.value, t.reason) for t in steps]


def test_a_stream_that_falls_silent_is_dead_and_one_that_has_ended_is_not() -> None:
    alive = Health(state="receiving", age=0.1)
    dead = Health(state="stale", age=5.25)
    assert looks(Health(), alive, replace(dead, state="receiving", age=5.0), dead, alive) == [
        ("dead_stream.trip", "unacknowledged", "no data for 5.25 s"),
        ("dead_stream.trip", "returned_unacknowledged", "samples are received again"),
    ]
    assert looks(dead, Health(state="ended", age=0.1))[1][2] == "the stream has ended"
    assert looks(alive, Health(state="ended", age=60.0)) == []
    assert looks(Health(age=60.0)) == []
    assert looks(dead, dead_stream=False) == []


def test_losses_warn_once_until_nothing_is_lost_for_a_while() -> None:
    def lost(n: int) -> Health:
        return Health(state="receiving", counts=StreamCounts(lost=n))

    burst = [lost(n) for n in (0, 10, 10, 13, 13)]
    assert looks(*burst) == [("lost_data.warn", "unacknowledged", "10 samples lost")]
    assert looks(lost(0), lost(1)) == [("lost_data.warn", "unacknowledged", "1 sample lost")]
    assert looks(*burst, *[lost(13)] * 10) == [
        ("lost_data.warn", "unacknowledged", "10 samples lost"),
        ("lost_data.warn", "returned_unacknowledged", "nothing lost for 5 s"),
    ]
    # what a service that begins to watch finds lost was not lost now
    assert looks(lost(99), lost(99)) == []


def test_a_recording_with_a_hole_trips_and_so_does_a_full_disk() -> None:
    fine = Health(recording="run.h5", disk_free=10**10)
    assert looks(fine, replace(fine, unrecorded=5)) == [
        ("recording.trip", "unacknowledged", "5 samples could not be recorded")
    ]
    assert looks(fine, replace(fine, unwritten_age=2.0), replace(fine, unwritten_age=2.3), fine) == [
        ("recording.warn", "unacknowledged", "the samples of the last 2.3 s are not on disk yet"),
        ("recording.warn", "returned_unacknowledged", "all samples are on disk"),
    ]
    gone = "the run file is missing or cannot be written: a new file is started as soon as possible"
    assert looks(fine, replace(fine, recording_breaks=1)) == [("run_file.warn", "unacknowledged", gone)]
    assert looks(fine, replace(fine, disk_free=10**9)) == [
        ("disk.warn", "unacknowledged", "health.disk_free 1 GB is below 2 GB")
    ]
    # both in the unit of the limit
    small = looks(replace(fine, disk_free=81_920), disk_warn=2e9, disk_trip=0.0)
    assert [why for *_, why in small] == ["health.disk_free 8.192e-05 GB is below 2 GB"]
    assert [name for name, *_ in looks(replace(fine, disk_free=0))] == ["disk.warn", "disk.trip"]
    # not recorded, or not known
    assert looks(Health(), replace(fine, disk_free=-1)) == []
    assert looks(replace(fine, disk_free=0), disk_warn=0.0, disk_trip=0.0) == []


def test_a_limit_on_the_service_counts_its_delay_in_seconds() -> None:
    service, _ = made(
        {"value": "health.broker_dropped", "warn": 3.0}, {"value": "health.age", "warn": 1, "on_delay": 1}
    )
    old = Health(state="receiving", age=2.0)
    steps = [
        [t.name for t in service.evaluate_health(health, 0.0, 0, 0.5)]
        for health in (old, old, old, replace(old, broker=BrokerStatus(dropped=4)))
    ]
    assert steps == [[], [], ["age.warn"], ["broker_dropped.warn"]]


def test_what_is_shelved_comes_back_in_time() -> None:
    service, _ = made({"value": "v", "actuator": "n", "warn": 1.0})
    service.evaluate(rows(2.0))
    (put,) = service.handle_request(ShelveRequest(alarm="n.v.warn", seconds=1.0, by="kim"), 0.0, 0)
    assert (put.state, put.reason) == (AlarmState.SHELVED, "shelved for 1 s by kim")
    assert not service.evaluate_health(Health(), 0.0, 0, 0.5)
    assert service.alarms[0].shelved_for == 0.5
    (back,) = service.evaluate_health(Health(), 0.0, 0, 0.5)
    assert (back.state, back.reason) == (AlarmState.UNACKNOWLEDGED, "the shelving time is over")

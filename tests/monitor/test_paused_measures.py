"""Measures that are left out to shed load: the others do not notice, and they come back as after a gap."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alarms.monitor import AlarmMonitor
from monitor.catalogue import CATALOGUE, measure_of
from monitor.config import MEASURES, AlarmSettings, IndicatorSettings, LimitSettings
from monitor.engine.monitor import Monitor
from monitor.indicators.base import PassIndicator
from monitor.indicators.tracking_pass import create_indicators
from monitor.messages.alarms import Alarm, AlarmState
from monitor.messages.blocks import Channel, ResultBlock, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason
from monitor.service.load import LoadShedding, shedding_order

RATE, WINDOW, EVERY = 200.0, 1.0, 3
ROLES = (("c", Role.COMMAND, "m"), ("m", Role.MEASURED, "m"), ("f", Role.FORCE, "N"))
STREAM = Stream("rig", 1, RATE, tuple(Channel(n + a, role, unit, a) for a in "ab" for n, role, unit in ROLES))
SETTINGS = IndicatorSettings(window=WINDOW, every=EVERY)
ON_THE_PASS = [m for m in MEASURES if m not in ("broadband", "fei", "transfer")]

pytestmark = pytest.mark.usefixtures("warm_kernels")


def motion(n: int, late_after: float = np.inf) -> np.ndarray:
    """Return command, measured and force of two actuators, 10 ms late; the second 70 ms from `late_after` on, s."""
    t = np.arange(n) / RATE

    def command(t: np.ndarray) -> np.ndarray:
        return sum(np.sin(2.0 * np.pi * f * t + f) for f in (0.9, 2.3, 4.1))

    lags = np.full(n, 0.010), np.where(t >= late_after, 0.070, 0.010)
    columns = [x for lag in lags for x in (command(t), 0.95 * command(t - lag), 3.0 * command(t - lag))]
    return np.column_stack(columns)


def block(samples: np.ndarray, start: int, stop: int) -> SignalBlock:
    return SignalBlock(STREAM, start, start / RATE, np.ascontiguousarray(samples[start:stop]))


def computed(samples: np.ndarray, pauses: dict[int, Collection[str]], cuts: Collection[int] = ()) -> ResultBlock:
    """Return the results where the measures of `pauses` are paused from these samples on."""
    monitor, found = Monitor(SETTINGS), []
    edges = sorted({0, len(samples), *pauses, *cuts})
    for start, stop in pairwise(edges):
        if start in pauses:
            monitor.pause(dict.fromkeys(pauses[start], Reason.PAUSED))
        found.append(monitor.update(block(samples, start, stop)).results)
    return ResultBlock(found[0].stream, 0, 0.0, np.concatenate([each.values for each in found]))


def of(results: ResultBlock, measure: str) -> np.ndarray:
    columns = [i for i, column in enumerate(results.stream.columns) if measure_of(column.name) == measure]
    return results.values[:, columns]


@settings(max_examples=20, deadline=None)
@given(
    paused=st.sets(st.sampled_from(MEASURES), min_size=1),
    start=st.integers(1, 900),
    length=st.integers(1, 600),
    cuts=st.sets(st.integers(1, 1799), max_size=5),
)
def test_the_others_keep_every_bit_and_the_paused_are_nan(paused, start, length, cuts) -> None:
    samples = motion(1800)
    pauses = {0: (), start: paused, start + length: ()}
    results, plain = computed(samples, pauses, cuts), computed(samples, {})
    index = EVERY * np.arange(len(plain.values))
    within = (index >= start) & (index < start + length)
    for measure in (each for each, entry in CATALOGUE.items() if entry.outputs):
        if measure not in paused:
            np.testing.assert_array_equal(of(results, measure), of(plain, measure))
            continue
        codes = np.tile([output.is_code for output in CATALOGUE[measure].outputs], 2)
        assert np.isnan(of(results, measure)[within][:, ~codes]).all()
        assert (of(results, measure)[within][:, codes] == Reason.PAUSED).all()
        np.testing.assert_array_equal(of(results, measure)[index < start], of(plain, measure)[index < start])


@pytest.mark.parametrize("measure", ON_THE_PASS)
def test_one_comes_back_as_after_a_gap(measure: str) -> None:
    samples, start, stop = motion(1400), 501, 777
    results = of(computed(samples, {0: (), start: (measure,), stop: ()}), measure)
    # the measure alone, for which a sample that is not a number stands for the gap
    (alone,) = (
        each for each in create_indicators(SETTINGS, RATE, 2, with_force=True)
        if isinstance(each, PassIndicator) and measure_of(each.outputs[0].name) == measure
    )  # fmt: skip
    with_gap = samples.copy()
    with_gap[stop - 1] = np.nan
    rows = []
    for first, last in ((0, start), (stop - 1, len(samples))):
        c, m, f = (np.ascontiguousarray(with_gap[first:last, i::3]) for i in range(3))
        rows.append(alone.update_block(c, m, f if alone.needs_force else None, first=first))
    expected = rows[1].reshape(len(rows[1]), -1)[1 if (stop - 1) % EVERY == 0 else 0 :]
    np.testing.assert_array_equal(results[-len(expected) :], expected)
    # a value that needs a window has none before that is full
    full = EVERY * np.arange(len(results)) >= stop + WINDOW * RATE
    assert np.isfinite(results[full][:, 0]).mean() > 0.9


@pytest.mark.parametrize("paused", [(), *[(m,) for m in MEASURES], tuple(m for m in MEASURES if m != "paei")])
def test_an_actuator_at_70_ms_trips_within_two_windows_whatever_is_paused(paused: tuple[str, ...]) -> None:
    limits = tuple(LimitSettings(value=value, trip=0.060) for value in ("delay", "broadband_delay"))
    quiet = {"dead_stream": False, "overload": False, "lost_data": False, "recording": False}
    alarms = AlarmMonitor(AlarmSettings(limit=limits, **quiet), window=WINDOW)
    monitor, change, health = Monitor(SETTINGS), 5.0, Health(state="receiving")
    samples = motion(2400, change)

    def state(name: str) -> Alarm:
        return next(each for each in alarms.alarms if each.name == name)

    tripped: float | None = None
    for start in range(0, len(samples), 10):
        now = start / RATE
        if start == 600:
            reasons = dict.fromkeys(paused, Reason.PAUSED)
            monitor.pause(reasons)
            alarms.pause(reasons, now, start)
        results = monitor.update(block(samples, start, start + 10)).results
        if start == 0:
            alarms.set_stream(results.stream, now)
        alarms.evaluate(results, now, now)
        alarms.evaluate_health(health, now, start, 0.05, now)
        spoken = state("b.broadband_delay.trip")
        if start >= 600 and "broadband" in paused:
            assert (spoken.not_judged, spoken.last) == ("broadband paused: overload", None)
            assert state("a.broadband_delay.trip").state is AlarmState.NOT_JUDGED
        if tripped is None and state("b.delay.trip").active:
            tripped = now
            assert state("b.delay.trip").source == ("paei_delay" if "broadband" in paused else "broadband_delay")
    assert tripped is not None and change <= tripped <= change + 2.0 * WINDOW
    assert state("a.delay.trip").state is AlarmState.NORMAL


ALL = shedding_order(("nrmse", "broadband", "fei", "transfer"))
STEPS = ("viewers", "results", "transfer", "fei", "broadband")


@given(st.sets(st.sampled_from(MEASURES)), st.sets(st.sampled_from(MEASURES)), st.booleans())
def test_what_nobody_judges_goes_first_and_the_headline_last(measures, watched, on_headline):
    headline = {"broadband", "paei", "fdb"} if on_headline else set()
    order = shedding_order(tuple(measures), watched, headline)
    costly = {measure for measure in measures if CATALOGUE[measure].cost}
    # a measure that can speak for the headline goes on, where an alarm is on it
    deputies = [measure for measure in ("paei", "fdb") if measure in measures & headline][:1]
    assert set(order) == costly - set(deputies)
    assert "broadband" not in order[:-1]
    others = [measure in watched for measure in order if measure != "broadband"]
    assert others == sorted(others)
    first = [measure for measure in order if measure not in watched and measure != "broadband"]
    assert first[: len({"transfer", "fei", "paei_adaptive"} & set(first))] == [
        measure for measure in ("transfer", "fei", "paei_adaptive") if measure in first
    ]


def test_one_thing_after_the_other_is_left_out_and_taken_up_again():
    shedding = LoadShedding(ALL)
    said, now, lag = [], 0.0, 0.0
    while len(shedding.shed) < len(STEPS):
        now, lag = now + 0.2, lag + 0.1
        said.append(shedding.update(now, lag))
        assert now < 10.0
    assert shedding.shed == STEPS
    assert shedding.paused == {"broadband", "fei", "transfer"}
    said = [text for text in said if text]
    assert said[0].startswith("overloaded, 0.")
    assert said[0].endswith(" s behind: the feeds of other programs are thinned")
    assert said[1].endswith("published signals and results are thinned, what is recorded is not")
    assert said[2].endswith("transfer is paused")
    began, back = now, []
    while shedding.shed:
        now += 0.2
        back.append(shedding.update(now, 0.0))
        assert now < began + 60.0
    back = [text for text in back if text]
    assert len(back) == len(STEPS)
    assert back[0] == "keeps up again: broadband is computed again"
    assert back[-1] == "keeps up again: the feeds of other programs are complete again"
    assert now >= began + 49.0
    assert not (shedding.thins_viewers or shedding.thins_results or shedding.paused)


def test_a_lag_that_falls_needs_no_more():
    shedding = LoadShedding(ALL)
    shedding.update(0.0, 0.0)
    shedding.update(0.2, 1.9)
    # as at the start of a stream
    assert shedding.shed == ()
    shedding.update(0.4, 2.0)
    assert shedding.shed == ("viewers",)
    for step in range(1, 60):
        assert shedding.update(0.4 + 0.2 * step, 2.0 - 0.03 * step) == ""
    assert shedding.shed == ("viewers",)


def test_a_replay_that_hurries_is_no_overload():
    shedding = LoadShedding(ALL)
    for step in range(100):
        assert shedding.update(0.2 * step, 0.05 * step, faster_than_real_time=True) == ""


def test_only_what_is_computed_is_paused():
    shedding = LoadShedding(shedding_order(("fdb", "transfer")))
    for step in range(100):
        shedding.update(0.2 * step, float(step))
    assert shedding.shed == ("viewers", "results", "transfer", "fdb")


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 5.0)), max_size=200))
def test_steps_are_taken_one_at_a_time_told_and_never_within_a_second(looks):
    shedding = LoadShedding(ALL)
    now, changed = 0.0, -1.0
    for passed, lag in looks:
        now += passed
        before = shedding.shed
        text = shedding.update(now, lag)
        assert bool(text) == (shedding.shed != before)
        if text:
            assert abs(len(shedding.shed) - len(before)) == 1
            assert now - changed >= 1.0
            changed = now
        assert shedding.shed == STEPS[: len(shedding.shed)]

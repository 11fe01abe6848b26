"""Accept, watch, reject: at the limits, by the standard errors, and with what is not known."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor, warm_up
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import (
    DecisionLimits,
    ModelVerdict,
    ReliabilityEstimate,
    ReliabilityPlan,
    ValidationSite,
    decide,
)
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

SHARE = st.floats(0.0, 1.0)
ERROR = st.sampled_from([0.0, np.nan, 0.001, 0.05, 0.4])


@st.composite
def decision_limits(draw):
    return DecisionLimits(*sorted(draw(st.tuples(SHARE, SHARE))))


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.9, 0.0, ModelVerdict.ACCEPT),
        (0.9, 0.01, ModelVerdict.WATCH),
        (0.92, 0.01, ModelVerdict.ACCEPT),
        (0.919, 0.01, ModelVerdict.WATCH),
        (0.5, 0.0, ModelVerdict.WATCH),
        (0.499, 0.0, ModelVerdict.REJECT),
        (0.499, 0.01, ModelVerdict.WATCH),
        (0.479, 0.01, ModelVerdict.REJECT),
        (1.0, np.nan, ModelVerdict.ACCEPT),
        (0.0, np.nan, ModelVerdict.REJECT),
        (np.nan, 0.0, ModelVerdict.WATCH),
        (np.nan, np.nan, ModelVerdict.WATCH),
    ],
)
def test_one_reliability(value, error, verdict):
    found = decide({"first_passage": ReliabilityEstimate(value, error)}, {"first_passage": DecisionLimits(0.5, 0.9)})
    assert found.verdict is verdict
    assert "first-passage" in found.reason and "\n" not in found.reason
    assert found.verdict is not ModelVerdict.REJECT or "below 0.5" in found.reason
    assert not np.isnan(value) or "not known yet" in found.reason


@given(st.lists(st.tuples(SHARE | st.just(np.nan), ERROR, decision_limits()), min_size=1, max_size=4), st.randoms())
def test_one_rejection_rejects_and_only_all_accept(drawn, random):
    names = ["instantaneous", "first_passage", "accumulated", "windowed"][: len(drawn)]
    estimates = {
        name: ReliabilityEstimate(value, error) for name, (value, error, _) in zip(names, drawn, strict=True)
    }
    wanted = {name: limit for name, (_, _, limit) in zip(names, drawn, strict=True)}
    verdict = decide(estimates, wanted).verdict
    alone = [decide(estimates, {name: limit}).verdict for name, limit in wanted.items()]
    assert verdict is min(alone)
    shuffled = list(wanted.items())
    random.shuffle(shuffled)
    assert decide(estimates, dict(shuffled)).verdict is verdict


@given(low=SHARE, high=SHARE, error=ERROR, limit=decision_limits())
def test_a_higher_reliability_is_never_worse(low, high, error, limit):
    low, high = sorted((low, high))
    worse, better = (decide({"a": ReliabilityEstimate(value, error)}, {"a": limit}).verdict for value in (low, high))
    assert worse <= better


def test_without_limits_it_is_watched():
    assert decide({"accumulated": ReliabilityEstimate(1.0)}, {}).verdict is ModelVerdict.WATCH


def test_a_limit_on_what_is_not_estimated():
    with pytest.raises(ValueError, match="'windowd': there is accumulated, windowed"):
        decide(
            {"windowed": ReliabilityEstimate(1.0), "accumulated": ReliabilityEstimate(1.0)},
            {"windowd": DecisionLimits(0.1, 0.2)},
        )


@pytest.mark.parametrize("pair", [(0.9, 0.5), (-0.1, 0.5), (0.5, 1.1), (np.nan, 0.5), (0.5, np.nan)])
def test_limits_that_are_none(pair):
    with pytest.raises(ValueError, match="must increase, from 0 to 1"):
        DecisionLimits(*pair)


def test_the_numbers_that_are_published():
    assert [int(verdict) for verdict in (ModelVerdict.REJECT, ModelVerdict.WATCH, ModelVerdict.ACCEPT)] == [-1, 0, 1]


RATE = 100.0
NAMES = ("instantaneous", "first_passage", "accumulated", "windowed")
N = 60


@pytest.fixture(scope="module", autouse=True)
def warm():
    warm_up(("fdb",), reliability=True)


def a_stream(*channels, rate=RATE):
    return Stream(
        "rig", 1, rate, channels or (Channel("y0", Role.AUXILIARY, "m"), Channel("y1", Role.AUXILIARY, "m"))
    )


def a_plan(n_sites=1, tolerance=0.5, m=40, **changes):
    time = np.arange(N) / RATE
    rng = np.random.default_rng(1)
    sites = tuple(
        ValidationSite(
            f"y{i}",
            sort_ensemble(time, rng.normal(size=(N, m)), "m", f"site {i}"),
            Tolerance(TolerancePolicy.ABSOLUTE, tolerance),
        )
        for i in range(n_sites)
    )
    return ReliabilityPlan(sites, 5 / RATE, **{"after": 0.0} | changes)


def blocks(samples, edges=(), stream=None, first=0, time=0.0):
    edges = sorted({0, len(samples), *edges})
    for a, b in itertools.pairwise(edges):
        yield SignalBlock(stream or a_stream(), first + a, time + a / RATE, samples[a:b])


def run(plan, given_blocks, every=1):
    """Return the rows by column name and site, and the events."""
    monitor, rows, events = Monitor(IndicatorSettings(every=every), plan), [], []
    for block in given_blocks:
        update = monitor.update(block)
        events += update.events
        if update.results is not None:
            rows.append(update.results.values)
            columns = update.results.stream.columns
    return {(c.actuator, c.name): np.concatenate(rows)[:, i] for i, c in enumerate(columns)}, events


def of(kind, events):
    return [event for event in events if event.kind is kind]


@st.composite
def limits(draw):
    pair = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(lambda two: DecisionLimits(*sorted(two)))
    return draw(st.dictionaries(st.sampled_from(NAMES), pair, min_size=1))


@given(
    wanted=limits(),
    seed=st.integers(0, 999),
    n_sites=st.integers(1, 2),
    m=st.sampled_from([1, 40]),
    after=st.sampled_from([0.0, 0.07, 0.3]),
    edges=st.lists(st.integers(1, 69), max_size=6),
)
def test_decisions_are_those_of_the_estimates_and_are_told_where_they_change(wanted, seed, n_sites, m, after, edges):
    samples = 0.3 * np.random.default_rng(seed).normal(size=(70, 2))
    samples[seed % 70, 0] = np.nan
    plan = a_plan(n_sites, m=m, tolerance=1.5, limits=wanted, after=after)
    values, events = run(plan, blocks(samples, edges))
    site = "y0" if n_sites == 1 else "all sites"
    told, before, last = [], None, -np.inf
    # a tenth of the ensemble's time, as it is less than a second
    pause = round(0.1 * (N - 1))
    first = next(n for n in range(70) if not np.isnan(values[site, "reliability_instantaneous"][n]))
    for number in range(70):
        decision = values[site, "reliability_decision"][number]
        estimates = {
            name: ReliabilityEstimate(
                *(values[site, f"reliability_{name}{suffix}"][number] for suffix in ("", "_se")), 1 / (m + 1)
            )
            for name in NAMES
        }
        # 0.07 * 100 is more than 7
        if number >= N or number < first + round(after * RATE) or np.isnan(estimates["instantaneous"].value):
            assert np.isnan(decision)
            continue
        expected = decide(estimates, wanted)
        assert decision == expected.verdict
        if expected.verdict is not before and number >= last + pause:
            told.append((number, f"{site}: {expected.verdict.name.lower()}: {expected.reason}"))
            before, last = expected.verdict, number
    decisions = of(EventKind.DECISION, events)
    assert [(event.index, event.detail) for event in decisions] == told
    np.testing.assert_allclose([event.time for event in decisions], [n / RATE for n, _ in told], atol=1e-12)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-2.01, -2.005, ModelVerdict.ACCEPT),
        (-2.01, -1.99, ModelVerdict.WATCH),
        (1.99, 2.5, ModelVerdict.WATCH),
        (2.01, 2.5, ModelVerdict.REJECT),
    ],
)
def test_a_limit_must_be_cleared_by_two_standard_errors(low, high, verdict):
    # 60 of 100 realizations are within
    value, error = 0.6, np.sqrt(0.6 * 0.4 / 99)
    time = np.arange(3) / RATE
    ensemble = sort_ensemble(time, np.tile(np.repeat([0.0, 9.0], [60, 40]), (3, 1)))
    plan = ReliabilityPlan(
        (ValidationSite("y0", ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 1.0)),),
        limits={"instantaneous": DecisionLimits(value + low * error, value + high * error)},
        after=0.0,
    )
    values, events = run(plan, blocks(np.zeros((3, 2))))
    np.testing.assert_array_equal(values["y0", "reliability_decision"], verdict)
    assert len(of(EventKind.DECISION, events)) == 1


def test_without_limits_nothing_is_decided():
    values, events = run(a_plan(), blocks(np.zeros((N, 2))))
    assert np.isnan(values["y0", "reliability_decision"]).all()
    assert not of(EventKind.DECISION, events)


def test_a_decision_stands_at_the_rows_between_and_is_told_once_a_run():
    plan = a_plan(limits={"instantaneous": DecisionLimits(0.0, 0.0)})
    samples = np.zeros((N, 2))
    values, events = run(plan, blocks(samples, range(N)), every=7)
    np.testing.assert_array_equal(values["y0", "reliability_decision"], 1.0)
    assert [event.index for event in of(EventKind.DECISION, events)] == [0]
    restarted = [replace(block, stream=replace(block.stream, epoch=2)) for block in blocks(samples)]
    _, events = run(plan, [*blocks(samples, [9]), *restarted])
    assert [event.index for event in of(EventKind.DECISION, events)] == [0, 0]


def test_events_are_in_the_order_of_the_stream():
    samples = np.zeros((N + 5, 2))
    plan = a_plan(limits={"accumulated": DecisionLimits(0.1, 0.1)}, after=0.2, notes=("this is judged",))
    (block,) = blocks(samples)
    _, events = run(plan, [replace(block, last=True, time=100.0)])
    assert [(event.kind, event.index) for event in events] == [
        (EventKind.STARTED, 0),
        (EventKind.NOTE, 0),
        (EventKind.DECISION, 20),
        (EventKind.NOTE, N),
        (EventKind.ENDED, N + 5),
    ]
    assert [event.time for event in events] == pytest.approx([100.0, 100.0, 100.2, 100.6, 100.65])
    assert events[1].detail == "this is judged"
    assert events[3].detail == "the ensemble ends at 0.59 s: no reliability is computed after it"


def test_the_ensembles_end_is_told_once_wherever_it_falls():
    for edges in ([], [N - 1], [N], [N + 1], range(N + 20)):
        values, events = run(a_plan(), blocks(np.zeros((N + 20, 2)), edges))
        assert [event.index for event in of(EventKind.NOTE, events)] == [N]
        assert np.isfinite(values["y0", "reliability_accumulated"][:N]).all()
        assert all(np.isnan(column[N:]).all() for column in values.values())
    _, events = run(a_plan(), blocks(np.zeros((N, 2))))
    assert not of(EventKind.NOTE, events)


@pytest.mark.parametrize(
    ("changes", "first", "told"),
    [
        ({}, 0, None),
        ({"start": 0.1}, 10, None),
        ({}, 10, "the reliability starts 0.1 s late: first-passage counts from here"),
        ({"start": -0.2}, 0, "the reliability starts 0.2 s late"),
        ({}, N, "no reliability is computed: the ensemble had ended"),
        ({"shift": 0.03}, 0, "shifted by 0.03 s, as set"),
        ({"start": 0.014}, 0, "fall between samples: the nearest are used, up to 0.004 s before them"),
        ({"start": 0.016}, 0, "fall between samples: the nearest are used, up to 0.004 s after them"),
    ],
)
def test_what_the_operator_should_know_is_noted_when_the_stream_starts(changes, first, told):
    values, events = run(a_plan(**changes), blocks(np.zeros((5, 2)), [1, 2], first=first))
    notes = of(EventKind.NOTE, events)
    assert len(notes) == (told is not None)
    for note in notes:
        assert told in note.detail and note.index == first
    if first == N:
        assert all(np.isnan(column).all() for column in values.values())


def test_a_window_that_never_fills_is_noted_and_takes_no_room():
    plan = replace(a_plan(), window=80_000.0)
    values, events = run(plan, blocks(np.zeros((N, 2))))
    assert np.isnan(values["y0", "reliability_windowed"]).all()
    (note,) = of(EventKind.NOTE, events)
    assert note.detail == "the windowed reliability has no value: the ensemble is shorter than 80000 s"
    values, events = run(replace(plan, window=N / RATE), blocks(np.zeros((N, 2))))
    assert np.isfinite(values["y0", "reliability_windowed"]).tolist() == [False] * (N - 1) + [True]


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (a_stream(Channel("z", Role.AUXILIARY)), "there is no channel 'y0' for the model: the rig sends z"),
        (a_stream(*(Channel(f"z{i}", Role.AUXILIARY) for i in range(500))), " z5 and "),
        (a_stream(Channel("y0", Role.AUXILIARY, "mm")), "channel 'y0' is in mm, its ensemble in m: convert one"),
        (a_stream(Channel("y0", Role.AUXILIARY, "m"), rate=70.0), "one must be a multiple of the other"),
    ],
)
def test_a_stream_that_does_not_fit_is_noted_in_one_line_and_the_actuators_go_on(stream, told):
    pair = (Channel("c", Role.COMMAND, "m", "north"), Channel("m", Role.MEASURED, "m", "north"))
    for channels in (stream.channels, (*stream.channels, *pair)):
        there = replace(stream, channels=channels)
        block = SignalBlock(there, 0, 0.0, np.random.default_rng(2).normal(size=(400, len(channels))))
        update = Monitor(IndicatorSettings(window=0.5), a_plan()).update(block)
        (note,) = of(EventKind.NOTE, update.events)
        assert note.detail.startswith("no reliability: ") and told in note.detail
        assert "\n" not in note.detail and len(note.detail) < 200
        alone = Monitor(IndicatorSettings(window=0.5)).update(block).results
        assert (update.results is None) == (alone is None) == (channels is stream.channels)
        if alone is not None:
            np.testing.assert_array_equal(update.results.values, alone.values)


def test_a_unit_that_is_not_said_is_no_other_unit():
    stream = a_stream(Channel("y0", Role.AUXILIARY))
    values, events = run(a_plan(), blocks(np.zeros((N, 1)), stream=stream))
    assert np.isfinite(values["y0", "reliability_accumulated"]).all()
    assert not of(EventKind.NOTE, events)


TIME = np.arange(5) / RATE


def a_site(channel="y0", time=TIME):
    return ValidationSite(
        channel, sort_ensemble(time, np.zeros((len(time), 2))), Tolerance(TolerancePolicy.ABSOLUTE, 1.0)
    )


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ReliabilityPlan(()), "there is no model"),
        (lambda: ReliabilityPlan((a_site(), a_site("b"), a_site())), "'y0' has two ensembles"),
        (lambda: ReliabilityPlan((a_site(), a_site("all sites"))), "has the name of the product of all sites"),
        (lambda: ReliabilityPlan((a_site(), a_site("b", np.arange(6) / RATE))), "y0 and b have different instants"),
        (lambda: ReliabilityPlan((a_site(), a_site("b", np.arange(5) / 80.0))), "y0 and b have different instants"),
        (lambda: ReliabilityPlan((a_site(time=np.array([0.0, 1.0, 3.0])),)), "time steps are not equal"),
        (
            lambda: ReliabilityPlan((a_site(),), limits={"late": DecisionLimits(0.1, 0.2)}),
            "the reliabilities are instantan",
        ),
    ],
)
def test_plans_that_mean_nothing(make, told):
    with pytest.raises(ValueError, match=told) as problem:
        make()
    assert "\n" not in str(problem.value)

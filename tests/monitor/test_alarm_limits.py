"""Conditions over rows: a naive twin beside the kernel, the edges of limits, delays and deadband."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alarms import conditions
from monitor.alarms.conditions import ConditionEvaluator, RowCondition
from monitor.commands.service_settings import with_alarms
from monitor.config import Settings, load_settings
from tests.oracles.alarms import Condition

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


def settings(**sections: dict[str, object]) -> Settings:
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
    (limit,) = with_alarms(settings(), [text + deadband]).alarms.limit
    assert (limit.value, limit.warn, limit.trip, limit.side) == expected
    assert limit.deadband == (0.002 if deadband else 0.0)


def test_a_limit_from_the_command_line_takes_the_place_of_the_files() -> None:
    file = settings(alarms={"limit": [{"value": "v", "warn": 1.0}, {"value": "w", "warn": 1.0}]})
    given = with_alarms(file, ["v=3"]).alarms.limit
    assert [(limit.value, limit.warn) for limit in given] == [("w", 1.0), ("v", 3.0)]
    assert with_alarms(file, []) is file


@pytest.mark.parametrize(
    "text", ["v", "v=", "=1", "v=x", "v=1:", "v=1..", "v=1..2..3", "v=2..1", "v=1,deadband=", "v=1,0.1", "health.x=1"]
)
def test_what_is_not_a_limit_is_refused_in_one_line(text) -> None:
    with pytest.raises(ValueError, match=f"--alarm {text}: ") as problem:
        with_alarms(settings(), [text])
    assert "\n" not in str(problem.value)


def test_one_value_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="--alarm v: given twice"):
        with_alarms(settings(), ["v=1", "v=2"])


@pytest.mark.parametrize("text", ["v=nan", "v=1:inf", "v=-inf..1", "v=1:0..nan"])
def test_a_limit_that_is_not_finite_is_refused_in_words(text) -> None:
    with pytest.raises(ValueError, match="limits must be finite"):
        with_alarms(Settings(), [text])

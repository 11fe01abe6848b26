"""Value axes: round ticks, and ranges that do not jitter."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gui.plots.value_axis import (
    SHRINK_DELAY,
    ValueRange,
    decimals_of,
    duration_text,
    nice_step,
    round_limits,
    ticks,
    value_text,
)

values = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=80))
@example([(2.2e-313, 2.2e-313)])
@example([(0.0, 5e-324), (1.0, 1.0)])
def test_what_is_there_is_always_seen(extents):
    found = ValueRange()
    for one, other in extents:
        low, high = min(one, other), max(one, other)
        found.update(low, high)
        assert found.low <= low
        assert high <= found.high
        assert found.low < found.high


def test_a_signal_that_swings_within_its_scale_does_not_move_it():
    found = ValueRange()
    found.update(-1.0, 1.0)
    before = found.low, found.high
    for k in range(300):
        found.update(-1.0 + 0.3 * abs(math.sin(k)), 1.0 - 0.3 * abs(math.cos(k)))
    assert (found.low, found.high) == before


def test_a_signal_that_rises_and_rises_makes_no_room_below():
    found = ValueRange()
    for high in range(30, 1071):
        found.update(25.0, float(high))
    assert 0.0 <= found.low <= 25.0
    assert 1070.0 <= found.high <= 1300.0
    for low in range(25, -500, -1):
        found.update(float(low), 1070.0)
    assert -700.0 <= found.low <= -499.0
    assert 1070.0 <= found.high <= 1300.0


def test_it_shrinks_after_some_patience_and_only_as_far_as_was_needed_meanwhile():
    found = ValueRange()
    found.update(-10.0, 10.0)
    wide = found.low, found.high
    for k in range(SHRINK_DELAY - 1):
        found.update(-3.0 if k == 7 else -1.0, 1.0)
        assert (found.low, found.high) == wide
    found.update(-1.0, 1.0)
    assert wide[0] < found.low <= -3.0
    assert 1.0 <= found.high < wide[1]


def test_one_look_that_needs_room_starts_the_patience_anew():
    found = ValueRange()
    found.update(-10.0, 10.0)
    wide = found.low, found.high
    for k in range(4 * SHRINK_DELAY):
        low, high = (-9.0, 9.0) if k % (SHRINK_DELAY - 2) == 0 else (-1.0, 1.0)
        found.update(low, high)
    assert (found.low, found.high) == wide


def test_another_span_of_time_is_fitted_at_once():
    found = ValueRange()
    found.update(-10.0, 10.0)
    found.update(-1.0, 1.0, immediate=True)
    assert found.high < 2.0


def test_what_is_at_rest_at_first_has_no_scale_that_the_first_motion_keeps():
    found = ValueRange()
    found.update(0.0, 0.0)
    assert not found.known
    found.update(-0.002, 0.001)
    assert found.known
    assert found.high - found.low < 0.005


@given(values)
def test_labels_of_a_value_that_does_not_move_are_short(value):
    low, high = round_limits(value, value)
    assert low <= value <= high
    assert high - low >= 0.99e-5 * abs(value)


def test_what_a_hand_chose_stays_until_it_is_released():
    found = ValueRange()
    found.update(0.0, 1.0)
    found.zoom(0.5, 0.5)
    chosen = found.low, found.high
    found.update(-100.0, 100.0)
    assert (found.low, found.high) == chosen
    found.enable_auto_range()
    found.update(-100.0, 100.0)
    assert found.low <= -100.0
    assert found.high >= 100.0


def test_zooming_keeps_the_value_under_the_mouse_in_place():
    found = ValueRange()
    found.update(0.0, 8.0)
    share = (2.0 - found.low) / (found.high - found.low)
    found.zoom(0.25, 2.0)
    assert math.isclose((2.0 - found.low) / (found.high - found.low), share)


def test_fixed_limits_stay_and_come_back():
    found = ValueRange(fixed=(0.0, 1.0))
    found.update(-5.0, 5.0)
    assert (found.low, found.high) == (0.0, 1.0)
    found.zoom(2.0, 0.0)
    found.enable_auto_range()
    assert (found.low, found.high) == (0.0, 1.0)


def test_nothing_changes_nothing():
    found = ValueRange()
    found.update(1.0, 2.0)
    before = found.low, found.high
    found.update(math.nan, math.nan)
    assert (found.low, found.high) == before


def test_what_stands_still_is_not_magnified():
    low, high = round_limits(0.0200001, 0.0200002, least_span=1.0)
    assert high - low >= 1.0
    assert low <= 0.02 <= high


@given(st.lists(st.sampled_from([1e3, 1e-3]), max_size=60), values)
def test_no_zooming_leaves_what_can_be_drawn(factors, at):
    found = ValueRange()
    found.update(-1.0, 1.0)
    for factor in factors:
        found.zoom(factor, at)
        assert found.low < found.high
        assert math.isfinite(found.high - found.low)


numbers = st.floats(-1e9, 1e9).map(lambda value: 0.0 if abs(value) < 1e-6 else value)


@given(st.floats(1e-9, 1e9), st.integers(1, 30))
def test_a_step_is_round_and_gives_no_more_parts_than_asked(span, most):
    step = nice_step(span, most)
    assert span / step <= most * (1 + 1e-6)
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - round_one) for round_one in (1, 2, 5, 10)) < 1e-6
    assert step <= 2.5 * span / most * (1 + 1e-6)


@given(numbers, st.floats(1e-3, 1e6), st.integers(2, 20))
def test_ticks_lie_within_the_axis_a_step_apart(low, span, most):
    found, step = ticks(low, low + span, most)
    assert len(found) >= 2
    assert found[0] >= low - 1e-4 * step
    assert found[-1] <= low + span + 1e-4 * step
    for before, after in pairwise(found):
        assert after - before == pytest.approx(step, rel=1e-3, abs=1e-12 * abs(low))


@pytest.mark.parametrize(("step", "decimals"), [(1.0, 0), (20.0, 0), (0.5, 1), (0.02, 2), (0.001, 3), (1e-6, 6)])
def test_decimals(step, decimals):
    assert decimals_of(step) == decimals


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(1.25, 2, "1.25"), (-3.0, 1, "−3.0"), (-0.001, 2, "0.00"), (math.nan, 2, "—"), (math.inf, 0, "—")],
)
def test_values(value, decimals, text):
    assert value_text(value, decimals) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 ms"),
        (0.00123, "1.23 ms"),
        (-0.0456, "−45.6 ms"),
        (0.9999, "1.000 s"),
        (1.5, "1.500 s"),
        (-12.345, "−12.35 s"),
        (125.0, "2 min 05.0 s"),
        (-119.99, "−2 min 00.0 s"),
    ],
)
def test_lengths_of_time(seconds, text):
    assert duration_text(seconds) == text

"""Round numbers: round, within the axis, few; texts of what they are."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.plots.value_axis import decimals_of, duration_text, nice_step, ticks, value_text

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

"""The line of bars, the words and the numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gui.model.verdict import Verdict, verdict
from gui.terminal.actuator_table import VERDICT_STYLES
from gui.terminal.sparkline import sparkline
from gui.wording.level import Level
from gui.wording.numbers import DASH, number, shortened


def test_a_ramp_climbs_all_bars():
    line = sparkline(np.arange(700.0), 7)
    assert line.text == "▁▂▃▄▅▆▇"
    assert (line.low, line.high) == (49.5, 649.5)


def test_gaps_are_blank_and_a_span_is_at_least_that():
    trace = np.array([np.nan, np.nan, 1.0, 1.0, 1.1, np.nan])
    line = sparkline(trace, 6, least_span=2.0)
    assert [character == " " for character in line.text] == [True, True, False, False, False, True]
    assert line.high - line.low == pytest.approx(2.0)
    assert set(line.text) <= set(" ▃▄▅")
    assert sparkline(np.full(5, np.nan), 3).text == "   "


@given(arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e9, 1e9) | st.just(math.nan)), st.integers(1, 60))
def test_a_line_is_as_wide_as_asked(trace, width):
    line = sparkline(trace, width)
    assert len(line.text) == width
    assert (line.text.strip() == "") == bool(np.isnan(trace).all())


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(4, 9), st.integers(0, 4))
def test_a_number_has_room(value, width, decimals):
    text = number(value, width, decimals)
    assert len(text) <= width
    if not math.isfinite(value):
        assert text == DASH
    elif abs(value) < 10.0 ** (width - 2):
        assert float(text) == pytest.approx(value, abs=0.51)


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.345, "12.3"), (-0.04, "0.0"), (12345.6, "12346"), (-1234567.0, "<-9999"), (1e9, ">99999")],
)
def test_numbers_as_people_read_them(value, text):
    assert number(value, 6, 1) == text


def test_a_path_keeps_its_end():
    assert shortened("runs/demo.h5", 20) == "runs/demo.h5"
    assert shortened("/a/very/long/way/demo.h5", 8) == "…demo.h5"


@pytest.mark.parametrize(
    ("delay", "ratio", "words"),
    [
        (0.012, 1.0, "lags"),
        (-0.002, 1.0, "leads"),
        (0.0005, 1.01, "within limits"),
        (0.0, 1.11, "undershoots"),
        (0.0, 0.9, "overshoots"),
        (0.008, 0.95, "lags, over"),
        (-0.008, 1.2, "leads, under"),
        (math.nan, 1.0, "no value"),
        (0.01, math.nan, "no value"),
    ],
)
def test_verdicts(delay, ratio, words):
    assert verdict(delay, ratio, 0.0).words == words


def test_a_large_lag_is_shown_as_grave():
    assert verdict(0.02, 1.0, math.radians(-12.0)) == Verdict("lags", "▲", Level.BAD)
    assert verdict(0.02, 1.0, math.radians(-2.0)) == Verdict("lags", "▲", Level.WARN)
    assert VERDICT_STYLES[Level.BAD] != VERDICT_STYLES[Level.WARN]

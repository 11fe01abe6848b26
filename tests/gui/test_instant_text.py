"""The time of a rig in words: seconds since its start, or the time of day."""

import math
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.wording.instant_text import instant_text, is_dated


@pytest.mark.parametrize(
    ("seconds", "decimals", "text"),
    [
        (12.5, None, "12.5 s"),
        (12.3456, 2, "12.35 s"),
        (-0.0001, 2, "0.00 s"),
        (0.0, 0, "0 s"),
        (99_999_999.0, 1, "99999999.0 s"),
        (math.nan, 2, "—"),
        (math.inf, None, "—"),
    ],
)
def test_seconds_since_a_start(seconds, decimals, text):
    assert instant_text(seconds, decimals) == text


@pytest.mark.parametrize(
    ("decimals", "fraction"), [(None, ""), (0, ""), (1, ".9"), (2, ".98"), (3, ".987"), (6, ".987500")]
)
def test_a_clock_does_not_round_up(decimals, fraction):
    seconds = 1_700_000_000.9875
    assert instant_text(seconds, decimals) == time.strftime("%H:%M:%S", time.localtime(1_700_000_000)) + fraction


@given(st.floats(allow_nan=True, allow_infinity=True), st.one_of(st.none(), st.integers(0, 6)))
def test_any_number_is_a_time_or_none(seconds, decimals):
    text = instant_text(seconds, decimals)
    if not math.isfinite(seconds):
        assert text == "—"
    elif is_dated(seconds):
        assert re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?", text)
    else:
        told = float(text.removesuffix(" s"))
        assert told == pytest.approx(
            seconds, abs=0.5 if decimals == 0 else 0.05 if decimals == 1 else 0.006, rel=1e-6
        )

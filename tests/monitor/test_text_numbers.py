"""Numbers, durations and blocks as text."""

import math
import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.text.blocks import Column, Data, Row, Table, Text, Tone, to_json, words
from monitor.text.numbers import (
    DASH,
    clock_text,
    fitted,
    instant_text,
    is_dated,
    number,
    parse_duration,
    percent,
    plus_minus,
    shortened,
)


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


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(4, 9), st.integers(0, 4))
def test_a_number_has_room(value, width, decimals):
    text = fitted(value, width, decimals)
    assert len(text) <= width
    if not math.isfinite(value):
        assert text == DASH
    elif abs(value) < 10.0 ** (width - 2):
        assert float(text) == pytest.approx(value, abs=0.51)


@pytest.mark.parametrize(
    ("value", "text"), [(12.345, "12.3"), (-0.04, "0.0"), (12345.6, "12346"), (-1234567.0, "<-9999"), (1e9, ">99999")]
)
def test_numbers_as_people_read_them(value, text):
    assert fitted(value, 6, 1) == text


def test_a_path_keeps_its_end():
    assert shortened("runs/demo.h5", 20) == "runs/demo.h5"
    assert shortened("/a/very/long/way/demo.h5", 8) == "…demo.h5"


@given(st.none() | st.floats(), st.sampled_from([".4g", ".2f", "+.3g", ".0f"]), st.sampled_from(["", "ms"]))
def test_a_number_is_told_with_its_unit_and_no_value_without(value, form, unit):
    text = number(value, form, unit)
    if value is None or not math.isfinite(value):
        assert text == DASH
        return
    digits, _, told = text.partition(" ")
    assert told == unit
    assert float(digits) == float(f"{value:{form}}")
    assert not (digits.startswith("-") and float(digits) == 0.0)


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(0.1234, 2, "12 %"), (0.996, 2, "100 %"), (1.2345, 2, "123 %"), (-0.004, 3, "-0.4 %"), (math.nan, 2, DASH)],
)
def test_shares_as_people_read_them(share, digits, text):
    assert percent(share, digits) == text


@pytest.mark.parametrize(
    ("value", "sd", "digits", "text"),
    [
        (12.04, 0.09, 1, "12.04 ± 0.09"),
        (12.04, 0.9, 1, "12.0 ± 0.9"),
        (12.04, 0.12, 1, "12.04 ± 0.12"),
        (-0.0001, 0.04, 1, "0.00 ± 0.04"),
        (12.0, 1e-6, 1, "12.000 ± <0.001"),
        (12.04, math.nan, 1, "12.04"),
        (2.934, 0.0213, 2, "2.934 ± 0.021"),
        (math.nan, 0.1, 2, DASH),
    ],
)
def test_a_value_has_the_decimals_of_its_deviation(value, sd, digits, text):
    assert plus_minus(value, sd, digits=digits) == text


@pytest.mark.parametrize(("seconds", "text"), [(12.34, "12.3 s"), (59.97, "1:00"), (245, "4:05"), (8045, "2:14:05")])
def test_lengths_of_runs(seconds, text):
    assert clock_text(seconds) == text


@given(
    amount=st.floats(0.01, 1e4),
    unit=st.sampled_from([("", 1.0), (" s", 1.0), ("min", 60.0), (" h", 3600.0), ("MS", 1e-3)]),
)
def test_a_length_is_read_as_it_is_typed(amount, unit):
    word, factor = unit
    assert parse_duration(f"{amount:.6f}{word}") == pytest.approx(amount * factor, rel=1e-4)


@pytest.mark.parametrize("text", ["", "0", "-3", "nan", "inf", "3 weeks", "1e999", "min", "1,5 s"])
def test_what_is_no_length_is_refused(text):
    with pytest.raises(ValueError, match="give seconds, or such as 90s, 5min, 2h"):
        parse_duration(text)


RATIO, DELAY, NAME = Column("ratio", form=".2f"), Column("delay", "ms", ".3g", 1e3, "delay"), words("name", "name")


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (RATIO, 0.126, "0.13"),
        (RATIO, np.float64(-0.001), "0.00"),
        (RATIO, math.nan, "—"),
        (RATIO, None, "—"),
        (RATIO, 12000, "12000"),
        (RATIO, np.int64(7), "7"),
        (RATIO, "3 of 4", "3 of 4"),
        (DELAY, 0.0123456, "12.3"),
        (DELAY, 2, "2e+03"),
        (NAME, "plant", "plant"),
        (NAME, None, "—"),
    ],
)
def test_cells(column, value, text):
    assert column.cell(value) == text


def test_headings_have_units():
    assert [each.heading for each in (RATIO, DELAY, Column("", "Hz"), words())] == ["ratio", "delay [ms]", "[Hz]", ""]


def test_programs_get_values_without_scale_and_what_is_told_to_them_only():
    table = Table(
        "delays",
        (NAME, DELAY, Column(None, key="known"), RATIO),
        [("a", 0.012, 0.013, 1.5), None, ("b", math.nan, 0.0, 1.0), Row(("paper", 0.1, 0.1, 1.0), Tone.PAPER)],
        key="plant.delays",
    )
    found = to_json([Data({"study": "x", "plant.rate": 2.0}), Text("told"), table, Data({"plant.last": [1]})])
    assert list(found) == ["study", "plant"] and list(found["plant"]) == ["rate", "delays", "last"]
    assert found["plant"]["delays"][0] == {"name": "a", "delay": 0.012, "known": 0.013}
    assert len(found["plant"]["delays"]) == 2
    assert [table.cells(row) for group in table.groups for row in group] == [
        ("a", "12", "1.50"),
        ("b", "—", "1.00"),
        ("paper", "100", "1.00"),
    ]


def test_a_row_has_a_value_for_each_column():
    with pytest.raises(ValueError, match="zip"):
        Table("", (NAME, RATIO), ()).cells(("a",))

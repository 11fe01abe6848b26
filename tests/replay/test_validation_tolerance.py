"""Tolerances as they are written: shares, numbers and files; what they come to, and what is no tolerance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reliability.tolerance import ToleranceError, TolerancePolicy, parse_tolerance
from replay.validation.records import read_tolerance

INSTANTS = 0.1 * np.arange(5)
MEASURED = np.array([[1.0, -4.0], [0.0, 2.0], [-3.0, np.nan], [2.0, 0.0], [-1.0, 1.0]])
ROOT_MEAN_SQUARES = np.sqrt([15.0 / 5.0, 21.0 / 4.0])


def applied(text, policy=None, measured=MEASURED):
    return read_tolerance(text, policy).applied(INSTANTS, measured).evaluate(np.arange(5), measured)


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        ("8%", None, (TolerancePolicy.LITERAL, 0.08)),
        (" 16 % ", None, (TolerancePolicy.LITERAL, 0.16)),
        ("0.5%", "peak", (TolerancePolicy.PEAK, 0.005)),
        ("250%", None, (TolerancePolicy.LITERAL, 2.5)),
        ("0.08", None, (TolerancePolicy.ABSOLUTE, 0.08)),
        ("0.08", "absolute", (TolerancePolicy.ABSOLUTE, 0.08)),
        ("0.08", "floored", (TolerancePolicy.FLOORED, 0.08)),
        ("1e-3", None, (TolerancePolicy.ABSOLUTE, 1e-3)),
        (0.25, None, (TolerancePolicy.ABSOLUTE, 0.25)),
    ],
)
def test_a_share_or_a_number(text, policy, expected):
    kind, value = parse_tolerance(text, policy)
    assert (kind, value) == (expected[0], pytest.approx(expected[1], rel=1e-15))


@given(st.floats(1e-6, 1e6))
def test_any_positive_number_is_read_as_it_is_printed(value):
    assert parse_tolerance(repr(value)) == (TolerancePolicy.ABSOLUTE, value)
    assert parse_tolerance(f"{value!r}%") == (TolerancePolicy.LITERAL, pytest.approx(value / 100.0, rel=1e-15))


@pytest.mark.parametrize("text", ["abc", "", "%", "8 percent", "8%%", "1,5", "--"])
def test_words_are_no_tolerance(text):
    with pytest.raises(ToleranceError, match=r"give a percentage such as 8%, or a number$"):
        read_tolerance(text)


@pytest.mark.parametrize("text", ["0", "0%", "-8%", "-1e-9", "-inf"])
def test_zero_and_less_is_no_tolerance(text):
    with pytest.raises(ToleranceError, match=rf"^tolerance {text}: .*give more than 0$"):
        read_tolerance(text)


@pytest.mark.parametrize("text", ["nan", "inf", "nan%", "1e400"])
def test_a_tolerance_is_finite(text):
    with pytest.raises(ToleranceError, match=rf"^tolerance {text}: give a finite number$"):
        read_tolerance(text)


@pytest.mark.parametrize("policy", ["literal", "floored", "peak"])
def test_a_forgotten_percent_sign_is_asked_for(policy):
    with pytest.raises(ToleranceError, match=r"^tolerance 20: this is 2000 %: write 20% or 2000%$"):
        read_tolerance("20", policy)


def test_a_share_is_not_absolute():
    with pytest.raises(ToleranceError, match="an absolute tolerance is a number in the response's unit"):
        read_tolerance("8%", "absolute")


def test_what_the_policies_come_to():
    size = np.abs(MEASURED)
    np.testing.assert_array_equal(applied("25%"), 0.25 * size)
    np.testing.assert_allclose(applied("25%", "floored"), 0.25 * np.maximum(size, ROOT_MEAN_SQUARES), rtol=1e-15)
    np.testing.assert_allclose(applied("25%", "peak"), 0.25 * np.tile([3.0, 4.0], (5, 1)), rtol=1e-15)
    np.testing.assert_array_equal(applied("0.25"), np.full((5, 2), 0.25))


@pytest.mark.parametrize(
    ("text", "policy", "words"),
    [
        ("8%", None, "8 % of the measurement"),
        ("12.5%", "floored", "12.5 % of the measurement or of its rms, whichever is larger"),
        ("0.08", "peak", "8 % of the measurement's peak"),
        ("0.08", None, "0.08"),
    ],
)
def test_in_words(text, policy, words):
    assert str(read_tolerance(text, policy)) == words


def table(path, rows, header="time,tolerance"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def test_a_file_of_tolerances_is_interpolated(tmp_path):
    text = table(tmp_path / "tol.csv", [(-1.0, 1.0), (0.2, 2.2), (5.0, 2.2)])
    expected = np.where(INSTANTS < 0.2, INSTANTS + 2.0, 2.2)
    np.testing.assert_allclose(applied(text), np.column_stack([expected, expected]), rtol=1e-14)
    assert str(read_tolerance(text)) == f"as in {text}"


@pytest.mark.parametrize("header", ["time [ms],tolerance", "time,tolerance [mm]", "tolerance,time"])
def test_other_units_and_columns_are_not_taken_for_the_models(tmp_path, header):
    text = table(tmp_path / "tol.csv", [(0, 1), (400, 5)], header)
    with pytest.raises(ToleranceError, match="must be a table with the header time,tolerance, in s and the response"):
        applied(text)


@pytest.mark.parametrize(
    ("rows", "header", "complaint"),
    [
        ([(0, 1), (0.3, 1)], "time,tolerance", "must cover 0 to 0.4 s"),
        ([(0.1, 1), (1, 1)], "time,tolerance", "must cover 0 to 0.4 s"),
        ([(0, 1), (0.2, 0), (1, 1)], "time,tolerance", "a tolerance must be positive at every instant"),
        ([(0, 1), (0.2, "nan"), (1, 1)], "time,tolerance", "a tolerance must be positive at every instant"),
        ([(0, 1), (1, 1), (0.5, 1)], "time,tolerance", "time must increase from line to line"),
    ],
)
def test_a_file_that_is_none_is_told_with_its_name(tmp_path, rows, header, complaint):
    text = table(tmp_path / "tol.csv", rows, header)
    with pytest.raises(ValueError) as told:
        applied(text)
    assert str(told.value) == f"{text}: {complaint}"


def test_a_file_goes_without_a_policy(tmp_path):
    text = table(tmp_path / "tol.csv", [(0, 1), (1, 1)])
    with pytest.raises(ToleranceError, match="a file of tolerances goes without a policy, not with peak"):
        read_tolerance(text, "peak")


@pytest.mark.parametrize("policy", ["floored", "peak"])
@pytest.mark.parametrize(
    ("value", "complaint"), [(0.0, "which is zero"), (np.nan, "a record without a finite sample")]
)
def test_a_share_of_nothing(policy, value, complaint):
    with pytest.raises(ToleranceError, match=complaint):
        applied("8%", policy, np.full((5, 1), value))


def test_a_literal_tolerance_near_zero_is_told():
    choice = read_tolerance("8%")
    measured = np.array([10.0, 0.5, 0.51, -0.2, np.nan, -3.0])[:, None]
    warning = choice.warning(measured)
    assert "2 of 5 samples" in warning and "--policy floored or peak" in warning
    assert "3 of 3 samples" in choice.warning(np.zeros((3, 1)))
    assert choice.warning(np.array([[10.0], [9.0]])) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choice.warning(np.full((3, 2), np.nan)) == ""
    for text, policy in (("8%", "floored"), ("8%", "peak"), ("0.1", None)):
        assert read_tolerance(text, policy).warning(measured) == ""

"""Limits that are given on the command line."""

from __future__ import annotations

import pytest

from monitor.commands.service_settings import with_alarms
from monitor.config import Settings, load_settings


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

"""Verdicts on tracking in words."""

import math

import pytest

from gui.model.tracking_status import Status, tracking_status
from gui.terminal.actuator_table import VERDICT_STYLES
from gui.wording.level import Level


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
    assert tracking_status(delay, ratio, 0.0).words == words


def test_a_large_lag_is_shown_as_grave():
    assert tracking_status(0.02, 1.0, math.radians(-12.0)) == Status("lags", "▲", Level.BAD)
    assert tracking_status(0.02, 1.0, math.radians(-2.0)) == Status("lags", "▲", Level.WARN)
    assert VERDICT_STYLES[Level.BAD] != VERDICT_STYLES[Level.WARN]

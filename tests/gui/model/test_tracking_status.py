"""Tracking status in words."""

import math

import pytest

from gui.model.tracking_status import tracking_status
from gui.wording.event_text import Level


@pytest.mark.parametrize(
    ("delay", "ratio", "words"),
    [
        (0.012, 1.0, "lag"),
        (-0.002, 1.0, "lead"),
        (0.0005, 1.01, "no lag"),
        (0.0, 1.11, "undershoot"),
        (0.0, 0.9, "overshoot"),
        (0.008, 0.95, "lag, overshoot"),
        (-0.008, 1.2, "lead, undershoot"),
        (math.nan, 1.0, "no delay"),
        (0.01, math.nan, "no ratio"),
    ],
)
def test_words_are_facts_without_a_level(delay, ratio, words):
    found = tracking_status(delay, ratio)
    assert (found.words, found.level) == (words, Level.NONE)


@pytest.mark.parametrize(
    ("delay", "delay_sd", "ratio", "ratio_sd", "words"),
    [
        (0.005, 0.010, 1.6, 0.8, "not determined"),
        (0.0, 0.0006, 1.0, 0.0, "not determined"),
        (0.0, 0.0004, 1.0, 0.009, "no lag"),
        (0.005, 0.0019, 1.0, 0.0, "lag"),
        (0.005, 0.0019, 1.03, 0.006, "lag"),
        (0.005, 0.010, 1.1, 0.01, "undershoot"),
        (0.005, math.nan, 0.9, math.nan, "lag, overshoot"),
    ],
)
def test_words_say_no_more_than_the_bands(delay, delay_sd, ratio, ratio_sd, words):
    """Right only where error and two sd are below 1 ms or 2 %, wrong only where error less two sd is above."""
    assert tracking_status(delay, ratio, delay_sd, ratio_sd).words == words

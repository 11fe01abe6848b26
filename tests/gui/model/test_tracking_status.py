"""Tracking status in words."""

import math

import pytest

from gui.model.tracking_status import tracking_status
from gui.wording.level import Level


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

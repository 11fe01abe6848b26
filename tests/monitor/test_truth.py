"""FDB and PAEI against the truth: near it, honest about how far, and silent where there is none."""

from __future__ import annotations

import pytest

from benchmarks.truth import READINGS, is_honest, judge

pytestmark = pytest.mark.usefixtures("warm_kernels")
PAIRS = 60
ASKED = tuple(r for r in READINGS if r.label in ("FDB", "PAEI", "adaptive PAEI") and r.truth == "delay")
MOTIONS = ("tone", "earthquake, one mode", "earthquake, two modes", "five tones", "hum")
# ms: of FDB, PAEI and adaptive PAEI, for a noise of 0.1 to 10 %
MEDIANS = {
    "tone": (0.1, 0.1, 0.3),
    "earthquake, one mode": (0.15, 0.15, 0.5),
    "earthquake, two modes": (0.15, 0.3, 0.6),
    "five tones": (0.15, 0.3, 0.6),
    "hum": (0.15, 0.3, 0.6),
}


LONG = {"earthquake, two modes", "hum", "unrelated noise"}


def classes(*names: str) -> list:
    """Return the classes of motion, the longer ones left to make test-all."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in names]


@pytest.mark.parametrize("name", classes(*MOTIONS))
def test_the_delay_is_near_the_truth_and_its_deviation_says_how_near(name):
    for row, most in zip(judge(name, PAIRS, readings=ASKED), MEDIANS[name], strict=True):
        # a turn of one motion holds a piece of the other, which is no ellipse
        assert row.valid > (0.3 if row.label == "adaptive PAEI" else 0.8), row
        assert row.median < most, row
        assert abs(row.bias) < 0.05 if row.label == "FDB" else abs(row.bias) < 0.1, row
        # 60 pairs, three windows each: 0.68 and 0.95 within three of their deviations
        assert 0.55 <= row.one <= 0.85, row
        assert row.two >= 0.85, row


@pytest.mark.parametrize("name", classes("unrelated earthquakes", "unrelated noise"))
def test_unrelated_motions_have_no_delay(name):
    for row in judge(name, PAIRS, readings=ASKED):
        assert row.valid <= 0.05, row
        assert is_honest(row)


PAEI = tuple(r for r in READINGS if r.label in ("PAEI", "adaptive PAEI"))


@pytest.mark.parametrize("name", classes("tone, coloured noise", "1/f error", "different drifts", "fast sweep"))
def test_paei_says_how_far_it_is_where_one_turn_of_the_loop_cannot_know(name):
    """Noise of a long memory, drifts of both signals, and periods that a lag may be mistaken by."""
    for row in judge(name, PAIRS, readings=PAEI):
        assert row.valid > 0.5, row
        assert row.one >= 0.55, row
        assert row.two >= 0.88, row

"""FEI: the definition, the paper's growing tone, and sums that grow as segments come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex, frequency_evaluation_index
from tests.oracles.tones import Tones, several_tones

RATE = 100.0


def growing_tone():
    """Return case vi of the review: amplitude ratio 1.25, phase 0.277 rad, 1.5 Hz."""
    t = np.arange(10240) / 1024.0
    return 0.25 * t * np.sin(3.0 * np.pi * t + 0.092), 0.2 * t * np.sin(3.0 * np.pi * t + 0.369)


@given(
    seed=st.integers(0, 1000),
    n=st.integers(4, 300),
    offset=st.sampled_from([0.0, 100.0]),
    taper=st.sampled_from(["rectangular", "hann"]),
)
def test_a_whole_record_by_the_definition(seed, n, offset, taper):
    x_c, x_m = several_tones(np.random.default_rng(seed), n, RATE)
    x_c, x_m = x_c + offset, x_m - offset
    found = frequency_evaluation_index(x_c, x_m, RATE, taper=taper)
    np.testing.assert_allclose(
        found, reference.frequency_evaluation([(x_c, x_m)], RATE, taper), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("phase", [0.3, -2.5, 3.0])
def test_a_tone_of_whole_cycles_is_exact(phase):
    tones = Tones(3.0, 2.0, 0.8, phase, 0.4, offset_c=7.0)
    found = frequency_evaluation_index(*tones.signals(400, RATE), RATE)
    np.testing.assert_allclose(found, (1.25, phase, tones.delay, 3.0), rtol=1e-10)


def test_the_growing_tone_of_the_paper():
    exact = frequency_evaluation_index(*growing_tone(), 1024.0, taper="hann")
    np.testing.assert_allclose(exact.ratio, 1.25, rtol=1e-3)
    np.testing.assert_allclose(np.degrees(exact.phase), 15.871, rtol=1e-3)
    np.testing.assert_allclose(exact.delay, -0.277 / (3.0 * np.pi), rtol=1e-3)
    # the record breaks off in mid-motion, which costs the definition half a percent
    plain = frequency_evaluation_index(*growing_tone(), 1024.0)
    np.testing.assert_allclose(plain.ratio, 1.25, rtol=5e-3)
    np.testing.assert_allclose(np.degrees(plain.phase), 15.871, rtol=5e-3)


@pytest.mark.parametrize("window", [2.0, 4.0])
def test_the_growing_tone_online(window):
    indicator = FrequencyEvaluationIndex(1024.0, window)
    rows = indicator.update_block(*growing_tone())[-1]
    np.testing.assert_allclose(rows[:4], (1.25, 0.277, -0.277 / (3.0 * np.pi), 1.5), rtol=5e-3)


@given(seed=st.integers(0, 1000), n=st.integers(24, 90))
def test_online_it_is_the_sum_over_segments(seed, n):
    x_c, x_m = several_tones(np.random.default_rng(seed), 400, RATE)
    indicator = FrequencyEvaluationIndex(RATE, n / RATE)
    rows = indicator.update_block(x_c, x_m)
    ends = [i + 1 for i in range(400) if i % indicator.hop == 0 and i >= n - 1]
    for count in (1, 2, len(ends)):
        segments = [(x_c[end - n : end], x_m[end - n : end]) for end in ends[:count]]
        found = rows[ends[count - 1] - 1, :4]
        if np.isnan(found).all():
            # a segment of a few samples may show too little in common
            assert n < 40
            continue
        np.testing.assert_allclose(
            found, reference.frequency_evaluation(segments, RATE, "hann"), rtol=1e-9, atol=1e-12
        )


def test_a_segment_with_a_bad_sample_is_left_out():
    n = 40
    x_c, x_m = several_tones(np.random.default_rng(3), 400, RATE)
    indicator = FrequencyEvaluationIndex(RATE, n / RATE)
    x_m[130] = np.nan
    rows = indicator.update_block(x_c, x_m)
    ends = [i + 1 for i in range(0, 400, 20) if i >= n - 1 and not i - n < 130 <= i]
    segments = [(x_c[end - n : end], x_m[end - n : end]) for end in ends]
    np.testing.assert_allclose(rows[-1, :4], reference.frequency_evaluation(segments, RATE, "hann"), rtol=1e-9)


def test_what_has_been_is_kept_while_nothing_moves():
    x_c, x_m = several_tones(np.random.default_rng(3), 400, RATE)
    x_c[200:], x_m[200:] = 0.1, 0.7
    rows = FrequencyEvaluationIndex(RATE, 0.4).update_block(x_c, x_m)
    np.testing.assert_array_equal(rows[-1], rows[260])


@pytest.mark.parametrize("pair", ["command", "measured", "both"])
def test_nothing_to_compare(pair):
    x_c, x_m = several_tones(np.random.default_rng(0), 100, RATE)
    if pair != "measured":
        x_c[:] = 0.1
    if pair != "command":
        x_m[:] = 1234.5
    assert np.isnan(frequency_evaluation_index(x_c, x_m, RATE)).all()


def test_refusals():
    ones = np.ones(10)
    for wrong in ((ones, ones[1:]), (ones[:, None], ones[:, None]), ([], [])):
        with pytest.raises(ValueError, match=r"\(n_samples,\)"):
            frequency_evaluation_index(*wrong, RATE)
    with pytest.raises(ValueError, match="finite"):
        frequency_evaluation_index(ones, ones * np.nan, RATE)
    with pytest.raises(ValueError, match="sample_rate"):
        frequency_evaluation_index(ones, ones, 0.0)
    with pytest.raises(ValueError, match="taper"):
        frequency_evaluation_index(ones, ones, RATE, taper="flat")

"""Criteria of whole records: FEI, its definition and its sums online, and J1 to J3 with the plant they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.benchmark_criteria import benchmark_criteria
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex, frequency_evaluation_index
from sim.laboratory.plants import BenchmarkPlant
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


RECORD_RATE = 1000.0


def motion(seed, n=3000, rate=RECORD_RATE):
    """Return several tones between rest and rest."""
    rng, t = np.random.default_rng(seed), np.arange(n) / rate
    tones = [rng.normal() * np.cos(2.0 * np.pi * f * t + rng.uniform(0.0, 6.0)) for f in rng.uniform(1.0, 8.0, 6)]
    # a quarter of the record at rest on either side
    return np.sum(tones, axis=0) * np.clip(np.sin(2.0 * np.pi * (t / t[-1] - 0.25)), 0.0, None)


def other(x_c, seed):
    """Return something like a measured signal."""
    return 0.9 * np.roll(x_c, 17) + 0.02 * np.random.default_rng(seed).normal(size=len(x_c))


@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 3.0]))
def test_the_definitions(seed, offset):
    x_c = motion(seed) + offset
    x_m = other(x_c, seed) - 2.0 * offset
    found = benchmark_criteria(x_c, x_m, RECORD_RATE, 0.1)
    np.testing.assert_allclose(found, reference.benchmark_criteria(x_c, x_m, RECORD_RATE, 0.1), rtol=1e-12)


@given(seed=st.integers(0, 10_000), lag=st.integers(-200, 200), rate=st.sampled_from([100.0, 1024.0]))
def test_a_pure_delay_is_read_to_the_sample(seed, lag, rate):
    x_c = motion(seed)
    assert benchmark_criteria(x_c, np.roll(x_c, lag), rate, 5.0).j1 == pytest.approx(1000.0 * lag / rate)


def test_the_plant_they_were_published_for():
    rate = 4096.0
    x_c = motion(3, 3 * 4096, rate)
    x_m = BenchmarkPlant().respond(x_c, 1.0 / rate)
    found = benchmark_criteria(x_c, x_m, rate)
    np.testing.assert_allclose(found, reference.benchmark_criteria(x_c, x_m, rate, 0.05), rtol=1e-12)
    # between the plant's delays at 1 and at 8 Hz, half a step of the hold later
    slow, fast = (-np.angle(BenchmarkPlant().frequency_response(f)) / (2e-3 * np.pi * f) for f in (1.0, 8.0))
    assert fast < found.j1 < slow + 0.13


def test_perfect_tracking():
    assert benchmark_criteria(motion(0), motion(0), RECORD_RATE) == (0.0, 0.0, 0.0)


def test_what_is_not_a_number_is_left_out():
    x_c = motion(1)
    x_m = other(x_c, 1)
    kept = np.ones(len(x_c), dtype=bool)
    kept[[3, 400, 1500, 1501]] = False
    x_c[3], x_c[400], x_m[1500:1502] = np.nan, 1e60, (np.inf, np.nan)
    found = benchmark_criteria(x_c, x_m, RECORD_RATE)
    np.testing.assert_allclose(
        found[1:], reference.benchmark_criteria(x_c[kept], x_m[kept], RECORD_RATE, 0.1)[1:], rtol=1e-12
    )
    filled = [np.where(kept, x, np.mean(x[kept])) for x in (x_c, x_m)]
    assert found.j1 == reference.benchmark_criteria(*filled, RECORD_RATE, 0.1)[0]


def test_what_means_nothing_is_no_number():
    wave, rest = motion(2), np.full(3000, 2.5)
    assert np.isnan(benchmark_criteria([np.nan] * 9, [1.0] * 9, RECORD_RATE)).all()
    assert np.isnan(benchmark_criteria(0.0 * rest, wave, RECORD_RATE)).all()
    np.testing.assert_array_equal(np.isnan(benchmark_criteria(rest, wave, RECORD_RATE)), [True, True, False])
    np.testing.assert_array_equal(np.isnan(benchmark_criteria(wave, rest, RECORD_RATE)), [True, False, False])


def test_a_delay_beyond_what_is_looked_for_is_no_number():
    x_c = motion(4)
    found = [benchmark_criteria(x_c, np.roll(x_c, lag), RECORD_RATE, 0.02).j1 for lag in (-20, 20, 23, -30)]
    np.testing.assert_allclose(found, [-20.0, 20.0, np.nan, np.nan])


@pytest.mark.parametrize(("c", "m"), [((5,), (4,)), ((5, 1), (5, 1)), ((), ())])
def test_wrong_shapes(c, m):
    with pytest.raises(ValueError, match=r"\(n_samples,\)"):
        benchmark_criteria(np.zeros(c), np.zeros(m), RECORD_RATE)


@pytest.mark.parametrize("wrong", [{"sample_rate": 0.0}, {"sample_rate": np.nan}, {"max_delay": -1.0}])
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        benchmark_criteria([1.0, 2.0], [1.0, 2.0], **{"sample_rate": RECORD_RATE, **wrong})

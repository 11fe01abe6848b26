"""What is said of a record as a whole: of all of its good samples."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from monitor.indicators.benchmark_criteria import benchmark_criteria
from monitor.indicators.reference import frequency_evaluation
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment.record_passes import whole_records
from replay.formats.recordings import ArrayRecording
from tests.oracles import whole_record as oracle

RATE, N = 200.0, 2000
STREAM = Stream("rig", 0, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))


def tone(gain=0.8, delay=0.02):
    t = np.arange(N) / RATE
    # whole cycles, so that a rectangular window does not leak
    return np.column_stack([np.sin(2.0 * np.pi * 2.0 * t), gain * np.sin(2.0 * np.pi * 2.0 * (t - delay))])


def check(found):
    for fei in (found.fei, found.fei_tapered):
        assert (fei.ratio, fei.delay, fei.frequency) == pytest.approx((1.25, 0.02, 2.0), rel=0.01)
    assert found.criteria.j1 == pytest.approx(20.0, abs=5.0)


def test_a_whole_record():
    found = whole_records(ArrayRecording(STREAM, tone()), 0.1)[0]
    check(found)
    assert found.left_out == 0
    assert found.criteria.j3 == pytest.approx(100.0 * np.abs(tone()[:, 1] - tone()[:, 0]).max(), rel=1e-6)


def motion(t):
    """Several tones that neither start nor end at rest."""
    return sum(np.sin(2.0 * np.pi * f * t + 3.0 * f) / f for f in (0.3, 0.7, 1.9, 4.3))


def record_with_gaps(n=6000, delay=0.035):
    """Return a recording with NaN, a gap and noise: stretches of 1500, 40, 1860 and 2500 samples; 100 are missing."""
    t, rng = np.arange(n) / RATE, np.random.default_rng(2)
    samples = np.column_stack([motion(t), 0.8 * motion(t - delay)]) + 0.01 * rng.standard_normal((n, 2))
    numbers = np.r_[0:3401, 3501:n]
    samples[1500, 0] = samples[1541, 1] = np.nan
    bad = np.isin(numbers, (1500, 1541))
    return ArrayRecording(STREAM, samples[numbers], index=numbers), samples, numbers[~bad]


def test_all_good_samples_of_a_record_with_gaps_count():
    recording, samples, good = record_with_gaps()
    (found,) = whole_records(recording, 0.1, window=2.0)
    expected = oracle.criteria(*samples[good].T, good, RATE, 20)
    np.testing.assert_allclose(found.criteria, expected, rtol=1e-10)
    assert found.criteria.j1 == 35.0
    assert found.left_out == 2 + 100
    # the stretch of 40 samples is shorter than a window
    assert found.fei_left_out == found.left_out + 40
    stretches = [samples[start:stop].T for start, stop in ((0, 1500), (1542, 3401), (3501, 6000))]
    for evaluation, taper in ((found.fei, "rectangular"), (found.fei_tapered, "hann")):
        expected = frequency_evaluation(stretches, RATE, taper)
        np.testing.assert_allclose(evaluation, expected, rtol=1e-9)


def test_the_longest_stretch_counts_for_fei_where_none_has_a_window():
    recording, samples, _ = record_with_gaps()
    (found,) = whole_records(recording, 0.1, window=100.0)
    expected = frequency_evaluation([samples[3501:].T], RATE)
    np.testing.assert_allclose(found.fei, expected, rtol=1e-9)
    assert found.fei_left_out == 6000 - 2499 and found.left_out == 102


def test_short_gaps_are_interpolated_for_fei_alone():
    recording, samples, good = record_with_gaps()
    (found,) = whole_records(recording, 0.1, window=2.0, bridge=0.005)
    for place, column in ((1500, 0), (1541, 1)):
        samples[place, column] = 0.5 * (samples[place - 1, column] + samples[place + 1, column])
    expected = frequency_evaluation([samples[:3401].T, samples[3501:].T], RATE)
    np.testing.assert_allclose(found.fei, expected, rtol=1e-9)
    assert (found.left_out, found.fei_left_out) == (102, 100)
    np.testing.assert_allclose(found.criteria, oracle.criteria(*samples[good].T, good, RATE, 20), rtol=1e-10)


def test_how_long_a_restart_took_is_unknown_and_no_pair_crosses_it():
    recording, samples, good = record_with_gaps()
    blocks = list(recording.blocks(6000))
    assert len(blocks) == 2
    # the second part restarts with a smaller number: pairs across it would be 3401 samples out
    parts = [ArrayRecording(STREAM, block.samples) for block in blocks]
    joined = SimpleNamespace(
        stream=STREAM, n_samples=recording.n_samples, blocks=lambda n: (b for p in parts for b in p.blocks(n))
    )
    (found,) = whole_records(joined, 0.1)
    far = np.where(good < 3401, good, good + 10_000)
    np.testing.assert_allclose(found.criteria, oracle.criteria(*samples[good].T, far, RATE, 20), rtol=1e-10)
    assert found.left_out == 2


@pytest.mark.parametrize("seconds", [4.0, 7.3, 20.0])
@pytest.mark.parametrize("frequency", [0.3, 0.6])
def test_j1_of_a_part_is_that_of_the_whole(seconds, frequency):
    """A part neither starts nor ends at rest: the plain sum of products over it is largest at half of the delay."""
    t = np.arange(int(seconds * RATE)) / RATE
    samples = np.column_stack([np.sin(2.0 * np.pi * frequency * (t - late) + 0.4) for late in (0.0, 0.06)])
    (found,) = whole_records(ArrayRecording(STREAM, samples), 0.5)
    assert found.criteria.j1 == 60.0
    assert benchmark_criteria(*samples.T, RATE, 0.5, published=False).j1 == 60.0
    if seconds * frequency < 2.0:
        # as published, the overlap counts
        assert abs(benchmark_criteria(*samples.T, RATE, 0.5).j1 - 60.0) >= 15.0


def test_nothing_at_all():
    found = whole_records(ArrayRecording(STREAM, np.full((10, 2), np.nan)), 0.1)[0]
    assert np.isnan([*found.fei, *found.fei_tapered, *found.criteria]).all()
    assert (found.left_out, found.fei_left_out) == (10, 10)

"""Figures of a record from passes over its blocks are those of the whole signals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators.benchmark_criteria import benchmark_criteria
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import record_passes, record_survey
from replay.assessment.record_passes import dominant_frequencies, whole_records
from replay.assessment.record_survey import survey_record
from replay.assessment.signal_checks import ConstantRuns, ExtremeValue, Moments
from replay.formats import ArrayRecording, parts
from replay.formats.parts import longest_gap_free_segment
from tests.oracles import whole_record as oracle

RATE = 100.0
OWN = (Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a"))
EXTRA = ("a.compensated_delay", "a.compensator_gain", "a.compensator_bridged")
STREAM = Stream("rig", 0, RATE, (*OWN, *(Channel(name, Role.AUXILIARY) for name in EXTRA)))
PAIR = Stream("rig", 0, RATE, OWN)


def command(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    t = np.arange(n) / RATE
    return {
        "tone": lambda: 3.0 + np.sin(2.0 * np.pi * rng.uniform(0.05, 9.0) * t),
        "noise": lambda: rng.standard_normal(n),
        "walk": lambda: np.cumsum(rng.standard_normal(n)),
        "drift": lambda: np.sin(0.6 * np.pi * t) + 5.0 * t + 0.1 * rng.standard_normal(n),
        "constant": lambda: np.full(n, 0.1),
    }[kind]()


@pytest.mark.parametrize("kind", ["tone", "noise", "walk", "drift", "constant"])
@given(
    n=st.integers(2, 3000),
    seed=st.integers(0, 1000),
    bad=st.sampled_from([None, np.nan, np.inf, 1e60]),
    longest=st.sampled_from([32, 100, 100_000]),
)
def test_the_dominant_frequency_is_the_same_bin(kind, n, seed, bad, longest):
    rng = np.random.default_rng(seed)
    signal = command(kind, n, rng)
    if bad is not None:
        signal[rng.integers(1, n, 2)] = bad
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_passes, "_LONGEST", longest)
        found = list(dominant_frequencies(ArrayRecording(PAIR, np.column_stack([signal, signal]))))
    expected = oracle.dominant_frequency(signal, RATE)
    assert found == ([] if np.isnan(expected) else [expected])


def test_of_a_long_record_by_blocks_of_any_length(monkeypatch):
    signal = command("walk", 130_001, np.random.default_rng(4))
    recording = ArrayRecording(PAIR, np.column_stack([signal, signal]))
    expected = [oracle.dominant_frequency(signal, RATE)]
    assert list(dominant_frequencies(recording)) == expected
    monkeypatch.setattr(record_passes, "_BLOCK", 1013)
    monkeypatch.setattr(record_passes, "_LONGEST", 3000)
    assert list(dominant_frequencies(recording)) == expected


@st.composite
def signals_in_pieces(draw):
    """A command, a coarse measured signal that holds its value, and where they are divided."""
    n = draw(st.integers(1, 400))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    c = 1e3 + np.cumsum(rng.standard_normal(n))
    m = np.repeat(np.round(rng.standard_normal(n), draw(st.integers(0, 1))), draw(st.integers(1, 60)))[:n]
    return c, m, sorted(draw(st.sets(st.integers(1, n - 1), max_size=12))) if n > 1 else []


@given(signals_in_pieces(), st.floats(0.0, 20.0))
def test_running_figures(signals, least):
    c, m, edges = signals
    time = np.arange(len(c)) / RATE
    moments, runs, extreme = Moments(), ConstantRuns(), ExtremeValue()
    for of_c, of_m, at in zip(*(np.split(x, edges) for x in (c, m, time)), strict=True):
        moments.add(of_c, of_m)
        runs.add(of_c, of_m, at)
        extreme.add(of_c, of_m)
    np.testing.assert_allclose(moments.means, (c.mean(), m.mean()), rtol=1e-13, atol=1e-14)
    cov = np.cov(c, m, bias=True) if len(c) > 1 else np.zeros((2, 2))
    np.testing.assert_allclose(moments.variances, (cov[0, 0], cov[1, 1], cov[0, 1]), rtol=1e-10, atol=1e-12)
    assert moments.command_range == (c.min(), c.max())
    expected = oracle.longest_constant_run(c, m, 16, least)
    found = runs.longest(least)
    assert found == (None if expected is None else (time[expected[0]], time[expected[1] - 1]))
    at_largest = m == m.max()
    below = m[~at_largest]
    assert (extreme.value, extreme.samples) == (m.max(), at_largest.sum())
    assert extreme.next_samples == (np.sum(below == below.max()) if len(below) else 0)
    assert extreme.runs == sum(m[start] == m.max() for start, _ in oracle.constant_runs(m))
    assert extreme.command_range == np.ptp(c[at_largest])


def test_a_survey_by_blocks_is_that_of_the_whole(monkeypatch):
    rng = np.random.default_rng(1)
    n = 5000
    samples = rng.standard_normal((n, 5)) + 10.0
    samples[:, 4] = np.cumsum(rng.random(n) < 0.01)
    samples[1234, 1], samples[77, 2], samples[1000:1010, 4] = np.nan, np.nan, np.nan
    index = np.arange(n)
    index[2000:] += 50
    monkeypatch.setattr(record_survey, "_BLOCK", 997)
    found = survey_record(ArrayRecording(STREAM, samples, index=index))
    assert (found.start, found.missing, found.gaps, found.restarts) == (0.0, 50, 1, 0)
    pair = found.pairs["a"]
    assert (pair.samples, pair.bad, pair.first_bad, pair.identical) == (n, 1, 12.34, False)
    good = np.delete(samples, 1234, axis=0)
    for column, values in pair.ranges.items():
        assert (values.first, values.low, values.high) == (
            samples[0, column],
            good[:, column].min(),
            good[:, column].max(),
        )
    compensator = found.compensators["a"]
    delay = np.delete(samples[:, 2], 77)
    np.testing.assert_allclose(compensator.delay, delay.mean(), rtol=1e-14)
    np.testing.assert_array_equal(compensator.delay_range, np.percentile(delay, (5, 95)))
    np.testing.assert_allclose(compensator.gain, samples[:, 3].mean(), rtol=1e-14)
    assert compensator.bridged == samples[-1, 4] - samples[0, 4]
    assert np.isnan(compensator.adapting)


def longest_of(good: np.ndarray, index: np.ndarray) -> tuple[int, int]:
    """Return start and stop of the first longest run of good rows with consecutive numbers, row by row."""
    best, start = (0, 0), 0
    for row in range(len(good)):
        start = row if row and index[row] != index[row - 1] + 1 else start
        start = start if good[row] else row + 1
        best = (start, row + 1) if row + 1 - start > best[1] - best[0] else best
    return best


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 1500),
    bad=st.integers(0, 4),
    gaps=st.integers(0, 3),
    block=st.sampled_from([7, 64, 333, 5000]),
    max_delay=st.sampled_from([0.02, 0.3, 40.0]),
)
def test_criteria_of_all_good_samples(seed, n, bad, gaps, block, max_delay):
    rng = np.random.default_rng(seed)
    x_c = np.cumsum(rng.standard_normal(n)) + 50.0
    samples = np.column_stack([x_c, 0.9 * np.roll(x_c, rng.integers(-20, 20)) + rng.standard_normal(n)])
    samples[rng.integers(0, n, bad), rng.integers(0, 2, bad)] = rng.choice([np.nan, np.inf, 1e60])
    steps = np.ones(n, dtype=np.int64)
    steps[rng.integers(0, n, gaps)] = 5
    index = np.cumsum(steps) - steps[0]
    recording = ArrayRecording(PAIR, samples, index=index)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_passes, "_BLOCK", block)
        patch.setattr(parts, "_BLOCK", block)
        (found,) = whole_records(recording, max_delay, fei=False)
        segment = longest_gap_free_segment(recording, PAIR.pairs[0])
    good = np.abs(samples).max(axis=1) < 1e50
    start, stop = longest_of(good, index)
    np.testing.assert_array_equal(segment.samples, samples[start:stop])
    assert segment.start == (index[start] if stop > start else 0)
    assert segment.left_out == n - (stop - start) + np.sum(np.diff(index) > 1)
    assert found.left_out == np.sum(~good) + np.sum(np.diff(index) - 1)
    assert np.isnan(found.fei).all()
    # the whole in one piece, NaN where samples are missing
    whole = np.full((index[-1] + 1, 2), np.nan)
    whole[index] = samples
    expected = benchmark_criteria(*whole.T, RATE, max_delay, published=False)
    np.testing.assert_allclose(found.criteria, expected, rtol=1e-11, equal_nan=True)

"""J1 to J3: their definitions, known delays, and the plant they were published for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.benchmark_criteria import benchmark_criteria
from sim.laboratory.plants import BenchmarkPlant

RATE = 1000.0


def motion(seed, n=3000, rate=RATE):
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
    found = benchmark_criteria(x_c, x_m, RATE, 0.1)
    np.testing.assert_allclose(found, reference.benchmark_criteria(x_c, x_m, RATE, 0.1), rtol=1e-12)


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
    assert benchmark_criteria(motion(0), motion(0), RATE) == (0.0, 0.0, 0.0)


def test_what_is_not_a_number_is_left_out():
    x_c = motion(1)
    x_m = other(x_c, 1)
    kept = np.ones(len(x_c), dtype=bool)
    kept[[3, 400, 1500, 1501]] = False
    x_c[3], x_c[400], x_m[1500:1502] = np.nan, 1e60, (np.inf, np.nan)
    found = benchmark_criteria(x_c, x_m, RATE)
    np.testing.assert_allclose(
        found[1:], reference.benchmark_criteria(x_c[kept], x_m[kept], RATE, 0.1)[1:], rtol=1e-12
    )
    filled = [np.where(kept, x, np.mean(x[kept])) for x in (x_c, x_m)]
    assert found.j1 == reference.benchmark_criteria(*filled, RATE, 0.1)[0]


def test_what_means_nothing_is_no_number():
    wave, rest = motion(2), np.full(3000, 2.5)
    assert np.isnan(benchmark_criteria([np.nan] * 9, [1.0] * 9, RATE)).all()
    assert np.isnan(benchmark_criteria(0.0 * rest, wave, RATE)).all()
    np.testing.assert_array_equal(np.isnan(benchmark_criteria(rest, wave, RATE)), [True, True, False])
    np.testing.assert_array_equal(np.isnan(benchmark_criteria(wave, rest, RATE)), [True, False, False])


def test_a_delay_beyond_what_is_looked_for_is_no_number():
    x_c = motion(4)
    found = [benchmark_criteria(x_c, np.roll(x_c, lag), RATE, 0.02).j1 for lag in (-20, 20, 23, -30)]
    np.testing.assert_allclose(found, [-20.0, 20.0, np.nan, np.nan])


@pytest.mark.parametrize(("c", "m"), [((5,), (4,)), ((5, 1), (5, 1)), ((), ())])
def test_wrong_shapes(c, m):
    with pytest.raises(ValueError, match=r"\(n_samples,\)"):
        benchmark_criteria(np.zeros(c), np.zeros(m), RATE)


@pytest.mark.parametrize("wrong", [{"sample_rate": 0.0}, {"sample_rate": np.nan}, {"max_delay": -1.0}])
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        benchmark_criteria([1.0, 2.0], [1.0, 2.0], **{"sample_rate": RATE, **wrong})

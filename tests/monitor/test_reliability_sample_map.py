"""Which samples stand at an ensemble's instants: against the nearest in time, and what does not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import map_samples


def an_ensemble(time):
    return sort_ensemble(time, np.zeros((len(time), 1)), name="deflection")


@given(
    ratio=st.sampled_from([(1, 1), (4, 1), (20, 1), (1, 3), (1, 20)]),
    rate=st.sampled_from([50.0, 1000.0, 1024.0, 100.0 / 3.0, 20_000.0]),
    n_times=st.integers(2, 60),
    begins=st.integers(-50, 50),
    start=st.integers(-200, 200),
    shift=st.integers(-3, 3),
    first=st.integers(0, 300),
    n=st.integers(0, 300),
)
def test_a_sample_is_judged_where_an_instant_has_its_time(ratio, rate, n_times, begins, start, shift, first, n):
    dt = ratio[0] / ratio[1] / rate
    time = begins / rate + dt * np.arange(n_times)
    found = map_samples(an_ensemble(time), rate, start / rate, shift / rate)
    numbers, instants = found.select(first, n)
    assert numbers.dtype == instants.dtype == np.int64
    on_time = np.abs(time[:, None] + (start + shift) / rate - np.arange(first, first + n) / rate) < 1e-3 * dt
    expected_instants, columns = np.nonzero(on_time)
    np.testing.assert_array_equal(instants, expected_instants)
    np.testing.assert_array_equal(numbers, columns + first)
    assert abs(found.offset) < 1e-9
    # everything that is judged at all, and no more
    everything, _ = found.select(found.origin, 60 * 20 + 1)
    assert len(everything) == found.n_assessed == len(range(0, n_times, ratio[1]))
    assert found.end == everything[-1] + max(1, ratio[0])


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_no_instant_is_lost_or_doubled_at_a_cut(cuts):
    found = map_samples(an_ensemble(0.02 * np.arange(12)), 1000.0, 0.05, 0.0)
    edges = [0, *sorted(cuts), 400]
    parts = [found.select(a, b - a) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate([numbers for numbers, _ in parts]), 50 + 20 * np.arange(12))
    np.testing.assert_array_equal(np.concatenate([instants for _, instants in parts]), np.arange(12))


@pytest.mark.parametrize(
    ("start", "origin", "offset"), [(0.0104, 10, 0.0004), (0.0106, 11, -0.0004), (-0.0021, -2, -1e-4)]
)
def test_between_samples_the_nearest_is_taken_and_the_rest_is_told(start, origin, offset):
    found = map_samples(an_ensemble(0.001 * np.arange(9)), 1000.0, start, 0.0)
    assert found.origin == origin
    assert found.offset == pytest.approx(offset, rel=1e-6)


@pytest.mark.parametrize(
    # samples from one instant to the next, and how many of either step the last is off: under half of the smaller
    ("ratio", "drift", "fits"),
    [
        *((1.0, drift, abs(drift) < 0.5) for drift in (0.0, 0.05, -0.4, 0.49, 0.51, -0.6)),
        *((50.0, drift, abs(drift) < 0.5) for drift in (0.05, -0.4, 0.51, 5.0)),
        *((0.02, drift, abs(drift) < 0.01) for drift in (0.005, -0.009, 0.011, 0.1)),
    ],
)
@pytest.mark.parametrize("start", [0.0, 0.0003, 0.0047])
def test_a_drift_of_half_the_smaller_step_fits_and_its_most_is_told(ratio, drift, fits, start):
    rate, n_times = 1000.0, 501
    time = (ratio + drift / (n_times - 1)) / rate * np.arange(n_times)
    ensemble = an_ensemble(time)
    if not fits:
        with pytest.raises(ValueError, match="one must be a multiple of the other"):
            map_samples(ensemble, rate, start, 0.0)
        return
    found = map_samples(ensemble, rate, start, 0.0)
    numbers, instants = found.select(-10, 60 * n_times)
    assert len(numbers) == found.n_assessed
    off = time[instants] + start - numbers / rate
    most = off[np.argmax(np.abs(off))]
    assert abs(found.offset) == pytest.approx(abs(most), abs=1e-9)
    assert abs(most) <= (0.5 + 0.5 * abs(drift) + 1e-6) / rate


@pytest.mark.parametrize(
    ("dt", "rate"),
    [
        (0.02, 1024.0),
        (0.02, 60.0),
        (0.001, 997.0),
        (0.0015, 1000.0),
        (1.0, 1e6),
        (1e-6, 1.0),
        (1e300, 1e300),
        (1e-310, 1.0),
    ],
)
def test_a_rate_that_does_not_fit_is_told_in_one_line(dt, rate):
    with pytest.raises(
        ValueError, match=r"deflection has a time step of .* one must be a multiple of the other"
    ) as problem:
        map_samples(an_ensemble(dt * np.arange(200)), rate, 0.0, 0.0)
    assert "\n" not in str(problem.value)


def test_steps_that_are_not_equal_and_a_start_that_is_nowhere():
    with pytest.raises(ValueError, match="time steps are not equal"):
        map_samples(an_ensemble(np.array([0.0, 0.1, 0.3])), 10.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="a single instant"):
        map_samples(an_ensemble(np.array([0.0])), 10.0, 0.0, 0.0)
    for start in (1e300, -1e17, np.inf, np.nan):
        with pytest.raises(ValueError, match="give a nearer start"):
            map_samples(an_ensemble(0.1 * np.arange(3)), 10.0, start, 0.0)

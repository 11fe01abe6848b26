"""The correlation at every delay, against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.identification.delay_correlation import delay_correlation, peaks


@given(
    seed=st.integers(0, 1000),
    reach=st.integers(0, 20),
    offset=st.floats(-1e3, 1e3),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_it_is_the_coefficient_of_what_overlaps(seed, reach, offset, scale):
    generator = np.random.default_rng(seed)
    command, measured = scale * (offset + generator.standard_normal(120)), generator.standard_normal(120)
    middle = measured[reach : 120 - reach]
    shifts = range(-reach, reach + 1)
    known = [np.corrcoef(command[reach - delay : 120 - reach - delay], middle)[0, 1] for delay in shifts]
    np.testing.assert_allclose(delay_correlation(command, measured, reach), known, atol=1e-9)


def test_a_late_copy_is_alike_at_its_delay_and_turned_the_opposite():
    signal = np.random.default_rng(1).standard_normal(500)
    found = delay_correlation(signal[20:], -signal[13:-7], 10)
    assert found[10 + 7] == pytest.approx(-1.0, abs=1e-9)
    assert peaks(np.abs(found))[0] == 10 + 7


def test_where_the_command_stands_still_nothing_is_alike():
    command = np.concatenate([np.zeros(60), np.arange(40.0)])
    found = delay_correlation(command, np.random.default_rng(1).standard_normal(100), 45)
    assert found[-1] == 0.0 and np.isfinite(found).all()
    np.testing.assert_array_equal(delay_correlation(command, np.ones(100), 5), np.zeros(11))


def test_peaks_may_stand_at_the_ends_and_the_highest_is_first():
    np.testing.assert_array_equal(peaks(np.array([3.0, 1.0, 2.0, 2.0, 0.0, 4.0])), [5, 0, 2])


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="10 samples are too few for a delay of up to 5 samples"):
        delay_correlation(np.zeros(10), np.zeros(10), 5)

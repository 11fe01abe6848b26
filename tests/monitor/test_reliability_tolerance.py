"""The tolerance by each policy, and what is no tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.reliability.tolerance import Tolerance, ToleranceError, TolerancePolicy

RECORDS = arrays(float, (6, 2), elements=st.floats(-1e6, 1e6).filter(lambda y: y == 0.0 or abs(y) > 1e-6))
SHARE = st.floats(1e-12, 10.0)


@given(measured=RECORDS, share=SHARE)
def test_the_literal_one_is_a_share_of_each_sample(measured, share):
    found = Tolerance(TolerancePolicy.LITERAL, share).evaluate(np.arange(6), measured)
    np.testing.assert_array_equal(found, [[share * abs(y) for y in row] for row in measured.tolist()])


@given(measured=RECORDS, share=SHARE)
def test_the_absolute_one_is_what_it_is(measured, share):
    np.testing.assert_array_equal(
        Tolerance(TolerancePolicy.ABSOLUTE, share).evaluate(np.arange(6), measured), np.full((6, 2), share)
    )


@given(measured=RECORDS, share=SHARE)
def test_a_record_is_its_own_reference(measured, share):
    if (measured == 0.0).all(axis=0).any():
        return
    rms, peak = np.sqrt((measured**2).mean(axis=0)), np.abs(measured).max(axis=0)
    floored = Tolerance.from_records(TolerancePolicy.FLOORED, share, measured).evaluate(np.arange(6), measured)
    np.testing.assert_allclose(floored, share * np.maximum(abs(measured), rms), rtol=1e-14)
    found = Tolerance.from_records(TolerancePolicy.PEAK, share, measured).evaluate(np.arange(6), measured)
    np.testing.assert_allclose(found, share * np.tile(peak, (6, 1)), rtol=1e-14)


def test_the_varying_one_is_the_instants():
    profile = np.arange(1.0, 9.0)
    found = Tolerance(TolerancePolicy.VARYING, profile=profile).evaluate(np.array([1, 4, 7]), np.zeros((3, 2)))
    np.testing.assert_array_equal(found, [[2.0, 2.0], [5.0, 5.0], [8.0, 8.0]])


@pytest.mark.parametrize("policy", TolerancePolicy)
def test_every_policy_gives_arrays_that_a_kernel_takes(policy):
    tolerance = Tolerance(policy, 0.1, np.ones(1), np.ones(5))
    for n in (0, 1, 5):
        found = tolerance.evaluate(np.arange(n), np.ones((n, 3)))
        assert found.shape == (n, 3) and found.dtype == float
        assert np.ascontiguousarray(found).flags.writeable


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("policy", [TolerancePolicy.FLOORED, TolerancePolicy.PEAK])
def test_what_is_not_finite_has_no_part_in_the_reference(policy, bad):
    measured = np.array([[3.0, 1.0], [bad, 2.0], [-4.0, bad]])
    expected = [np.sqrt(12.5), np.sqrt(2.5)] if policy is TolerancePolicy.FLOORED else [4.0, 2.0]
    np.testing.assert_allclose(Tolerance.from_records(policy, 0.1, measured).reference, expected, rtol=1e-15)
    measured[:, 1] = bad
    with pytest.raises(ToleranceError, match="without a finite sample"):
        Tolerance.from_records(policy, 0.1, measured)


@pytest.mark.parametrize("value", [0.0, -0.1, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("policy", [policy for policy in TolerancePolicy if policy is not TolerancePolicy.VARYING])
def test_no_tolerance_is_refused(policy, value):
    with pytest.raises(ToleranceError, match="positive number"):
        Tolerance(policy, value, np.ones(1))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"policy": TolerancePolicy.PEAK}, "policy peak needs a reference"),
        ({"policy": TolerancePolicy.FLOORED}, "policy floored needs a reference"),
        ({"policy": TolerancePolicy.PEAK, "reference": np.array([1.0, 0.0])}, "give an absolute one"),
        ({"policy": TolerancePolicy.FLOORED, "reference": np.array([np.nan])}, "give an absolute one"),
        ({"policy": TolerancePolicy.VARYING}, "needs its profile"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.empty(0)}, "needs its profile"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.array([1.0, 0.0])}, "positive at every instant"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.array([1.0, np.inf])}, "positive at every instant"),
    ],
)
def test_what_is_missing_or_means_nothing(settings, words):
    with pytest.raises(ToleranceError, match=words) as refused:
        Tolerance(**({"value": 0.1} | settings))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("tolerance", "fits"),
    [
        (Tolerance(TolerancePolicy.LITERAL, 0.1), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(1)), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(3)), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(2)), False),
        (Tolerance(TolerancePolicy.FLOORED, 0.1, np.ones((1, 3))), False),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones(5)), True),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones(3)), False),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones((5, 3))), False),
    ],
)
def test_which_measurements_it_fits(tolerance, fits):
    if fits:
        tolerance.check_shape("tip", n_times=5, n_replicates=3)
        return
    with pytest.raises(ToleranceError, match=r"^tip: the tolerance has shape"):
        tolerance.check_shape("tip", n_times=5, n_replicates=3)

"""Gaps of lost samples: short ones are bridged, long ones are not, and both are counted."""

from itertools import pairwise

import numpy as np
import pytest

from monitor.compensation.indicator_driven import GapBridge

BLOCK, LONGEST = 4, 6


def bridged_plainly(command, measured, longest):
    """Return measured with its gaps of at most `longest` samples interpolated about the command, by definition."""
    out, good = measured.copy(), np.flatnonzero(np.isfinite(measured))
    for a, b in pairwise(good):
        if 1 < b - a <= longest + 1:
            inside = np.arange(a + 1, b)
            out[inside] = command[inside] + np.interp(inside, [a, b], measured[[a, b]] - command[[a, b]])
    return out


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_gaps_are_bridged_as_defined(share):
    rng = np.random.default_rng(3)
    command, n = rng.normal(size=(800, 3)), 800
    measured = command + 0.1 * rng.normal(size=(n, 3))
    lost = rng.random((n, 3)) < share
    measured[lost] = np.nan
    bridge, released = GapBridge(3, BLOCK, LONGEST), []
    for i in range(n):
        block = bridge.push(command[i], measured[i], command[i])
        if block is not None:
            released.append(block)
    released = np.concatenate(released, axis=1)
    assert released.shape[1] == n - bridge.latency
    m = released.shape[1]
    expected = np.stack([bridged_plainly(command[:, k], measured[:, k], LONGEST) for k in range(3)], 1)[:m]
    np.testing.assert_allclose(released[1], expected)
    np.testing.assert_array_equal(released[0], command[:m])
    np.testing.assert_array_equal(bridge.counts[1], np.isnan(expected).sum(axis=0))
    # the newest gap may reach beyond what is released
    assert np.all(np.abs(bridge.counts.sum(axis=0) - lost[:m].sum(axis=0)) <= LONGEST)

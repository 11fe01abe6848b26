"""J1 to J9 against their formulas, and J1 to J3 against the monitor's."""

import numpy as np
import pytest

from monitor.indicators.benchmark_criteria import benchmark_criteria
from sim.laboratory.building import criteria

RATE = 1024.0


def records(seed=1, n=4000, shape=(3, 2)):
    rng = np.random.default_rng(seed)
    window = np.hanning(n).reshape(-1, *(1,) * (len(shape) + 1))
    smooth = np.cumsum(rng.standard_normal((n, *shape, 3)), axis=0) * window
    reference = smooth + 0.3 * rng.standard_normal(smooth.shape)
    command = smooth[..., 0]
    measured = np.empty_like(command)
    for i, test in enumerate(np.ndindex(shape)):
        own = (slice(None), *test)
        measured[own] = (1.0 + 0.02 * i) * np.roll(command[own], 7 * i - 5) + 0.1 * rng.standard_normal(n) + 0.5
    return command, measured, smooth, reference


def test_the_formulas():
    command, measured, floors, reference = records()
    found = np.array(criteria(command, measured, floors, reference, RATE))
    assert found.shape == (9, 3, 2)
    for test in np.ndindex(3, 2):
        c, m, ours, whole = (x[(slice(None), *test)] for x in (command, measured, floors, reference))
        j = found[(slice(None), *test)]
        lags = np.arange(-300, 301)
        centred = c - c.mean(), m - m.mean()
        products = [
            np.sum(centred[1][max(lag, 0) : 4000 + min(lag, 0)] * centred[0][max(-lag, 0) : 4000 - max(lag, 0)])
            for lag in lags
        ]
        assert j[0] == pytest.approx(1000.0 * lags[np.argmax(products)] / RATE)
        assert j[1] == pytest.approx(100.0 * np.std(m - c) / np.std(c))
        assert j[2] == pytest.approx(100.0 * np.max(np.abs(m - c)) / np.max(np.abs(c)))
        for floor, signal in enumerate((m, ours[:, 1], ours[:, 2])):
            error, wanted = signal - whole[:, floor], whole[:, floor]
            assert j[3 + floor] == pytest.approx(100.0 * np.std(error) / np.std(wanted))
            assert j[6 + floor] == pytest.approx(100.0 * np.max(np.abs(error)) / np.max(np.abs(wanted)))


@pytest.mark.parametrize("seed", range(6))
def test_the_first_three_are_the_monitors(seed):
    command, measured, floors, reference = records(seed, n=1500 + 333 * seed)
    found = criteria(command, measured, floors, reference, RATE, max_delay=0.2)
    for test in np.ndindex(3, 2):
        own = (slice(None), *test)
        expected = benchmark_criteria(command[own], measured[own], RATE, 0.2)
        np.testing.assert_allclose([j[test] for j in found[:3]], expected, rtol=1e-12)


def test_one_reference_for_all_tests():
    command, measured, floors, reference = records(shape=(5,))
    same = reference[:, :1]
    found = criteria(command, measured, floors, same, RATE)
    each = criteria(command, measured, floors, np.repeat(same, 5, axis=1), RATE)
    np.testing.assert_array_equal(found, each)


def test_a_diverged_test_has_none_and_leaves_the_others_alone():
    command, measured, floors, reference = records()
    whole = np.array(criteria(command, measured, floors, reference, RATE))
    for signal in (command, measured, floors):
        signal[3000:, 1, 0] = np.nan
    found = np.array(criteria(command, measured, floors, reference, RATE))
    assert np.isnan(found[:, 1, 0]).all()
    np.testing.assert_array_equal(np.delete(found.reshape(9, 6), 2, 1), np.delete(whole.reshape(9, 6), 2, 1))


def test_an_actuator_that_does_not_move_has_no_delay():
    command, measured, floors, reference = records(shape=())
    found = criteria(command, np.zeros_like(measured), floors, reference, RATE)
    assert np.isnan(found.j1)
    assert found.j2 == pytest.approx(100.0)


def test_wrong_shapes_are_refused_in_one_line():
    command, measured, floors, reference = records(shape=(2,))
    with pytest.raises(ValueError, match=r"^command \(4000, 2\), measured \(4000, 1\), floors [^\n]*$"):
        criteria(command, measured[:, :1], floors, reference, RATE)
    with pytest.raises(ValueError, match=r"^sample_rate = 0.0 Hz[^\n]*positive numbers$"):
        criteria(command, measured, floors, reference, 0.0)

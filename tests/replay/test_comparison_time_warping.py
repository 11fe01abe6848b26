"""The time warping distance: against the dynamic programme written out, and against every path there is."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.validation.error_measures import relative_rms_error, time_warping_distance

ROOT = Path(__file__).parents[2]
# far enough from rounding and from underflow; ties and constant stretches come with the integers
values = st.one_of(st.integers(-3, 3).map(float), st.floats(-10.0, 10.0).map(lambda x: round(x, 6)))
pairs = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*(st.lists(values, min_size=n, max_size=n).map(np.array) for _ in range(2)))
)


def programme(measured, model, window):
    """Return the distance by the whole table of least sums."""
    n = len(measured)
    least = np.full((n + 1, n + 1), np.inf)
    least[0, 0] = 0.0
    for i in range(n):
        for j in range(max(0, i - window), min(n, i + window + 1)):
            before = min(least[i, j], least[i, j + 1], least[i + 1, j])
            least[i + 1, j + 1] = (model[i] - measured[j]) ** 2 + before
    return np.sqrt(least[n, n] / np.sum(measured**2))


def every_path(n, window, i=0, j=0):
    if abs(i - j) > window or i == n or j == n:
        return
    if i == j == n - 1:
        yield ((i, j),)
    for step in ((1, 1), (1, 0), (0, 1)):
        for rest in every_path(n, window, i + step[0], j + step[1]):
            yield ((i, j), *rest)


@given(pairs, st.integers(0, 30))
def test_it_is_the_dynamic_programme(pair, window):
    measured, model = pair
    measured[0] += 20.0
    expected = programme(measured, model, window)
    assert time_warping_distance(measured, model, window) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("window", [0, 1, 2, 5])
def test_it_is_the_least_of_all_paths(window):
    rng = np.random.default_rng(window)
    measured, model = rng.standard_normal((2, 6))
    sums = [sum((model[i] - measured[j]) ** 2 for i, j in path) for path in every_path(6, window)]
    expected = np.sqrt(min(sums) / np.sum(measured**2))
    assert time_warping_distance(measured, model, window) == pytest.approx(expected, rel=1e-12)


@given(pairs)
def test_a_wider_window_only_makes_it_smaller(pair):
    measured, model = pair
    measured[0] += 20.0
    plain = np.sqrt(np.sum((model - measured) ** 2) / np.sum(measured**2))
    assert relative_rms_error(measured, model) == pytest.approx(plain, rel=1e-12, abs=1e-15)
    distances = [time_warping_distance(measured, model, window) for window in range(len(measured) + 2)]
    assert distances[0] == pytest.approx(plain, rel=1e-12, abs=1e-15)
    assert all(wide <= narrow * (1.0 + 1e-12) for narrow, wide in pairwise(distances))


def test_a_late_pulse_is_warped_back_when_the_window_lets_it():
    time = np.arange(300.0)
    pulse, late = np.exp(-(((time - 120.0) / 12.0) ** 2)), np.exp(-(((time - 130.0) / 12.0) ** 2))
    assert relative_rms_error(pulse, late) > 0.7
    # the ends are as good as zero, so that ten samples of them cost nothing
    assert time_warping_distance(pulse, late, 10) == pytest.approx(0.0, abs=1e-12)
    assert time_warping_distance(pulse, late, 5) > 0.1
    # no warping mends a wrong size
    assert time_warping_distance(pulse, 1.2 * late, 10) > 0.02


@given(pairs, st.floats(-150.0, 150.0), st.integers(0, 30))
def test_a_common_scale_does_not_change_it(pair, exponent, window):
    measured, model = pair
    measured[0] += 20.0
    scaled = time_warping_distance(measured * 10.0**exponent, model * 10.0**exponent, window)
    assert scaled == pytest.approx(time_warping_distance(measured, model, window), rel=1e-9, abs=1e-12)


MEMORY = """
import resource
import numpy as np
from replay.validation.error_measures import time_warping_distance

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

measured, model = np.random.default_rng(2).standard_normal((2, 20_000))
time_warping_distance(measured, model, 0)
before = peak()
time_warping_distance(measured, model, 2000)
print(before, peak())
"""


def test_a_long_record_takes_no_table():
    pytest.importorskip("resource")
    # in a process of its own, whose peak is not another test's, and which counts what the library takes
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, cwd=ROOT, check=True)
    before, after = map(int, done.stdout.split())
    # the table of the band would take 600 MB, several times the whole process
    assert after < 1.1 * before


def test_zero_throughout():
    assert np.isnan(time_warping_distance(np.zeros(5), np.ones(5), 1))
    assert np.isnan(relative_rms_error(np.zeros(5), np.ones(5)))
    assert time_warping_distance(np.ones(5), np.zeros(5), 1) == pytest.approx(1.0)

"""The study of estimation with delays at the ends of what it takes, and past them."""

import sys

import numpy as np
import pytest

from replay.papers.delays.level import histogram, quartiles
from replay.papers.delays.study import run_study


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"n_runs": 12}, "12 runs: give 10 or more, a multiple of 5"),
        ({"n_runs": 5}, "5 runs: give 10 or more"),
        ({"n_runs": 1}, "1 runs: give 10 or more"),
        ({"n_runs": 10_000_000}, "10000000 runs: give 10 or more, .* and 20000 at most"),
        ({"sigmas": [5.0]}, "from 1e-09 to 1, not 5"),
        ({"sigmas": [1e-14]}, "from 1e-09 to 1, not 1e-14"),
        ({"sigmas": [1e-20]}, "not 1e-20"),
        ({"sigmas": [0.1, 1e9]}, "not 1e[+]09"),
        ({"sigmas": [0.0]}, "not 0"),
        ({"sigmas": [np.nan]}, "not nan"),
        ({"sigmas": [0.1, -1.0]}, "sigma: must be a positive number"),
        ({"sigmas": []}, "sigma: give one level of noise at least"),
    ],
)
def test_mistakes_are_told(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        run_study(**settings)


def test_a_missing_sampler_is_told_before_anything_is_fitted(monkeypatch):
    monkeypatch.setitem(sys.modules, "emcee", None)
    told = []
    with pytest.raises(ValueError, match="needs emcee"):
        run_study([0.1], n_runs=10, priors=True, progress=lambda *done: told.append(done))
    assert told == []


@pytest.mark.parametrize("sigma", [1e-9, 1.0])
def test_the_ends_of_what_is_allowed(sigma):
    study = run_study([sigma], n_runs=20)
    for level in study.levels:
        assert level.free[2].fits.converged.all() and level.kept[2].unstable == 0
        assert np.isfinite(level.free[2].later).all()
        for first_run in level.first_run.values():
            assert all(not np.isnan(end) for interval in first_run.intervals for end in interval)
    if sigma < 1.0:
        assert all(np.abs(level.free[2].bias / level.free[2].bias_error).max() < 4.0 for level in study.levels)


def test_quartiles_and_histograms_bear_everything():
    assert quartiles(np.array([3.0, 1.0, np.inf, np.nan, 2.0])) == (2.0, 3.0, np.inf)
    assert np.isnan(quartiles(np.array([]))).all()
    for values in ([], [2.0], [0.1, 0.1, 0.1], [1.0, 1.0 + 2e-16], [np.nan, np.inf, 1.0, 2.0], [1e200, 1.0]):
        counts, edges = histogram(np.array(values), 30)
        assert counts.sum() == np.sum(np.abs(values) < 1e150) and (np.diff(edges) > 0.0).all()

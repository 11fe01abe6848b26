"""An example with priors: the posterior of its first run."""

import numpy as np
import pytest

from replay.papers.delays.study import run_study


def test_a_posterior_is_stable_and_between_prior_and_data():
    pytest.importorskip("emcee")
    study = run_study([0.3], n_runs=10, priors=True, posterior_steps=400)
    first, second, third = study.levels
    assert first.posterior is None and second.posterior is None
    found = third.posterior.posterior
    assert third.example.is_stable(found.samples).all()
    # the prior holds the disturbance nearer to zero than the data alone
    assert abs(found.of("omega").mean()) < abs(third.first_run[2].fit.of("omega"))
    np.testing.assert_allclose(
        third.posterior.steady_state, -found.samples[:, 2] / (found.samples[:, 0] + found.samples[:, 1])
    )

"""What the paper on delays claims, and what must be shown: unbiased, told rightly, and far better later on."""

import sys

import numpy as np
import pytest

from replay.papers.delays.examples import BAYARRI, EXAMPLES, LATER, TIME
from replay.papers.delays.study import SIGMAS, histogram, quartiles, run_study
from sim.models.delay_equation import DelayEquation


@pytest.fixture(scope="module")
def study():
    return run_study([0.027, 0.3])


def test_the_printed_variance_is_among_the_levels():
    assert max(SIGMAS) ** 2 == pytest.approx(0.3)
    assert len(SIGMAS) == 4


def levels(study, number):
    return [level for level in study.levels if level.example.number == number]


@pytest.mark.slow
def test_method_2_is_unbiased_and_its_covariance_is_the_scatter(study):
    for level in study.levels:
        fits = level.free[2].fits
        assert len(fits.parameters) == 500 and fits.converged.all()
        if level.sigma == 0.027:
            known = {
                "q0": -1.7,
                "q1": {2: 1.2, 3: 1.65}.get(level.example.number),
                "omega": 0.1 + 0.1 * (level.example.number != 2),
            }
            for i, name in enumerate(fits.names):
                scatter = fits.parameters[:, i].std(ddof=1)
                assert abs(fits.parameters[:, i].mean() - known[name]) < 3.0 * scatter / np.sqrt(500.0)
                assert level.free[2].bias[i] == pytest.approx(fits.parameters[:, i].mean() - known[name])
                assert level.free[2].bias_error[i] == pytest.approx(scatter / np.sqrt(500.0))
        told = np.sqrt(np.mean([np.diag(each) for each in fits.covariance], axis=0))
        np.testing.assert_allclose(told, fits.parameters.std(axis=0, ddof=1), rtol=0.15)
        runs = level.free[2]
        np.testing.assert_allclose(
            runs.mean_standard_error, [fits.standard_errors[:, i].mean() for i in range(len(fits.names))]
        )
        np.testing.assert_allclose(runs.mean_standard_error / runs.deviation, 1.0, atol=0.15)
        assert runs.seconds > 0.0


def test_later_method_2_is_ten_times_closer_and_more(study):
    for level in study.levels:
        truth = level.example.truth.response([30.0])[0]
        for method in (1, 2):
            fits = level.free[method].fits
            said = []
            for each in fits.parameters[:7]:
                q = dict(zip(fits.names, each.tolist(), strict=True))
                equation = DelayEquation(q["q0"], q.get("q1", 0.0), q.get("omega", 0.0))
                said.append(equation.response([30.0])[0])
                if method == 1:
                    said[-1] += q["beta_1"] + 30.0 * q["beta_2"] + 900.0 * q["beta_3"]
            np.testing.assert_allclose(level.free[method].later_error[:7], np.array(said) - truth, atol=1e-9)
        assert LATER == 30.0 and level.times_closer > 10.0
        assert np.median(np.abs(level.free[2].later_error)) < 1.0 < np.median(np.abs(level.free[1].later_error))


def test_within_the_observations_both_methods_are_alike(study):
    for level in study.levels:
        curves = [level.example.predict(method, level.free[method].fits.parameters, TIME) for method in (1, 2)]
        truth = level.example.truth.response(TIME)
        for curve in curves:
            assert np.sqrt(np.mean((curve - truth) ** 2)) < 0.25 * level.sigma


def test_noise_makes_unstable_models_and_repetition_unmakes_them(study):
    calm, loud = levels(study, 3)
    unstable = [
        [np.sum(~level.example.is_stable(p)) for p in (level.free[2].fits.parameters, level.mean_parameters)]
        for level in (calm, loud)
    ]
    assert unstable[0][0] < 20 < unstable[1][0] and unstable[0][1] == 0
    assert unstable[1][1] / 100.0 < unstable[1][0] / 500.0
    assert [level.free[2].unstable for level in (calm, loud)] == [count for count, _ in unstable]


def test_the_constraint_holds_for_both_methods_and_the_ordinary_case(study):
    for level in study.levels:
        for method in (1, 2):
            kept, free = level.kept[method], level.free[method]
            assert kept.fits.converged.all() and kept.unstable == 0
            q0, q1 = kept.fits.of("q0"), kept.fits.of("q1") if level.example.number > 1 else 0.0
            assert (q0 < 0.0).all() and (q0 + np.abs(q1) < -0.99e-3).all()
            inside = free.fits.of("q0") + np.abs(free.fits.of("q1") if level.example.number > 1 else 0.0) < -2e-3
            # what was stable anyway is left as it is, and what was not stands at the bound, its error unknown
            close = 0.05 * free.fits.standard_errors[inside]
            assert (np.abs(kept.fits.parameters[inside] - free.fits.parameters[inside]) < close).all()
            assert free.unstable <= kept.at_bound <= np.sum(~inside)
            held = kept.fits.at_bound.any(axis=1)
            assert (
                np.isnan(kept.fits.standard_errors[held, 0]).all()
                and np.isfinite(kept.fits.standard_errors[~held]).all()
            )
            assert (kept.fits.sum_of_squares >= free.fits.sum_of_squares * (1.0 - 1e-9)).all()
            # Method 1 grows with its polynomial all the same
            assert method == 1 or kept.later[1] <= free.later[1] * 1.001
    loud = levels(study, 3)[1]
    assert loud.kept[2].later[1] < 0.9 * loud.free[2].later[1] and loud.kept[1].at_bound > 100


def test_the_steady_state_of_repeated_observations(study):
    for level in levels(study, 2):
        states = level.steady_states["mean_of_repeated"]
        groups = level.free[2].fits.parameters.reshape(100, 5, 3).mean(axis=1)
        np.testing.assert_allclose(states, -groups[:, 2] / (groups[:, 0] + groups[:, 1]))
        assert abs(states.mean() - 0.2) < 4.0 * states.std() / 10.0
        low, median, high = quartiles(states)
        assert (low, median, high) == pytest.approx(np.percentile(states, [25.0, 50.0, 75.0]).tolist())
    # near instability the mean of them is not to be had, and the median is
    singles = levels(study, 3)[0].steady_states["single"]
    assert abs(quartiles(singles)[1] - 4.0) < 0.2 < abs(singles.mean() - 4.0)
    calm = levels(study, 2)[0]
    # fitted together they say the same, but for the noise squared
    assert np.abs(calm.joint.parameters - calm.mean_parameters).max() < 0.01
    assert levels(study, 1)[0].example.truth.steady_state == pytest.approx(0.2 / 1.7)


def test_the_levels_have_the_same_noise_and_the_seed_decides(study):
    one, other = levels(study, 2)
    np.testing.assert_allclose(
        (one.observed - one.example.truth.response(TIME)) / 0.027,
        (other.observed - other.example.truth.response(TIME)) / 0.3,
        atol=1e-9,
    )
    few, again, different = (run_study([0.1], n_runs=10, seed=seed) for seed in (1, 1, 2))
    for level, same, another in zip(few.levels, again.levels, different.levels, strict=True):
        np.testing.assert_array_equal(level.free[2].fits.parameters, same.free[2].fits.parameters)
        assert (level.observed != another.observed).any()


def test_the_paper_is_beside(study):
    assert [example.number for example in EXAMPLES] == [1, 2, 3]
    for example in EXAMPLES[:2]:
        for method, values in example.printed.items():
            assert set(values) == set(example.model(method).names)
    # the hypothesised model alone does not describe data with a residual: eq. 21 has it in closed form
    np.testing.assert_allclose(
        BAYARRI.truth.response(TIME), 5.0 * np.exp(-1.7 * TIME) + 1.5 * (1.0 - np.exp(-1.7 * TIME)), atol=1e-12
    )
    assert study.bayarri.of("q0") == pytest.approx(-0.63, abs=0.05)
    assert study.bayarri.checks.independence < 1e-6


def test_a_typical_run_is_the_first_and_its_profile_holds_the_estimate(study):
    for level in study.levels:
        for method, first_run in level.first_run.items():
            np.testing.assert_allclose(first_run.fit.parameters, level.free[method].fits.parameters[0], atol=1e-3)
            for value, (low, high) in zip(first_run.fit.parameters, first_run.intervals, strict=True):
                assert low < value < high
            assert len(first_run.fit.minima) == 1


def test_progress_is_told():
    said = []
    run_study([0.1, 0.2], n_runs=10, progress=lambda *told: said.append(told))
    # all that there is at once, few enough for any terminal, and then how much of it is done
    assert said[:3] == [(f"example {number}", 0, 84) for number in (1, 2, 3)]
    for number in (1, 2, 3):
        done = [told[1] for told in said if told[0] == f"example {number}"]
        assert done == sorted(done) and done[-1] == 84 and len(done) == 11


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

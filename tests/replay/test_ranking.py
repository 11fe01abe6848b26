"""Fitted models ranked by reliability: by the definition in plain numpy, with the uncertainty of their parameters."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.reliability.tolerance import TolerancePolicy
from replay.validation.ranking import Candidate, parameter_draws, rank_models, ranking_table
from replay.validation.records import ToleranceChoice
from sim.fitting.fit import fit
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(0.0, 2.0, 81)
LINE = LinearModel(np.column_stack([np.ones(81), TIME]))
LEVEL = LinearModel(np.ones((81, 1)))
TOLERANCE = ToleranceChoice(TolerancePolicy.ABSOLUTE, 0.15)


def record(seed=1):
    return 1.0 + 0.5 * TIME + 0.05 * np.random.default_rng(seed).standard_normal(81)


def candidate(name, model, observed):
    found = fit(model, observed, np.zeros(len(model.names)))
    return Candidate(name, found, lambda parameters: model.evaluate(parameters)[0])


def test_reliabilities_are_those_of_the_definition_and_the_right_model_is_first():
    fitted, fresh = record(1), record(2)
    candidates = [candidate("level", LEVEL, fitted), candidate("line", LINE, fitted)]
    ranked = rank_models(candidates, TIME, fresh, TOLERANCE, realizations=300)
    assert [model.name for model in ranked] == ["line", "level"]
    for model, given in zip(ranked, candidates[::-1], strict=True):
        draws, _ = parameter_draws(given.fit, 300, 1)
        within = np.abs(given.response(draws) - fresh) < 0.15
        assert model.values["instantaneous"] == pytest.approx(within[:, -1].mean())
        assert model.values["first_passage"] == pytest.approx(within.all(axis=1).mean())
        assert model.values["accumulated"] == pytest.approx(within.mean())
    assert [row[0] for row in ranking_table(ranked, "models").rows] == ["line", "level"]


def test_several_sensors_count_where_all_are_within():
    fitted, fresh = record(1), np.column_stack([record(2), record(3) + 0.1])
    one = candidate("line", LINE, fitted)
    both = replace(one, response=lambda p: np.repeat(LINE.evaluate(p)[0][:, :, None], 2, axis=2))
    (model,) = rank_models([both], TIME, fresh, TOLERANCE, realizations=100)
    draws, _ = parameter_draws(one.fit, 100, 1)
    within = (np.abs(LINE.evaluate(draws)[0][:, :, None] - fresh) < 0.15).all(axis=2)
    assert model.values["accumulated"] == pytest.approx(within.mean())


def test_draws_are_as_uncertain_as_the_fit():
    found = fit(LINE, record(), np.zeros(2))
    draws, notes = parameter_draws(found, 40_000, 3)
    covariance = found.correlated_covariance
    np.testing.assert_allclose(draws.mean(axis=0), found.parameters, atol=4.0 * np.sqrt(covariance[0, 0] / 40_000))
    np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0.05)
    assert notes == ()


def test_what_is_at_a_bound_stays_and_what_is_unknown_fills_its_bounds():
    matrix = np.column_stack([np.ones(81), TIME, 0.0 * TIME])
    lower, upper = np.array([-9.0, -9.0, 2.0]), np.array([9.0, 0.0, 4.0])
    found = fit(LinearModel(matrix, lower=lower, upper=upper), record(), np.array([0.0, -1.0, 3.0]))
    draws, _ = parameter_draws(found, 5000, 1, lower, upper)
    assert (draws[:, 1] == 0.0).all() and draws[:, 2].min() < 2.01 and draws[:, 2].max() > 3.99
    held, notes = parameter_draws(found, 10, 1)
    assert (held[:, 2] == 3.0).all() and notes == (
        "c is not determined by the data and has no bounds: held at its estimate",
    )


def test_mistakes_are_one_line():
    one = candidate("line", LINE, record())
    with pytest.raises(ValueError, match="ranking with 0 realizations of each model: give 1 or more"):
        rank_models([one], TIME, record(), TOLERANCE, realizations=0)
    with pytest.raises(ValueError, match="there are no models"):
        rank_models([], TIME, record(), TOLERANCE)
    with pytest.raises(ValueError, match="ranking record of shape"):
        rank_models([one], TIME, record()[:50], TOLERANCE)
    with pytest.raises(ValueError, match=r"line: response of shape \(40, 1\)"):
        rank_models([replace(one, response=lambda p: p @ np.ones((2, 40)))], TIME, record(), TOLERANCE)
    with pytest.raises(ValueError, match="no realization is finite"):
        rank_models([replace(one, response=lambda p: np.full((len(p), 81), np.nan))], TIME, record(), TOLERANCE)
    # some that diverge are left out
    some = replace(one, response=lambda p: np.where(np.arange(len(p))[:, None] < 5, np.nan, LINE.evaluate(p)[0]))
    (model,) = rank_models([some], TIME, record(), TOLERANCE, realizations=50)
    assert model.notes == ("5 of 50 realizations diverge and are left out",)

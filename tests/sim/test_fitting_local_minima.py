"""Several minima, equally good ones, and searches that lead nowhere: a fit tells of them."""

import dataclasses
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from sim.fitting.fit import fit
from sim.fitting.least_squares import distinct_minima, minimize, spread_starts
from sim.fitting.model_responses import DelayResponse
from sim.models.delay_equation import DelayEquation

TIME = np.linspace(0.0, 3.0, 151)


@dataclass(frozen=True, eq=False)
class Sine:
    """sin(f t), whose sum of squares has many minima."""

    names = ("frequency",)
    lower, upper = np.array([0.0]), np.array([20.0])

    def evaluate(self, parameters):
        angle = parameters * TIME
        return np.sin(angle), (TIME * np.cos(angle))[..., None]


def noise(sigma, *shape, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(shape)


def test_of_many_minima_the_least_is_taken_and_the_others_are_told():
    observed = np.sin(7.3 * TIME) + noise(0.05, 151)
    bad = fit(Sine(), observed, np.array([2.0]))
    starts = spread_starts(Sine.lower, Sine.upper, 30)
    found = fit(Sine(), observed, starts)
    assert bad.of("frequency") != pytest.approx(7.3, abs=0.5)
    assert found.of("frequency") == pytest.approx(7.3, abs=0.02)
    assert len(found.minima) > 2 and found.minima[0] == pytest.approx(found.sum_of_squares)
    # where they are is told, and that there are several
    assert found.minima_at[0] == pytest.approx(found.parameters) and len(found.minima_at) == len(found.minima)
    for square, place in zip(found.minima, found.minima_at, strict=True):
        assert np.sum((observed - np.sin(place[0] * TIME)) ** 2) == pytest.approx(square)
    assert found.doubts()[0] == f"another start led to a different minimum ({len(found.minima)} in all)"
    assert not any("minimum" in doubt for doubt in fit(Sine(), observed, np.array([[7.2], [7.4]])).doubts())
    # a Latin hypercube: one start in each thirtieth of the range
    assert sorted((starts[:, 0] / 20.0 * 30.0).astype(int)) == list(range(30))


def test_an_orthogonal_array_has_a_start_in_each_square_of_any_two_sides():
    starts = spread_starts(np.zeros(6), np.ones(6), 49, seed=3, strength=2)
    for one, other in combinations((7.0 * starts.T).astype(int), 2):
        assert len(set(zip(one, other, strict=True))) == 49
    assert all(sorted(column) == list(range(49)) for column in (49.0 * starts.T).astype(int))
    for number in (48, 16, 9):
        with pytest.raises(ValueError, match=f"{number} of 6: give the square of a prime, 5 or more"):
            spread_starts(np.zeros(6), np.ones(6), number, strength=2)


def test_minima_that_are_equally_good_are_several_all_the_same():
    @dataclass(frozen=True, eq=False)
    class Even:
        """p^2 t, the same on both sides of zero."""

        names = ("p",)
        lower, upper = np.array([-np.inf]), np.array([np.inf])

        def evaluate(self, parameters):
            return parameters**2 * TIME, (2.0 * parameters * TIME)[..., None]

    observed = 4.0 * TIME + noise(0.1, 3, 151)
    found = fit(Even(), observed, np.array([[1.0], [-1.0], [3.0]]))
    assert sorted(np.round(found.minima_at[:, 0])) == [-2.0, 2.0]
    # of repeated observations the sum over them all
    assert found.minima == pytest.approx([found.sum_of_squares] * 2) and found.unconverged == 0


def test_a_fit_that_does_not_converge_says_so():
    @dataclass(frozen=True, eq=False)
    class Runaway:
        """exp(-p), least at infinity only."""

        names = ("p",)
        lower, upper = np.array([-np.inf]), np.array([np.inf])

        def evaluate(self, parameters):
            fall = np.exp(-parameters) * np.ones(20)
            return fall, -fall[..., None]

    observed = np.where(np.arange(20) % 2, -1e-3, 1e-3)
    found = minimize(Runaway(), observed[None], np.zeros((1, 1)), most_iterations=3)
    assert not found.converged[0]
    astray = np.array([[np.log(1e200)], [0.0]]) * -1.0
    told = fit(Runaway(), observed, astray)
    assert told.unconverged == 1 and np.isfinite(told.sum_of_squares)
    stuck = dataclasses.replace(told, converged=False)
    assert stuck.doubts()[0] == "the fit did not converge"
    assert "1 of the starts did not converge" in told.doubts()


def test_a_minimum_on_a_kink_is_one():
    # the solution's slope jumps at the delay, so that the sum of squares has a kink where that is an instant
    truth = DelayEquation(-1.7, 1.2, 0.1, delay=0.7)
    model = DelayResponse(TIME, truth, ("q0", "q1", "omega", "delay"))
    observed = truth.response(TIME) + noise(0.03, 150, 151, seed=4)
    found = minimize(model, observed, np.tile([-1.0, 0.5, 0.0, 1.0], (150, 1)))
    instants = found.parameters[:, 3] / TIME[1]
    kinks = np.flatnonzero(np.abs(instants - np.round(instants)) < 1e-6)
    assert len(kinks) > 3 and found.converged.all()
    # it is the least of what is around it, as scipy's simplex has it
    for i in kinks[:3]:

        def squares(p, i=i):
            return np.sum((model.evaluate(p)[0][0] - observed[i]) ** 2)

        simplex = scipy_minimize(squares, found.parameters[i], method="Nelder-Mead", options={"fatol": 1e-9})
        assert simplex.fun > found.sum_of_squares[i] * (1.0 - 1e-5)
    starts = spread_starts(np.array([-3.0, -1.0, -1.0, 0.3]), np.array([0.0, 2.0, 1.0, 1.5]), 20)
    told = fit(model, observed[kinks[0]], starts)
    assert told.converged and told.minima[0] == told.sum_of_squares


def test_the_least_minimum_is_told_though_its_search_did_not_converge():
    found = minimize(Sine(), np.tile(np.sin(7.3 * TIME) + noise(0.05, 151), (3, 1)), np.array([[7.2], [2.0], [7.4]]))
    stuck = dataclasses.replace(found, converged=np.array([False, True, False]))
    best = int(np.argmin(stuck.sum_of_squares))
    assert distinct_minima(stuck, np.sin(7.3 * TIME)).tolist() == [best, 1]

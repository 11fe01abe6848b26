"""Models as regressions: fits that are kept stable, and the properties of a heated slab."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, least_squares, minimize_scalar
from scipy.optimize import minimize as scipy_minimize

from sim.fitting.fit import fit, fit_many
from sim.fitting.intervals import profile
from sim.fitting.least_squares import minimize
from sim.fitting.model_responses import DelayResponse, SlabResponse, stable
from sim.fitting.regression import PolynomialDiscrepancy, Reparameterized, original_parameters
from sim.models.delay_equation import DelayEquation
from sim.models.thermal_slab import SlabTest, conduction_temperature

TIME = np.linspace(0.0, 3.0, 61)
START = np.array([-1.0, 0.5, 0.0])
METHOD_2 = DelayResponse(TIME, DelayEquation(-1.0))
SEEMS_UNSTABLE = DelayEquation(-1.7, 1.72, 0.2)


def observe(truth, sigma=0.05, seed=5):
    return truth.response(TIME) + sigma * np.random.default_rng(seed).standard_normal(61)


def test_kept_stable_is_the_best_of_the_stable():
    # an experiment that seems unstable, beside scipy's minimum over the same region by its coordinates
    observed = observe(SEEMS_UNSTABLE)
    model = DelayResponse(TIME, DelayEquation(-1.0))
    inside = stable(model, 0.01)
    found = minimize(inside, observed[None], inside.of(np.array([-1.0, 0.5, 0.0]))[None])
    rates = found.parameters @ inside.matrix.T

    def residuals(p):
        return model.evaluate(np.array([[-(p[0] + p[1]) / 2, (p[1] - p[0]) / 2, p[2]]]))[0][0] - observed

    bounds = ([0.01, 0.01, -np.inf], np.inf)
    expected = least_squares(residuals, [0.5, 1.5, 0.0], bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert found.sum_of_squares[0] == pytest.approx(2.0 * expected.cost, rel=1e-6)
    assert rates[0, 0] + abs(rates[0, 1]) == pytest.approx(-0.01, abs=1e-12)
    assert found.at_bound[0].tolist() == [True, False, False]
    free = minimize(model, observed[None], np.array([[-1.0, 0.5, 0.0]]))
    assert free.parameters[0, 0] + abs(free.parameters[0, 1]) > 0.0
    assert free.sum_of_squares[0] < found.sum_of_squares[0]


def test_method_1_is_kept_stable_too():
    observed = observe(DelayEquation(-1.7, 1.8))
    model = PolynomialDiscrepancy(DelayResponse(TIME, DelayEquation(-1.0), ("q0", "q1")), TIME, 2)
    begin = np.array([-1.0, 0.5, 0.0, 0.0])
    free = fit(model, observed, begin)
    assert free.of("q0") + abs(free.of("q1")) > 0.0
    inside = stable(model, 0.01)
    found = fit(inside, observed, inside.of(begin))
    assert found.names == ("q0", "q1", "beta_1", "beta_2") and found.bounded == ("q0", "q1")
    assert found.of("q0") + abs(found.of("q1")) == pytest.approx(-0.01, abs=1e-12)

    def squares(p):
        return np.sum((model.evaluate(p[None])[0][0] - observed) ** 2)

    within = LinearConstraint([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0]], -np.inf, -0.01)
    expected = scipy_minimize(squares, begin, method="SLSQP", constraints=within, options={"ftol": 1e-14})
    assert found.sum_of_squares == pytest.approx(expected.fun, rel=1e-5)
    # what a bound holds has no standard error that anyone knows, the others have theirs
    assert np.isnan(found.standard_errors[:2]).all() and (found.standard_errors[2:] > 0.0).all()
    assert found.doubts()[:1] == ("q0 is at a bound: its standard error is not known",)


@pytest.mark.parametrize("discrepancy", [0, 2])
def test_the_ordinary_case_is_kept_below_zero(discrepancy):
    # grows, and so the best of what does not grow is not to move
    observed = observe(DelayEquation(0.1, 0.0), 0.01)
    model = DelayResponse(TIME, DelayEquation(-1.0), ("q0",))
    if discrepancy:
        model = PolynomialDiscrepancy(model, TIME, discrepancy)
    inside = stable(model)
    begin = np.array([-1.0, 0.0, 0.0])[: len(model.names)]
    found = fit(inside, observed, inside.of(begin))
    assert found.names == model.names
    if not discrepancy:
        assert found.of("q0") == -1e-3 and found.bounded == ("q0",) and np.isnan(found.standard_errors[0])
        held = observed - 5.0 * np.exp(-1e-3 * TIME)
        assert found.sum_of_squares == pytest.approx(held @ held)
    assert found.of("q0") <= -1e-3


def test_one_rate_is_bounded_by_the_other_that_is_held():
    observed = observe(SEEMS_UNSTABLE)
    by_q0 = stable(DelayResponse(TIME, DelayEquation(0.0, -1.9), ("q0",)), 0.1)
    assert by_q0.upper.tolist() == [-2.0]
    assert fit(by_q0, observe(DelayEquation(-1.5, -1.9)), np.array([-3.0])).of("q0") == -2.0
    by_q1 = stable(DelayResponse(TIME, DelayEquation(-1.5, 0.0), ("omega", "q1")), 0.1)
    assert (by_q1.lower.tolist(), by_q1.upper.tolist()) == ([-np.inf, -1.4], [np.inf, 1.4])
    found = fit(by_q1, observed, np.zeros(2))
    assert found.of("q1") == 1.4 and found.bounded == ("q1",)

    def squares(omega):
        return np.sum((DelayEquation(-1.5, 1.4, omega).response(TIME) - observed) ** 2)

    assert found.of("omega") == pytest.approx(minimize_scalar(squares).x, abs=1e-5)
    both_held = stable(DelayResponse(TIME, DelayEquation(-1.5, 1.2), ("omega",)))
    assert both_held.names == ("omega",) and fit(both_held, observed, np.zeros(1)).converged


def test_a_fit_kept_stable_tells_the_parameters_themselves():
    observed = np.stack([observe(SEEMS_UNSTABLE, seed=seed) for seed in (5, 6)])
    inside = stable(METHOD_2, 0.01)
    many = fit_many(inside, observed, inside.of(START))
    assert many.names == ("q0", "q1", "omega")
    assert (many.of("q0") + np.abs(many.of("q1")) < -0.0099).all()
    assert many.at_bound[0].tolist() == [True, True, False]
    assert np.isnan(many.standard_errors[0, :2]).all() and np.isfinite(many.standard_errors[0, 2])
    one = fit(inside, observed[0], inside.of(START))
    np.testing.assert_allclose(one.parameters, many.parameters[0], atol=1e-9)
    np.testing.assert_allclose(one.covariance, many.covariance[0], rtol=1e-6)

    # the disturbance's error is the one with q0 + q1 known, as a fit of the two others has it
    def along(p):
        return METHOD_2.evaluate(np.array([[p[0], -0.01 - p[0], p[1]]]))[0][0] - observed[0]

    expected = least_squares(along, one.parameters[[0, 2]], xtol=1e-14, ftol=1e-14)
    covariance = np.linalg.inv(expected.jac.T @ expected.jac) * one.sigma**2
    assert one.standard_errors[2] == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-3)
    with pytest.raises(ValueError, match=r"fit without coordinates, not -\(q0 \+ q1\)"):
        profile(inside, observed[0], one, "q0")


def test_within_the_border_the_constraint_changes_nothing():
    observed = observe(DelayEquation(-1.7, 1.2, 0.1))
    inside = stable(METHOD_2)
    kept, free = fit(inside, observed, inside.of(START)), fit(METHOD_2, observed, START)
    np.testing.assert_allclose(kept.parameters, free.parameters, atol=1e-5)
    np.testing.assert_allclose(kept.covariance, free.covariance, rtol=1e-3)
    np.testing.assert_allclose(kept.correlated_covariance, free.correlated_covariance, rtol=1e-2)


def test_coordinates_are_found_wherever_they_are():
    inside = stable(METHOD_2)
    around = PolynomialDiscrepancy(inside, TIME, 1)
    twice = Reparameterized(around, 2.0 * np.eye(4), ("a", "b", "c", "d"), np.full(4, -np.inf), np.full(4, np.inf))
    for regression, factor in ((around, 1.0), (twice, 2.0)):
        names, matrix = original_parameters(regression)
        assert names == ("q0", "q1", "omega", "beta_1")
        assert (matrix @ np.array([1.0, 0.5, 3.0, 4.0]) / factor).tolist() == [-0.75, -0.25, 3.0, 4.0]
    observed = observe(DelayEquation(-1.7, 1.2, 0.1))
    begin = np.append(inside.of(START), 0.0)
    found, other = fit(around, observed, begin), fit(twice, observed, begin / 2.0)
    expected = fit(PolynomialDiscrepancy(METHOD_2, TIME, 1), observed, np.append(START, 0.0))
    for each in (found, other):
        np.testing.assert_allclose(each.parameters, expected.parameters, atol=1e-4)
        np.testing.assert_allclose(each.standard_errors, expected.standard_errors, rtol=1e-2)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: stable(METHOD_2, -1.0), "margin -1.0: must be zero or more"),
        (lambda: stable(METHOD_2, np.inf), "margin inf: must be zero or more"),
        (
            lambda: stable(DelayResponse(TIME, DelayEquation(0.1), ("q1",))),
            "with q0 0.1 and q1 0 held, none is stable",
        ),
        (lambda: stable(DelayResponse(TIME, DelayEquation(-1.0, 2.0), ("omega",))), "none is stable"),
        (lambda: stable(stable(METHOD_2)), "give a delay response"),
    ],
)
def test_mistakes_are_told(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


TEST = SlabTest(3000.0, 0.0127)
INSTANTS = np.array([40.0, 150.0, 500.0, 1000.0])
PROPERTIES = np.array([[0.05, 4e5], [0.07, 3.5e5], [0.03, 6e5]])


def series(k, capacity, depth):
    """Eq. 2 in plain numpy, of complex numbers, too."""
    x, length = depth, TEST.thickness
    fourier = INSTANTS * k / capacity / length**2
    terms = [
        np.cos(n * np.pi * x) * np.exp(-((n * np.pi) ** 2) * fourier) * 2.0 / (n * np.pi) ** 2 for n in range(1, 7)
    ]
    return 25.0 + TEST.flux * length / k * (fourier + 1.0 / 3.0 - x + x**2 / 2.0 - sum(terms))


@pytest.mark.parametrize("depth", [0.0, 0.5])
def test_derivatives_are_those_of_the_series(depth):
    response, sensitivities = SlabResponse(TEST, INSTANTS, depth=depth).evaluate(PROPERTIES)
    assert response.shape == (3, 4) and sensitivities.shape == (3, 4, 2)
    for (k, capacity), found, by_each in zip(PROPERTIES, response, sensitivities, strict=True):
        np.testing.assert_allclose(found, series(k, capacity, depth), rtol=1e-12)
        step = 1e-30
        by_k = series(k + 1j * step, capacity, depth).imag / step
        by_capacity = series(k, capacity + 1j * step, depth).imag / step
        np.testing.assert_allclose(by_each, np.column_stack([by_k, by_capacity]), rtol=1e-6)


def test_with_a_slope_it_is_the_heat_equation(warm_kernels):
    response, sensitivities = SlabResponse(TEST, INSTANTS, 2.5e-5).evaluate(PROPERTIES)
    k, capacity = PROPERTIES.T
    expected = conduction_temperature(TEST, INSTANTS, k, 2.5e-5, capacity)[:, 0].T
    np.testing.assert_array_equal(response, expected)
    # one-sided differences, a hundred times as wide: of order one
    wide = conduction_temperature(TEST, INSTANTS, 1.01 * k, 2.5e-5, capacity)[:, 0].T
    np.testing.assert_allclose(sensitivities[..., 0], (wide - expected) / (0.01 * k[:, None]), rtol=0.03, atol=5.0)


def test_noise_is_in_the_standard_errors():
    """Over many noisy records the estimates scatter as their standard errors say, and about the truth."""
    model, truth = SlabResponse(TEST, np.linspace(20.0, 1000.0, 50)), np.array([0.05, 4e5])
    clean = model.evaluate(truth[None])[0][0]
    generator = np.random.default_rng(4)
    found = [fit(model, clean + generator.normal(0.0, 2.0, 50), np.array([0.06, 3e5])) for _ in range(100)]
    away = np.array([(each.parameters - truth) / each.standard_errors for each in found])
    assert (np.abs(away.mean(axis=0)) < 4.0 / np.sqrt(100.0)).all()
    assert (np.abs(away.std(axis=0) - 1.0) < 4.0 / np.sqrt(200.0)).all()


def test_bounds_keep_the_conductivity_positive_in_the_cold():
    for test, slope in ((TEST, -4e-5), (SlabTest(3000.0, 0.0127, -40.0), 5e-5)):
        least, _ = SlabResponse(test, INSTANTS, slope).lower
        assert least + slope * test.initial_temperature > 0.0 and least > 0.0

"""What data cannot tell apart, of designs made by hand, and what of it they determine."""

import numpy as np
import pytest

from sim.fitting.fit import fit, reparameterized
from sim.fitting.regression import Differentiated
from tests.oracles.linear_model import LinearModel

TIME = np.linspace(-1.0, 1.0, 81)
ONE = np.ones(81)


def noise(sigma, seed=1):
    return sigma * np.random.default_rng(seed).standard_normal(81)


def fitted(columns, truth, names, *, lower=-np.inf, upper=np.inf, sigma=0.1):
    matrix = np.column_stack(columns)
    return fit(LinearModel(matrix, names, lower, upper), matrix @ truth + noise(sigma), np.zeros(len(names)))


def test_two_that_only_count_together():
    # k2 has 0.8 of the effect of k1, so that k1 + 0.8 k2 is the slope of a line
    found = fitted([TIME, 0.8 * TIME, ONE], [2.0, 1.0, 5.0], ["k1", "k2", "c"])
    (group,) = found.confounded
    (total,) = group.determined
    assert (
        group.names == ("k1", "k2") and group.exact and dict(total.weights) == pytest.approx({"k1": 1.0, "k2": 0.8})
    )
    line = np.column_stack([TIME, ONE])
    (slope, _), squares, *_ = np.linalg.lstsq(line, line @ [2.8, 5.0] + noise(0.1))
    assert total.value == pytest.approx(slope)
    assert total.standard_error == pytest.approx(np.sqrt(squares[0] / 79.0 / (TIME @ TIME)))
    said = next(each for each in found.doubts() if "told apart" in each)
    assert said.startswith("k1 and k2 cannot be told apart: only k1 + 0.8 k2 (2.") and said.endswith(
        " determined near this point"
    )
    assert "k1 is not determined by the data" in found.doubts()


def test_units_that_differ_by_many_powers_of_ten():
    # the effects are equal, the units are not: 50,000 N/m and 0.05
    found = fitted([1e-5 * TIME, -TIME / 3.0, ONE], [5e4, 0.05, 1.0], ["stiffness", "ratio", "offset"])
    (group,) = found.confounded
    assert group.names == ("stiffness", "ratio")
    assert dict(group.determined[0].weights) == pytest.approx({"stiffness": 1.0, "ratio": -1e5 / 3.0})


def test_groups_are_found_apart_and_the_rest_is_left_alone():
    square, wave = TIME**2, np.sin(9.0 * TIME)
    columns = [TIME, square, -TIME, wave, square - wave, 0.0 * TIME, ONE]
    found = fitted(columns, np.ones(7), list("abcdefg"))
    single, pair, triple = sorted(found.confounded, key=lambda group: len(group.names))
    assert single.names == ("f",) and single.determined == () and str(single) == "f is not determined by the data"
    assert pair.names == ("a", "c") and dict(pair.determined[0].weights) == pytest.approx({"a": 1.0, "c": -1.0})
    # e counts for b and against d
    assert triple.names == ("b", "d", "e")
    assert [str(each) for each in triple.determined] == ["b + e", "d - e"]
    assert [each.value for each in triple.determined] == pytest.approx([2.0, 0.0], abs=0.2)
    # what says it already is not said again
    assert sum("f is not" in doubt for doubt in found.doubts()) == 1


def test_three_of_which_one_sum_is_determined():
    found = fitted([TIME, 2.0 * TIME, -3.0 * TIME, ONE], [1.0, 1.0, 1.0, 0.0], list("abcd"))
    (group,) = found.confounded
    assert group.names == ("a", "b", "c") and dict(group.determined[0].weights) == {
        "a": pytest.approx(1.0),
        "b": pytest.approx(2.0),
        "c": pytest.approx(-3.0),
    }


def test_what_is_known_less_well_than_by_its_bounds():
    # nearly equal columns: the difference is known to sigma / (sqrt(sum of squares) 1e-3)
    other = TIME + 1e-3 * (TIME**2 - np.mean(TIME**2))
    found = fitted([TIME, other], [2.0, 1.0], ["k1", "k2"], lower=-50.0, upper=50.0, sigma=10.0)
    matrix = np.column_stack([TIME, other])
    inverse = found.sigma**2 * np.linalg.inv(matrix.T @ matrix)
    (group,) = found.confounded
    (total,) = group.determined
    assert not group.exact and group.ranges == (100.0, 100.0)
    assert (
        group.standard_errors == pytest.approx(np.sqrt(np.diag(inverse)), rel=1e-6)
        and min(group.standard_errors) > 100
    )
    weight = dict(total.weights)["k2"]
    assert weight == pytest.approx(1.0, abs=1e-3)
    assert total.standard_error == pytest.approx(np.sqrt([1.0, weight] @ inverse @ [1.0, weight]), rel=1e-6)
    assert total.standard_error < 10.0 and any(
        doubt.startswith("k1 and k2 can hardly be") for doubt in found.doubts()
    )
    # with errors a thousandth as large the same data determine both
    assert fitted([TIME, other], [2.0, 1.0], ["k1", "k2"], lower=-50.0, upper=50.0, sigma=0.01).confounded == ()
    # without bounds there is nothing to be worse than
    assert fitted([TIME, other], [2.0, 1.0], ["k1", "k2"], sigma=10.0).confounded == ()


def test_one_that_is_hardly_determined():
    found = fitted([1e-3 * TIME, ONE], [0.5, 1.0], ["k1", "c"], lower=-1.0, upper=2.0)
    (group,) = found.confounded
    error = found.sigma / (1e-3 * np.linalg.norm(TIME))
    assert group.standard_errors == pytest.approx((error,), rel=1e-6)
    assert f"k1 is hardly determined: standard error {error:.3g}, more than the range allowed, 3" in found.doubts()


def test_a_product_is_told_by_the_sum_near_the_estimate():
    model = Differentiated(lambda p: p[0] * p[1] * TIME + p[2], ("a", "b", "c"), how="complex-step")
    found = fit(model, 6.0 * TIME + 1.0 + noise(0.01), np.array([4.0, 1.0, 0.0]))
    (group,) = found.confounded
    a, b, _ = found.parameters
    # d(ab) = b da + a db
    assert group.names == ("a", "b") and dict(group.determined[0].weights)["b"] == pytest.approx(a / b, rel=1e-6)


def test_other_parameters_of_the_same_fit():
    found = fitted([TIME, TIME, ONE], [1.0, 1.0, 1.0], list("abc"), lower=-5.0, upper=5.0)
    other = reparameterized(found, np.diag([2.0, 1.0, 1.0]), np.zeros(3))
    assert dict(other.confounded[0].determined[0].weights) == pytest.approx({"a": 1.0, "b": 2.0})
    np.testing.assert_allclose(other.ranges, [20.0, 10.0, 10.0])


def test_a_full_design_has_no_group():
    assert fitted([TIME, ONE], [1.0, 1.0], ["a", "b"], lower=-9.0, upper=9.0).confounded == ()


def test_an_interval_wider_than_the_bounds_is_reported():
    # standard error sigma / sqrt(sum of squares); Student's interval of 79 degrees of freedom is 3.98 of them wide
    error = 0.1 / np.sqrt(TIME @ TIME)
    wide = fitted([TIME, ONE], [0.0, 0.0], ["k", "c"], lower=-1.5 * error, upper=1.5 * error)
    assert wide.hardly_determined == ("k",)
    assert any(doubt.startswith("k is hardly determined: its 95 % interval is wider") for doubt in wide.doubts())
    assert fitted([TIME, ONE], [0.0, 0.0], ["k", "c"], lower=-3.0 * error, upper=3.0 * error).hardly_determined == ()


def test_without_convergence_there_are_no_standard_errors():
    model = Differentiated(lambda p: p[0] * np.exp(p[1] * TIME), ("a", "b"))
    observed = np.exp(2.0 * TIME) + noise(0.1)
    found = fit(model, observed, np.array([20.0, -3.0]), most_iterations=1)
    assert not found.converged and np.isnan(found.standard_errors).all()
    assert np.isnan(found.correlated_standard_errors).all() and "the fit did not converge" in found.doubts()
    assert np.isfinite(fit(model, observed, np.array([1.0, 1.0])).standard_errors).all()


def test_a_start_out_of_bounds_is_reported():
    model = Differentiated(lambda p: p[0] * TIME + p[1], ("slope", "offset"), [0.0, -9.0], [5.0, 9.0])
    observed = 2.0 * TIME + 1.0 + noise(0.1)
    (doubt,) = (each for each in fit(model, observed, np.array([60.0, 0.0])).doubts() if "bounds" in each)
    assert doubt == "a start of slope was out of bounds: the bound was used in its place"
    assert fit(model, observed, np.array([5.0, 0.0])).outside == ()

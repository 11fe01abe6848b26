"""Any function as a regression: its derivatives beside those of pencil and paper, at bounds, and where it fails."""

import numpy as np
import pytest

from sim.fitting.fit import fit
from sim.fitting.regression import Derivatives, Differentiated, second_differences

TIME = np.linspace(0.0, 2.0, 31)
NAMES = ("a", "b")


def response(p):
    return p[0] * np.exp(-p[1] * TIME) + np.sin(p[0] * p[1] * TIME)


def derivatives(p):
    e, c = np.exp(-p[1] * TIME), np.cos(p[0] * p[1] * TIME) * TIME
    return np.column_stack([e + p[1] * c, -p[0] * TIME * e + p[0] * c])


@pytest.mark.parametrize(("how", "error"), [("complex-step", 1e-14), ("central", 1e-9), (derivatives, 1e-15)])
def test_derivatives(how, error):
    points = np.array([[1.3, 0.7], [-2.0, 0.4], [0.0, 1.0]])
    found, sensitivities = Differentiated(response, NAMES, how=how).evaluate(points)
    for p, each, slopes in zip(points, found, sensitivities, strict=True):
        np.testing.assert_allclose(each, response(p), rtol=1e-15, atol=1e-15)
        np.testing.assert_allclose(slopes, derivatives(p), rtol=0.0, atol=error * 10.0)


@pytest.mark.parametrize("how", list(Derivatives))
def test_a_vectorized_function_and_one_of_several_sensors(how):
    def together(parameters):
        return np.stack([response(each) for each in parameters])

    points = np.array([[1.3, 0.7], [2.0, 0.4]])
    one = Differentiated(lambda p: response(p)[:30].reshape(15, 2), NAMES, how=how).evaluate(points)
    all_at_once = Differentiated(together, NAMES, how=how, vectorized=True).evaluate(points)
    for single, whole in zip(one, all_at_once, strict=True):
        np.testing.assert_array_equal(single, whole[:, :30])


def test_a_function_is_never_called_beyond_the_bounds():
    called = []

    def careful(p):
        called.append(p.copy())
        return response(p)

    lower, upper = np.array([1.0, 0.0]), np.array([1.0 + 1e-7, 2.0])
    points = np.array([[1.0, 0.0], [1.0 + 1e-7, 2.0], [1.0 + 4e-8, 1.0]])
    for p, slopes in zip(points, Differentiated(careful, NAMES, lower, upper).evaluate(points)[1], strict=True):
        # in a range of 1e-7 there is no longer step
        np.testing.assert_allclose(slopes[:, 0], derivatives(p)[:, 0], atol=1e-6)
        np.testing.assert_allclose(slopes[:, 1], derivatives(p)[:, 1], atol=1e-9)
    assert (np.array(called) >= lower).all() and (np.array(called) <= upper).all()


def test_a_chosen_step_is_used():
    square = Differentiated(lambda p: np.array([p[0] ** 3]), ("x",), step=0.5)
    # central: 3 x^2 + h^2
    assert square.evaluate(np.array([[2.0]]))[1].item() == pytest.approx(12.25)


def test_a_search_passes_where_the_function_fails():
    def fragile(p):
        if p[0] > 1.2:
            raise ZeroDivisionError
        return np.linalg.solve(np.array([[p[0], 0.0], [0.0, 1.0]]), np.ones((2, 31)))[0] * TIME

    model = Differentiated(fragile, ("x",))
    assert fit(model, TIME, np.array([0.2])).of("x") == pytest.approx(1.0)
    with pytest.raises(ValueError, match="the start is not finite, begin elsewhere"):
        fit(model, TIME, np.array([0.0]))
    with pytest.raises(ValueError, match=r"response at x = \[2\.\] cannot be computed"):
        fit(Differentiated(fragile, ("x",)), TIME, np.array([2.0]))


def test_a_chaotic_response_is_fitted_or_refused_in_one_line():
    def logistic(p):
        x = [0.3]
        for _ in range(60):
            x.append(p[0] * x[-1] * (1.0 - x[-1]))
        return np.array(x)

    # beyond 4 the map leaves for infinity
    model = Differentiated(logistic, ("r",))
    found = fit(model, logistic([2.8]), np.array([[2.5], [3.9], [7.0]]))
    assert found.of("r") == pytest.approx(2.8, abs=1e-9) and found.unconverged >= 1
    with pytest.raises(ValueError, match="the start is not finite"):
        fit(model, logistic([2.8]), np.array([7.0]))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Differentiated(response, ()), "one at least"),
        (lambda: Differentiated(response, ("a", "a")), "a name of its own"),
        (lambda: Differentiated(response, NAMES, [0.0]), r"lower of shape \(1,\): give a number, or 2"),
        (lambda: Differentiated(response, NAMES, 1.0, 0.0), "lower must not be above"),
        (lambda: Differentiated(response, NAMES, step=0.0), "step .*: must be positive"),
        (
            lambda: Differentiated(response, NAMES, how="adjoint"),
            "choose among complex-step, central, piecewise, or give",
        ),
        (
            lambda: Differentiated(lambda p: np.abs(p), NAMES, how="complex-step").evaluate(np.ones((1, 2))),
            "complex step: the response to complex parameters is real",
        ),
        (
            lambda: Differentiated(lambda p: np.ones(3 + (p[0] > 1.0)), NAMES).evaluate(np.ones((1, 2))),
            "of 3 and 4 numbers: must not vary",
        ),
        (
            lambda: Differentiated(response, NAMES, how=lambda p: np.ones((30, 2))).evaluate(np.ones((1, 2))),
            "of 60 and 62 numbers",
        ),
        (
            lambda: Differentiated(lambda p: np.ones(3), NAMES, vectorized=True).evaluate(np.ones((1, 2))),
            r"response to 5 sets of parameters: returned shape \(3,\)",
        ),
    ],
)
def test_mistakes(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


def test_a_jump_is_no_slope():
    # the third number jumps just above one
    def stepped(p):
        return np.array([p[0], p[0] ** 2, p[0] + (p[0] > 1.0 + 1e-9)])

    point = np.array([[1.0]])
    slopes = Differentiated(stepped, ("x",), how="piecewise").evaluate(point)[1][0, :, 0]
    np.testing.assert_allclose(slopes, [1.0, 2.0, 1.0], atol=1e-8)
    assert Differentiated(stepped, ("x",)).evaluate(point)[1][0, 2, 0] > 1e4


def test_second_differences_of_a_known_function():
    found = second_differences(
        lambda p: float(np.exp(p[0]) + p[0] ** 2 * p[1] + 3.0 * p[1] ** 2), np.array([0.5, -1.0]), np.full(2, 1e-3)
    )
    np.testing.assert_allclose(found, [[np.exp(0.5) - 2.0, 1.0], [1.0, 6.0]], rtol=1e-5)

"""Autoregressions against known systems, the Yule-Walker equations, plain least squares and differences."""

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from sim.updating.autoregression import Orders, choose_orders, fit_autoregression

A, B, NOISE = np.array([1.5, -0.9, 0.2]), np.array([0.5, 0.0, -0.3]), 0.1
ORDERS = Orders(3, 3)


def system(seed, n=4000, a=A, noise=NOISE):
    """Return input and output of the system."""
    generator = np.random.default_rng(seed)
    u = generator.standard_normal(n)
    forced = lfilter(B, np.concatenate([[1.0], -a]), u)
    return u, forced + lfilter([1.0], np.concatenate([[1.0], -a]), noise * generator.standard_normal(n))


def test_without_noise_the_system_is_found_exactly():
    u, y = system(1, 200, noise=0.0)
    found = fit_autoregression(y, ORDERS, u)
    np.testing.assert_allclose(found.coefficients, [*A, *B], atol=1e-10)
    assert found.deviation < 1e-12
    np.testing.assert_allclose(found.one_step_errors(y, u), 0.0, atol=1e-12)


def test_with_noise_it_is_within_its_scatter_and_each_record_is_alone():
    inputs, outputs = (np.array(each) for each in zip(*(system(seed) for seed in range(60)), strict=True))
    found = fit_autoregression(outputs, ORDERS, inputs)
    assert found.coefficients.shape == (60, 6)
    wrong = found.coefficients - np.concatenate([A, B])
    assert (np.abs(wrong.mean(axis=0)) < 4.0 * wrong.std(axis=0, ddof=1) / np.sqrt(60)).all()
    assert found.deviation.mean() == pytest.approx(NOISE, rel=4.0 / np.sqrt(2 * 60 * 4000))
    one = fit_autoregression(outputs[7], ORDERS, inputs[7])
    np.testing.assert_allclose(one.coefficients, found.coefficients[7], rtol=1e-9)
    x = np.column_stack(
        [outputs[7, 3 - i : 4000 - i] for i in (1, 2, 3)] + [inputs[7, 3 - i : 4000 - i] for i in (0, 1, 2)]
    )
    plain, squared, *_ = np.linalg.lstsq(x, outputs[7, 3:], rcond=None)
    np.testing.assert_allclose(one.coefficients, plain, rtol=1e-9)
    assert one.deviation == pytest.approx(np.sqrt(squared[0] / (3997 - 6)))
    np.testing.assert_allclose(one.one_step_errors(outputs[7], inputs[7]), outputs[7, 3:] - x @ plain, atol=1e-12)


def test_between_zeros_least_squares_are_the_yule_walker_equations():
    y = system(3, 500)[1]
    order = 5
    padded = np.concatenate([np.zeros(order), y, np.zeros(order)])
    products = np.array([y[: len(y) - k] @ y[k:] for k in range(order + 1)])
    found = fit_autoregression(padded, Orders(order))
    np.testing.assert_allclose(found.coefficients, solve_toeplitz(products[:order], products[1:]), rtol=1e-9)
    left = products[0] - found.coefficients @ products[1:]
    assert found.deviation**2 * (len(padded) - 2 * order) == pytest.approx(left)


def test_orders_are_those_of_the_system():
    inputs, outputs = (np.array(each) for each in zip(*(system(seed, 2000) for seed in range(4)), strict=True))
    found = choose_orders(outputs, inputs, most_output=8, most_input=7)
    assert found == ORDERS

    # by definition, over all models on the same samples
    def value(orders):
        lag = 8
        total = 0.0
        for u, y in zip(inputs, outputs, strict=True):
            x = orders.regressors(y, u, lag)
            squares = np.linalg.lstsq(x, y[lag:], rcond=None)[1][0]
            total += len(x) * np.log(squares / len(x)) + np.log(len(x)) * x.shape[1]
        return total

    least = value(found)
    for change in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1)):
        assert value(Orders(found.output + change[0], found.input + change[1])) >= least - 1e-6


def test_the_error_ratio_is_one_of_the_same_system_and_more_of_a_damaged_one():
    reference = fit_autoregression(*(lambda u, y: (y, ORDERS, u))(*system(1)))
    ratios = []
    for seed in range(100, 120):
        u, y = system(seed)
        ratios.append(reference.error_ratio(y, u))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.01)
    assert np.std(ratios) == pytest.approx(1.0 / np.sqrt(2 * 4000), rel=0.6)
    u, y = system(50, a=A + np.array([-0.05, 0.04, 0.0]))
    damaged = reference.error_ratio(y, u)
    # what one-step errors are made of: the noise and the wrong coefficients
    wrong = 0.05 * y[3:-1] - 0.04 * y[2:-2]
    assert damaged == pytest.approx(np.sqrt(NOISE**2 + np.mean(wrong**2)) / NOISE, rel=0.03)
    assert damaged > 1.05


@pytest.mark.parametrize(("run", "message"), [
    (lambda: fit_autoregression(np.ones(50), Orders(2)), "lags depend on each other"),
    (lambda: fit_autoregression(np.zeros(50), Orders(2)), "lags depend on each other"),
    (lambda: choose_orders(np.zeros(50), most_output=3), "there is nothing to fit"),
])  # fmt: skip
def test_a_record_without_information_is_one_clear_line(run, message):
    with pytest.raises(ValueError, match=message) as raised:
        run()
    assert "\n" not in str(raised.value)

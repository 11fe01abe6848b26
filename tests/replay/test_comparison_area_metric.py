"""The area metric and u-pooling: scipy's distance, closed forms, and the integrals done by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.stats import norm, wasserstein_distance

from replay.validation.history_measures import area_metric, u_pooling_area

# few different numbers, so that ties within and between the two samples are common
values = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 6)))


def ensembles(n_times, widest):
    return st.integers(1, widest).flatmap(lambda n: arrays(np.float64, (n_times, n), elements=values))


@given(ensembles(3, 7), ensembles(3, 12))
def test_every_instant_is_the_distance_of_scipy(measured, model):
    found = area_metric(measured, model)
    for i in range(3):
        expected = wasserstein_distance(model[i], measured[i])
        assert found.area[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        for y, u in zip(measured[i], found.u_values[i], strict=True):
            # half of what equals y, by counting
            assert u == pytest.approx((np.mean(model[i] < y) + np.mean(model[i] <= y)) / 2.0, rel=1e-15)


def test_uniform_samples_shifted():
    grid = (np.arange(1000) + 0.5) / 1000.0
    measured, model = grid[np.newaxis] + 0.3, grid[np.newaxis]
    assert area_metric(measured, model).area == pytest.approx(0.3, rel=1e-12)


def test_normal_samples_by_their_quantiles():
    # of one mean and two deviations: the difference of quantiles is |s - 1| |z|, whose mean is known
    p = (np.arange(200_000) + 0.5) / 200_000
    z = norm.ppf(p)[np.newaxis]
    assert area_metric(1.5 * z, z).area == pytest.approx(0.5 * np.sqrt(2.0 / np.pi), rel=1e-4)
    assert area_metric(2.0 + 3.0 * z, 3.0 * z).area == pytest.approx(2.0, rel=1e-12)


def test_one_measurement_is_its_mean_distance_to_the_model():
    rng = np.random.default_rng(3)
    model, measured = rng.standard_normal((4, 501)), rng.standard_normal((4, 1))
    assert area_metric(measured, model).area == pytest.approx(np.abs(model - measured).mean(axis=1), rel=1e-12)


@given(ensembles(2, 6), ensembles(2, 6), st.floats(0.01, 100.0), st.floats(-10.0, 10.0))
def test_order_scale_offset_and_changing_places(measured, model, scale, offset):
    plain = area_metric(measured, model)
    assert area_metric(model, measured).area == pytest.approx(plain.area, rel=1e-12, abs=1e-12)
    moved = area_metric(scale * measured + offset, scale * model + offset).area
    assert moved == pytest.approx(scale * plain.area, rel=1e-9, abs=1e-9)
    turned = area_metric(measured[:, ::-1], model[:, ::-1])
    assert np.array_equal(turned.area, plain.area)
    assert np.array_equal(turned.u_values[:, ::-1], plain.u_values)


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-100, 1.0)), min_size=1, max_size=12))
def test_the_pooled_area_is_its_integral(u_values):
    u = np.sort(u_values)

    def between(x):
        return abs(np.searchsorted(u, x, "right") / len(u) - x)

    # split where the step function jumps and where it is crossed
    edges = np.unique(np.concatenate([[0.0, 1.0], u, np.arange(len(u) + 1) / len(u)]))
    expected = sum(quad(between, a, b)[0] for a, b in pairwise(edges))
    assert u_pooling_area(np.array(u_values)) == pytest.approx(expected, abs=1e-9)


def test_the_pooled_area_of_known_values():
    assert u_pooling_area(np.zeros(7)) == pytest.approx(0.5)
    assert u_pooling_area(np.ones((2, 3))) == pytest.approx(0.5)
    assert u_pooling_area(np.array([0.5])) == pytest.approx(0.25)
    # in the middle of every cell: n triangles of base 1/n on either side
    assert u_pooling_area((np.arange(50) + 0.5) / 50) == pytest.approx(1.0 / 200.0)


def test_measurements_of_the_model_are_uniform():
    rng = np.random.default_rng(4)
    # instants of very different sizes, which pooling must not weigh
    size, n_replicates = np.logspace(-3, 3, 200)[:, np.newaxis], 5
    found = area_metric(size * rng.standard_normal((200, n_replicates)), size * rng.standard_normal((200, 2000)))
    # 0.31 / sqrt(n) on average; three times that happens in fewer than one of a thousand
    assert found.u_area < 3.0 * np.sqrt(np.pi / 32.0 / found.u_values.size)
    assert np.mean(found.u_values) == pytest.approx(0.5, abs=4.0 / np.sqrt(12.0 * found.u_values.size))
    late = area_metric(
        size * (rng.standard_normal((200, n_replicates)) + 1.0), size * rng.standard_normal((200, 2000))
    )
    # a shift of one deviation: u is Phi(z + 1), whose mean is Phi(1 / sqrt 2), and all the area lies on one side
    assert late.u_area == pytest.approx(norm.cdf(np.sqrt(0.5)) - 0.5, abs=0.03)


def test_what_a_perfect_model_has_on_average():
    rng = np.random.default_rng(5)
    areas = [u_pooling_area(rng.random(100)) for _ in range(2000)]
    # sqrt(pi / 32 n) is the limit for many values
    assert np.mean(areas) == pytest.approx(np.sqrt(np.pi / 3200.0), rel=0.05)


def test_an_instant_without_a_number_is_left_out():
    rng = np.random.default_rng(6)
    measured, model = rng.standard_normal((5, 3)), rng.standard_normal((5, 40))
    whole = area_metric(measured, model)
    measured[1, 2], model[3, 7], model[4, 0] = np.nan, np.nan, -np.inf
    found = area_metric(measured, model)
    assert np.array_equal(np.isnan(found.area), [False, True, False, True, True])
    assert np.array_equal(found.area[[0, 2]], whole.area[[0, 2]])
    assert np.isnan(found.u_values[[1, 3, 4]]).all()
    assert found.u_area == u_pooling_area(whole.u_values[[0, 2]])
    assert np.isnan(u_pooling_area(np.full(3, np.nan)))


def test_the_inputs_stay_as_they_are():
    rng = np.random.default_rng(7)
    measured, model = rng.standard_normal((4, 3)), rng.standard_normal((4, 30))
    measured.flags.writeable = model.flags.writeable = False
    area_metric(measured, model)


@pytest.mark.parametrize(
    ("measured", "model"), [((3,), (3, 4)), ((3, 2), (4, 4)), ((3, 0), (3, 4)), ((0, 2), (0, 4))]
)
def test_what_are_not_two_ensembles(measured, model):
    with pytest.raises(ValueError, match="the area metric needs"):
        area_metric(np.zeros(measured), np.zeros(model))


def test_a_u_value_is_a_probability():
    with pytest.raises(ValueError, match=r"not -0.1 to 0.5"):
        u_pooling_area(np.array([0.5, -0.1]))


@given(ensembles(3, 7), ensembles(3, 12), st.integers(0, 100))
def test_a_known_order_is_gathered_and_changes_nothing(measured, model, seed):
    # of equal ones any order will do
    shuffled = np.random.default_rng(seed).permuted(np.tile(np.arange(model.shape[1]), (3, 1)), axis=1)
    order = np.lexsort((shuffled, model), axis=1).astype(np.uint32)
    found, expected = area_metric(measured, model, order), area_metric(measured, model)
    np.testing.assert_array_equal(found.area, expected.area)
    np.testing.assert_array_equal(found.u_values, expected.u_values)


def test_an_order_is_taken_at_its_word_but_not_of_another_shape():
    measured, model, order = np.zeros((1, 1)), np.array([[1.0, 2.0]]), np.zeros((1, 2), dtype=np.uint32)
    # nothing is sorted: twice the first
    assert area_metric(measured, model, order).area == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"order has shape \(1, 2\), the model \(1, 3\): compute it again"):
        area_metric(measured, np.ones((1, 3)), order)

"""The closed form: against quadrature, against draws, and against an ensemble of the same normal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad, simpson
from scipy.special import ndtr
from scipy.stats import norm

from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.gaussian import ErrorCorrelation, GaussianReliability, normal_probability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

N_TIMES = 12
INSTANTS = np.arange(N_TIMES)
KINDS = ("instantaneous", "first_passage", "accumulated", "windowed")


def density(z):
    return np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)


def probability(low, high):
    """Return that of a standard normal variable between, to a relative 1e-10 however far out."""
    # what is beyond 30 from the nearer end weighs nothing
    low, high = max(low, min(-30.0, high - 30.0)), min(high, max(30.0, low + 30.0))
    if low >= high:
        return 0.0
    peak = min(max(low, 0.0), high)
    ends = sorted({low, peak, high, *(end for end in (peak - 2.0, peak + 2.0) if low < end < high)})
    return sum(quad(density, a, b, epsabs=0.0, epsrel=1e-11, limit=400)[0] for a, b in itertools.pairwise(ends))


class Case:
    """A prediction, its deviations, and replicates about it."""

    def __init__(self, seed, n_replicates=2, deviation=(0.05, 1.0), tolerance=(0.2, 1.5), away=0.5, sensor=0.1):
        rng = np.random.default_rng(seed)
        self.prediction = rng.normal(size=N_TIMES)
        self.deviation = rng.uniform(*deviation, size=N_TIMES)
        self.sensor = sensor
        self.measured = self.prediction[:, None] + away * rng.normal(size=(N_TIMES, n_replicates))
        self.tolerance = Tolerance(TolerancePolicy.VARYING, profile=rng.uniform(*tolerance, size=N_TIMES))

    @property
    def total(self):
        return np.sqrt(self.deviation**2 + self.sensor**2)

    def model(self, errors=ErrorCorrelation.COMMON, window=0):
        return GaussianReliability(
            self.prediction,
            self.deviation,
            self.tolerance,
            sensor_deviation=self.sensor,
            errors=errors,
            n_replicates=self.measured.shape[1],
            window=window,
        )

    def ends(self):
        """Return (n_times, n_replicates, 2): between which draws the model is within the tolerance."""
        away, eps = self.measured - self.prediction[:, None], self.tolerance.profile[:, None]
        return np.stack([away - eps, away + eps], axis=2) / self.total[:, None, None]

    def within(self):
        return np.array([[probability(*pair) for pair in row] for row in self.ends()])

    def common(self, until):
        """Return, for each replicate, the probability that all instants `until` are within: one draw of the model."""
        if self.sensor == 0.0:
            return self.common_sure(until)
        draws = np.linspace(-10.0, 10.0, 20_001)
        chances = []
        for j in range(self.measured.shape[1]):
            away = self.measured[:until, [j]] - self.prediction[:until, None] - self.deviation[:until, None] * draws
            eps = self.tolerance.profile[:until, None]
            given_draw = norm.cdf((away + eps) / self.sensor) - norm.cdf((away - eps) / self.sensor)
            chances.append(simpson(norm.pdf(draws) * given_draw.prod(axis=0), x=draws))
        return np.array(chances)

    def common_sure(self, until):
        """Return the same for a sensor without noise: draws are within or they are not."""
        chances = []
        for j in range(self.measured.shape[1]):
            edges = np.unique(np.append(self.ends()[:until, j], [-30.0, 30.0]))
            middles = 0.5 * (edges[1:] + edges[:-1])
            drawn = self.prediction[:until, None] + self.total[:until, None] * middles
            good = (abs(drawn - self.measured[:until, [j]]) < self.tolerance.profile[:until, None]).all(axis=0)
            chances.append(sum(probability(*edges[k : k + 2]) for k in np.flatnonzero(good)))
        return np.array(chances)


@given(seed=st.integers(0, 9999), errors=st.sampled_from(ErrorCorrelation), sensor=st.sampled_from([0.0, 0.1, 0.5]))
def test_against_quadrature(seed, errors, sensor):
    case = Case(seed, sensor=sensor)
    found, within = case.model(errors, window=4).update(INSTANTS, case.measured), case.within()
    now = within.mean(axis=1)
    ever = np.cumprod(within, axis=0)
    if errors is ErrorCorrelation.COMMON:
        ever = np.array([case.common(q + 1) for q in INSTANTS])
    np.testing.assert_allclose(found.instantaneous.value, now, rtol=1e-10)
    np.testing.assert_allclose(found.first_passage.value, ever.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.accumulated.value, np.cumsum(now) / (INSTANTS + 1), rtol=1e-10)
    np.testing.assert_allclose(
        found.windowed.value[3:], [now[q - 3 : q + 1].mean() for q in INSTANTS[3:]], rtol=1e-10
    )
    assert np.isnan(found.windowed.value[:3]).all()
    assert not np.any([getattr(found, kind).standard_error for kind in KINDS])


@given(low=st.floats(-39.0, 38.0), width=st.floats(0.0, 20.0))
def test_normal_probability_against_scipy_in_both_tails_and_through_zero(low, width):
    edges = np.array([low, low + width])
    # from the tail in which the difference loses no digits
    a, b = sorted(-edges) if low > 0.0 else edges
    expected = ndtr(b) - ndtr(a)
    found = normal_probability(edges[:1], edges[1:])[0]
    # ndtr is accurate to its argument's rounding, which the tail multiplies by x^2
    rounding = 4.0 * np.finfo(float).eps * max(1.0, a * a, b * b)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=rounding * (ndtr(a) + ndtr(b)) + 1e-320)


def test_normal_probability_of_a_half_line_is_the_distribution_function_to_twelve_digits():
    x = np.concatenate([np.linspace(-37.0, 37.0, 20_001), [0.0, -0.0, 5e-324, -1e-300, -np.inf, np.inf]])
    below = normal_probability(np.full(x.shape, -np.inf), x)
    above = normal_probability(x, np.full(x.shape, np.inf))
    np.testing.assert_allclose(below, ndtr(x), rtol=1e-12)
    np.testing.assert_allclose(above, ndtr(-x), rtol=1e-12)
    assert normal_probability(np.array([1.0]), np.array([-1.0]))[0] == 0.0


@pytest.mark.parametrize("away", [8.0, -8.0, 20.0, -20.0, 36.0, -36.0])
@pytest.mark.parametrize("errors", ErrorCorrelation)
def test_far_in_either_tail_the_digits_stay(away, errors):
    model = GaussianReliability([0.0], 1.0, Tolerance(TolerancePolicy.ABSOLUTE, 0.5), errors=errors)
    found = model.update([0], [[away]])
    expected = probability(abs(away) - 0.5, abs(away) + 0.5)
    assert 0.0 < expected < 1e-12
    np.testing.assert_allclose(found.instantaneous.value, expected, rtol=1e-10)
    np.testing.assert_allclose(found.first_passage.value, expected, rtol=1e-10)


@pytest.mark.parametrize("errors", ErrorCorrelation)
def test_against_draws_and_against_an_ensemble_of_the_same_normal(errors):
    m, rng, case = 40_000, np.random.default_rng(11), Case(2, n_replicates=3, away=0.15)
    draws = rng.normal(size=(N_TIMES if errors is ErrorCorrelation.INDEPENDENT else 1, m))
    noise = case.sensor * rng.normal(size=(N_TIMES, m))
    response = case.prediction[:, None] + case.deviation[:, None] * draws + noise
    found = case.model(errors, window=4).update(INSTANTS, case.measured)
    site = SiteReliability(sort_ensemble(0.1 * INSTANTS, response), case.tolerance, 3, window=4)
    sampled = site.update(INSTANTS, case.measured).reliability
    within = abs(response[:, None] - case.measured[:, :, None]) < case.tolerance.profile[:, None, None]
    plain = np.logical_and.accumulate(within, axis=0).mean(axis=(1, 2))
    assert 0.001 < plain[-1] < 0.9
    np.testing.assert_allclose(sampled.first_passage.value, plain, rtol=1e-12)
    for kind in KINDS:
        exact, drawn = getattr(found, kind).value, getattr(sampled, kind)
        # an estimate of nought scatters too: as one realization would
        np.testing.assert_array_less(
            np.nan_to_num(abs(drawn.value - exact)), np.nan_to_num(4.0 * drawn.standard_error) + 4.0 / m
        )
        np.testing.assert_array_equal(np.isnan(drawn.value), np.isnan(exact))


@given(seed=st.integers(0, 9999), away=st.sampled_from([0.0, 0.5]))
def test_one_draw_for_all_survives_a_measurement_of_just_the_prediction_longer(seed, away):
    case = Case(seed, away=away)
    common, independent = (
        case.model(errors).update(INSTANTS, case.measured).first_passage.value for errors in ErrorCorrelation
    )
    for curve in (common, independent):
        assert (np.diff(curve) <= 1e-12).all()
    # slabs about the mean, of one normal or of many: the least of the probabilities, or their product
    assert away or (independent <= common + 1e-12).all()


def test_one_draw_for_all_does_not_survive_an_error_of_either_sign():
    measured, tolerance = [[1.0], [-1.0]], Tolerance(TolerancePolicy.ABSOLUTE, 0.5)
    common, independent = (
        GaussianReliability(np.zeros(2), 1.0, tolerance, errors=errors).update([0, 1], measured)
        for errors in ErrorCorrelation
    )
    assert common.first_passage.value[-1] == 0.0
    np.testing.assert_allclose(independent.first_passage.value[-1], probability(0.5, 1.5) ** 2, rtol=1e-10)


@given(
    seed=st.integers(0, 9999),
    edges=st.lists(st.integers(0, N_TIMES), max_size=12),
    errors=st.sampled_from(ErrorCorrelation),
    window=st.sampled_from([0, 1, 5, 9, 12, 40]),
    failing=st.sampled_from([0.0, 0.2]),
)
def test_no_cut_changes_a_bit(seed, edges, errors, window, failing):
    case = Case(seed)
    case.measured[np.random.default_rng(seed).random(case.measured.shape) < failing] = np.nan
    whole, pieces = case.model(errors, window).update(INSTANTS, case.measured), case.model(errors, window)
    cuts = itertools.pairwise([0, *sorted(edges), N_TIMES])
    parts = [pieces.update(INSTANTS[a:b], case.measured[a:b]) for a, b in cuts]
    for kind in KINDS:
        found = np.concatenate([getattr(part, kind).value for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, kind).value)


@pytest.mark.parametrize("window", [3, 100, 300])
def test_a_long_window_one_by_one(window):
    rng = np.random.default_rng(window)
    measured = rng.normal(size=(700, 1))
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.7)
    whole = GaussianReliability(np.zeros(700), 0.8, tolerance, window=window).update(np.arange(700), measured)
    live = GaussianReliability(np.zeros(700), 0.8, tolerance, window=window)
    found = [live.update([q], measured[[q]]).windowed.value.item() for q in range(700)]
    np.testing.assert_array_equal(found, whole.windowed.value)


def test_an_instant_without_a_measurement_is_not_judged():
    case = Case(3)
    case.measured[[4, 7], [0, 1]] = np.nan, np.inf
    found = case.model(window=3).update(INSTANTS, case.measured)
    judged = np.setdiff1d(INSTANTS, [4, 7])
    alone = case.model(window=3).update(judged, case.measured[judged])
    for kind in KINDS:
        np.testing.assert_array_equal(getattr(found, kind).value[judged], getattr(alone, kind).value)
        assert np.isnan(getattr(found, kind).value[[4, 7]]).all()


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("errors", ErrorCorrelation)
def test_a_model_that_is_sure_is_within_or_not(errors, side):
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.5)
    model = GaussianReliability(np.zeros(4), np.array([0.0, 0.0, 0.3, 0.0]), tolerance, errors=errors, n_replicates=2)
    measured = [[0.0, 0.49 * side], [-0.4 * side, 0.5 * side], [0.0, 0.0], [0.0, 0.0]]
    found = model.update(np.arange(4), measured)
    third = probability(-0.5 / 0.3, 0.5 / 0.3)
    np.testing.assert_allclose(found.instantaneous.value, [1.0, 0.5, third, 1.0], rtol=1e-12)
    np.testing.assert_allclose(found.first_passage.value, [1.0, 0.5, 0.5 * third, 0.5 * third], rtol=1e-12)


@given(seed=st.integers(0, 999))
def test_a_deviation_of_next_to_nothing_is_as_good_as_sure(seed):
    rng = np.random.default_rng(seed)
    measured, tolerance = rng.normal(size=(N_TIMES, 2)), Tolerance(TolerancePolicy.ABSOLUTE, 0.7)
    tiny, sure = (
        GaussianReliability(np.zeros(N_TIMES), deviation, tolerance, n_replicates=2).update(INSTANTS, measured)
        for deviation in (1e-310, 0.0)
    )
    for kind in KINDS[:3]:
        np.testing.assert_array_equal(getattr(tiny, kind).value, getattr(sure, kind).value)


def test_inputs_are_neither_written_to_nor_kept():
    case = Case(5)
    expected = case.model().update(INSTANTS, case.measured).first_passage.value
    model, measured = case.model(), case.measured.copy()
    measured.setflags(write=False)
    case.prediction[:] = 9.0
    np.testing.assert_array_equal(model.update(INSTANTS, measured).first_passage.value, expected)


WIDE = Tolerance(TolerancePolicy.ABSOLUTE, 1.0)


@pytest.mark.parametrize(
    ("prediction", "deviation", "settings", "words"),
    [
        ([0.0, 1.0], -0.1, {}, "zero or more"),
        ([0.0, 1.0], [0.1, np.nan], {}, "zero or more"),
        ([0.0, 1.0], 0.1, {"sensor_deviation": np.inf}, "zero or more"),
        ([0.0, np.inf], 0.1, {}, "finite at every instant"),
        ([0.0, 1.0], [0.1] * 3, {}, r"\(2,\).*\(3,\)"),
        ([[0.0, 1.0]], 0.1, {}, r"\(1, 2\)"),
        ([0.0, 1.0], 0.1, {"window": -1}, "window of -1"),
        ([0.0, 1.0], 0.1, {"n_replicates": 0}, "0 replicates"),
        ([0.0, 1.0], 0.1, {"tolerance": Tolerance(TolerancePolicy.VARYING, profile=np.ones(3))}, r"\(3,\)"),
    ],
)
def test_a_model_that_means_nothing(prediction, deviation, settings, words):
    with pytest.raises(ValueError, match=words) as refused:
        GaussianReliability(prediction, deviation, **({"tolerance": WIDE} | settings))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("instants", "measured", "words"),
    [([0, 1], [[0.0]], r"\(1, 1\)"), ([2], [[0.0]], "2 to 2"), ([-1], [[0.0]], "-1")],
)
def test_measurements_that_do_not_fit(instants, measured, words):
    with pytest.raises(ValueError, match=words):
        GaussianReliability([0.0, 1.0], 0.1, WIDE).update(instants, measured)


@pytest.mark.parametrize("sensor", [0.0, 1e-6, 1e-4, 0.002, 0.01, 0.3, 30.0])
@pytest.mark.parametrize("away", [0.0, 0.005, 1.0])
def test_at_the_first_instant_the_first_passage_is_the_instantaneous(sensor, away):
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.004)
    model = GaussianReliability([0.0], 1.0, tolerance, sensor_deviation=sensor, errors=ErrorCorrelation.COMMON)
    found = model.update([0], [[away]])
    assert found.instantaneous.value[0] > 1e-5
    np.testing.assert_allclose(found.first_passage.value, found.instantaneous.value, rtol=1e-6)


@pytest.mark.parametrize("errors", ErrorCorrelation)
def test_reset_begins_anew(errors):
    case = Case(3)
    model = case.model(errors, window=4)
    first = model.update(INSTANTS, case.measured)
    model.reset()
    again = model.update(INSTANTS, case.measured)
    for kind in KINDS:
        np.testing.assert_array_equal(getattr(again, kind).value, getattr(first, kind).value)

"""One site: integers that are the definition's, whatever the ties, the gaps, the cuts and the path taken."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.reliability.counts import rank_intervals
from monitor.reliability.curves import estimate_curve
from monitor.reliability.ensemble import Ensemble, EnsembleError, sort_ensemble
from monitor.reliability.site import SiteReliability, advance_accumulated
from monitor.reliability.tolerance import Tolerance, ToleranceError, TolerancePolicy
from tests.oracles import reliability as oracle

KINDS = ("instantaneous", "first_passage", "accumulated")


class Case(NamedTuple):
    """A site, and what is measured at it."""

    ensemble: Ensemble
    measured: np.ndarray
    tolerance: Tolerance
    window: int

    @property
    def n_times(self):
        return len(self.measured)

    def site(self):
        return SiteReliability(self.ensemble, self.tolerance, self.measured.shape[1], self.window)

    def known(self, instants):
        return np.isfinite(self.measured[instants]).all(axis=1)

    def within(self, instants):
        """Return who is within at those of the instants that are judged."""
        judged = instants[self.known(instants)]
        measured = self.measured[judged]
        tolerance = tolerances(self.tolerance, judged, measured)
        return oracle.indicator(self.ensemble.response[judged], measured, tolerance)


def tolerances(tolerance, instants, measured):
    """Return (n_instants, n_replicates) as the policies are worded."""
    by_policy = {
        TolerancePolicy.LITERAL: lambda: tolerance.value * np.abs(measured),
        TolerancePolicy.FLOORED: lambda: tolerance.value * np.maximum(np.abs(measured), tolerance.reference),
        TolerancePolicy.PEAK: lambda: tolerance.value * tolerance.reference + 0.0 * measured,
        TolerancePolicy.ABSOLUTE: lambda: np.full(measured.shape, tolerance.value),
        TolerancePolicy.VARYING: lambda: tolerance.profile[instants][:, None] + 0.0 * measured,
    }
    return by_policy[tolerance.policy]()


def model(rng, n_times, m, digits=9):
    """Return an ensemble about a sine; few digits make ties."""
    phase = np.linspace(0.0, 7.0, n_times)[:, None]
    response = np.sin(phase) * (1.0 + 0.2 * rng.normal(size=m)) + 0.1 * rng.normal(size=(n_times, m))
    return sort_ensemble(0.01 * np.arange(n_times), np.round(response, digits) + 0.0)


@st.composite
def cases(draw, policies=tuple(TolerancePolicy)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_times, n, m = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3, 7, 40, 300]))
    digits = draw(st.sampled_from([0, 1, 9]))
    ensemble = model(rng, n_times, m, digits)
    chosen = ensemble.response[:, rng.integers(m, size=n)]
    measured = np.round(chosen + draw(st.sampled_from([0.0, 0.1, 2.0])) * rng.normal(size=(n_times, n)), digits) + 0.0
    policy = draw(st.sampled_from(policies))
    value = draw(st.sampled_from([1e-300, 0.1, 0.25, 1.0, 40.0]))
    if policy is TolerancePolicy.VARYING:
        tolerance = Tolerance(policy, profile=value * rng.choice([0.5, 1.0], size=n_times))
    elif policy in (TolerancePolicy.FLOORED, TolerancePolicy.PEAK):
        tolerance = Tolerance(policy, value, rng.choice([0.5, 1.0], size=draw(st.sampled_from([1, n]))))
    else:
        tolerance = Tolerance(policy, value)
    failing = rng.random(measured.shape) < draw(st.sampled_from([0.0, 0.0, 0.1, 1.0]))
    measured[failing] = rng.choice([np.nan, np.inf, -np.inf], size=failing.sum())
    return Case(ensemble, measured, tolerance, draw(st.sampled_from([0, 1, 3, 10, 60])))


def cut(site, instants, measured, edges):
    """Return the updates of a stream that is cut at these places."""
    edges = [0, *sorted(min(edge, len(instants)) for edge in edges), len(instants)]
    return [site.update(instants[a:b], measured[a:b]) for a, b in itertools.pairwise(edges)]


def integers(updates):
    names = ("within", "survivors", "accumulated", "assessed")
    return {name: np.concatenate([getattr(update.counts, name) for update in updates]) for name in names}


def numbers(updates):
    """Return (n_instants, 8): value and standard error of every curve."""
    rows = [
        np.column_stack(
            [values for curve in update.reliability.curves for values in (curve.value, curve.standard_error)]
        )
        for update in updates
    ]
    return np.concatenate(rows)


def instants_of(case, data):
    """Draw the instants that are taken: some are left out."""
    seed, share_taken = data.draw(st.tuples(st.integers(0, 999), st.sampled_from([1.0, 1.0, 0.6])))
    return np.flatnonzero(np.random.default_rng(seed).random(case.n_times) < share_taken)


@settings(max_examples=200)
@given(case=cases(), data=st.data())
def test_the_integers_are_the_definitions(case, data):
    instants = instants_of(case, data)
    within = case.within(instants)
    found = integers([case.site().update(instants, case.measured[instants])])
    assert {values.dtype for values in found.values()} == {np.dtype(np.int64)}
    np.testing.assert_array_equal(found["within"], within.sum(axis=2))
    np.testing.assert_array_equal(found["survivors"], oracle.survival(within).sum(axis=2))
    np.testing.assert_array_equal(found["accumulated"], np.cumsum(within.sum(axis=2), axis=0))
    np.testing.assert_array_equal(found["assessed"], np.arange(1, len(within) + 1))


@given(case=cases(), data=st.data())
def test_the_reliabilities_and_their_errors_are_the_definitions(case, data):
    instants = instants_of(case, data)
    within, known = case.within(instants), case.known(instants)
    update = case.site().update(instants, case.measured[instants])
    np.testing.assert_array_equal(update.known, known)
    expected = {kind: getattr(oracle, kind)(within) for kind in KINDS}
    if case.window:
        judged = instants[known]
        expected["windowed"] = oracle.windowed(within, case.window, judged)
        for values in expected["windowed"][1:]:
            values[judged - judged[:1] < case.window - 1] = np.nan
    else:
        expected["windowed"] = oracle.Oracle(*np.full((3, len(within)), np.nan))
    for kind, (_, value, error) in expected.items():
        curve = getattr(update.reliability, kind)
        np.testing.assert_allclose(curve.value[known], value, rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(curve.standard_error[known], error, rtol=1e-9, atol=1e-12)
        assert np.isnan(curve.value[~known]).all() and np.isnan(curve.standard_error[~known]).all()


@given(case=cases(), data=st.data(), edges=st.lists(st.integers(0, 40), max_size=6))
def test_no_cut_and_no_single_step_changes_a_bit(case, data, edges):
    instants = instants_of(case, data)
    measured = case.measured[instants]
    whole = [case.site().update(instants, measured)]
    for places in (edges, range(case.n_times)):
        parts = cut(case.site(), instants, measured, places)
        for name, values in integers(whole).items():
            np.testing.assert_array_equal(integers(parts)[name], values)
        np.testing.assert_array_equal(numbers(parts), numbers(whole))


@given(case=cases())
def test_what_must_hold_of_any_model(case):
    update = case.site().update(np.arange(case.n_times), case.measured)
    now, ever, often = (getattr(update.reliability, kind).value[update.known] for kind in KINDS)
    assert (np.diff(ever) <= 0.0).all() and (ever <= now).all()
    assert ((now >= 0.0) & (now <= 1.0)).all()
    np.testing.assert_allclose(often, np.cumsum(now) / np.arange(1, len(now) + 1), rtol=1e-12)
    errors = np.stack([getattr(update.reliability, kind).standard_error[update.known] for kind in KINDS])
    m = case.ensemble.n_realizations
    # nothing from 0 to 1 scatters more than as many ones as zeros; a single one tells nothing of it
    assert (errors <= 0.5 / np.sqrt(m - 1) + 1e-12).all() if m > 1 else np.isnan(errors).all()


@given(case=cases(), edges=st.lists(st.integers(0, 40), max_size=3))
def test_a_reset_is_a_new_start(case, edges):
    site, instants = case.site(), np.arange(case.n_times)
    first = cut(site, instants, case.measured, edges)
    site.reset()
    np.testing.assert_array_equal(numbers(cut(site, instants, case.measured, edges)), numbers(first))


@given(case=cases())
def test_inputs_are_neither_written_to_nor_kept(case):
    whole, half = np.arange(case.n_times), case.n_times // 2
    expected = numbers([case.site().update(whole, case.measured)])
    site, instants, measured = case.site(), whole.copy(), case.measured.copy()
    first = site.update(instants[:half], measured[:half])
    np.testing.assert_array_equal(measured, case.measured)
    np.testing.assert_array_equal(instants, whole)
    # a caller who fills his buffers anew
    instants[:half], measured[:half] = 0, 5.0
    second = site.update(instants[half:], measured[half:])
    np.testing.assert_array_equal(numbers([first, second]), expected)


def test_no_signature_is_compiled_for_what_comes_in_another_shape_of_memory():
    from monitor.reliability import counts

    rng = np.random.default_rng(1)
    case = Case(
        model(rng, 12, 50), rng.normal(size=(12, 2)), Tolerance(TolerancePolicy.PEAK, 0.3, np.array([1.0])), 4
    )
    case.site().update(np.arange(12), case.measured)
    kernels = (advance_accumulated, counts.advance_first_passage, counts.search_ranks)
    before = [len(kernel.signatures) for kernel in kernels]
    frozen = np.frombuffer(case.measured.tobytes()).reshape(12, 2)
    others = (np.asfortranarray(case.measured), case.measured[::-1], case.measured.astype("<f4"))
    for measured in (frozen, *others, case.measured.tolist()):
        case.site().update(np.arange(12, dtype=np.int32), measured)
    case.site().update(np.frombuffer(np.arange(12).tobytes(), dtype=np.int64), frozen)
    assert [len(kernel.signatures) for kernel in kernels] == before


@pytest.mark.parametrize("eps", [0.5, 1.0, 3.0])
def test_a_difference_of_just_the_tolerance_is_outside(eps):
    # sums that floating point makes exactly, so that the differences are -3, -2.5 ... 3
    ensemble = sort_ensemble([0.0], [np.arange(-6, 7) / 2.0 + 8.0])
    counts = SiteReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, eps)).update([0], [[8.0]]).counts
    assert counts.within.item() == round(4 * eps) - 1
    nearly = Tolerance(TolerancePolicy.ABSOLUTE, np.nextafter(eps, 9.0))
    assert SiteReliability(ensemble, nearly).update([0], [[8.0]]).counts.within.item() == round(4 * eps) + 1


def test_the_literal_tolerance_lets_nobody_through_where_the_measurement_is_zero():
    ensemble = sort_ensemble([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]])
    found = (
        SiteReliability(ensemble, Tolerance(TolerancePolicy.LITERAL, 0.5)).update([0, 1], [[0.0], [1.0]]).reliability
    )
    np.testing.assert_array_equal(found.instantaneous.value, [0.0, 1.0])
    np.testing.assert_array_equal(found.first_passage.value, [0.0, 0.0])
    np.testing.assert_array_equal(found.accumulated.value, [0.0, 0.5])


@given(seed=st.integers(0, 999), tolerance=st.sampled_from([0.0, 5e-324, 1e-300, 1e308, np.inf]))
@example(seed=0, tolerance=0.0)
def test_the_search_is_a_scan_for_any_tolerance(seed, tolerance):
    rng = np.random.default_rng(seed)
    sizes = np.array([0.0, 5e-324, 1e-300, 1.0, 1e308, np.finfo(float).max])
    response = rng.choice(sizes, size=(5, 30)) * rng.choice([-1.0, 1.0], size=(5, 30))
    ensemble = sort_ensemble(np.arange(5.0), response)
    measured = rng.choice(sizes, size=(5, 2)) * rng.choice([-1.0, 1.0], size=(5, 2))
    eps = np.full(measured.shape, tolerance)
    low, high = rank_intervals(ensemble, np.arange(5), measured, eps)
    within = oracle.indicator(response, measured, eps)
    np.testing.assert_array_equal(high - low, within.sum(axis=2))
    for q, j in np.ndindex(measured.shape):
        members = np.sort(ensemble.order[q, low[q, j] : high[q, j]])
        np.testing.assert_array_equal(members, np.flatnonzero(within[q, j]))


@pytest.mark.parametrize("order", [(0.02, 5.0), (5.0, 0.02), (5.0, 0.3, 0.02, 0.3)])
def test_both_ways_to_the_survivors_are_the_same(order):
    # wide tolerances visit who is outside, narrow ones who is still there: each after the other
    rng = np.random.default_rng(5)
    ensemble = model(rng, 60, 500)
    profile = np.repeat(order, 60 // len(order))
    measured = ensemble.response[:, [3, 8]] + 0.01
    site = SiteReliability(ensemble, Tolerance(TolerancePolicy.VARYING, profile=profile), 2)
    found = site.update(np.arange(60), measured)
    assert (site._first_passage._state.lengths < 500).all()
    within = oracle.indicator(ensemble.response, measured, np.repeat(profile[:, None], 2, axis=1))
    outside = 500 - within.sum(axis=2)
    survivors = oracle.survival(within).sum(axis=2)
    before = np.vstack([[500, 500], survivors[:-1]])
    assert (outside <= before).any() and (outside > before).any()
    np.testing.assert_array_equal(found.counts.survivors, survivors)
    np.testing.assert_allclose(
        found.reliability.first_passage.standard_error, oracle.first_passage(within)[2], rtol=1e-9
    )


def test_a_long_window_forgets_what_left_it():
    rng = np.random.default_rng(9)
    ensemble = model(rng, 400, 60)
    measured = ensemble.response[:, :2] + 0.05
    measured[50:60] = 1e300
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.2)
    burst = SiteReliability(ensemble, tolerance, 2, 30).update(np.arange(400), measured)
    fresh = SiteReliability(ensemble, tolerance, 2, 30).update(np.arange(60, 400), measured[60:])
    np.testing.assert_array_equal(burst.reliability.windowed.value[89:], fresh.reliability.windowed.value[29:])
    np.testing.assert_array_equal(
        burst.reliability.windowed.standard_error[89:], fresh.reliability.windowed.standard_error[29:]
    )


def test_the_standard_error_is_the_scatter_from_ensemble_to_ensemble():
    # of 400 ensembles of 50: the deviation is itself known to 1 in sqrt(2 * 400)
    rng = np.random.default_rng(2)
    values, errors = [], []
    for _ in range(400):
        response = 0.3 * rng.normal(size=50) + 0.2 * rng.normal(size=(8, 50))
        site = SiteReliability(sort_ensemble(np.arange(8.0), response), Tolerance(TolerancePolicy.ABSOLUTE, 0.4), 2)
        found = site.update(np.arange(8), np.tile([0.0, 0.3], (8, 1))).reliability
        values.append([getattr(found, kind).value[-1] for kind in KINDS])
        errors.append([getattr(found, kind).standard_error[-1] for kind in KINDS])
    told = np.sqrt(np.mean(np.square(errors), axis=0))
    np.testing.assert_allclose(np.std(values, axis=0), told, rtol=4.0 / np.sqrt(800))


def test_instants_rise_and_are_taken_once():
    site = SiteReliability(sort_ensemble(np.arange(4.0), np.zeros((4, 2))), Tolerance(TolerancePolicy.ABSOLUTE, 1.0))
    site.update([0, 1], [[0.0], [0.0]])
    for instants in ([1], [0], [3, 2], [2, 2]):
        with pytest.raises(
            ValueError, match=r"instants must increase and be given once; call reset\(\) to start again"
        ):
            site.update(instants, [[0.0]] * len(instants))
    site.update([2], [[0.0]])
    site.reset()
    site.update([0], [[0.0]])


def test_a_single_realization_has_no_error_to_tell():
    curve = estimate_curve(np.array([3]), np.array([3]), np.array([3]), 1)
    assert curve.value[0] == 1.0 and np.isnan(curve.standard_error[0])


@pytest.mark.parametrize(
    ("instants", "measured", "words"),
    [
        ([0, 1], np.zeros(2), r"\(2,\)"),
        ([0, 1], np.zeros((2, 3)), r"\(2, 3\)"),
        ([0, 1], np.zeros((1, 2)), r"\(1, 2\)"),
        ([[0], [1]], np.zeros((2, 2)), r"\(2, 1\)"),
        (0, np.zeros((1, 2)), r"instants \(\)"),
        ([3, 5], np.zeros((2, 2)), "3 to 5.*0 to 4"),
        ([-1], np.zeros((1, 2)), "-1"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(instants, measured, words):
    site = SiteReliability(model(np.random.default_rng(0), 5, 9), Tolerance(TolerancePolicy.ABSOLUTE, 1.0), 2)
    with pytest.raises(ValueError, match=words) as refused:
        site.update(instants, measured)
    assert "\n" not in str(refused.value) and "ensemble" in str(refused.value)
    assert site.update([4], np.zeros((1, 2))).counts.assessed.tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_replicates": 0}, "0 replicates"),
        ({"window": -1}, "window of -1"),
        ({"tolerance": Tolerance(TolerancePolicy.VARYING, profile=np.ones(4))}, r"\(4,\).*\(5,\)"),
        ({"tolerance": Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(3))}, r"\(3,\).*\(1,\) or \(2,\)"),
    ],
)
def test_settings_that_do_not_fit(settings, words):
    ensemble = model(np.random.default_rng(0), 5, 9)
    with pytest.raises(ValueError, match=words):
        SiteReliability(
            **(
                {"ensemble": ensemble, "tolerance": Tolerance(TolerancePolicy.ABSOLUTE, 1.0), "n_replicates": 2}
                | settings
            )
        )


def test_records_that_give_their_own_reference_fit():
    rng = np.random.default_rng(4)
    case = Case(model(rng, 30, 40), rng.normal(size=(30, 3)), None, 0)
    for policy in (TolerancePolicy.FLOORED, TolerancePolicy.PEAK):
        judged = case._replace(tolerance=Tolerance.from_records(policy, 0.3, case.measured))
        found = judged.site().update(np.arange(30), case.measured).counts.within
        np.testing.assert_array_equal(found, judged.within(np.arange(30)).sum(axis=2))


def test_the_model_of_an_ensemble():
    rng = np.random.default_rng(3)
    time, response = 0.02 * np.arange(20), np.round(rng.normal(size=(20, 31)), 1)
    ensemble = sort_ensemble(time, response, "m", "tip")
    np.testing.assert_array_equal(np.take_along_axis(response, ensemble.order.astype(int), axis=1), np.sort(response))
    np.testing.assert_allclose(ensemble.mean, response.mean(axis=1), rtol=1e-13)
    for probability, rank in ((0.0, 0), (0.5, 15), (0.95, 29), (1.0, 30)):
        np.testing.assert_array_equal(ensemble.quantile(probability), np.sort(response)[:, rank])
    np.testing.assert_allclose(ensemble.dt, 0.02)
    assert not any(array.flags.writeable for array in (ensemble.time, ensemble.response, ensemble.order))
    # the caller's own arrays stay his
    time[0], response[0, 0] = 0.0, 9.0
    with pytest.raises(ValueError, match=r"1\.5"):
        ensemble.quantile(1.5)


@pytest.mark.parametrize(("time", "words"), [([0.0], "single instant"), ([0.0, 1.0, 2.1, 3.0], "not equal at 2.1 s")])
def test_times_without_a_step(time, words):
    ensemble = sort_ensemble(time, np.zeros((len(time), 1)))
    with pytest.raises(EnsembleError, match=words):
        _ = ensemble.dt


@pytest.mark.parametrize(
    ("time", "response", "words"),
    [
        ([0.0, 1.0], np.zeros((3, 4)), r"\(3, 4\).*\(2,\)"),
        ([0.0, 1.0], np.zeros(2), r"\(2,\)"),
        ([0.0, 1.0], np.zeros((2, 0)), r"\(2, 0\)"),
        ([[0.0, 1.0]], np.zeros((2, 3)), r"\(1, 2\)"),
        ([0.0, 0.0], np.zeros((2, 3)), "increase after 0 s"),
        ([0.0, np.nan], np.zeros((2, 3)), "not finite at instant 1"),
        ([0.0, 1.0], [[0.0, 1.0], [np.nan, 1.0]], "realization 0 is not finite at 1 s"),
        ([0.0, 1.0], [[0.0, -np.inf], [0.0, 1.0]], "realization 1 is not finite at 0 s"),
        ([0.0, 1.0], [["a", "b"], ["c", "d"]], "numbers"),
    ],
)
def test_what_is_no_ensemble(time, response, words):
    with pytest.raises(EnsembleError, match=words) as refused:
        sort_ensemble(time, response, name="tip")
    assert str(refused.value).startswith("tip: ") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("order", "words"), [(np.zeros((2, 2)), r"\(2, 2\)"), ([[0, 1, 7], [0, 1, 2]], "create the ensemble again")]
)
def test_an_order_of_something_else(order, words):
    with pytest.raises(EnsembleError, match=words):
        Ensemble(np.arange(2.0), np.zeros((2, 3)), np.array(order, dtype=np.uint32))


RECORDS = arrays(float, (6, 2), elements=st.floats(-1e6, 1e6).filter(lambda y: y == 0.0 or abs(y) > 1e-6))
SHARE = st.floats(1e-12, 10.0)


@given(measured=RECORDS, share=SHARE)
def test_the_literal_one_is_a_share_of_each_sample(measured, share):
    found = Tolerance(TolerancePolicy.LITERAL, share).evaluate(np.arange(6), measured)
    np.testing.assert_array_equal(found, [[share * abs(y) for y in row] for row in measured.tolist()])


@given(measured=RECORDS, share=SHARE)
def test_the_absolute_one_is_what_it_is(measured, share):
    np.testing.assert_array_equal(
        Tolerance(TolerancePolicy.ABSOLUTE, share).evaluate(np.arange(6), measured), np.full((6, 2), share)
    )


@given(measured=RECORDS, share=SHARE)
def test_a_record_is_its_own_reference(measured, share):
    if (measured == 0.0).all(axis=0).any():
        return
    rms, peak = np.sqrt((measured**2).mean(axis=0)), np.abs(measured).max(axis=0)
    floored = Tolerance.from_records(TolerancePolicy.FLOORED, share, measured).evaluate(np.arange(6), measured)
    np.testing.assert_allclose(floored, share * np.maximum(abs(measured), rms), rtol=1e-14)
    found = Tolerance.from_records(TolerancePolicy.PEAK, share, measured).evaluate(np.arange(6), measured)
    np.testing.assert_allclose(found, share * np.tile(peak, (6, 1)), rtol=1e-14)


def test_the_varying_one_is_the_instants():
    profile = np.arange(1.0, 9.0)
    found = Tolerance(TolerancePolicy.VARYING, profile=profile).evaluate(np.array([1, 4, 7]), np.zeros((3, 2)))
    np.testing.assert_array_equal(found, [[2.0, 2.0], [5.0, 5.0], [8.0, 8.0]])


@pytest.mark.parametrize("policy", TolerancePolicy)
def test_every_policy_gives_arrays_that_a_kernel_takes(policy):
    tolerance = Tolerance(policy, 0.1, np.ones(1), np.ones(5))
    for n in (0, 1, 5):
        found = tolerance.evaluate(np.arange(n), np.ones((n, 3)))
        assert found.shape == (n, 3) and found.dtype == float
        assert np.ascontiguousarray(found).flags.writeable


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("policy", [TolerancePolicy.FLOORED, TolerancePolicy.PEAK])
def test_what_is_not_finite_has_no_part_in_the_reference(policy, bad):
    measured = np.array([[3.0, 1.0], [bad, 2.0], [-4.0, bad]])
    expected = [np.sqrt(12.5), np.sqrt(2.5)] if policy is TolerancePolicy.FLOORED else [4.0, 2.0]
    np.testing.assert_allclose(Tolerance.from_records(policy, 0.1, measured).reference, expected, rtol=1e-15)
    measured[:, 1] = bad
    with pytest.raises(ToleranceError, match="without a finite sample"):
        Tolerance.from_records(policy, 0.1, measured)


@pytest.mark.parametrize("value", [0.0, -0.1, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("policy", [policy for policy in TolerancePolicy if policy is not TolerancePolicy.VARYING])
def test_no_tolerance_is_refused(policy, value):
    with pytest.raises(ToleranceError, match="positive number"):
        Tolerance(policy, value, np.ones(1))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"policy": TolerancePolicy.PEAK}, "policy peak needs a reference"),
        ({"policy": TolerancePolicy.FLOORED}, "policy floored needs a reference"),
        ({"policy": TolerancePolicy.PEAK, "reference": np.array([1.0, 0.0])}, "give an absolute one"),
        ({"policy": TolerancePolicy.FLOORED, "reference": np.array([np.nan])}, "give an absolute one"),
        ({"policy": TolerancePolicy.VARYING}, "needs its profile"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.empty(0)}, "needs its profile"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.array([1.0, 0.0])}, "positive at every instant"),
        ({"policy": TolerancePolicy.VARYING, "profile": np.array([1.0, np.inf])}, "positive at every instant"),
    ],
)
def test_what_is_missing_or_means_nothing(settings, words):
    with pytest.raises(ToleranceError, match=words) as refused:
        Tolerance(**({"value": 0.1} | settings))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("tolerance", "fits"),
    [
        (Tolerance(TolerancePolicy.LITERAL, 0.1), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(1)), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(3)), True),
        (Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(2)), False),
        (Tolerance(TolerancePolicy.FLOORED, 0.1, np.ones((1, 3))), False),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones(5)), True),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones(3)), False),
        (Tolerance(TolerancePolicy.VARYING, profile=np.ones((5, 3))), False),
    ],
)
def test_which_measurements_it_fits(tolerance, fits):
    if fits:
        tolerance.check_shape("tip", n_times=5, n_replicates=3)
        return
    with pytest.raises(ToleranceError, match=r"^tip: the tolerance has shape"):
        tolerance.check_shape("tip", n_times=5, n_replicates=3)

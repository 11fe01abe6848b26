"""Several sites: the formulae summed over all combinations of replicates, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reliability.curves import Reliability, ReliabilityCurve, product_of_sites
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from tests.oracles import reliability as oracle

KINDS = ("instantaneous", "first_passage", "accumulated")
INSTANTS = np.arange(12)


class Sites:
    """Ensembles of one model at several sites, and replicates that are near some realization of it."""

    def __init__(self, seed, n_replicates, n_realizations=60, failing=0.0):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=n_realizations)
        self.n_replicates = n_replicates
        self.ensembles, self.measured, self.tolerances = [], [], []
        for n in n_replicates:
            response = np.round(common + 0.3 * rng.normal(size=(12, n_realizations)), 1)
            measured = np.round(0.5 * rng.normal(size=n) + 0.2 * rng.normal(size=(12, n)), 1)
            measured[rng.random((12, n)) < failing] = np.nan
            self.ensembles.append(sort_ensemble(0.1 * INSTANTS, response))
            self.measured.append(measured)
            self.tolerances.append(Tolerance(TolerancePolicy.ABSOLUTE, rng.choice([0.5, 1.5])))

    @property
    def known(self):
        return np.all([np.isfinite(measured).all(axis=1) for measured in self.measured], axis=0)

    @property
    def within(self):
        """Of each site, who is within at the instants at which every site measures."""
        triples = zip(self.ensembles, self.measured, self.tolerances, strict=True)
        return [
            oracle.indicator(e.response[self.known], y[self.known], np.full(y[self.known].shape, eps.value))
            for e, y, eps in triples
        ]

    def alone(self):
        triples = zip(self.ensembles, self.measured, self.tolerances, strict=True)
        return [SiteReliability(e, eps, y.shape[1], 4).update(INSTANTS, y).reliability for e, y, eps in triples]

    def joint(self):
        return JointReliability(self.ensembles, self.tolerances, self.n_replicates)


REPLICATES = st.lists(st.integers(1, 3), min_size=1, max_size=3)


@given(seed=st.integers(0, 9999), n_replicates=REPLICATES)
def test_the_product_is_the_sum_over_all_combinations(seed, n_replicates):
    sites = Sites(seed, n_replicates)
    found = product_of_sites(sites.alone())
    for kind in KINDS:
        reliability = getattr(oracle, kind)
        expected = oracle.over_combinations(sites.within, lambda within, of=reliability: of(within).value)
        np.testing.assert_allclose(getattr(found, kind).value, expected, rtol=1e-12, atol=1e-15)
    expected = oracle.over_combinations(sites.within, lambda within: oracle.windowed(within, 4).value)
    np.testing.assert_allclose(found.windowed.value[3:], expected[3:], rtol=1e-12, atol=1e-15)
    assert np.isnan(found.windowed.value[:3]).all()


@given(curves=st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(1e-12, 0.3)), min_size=1, max_size=4))
def test_the_error_of_a_product(curves):
    # of independent estimates: the variances expand over all ways to take a mean or a variance of each
    terms = itertools.product(*((value**2, error**2) for value, error in curves))
    squares = [value**2 for value, _ in curves]
    chosen = list(itertools.product((0, 1), repeat=len(curves)))
    variance = sum(np.prod(term) for term, choice in zip(terms, chosen, strict=True) if any(choice))
    sites = [Reliability(*[ReliabilityCurve(np.array([value]), np.array([error]))] * 4) for value, error in curves]
    found = product_of_sites(sites).accumulated
    np.testing.assert_allclose(found.standard_error**2, variance, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(found.value**2, np.prod(squares), rtol=1e-12, atol=1e-300)


def test_the_error_of_a_product_is_how_products_scatter():
    rng = np.random.default_rng(3)
    values, errors = np.array([0.8, 0.5, 0.9]), np.array([0.05, 0.1, 0.02])
    drawn = np.prod(values + errors * rng.normal(size=(200_000, 3)), axis=1)
    sites = [
        Reliability(*[ReliabilityCurve(np.array([v]), np.array([s]))] * 4)
        for v, s in zip(values, errors, strict=True)
    ]
    np.testing.assert_allclose(product_of_sites(sites).accumulated.standard_error, drawn.std(), rtol=0.01)


@given(seed=st.integers(0, 9999), n_replicates=REPLICATES, failing=st.sampled_from([0.0, 0.1]))
def test_jointly_is_the_sum_over_all_combinations(seed, n_replicates, failing):
    sites = Sites(seed, n_replicates, failing=failing)
    found, known = sites.joint().update(INSTANTS, sites.measured), sites.known
    for kind, (_, value, error) in zip(KINDS, oracle.joint(sites.within), strict=True):
        curve = getattr(found, kind)
        np.testing.assert_allclose(curve.value[known], value, rtol=1e-13, atol=0.0)
        np.testing.assert_allclose(curve.standard_error[known], error, rtol=1e-9, atol=1e-12)
        assert np.isnan(curve.value[~known]).all()
    assert np.isnan(found.windowed.value).all()


@given(seed=st.integers(0, 9999), edges=st.lists(st.integers(0, 12), max_size=4), failing=st.sampled_from([0.0, 0.2]))
def test_jointly_no_cut_changes_a_bit(seed, edges, failing):
    sites = Sites(seed, [2, 3], failing=failing)
    whole = sites.joint().update(INSTANTS, sites.measured)
    pieces = sites.joint()
    cuts = itertools.pairwise([0, *sorted(edges), 12])
    parts = [pieces.update(INSTANTS[a:b], [y[a:b] for y in sites.measured]) for a, b in cuts]
    for kind in KINDS:
        for name in ("value", "standard_error"):
            found = np.concatenate([getattr(getattr(part, kind), name) for part in parts])
            np.testing.assert_array_equal(found, getattr(getattr(whole, kind), name))


@given(seed=st.integers(0, 9999), n=st.integers(1, 3), m=st.sampled_from([1, 2, 60]))
def test_one_site_jointly_is_that_site(seed, n, m):
    sites = Sites(seed, [n], m)
    found, alone = sites.joint().update(INSTANTS, sites.measured), sites.alone()[0]
    for kind in KINDS:
        np.testing.assert_array_equal(getattr(found, kind).value, getattr(alone, kind).value)
        np.testing.assert_array_equal(getattr(found, kind).standard_error, getattr(alone, kind).standard_error)


def test_sites_that_rise_and_fall_together_are_likelier_jointly_than_as_a_product():
    # the same site twice, one replicate each: jointly it is itself, as a product its square
    sites = Sites(4, [1])
    joint = JointReliability(sites.ensembles * 2, sites.tolerances * 2, [1, 1])
    found, alone = joint.update(INSTANTS, sites.measured * 2), sites.alone()[0]
    np.testing.assert_array_equal(found.first_passage.value, alone.first_passage.value)
    np.testing.assert_allclose(
        product_of_sites([alone, alone]).first_passage.value, alone.first_passage.value**2, rtol=1e-14
    )


def test_what_comes_read_only_or_as_lists_compiles_nothing_anew():
    from monitor.reliability import joint as module

    sites = Sites(1, [2, 1])
    expected = sites.joint().update(INSTANTS, sites.measured).accumulated.value
    before = len(module._scan.signatures)
    frozen = [np.frombuffer(y.tobytes()).reshape(y.shape) for y in sites.measured]
    for measured in (frozen, [y.tolist() for y in sites.measured], [np.asfortranarray(y) for y in sites.measured]):
        np.testing.assert_array_equal(sites.joint().update(INSTANTS, measured).accumulated.value, expected)
    assert len(module._scan.signatures) == before


ENSEMBLE = sort_ensemble(np.arange(3.0), np.zeros((3, 5)), name="tip")
WIDE = Tolerance(TolerancePolicy.ABSOLUTE, 1.0)


@pytest.mark.parametrize(
    ("ensembles", "tolerances", "n_replicates", "words"),
    [
        ([], [], [], "0 ensembles"),
        ([ENSEMBLE], [WIDE], [1, 1], "1 ensembles, 1 tolerances and 2"),
        ([ENSEMBLE], [WIDE], [0], "0 replicates"),
        ([ENSEMBLE, sort_ensemble(np.arange(3.0), np.zeros((3, 4)))], [WIDE] * 2, [1, 1], "5 realizations"),
        ([ENSEMBLE, sort_ensemble(np.arange(2.0), np.zeros((2, 5)))], [WIDE] * 2, [1, 1], "3 instants"),
        ([ENSEMBLE], [Tolerance(TolerancePolicy.PEAK, 0.1, np.ones(2))], [3], r"\(2,\)"),
        ([ENSEMBLE], [Tolerance(TolerancePolicy.VARYING, profile=np.ones(2))], [1], r"\(2,\)"),
    ],
)
def test_sites_that_do_not_fit(ensembles, tolerances, n_replicates, words):
    with pytest.raises(ValueError, match=words) as refused:
        JointReliability(ensembles, tolerances, n_replicates)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("instants", "measured", "words"),
    [
        ([0], [np.zeros((1, 2))], "1 sites: there are 2"),
        ([0], [np.zeros((1, 2)), np.zeros((1, 2))], r"\(1, 2\)"),
        ([0, 1], [np.zeros((2, 2)), np.zeros((1, 1))], r"\(1, 1\)"),
        ([3], [np.zeros((1, 2)), np.zeros((1, 1))], "3 to 3"),
        ([-1], [np.zeros((1, 2)), np.zeros((1, 1))], "-1"),
    ],
)
def test_measurements_that_do_not_fit(instants, measured, words):
    joint = JointReliability([ENSEMBLE] * 2, [WIDE] * 2, [2, 1])
    with pytest.raises(ValueError, match=words) as refused:
        joint.update(instants, measured)
    assert "\n" not in str(refused.value)


def test_a_product_of_nothing_and_of_unequal_stretches():
    sites = Sites(2, [1, 1]).alone()
    with pytest.raises(ValueError, match="no product"):
        product_of_sites([])
    with pytest.raises(ValueError, match=r"\[3, 12\]"):
        product_of_sites(
            [
                sites[0],
                sites[1].reindexed(np.ones(12, dtype=bool)),
                Reliability(*[ReliabilityCurve(np.ones(3), np.ones(3))] * 4),
            ]
        )


def test_a_refused_call_of_several_sites_leaves_nothing_behind():
    ensemble = sort_ensemble(np.arange(3.0), np.zeros((3, 4)))
    tolerances = [Tolerance(TolerancePolicy.ABSOLUTE, 1.0)] * 2
    joint = JointReliability([ensemble, ensemble], tolerances, [1, 2])
    with pytest.raises(ValueError, match="measured has shape"):
        joint.update([0], [[[0.0]], [[0.0]]])
    first = joint.update([0, 1], [[[0.0], [5.0]], [[0.0, 5.0], [0.0, 0.0]]])
    assert first.instantaneous.value.tolist() == [0.5, 0.0]
    joint.reset()
    assert joint.update([0], [[[0.0]], [[0.0, 0.0]]]).first_passage.value.tolist() == [1.0]

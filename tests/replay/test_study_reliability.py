"""The paper's beam and structure: its claims, the answers known beforehand, and the beam beside an integral."""

from __future__ import annotations

from math import erf, exp, log, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import dblquad

from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from monitor.text.blocks import Figure
from replay.papers.reliability.study import (
    REALIZATIONS,
    THRESHOLDS,
    instantaneous_by_quadrature,
    run_study,
    simulated,
    study_blocks,
)
from replay.validation.records import model_reliability
from sim.ensembles import replicates
from sim.models.beam import StochasticBeam

NAMES = ("instantaneous", "first_passage", "accumulated")
INSTANTS = np.arange(1, 252)
# realizations by which a count near 0 or all is off, though its standard error is less
COUNT = 3


@pytest.fixture(scope="module")
def beam():
    return run_study("beam", n_realizations=20_000)


@pytest.fixture(scope="module")
def sandia():
    return run_study("sandia", n_realizations=2000)


def case_of(study, bad, tolerance=0.16):
    (found,) = [case for case in study.cases if case.bad == bad and case.tolerance == tolerance]
    return found


def deflection(t, width, height):
    """Return mean and standard deviation of eq. 29 for a given section, from the numbers of Table 1."""
    stiffness = 30e9 * width * height**3 / 12.0
    per_force, per_load = 5.0**3 / (48.0 * stiffness), 5.0 * 5.0**4 / (384.0 * stiffness)
    mean = per_force * 1000.0 * (1.0 + np.sin(2.0 + t)) + per_load * (450.0 + 78.5e3 * width * height)
    return mean, sqrt((per_force * 100.0) ** 2 + (per_load * 20.0) ** 2)


def lognormal(mean, deviation):
    variance = log(1.0 + (deviation / mean) ** 2)
    return lambda z: exp(log(mean) - 0.5 * variance + sqrt(variance) * z)


def test_the_quadrature_is_the_integral_over_the_section():
    model = StochasticBeam()
    measured = replicates(model, 2, 5, bad=True)
    tolerance = 0.16 * np.abs(measured)
    found = instantaneous_by_quadrature(model, measured, tolerance)
    width, height = lognormal(0.2, 0.005), lognormal(0.04, 0.0008)
    for row, column in ((0, 0), (100, 1), (250, 0)):
        y, eps = measured[row, column], tolerance[row, column]

        def density(a, b, t=0.02 * row, y=y, eps=eps):
            mean, deviation = deflection(t, width(a), height(b))
            above, below = ((y - mean + side * eps) / deviation / sqrt(2.0) for side in (1.0, -1.0))
            return 0.5 * (erf(above) - erf(below)) * exp(-0.5 * (a * a + b * b)) / (2.0 * pi)

        expected, _ = dblquad(density, -7.0, 7.0, -7.0, 7.0, epsabs=1e-7)
        assert found[row, column] == pytest.approx(expected, abs=1e-6)


def test_twice_as_many_nodes_change_nothing():
    model = StochasticBeam(horizon=0.1)
    measured = replicates(model, 3, 1)
    tolerance = 0.08 * np.abs(measured)
    one, twice = (instantaneous_by_quadrature(model, measured, tolerance, nodes) for nodes in (48, 96))
    np.testing.assert_allclose(one, twice, atol=1e-9)


def test_the_beam_is_the_integral_at_every_instant(beam):
    is_the_integral(beam)


@pytest.mark.slow
def test_so_it_is_with_as_many_realizations_as_by_default():
    study = run_study("beam")
    assert study.ensemble.n_realizations == 100_000
    is_the_integral(study)


def is_the_integral(study):
    for case in study.cases:
        measured = study.bad if case.bad else study.good
        exact = instantaneous_by_quadrature(StochasticBeam(), measured, case.tolerance * np.abs(measured)).mean(
            axis=1
        )
        for name, expected in (("instantaneous", exact), ("accumulated", np.cumsum(exact) / INSTANTS)):
            curve = getattr(case.reliability, name)
            rounding = COUNT / study.ensemble.n_realizations
            assert (np.abs(curve.value - expected) <= 4.0 * curve.standard_error + rounding).all()


def test_the_oracle_is_beside_every_case_and_of_other_realizations(beam, sandia):
    for study in (beam, sandia):
        assert [(case.bad, case.tolerance) for case in study.cases] == [
            (False, 0.08), (False, 0.16), (True, 0.08), (True, 0.16)
        ]  # fmt: skip
        for case in study.cases:
            for name, error in zip(NAMES, case.oracle.errors, strict=True):
                curve, known = getattr(case.reliability, name), getattr(case.oracle, name)
                both = np.hypot(curve.standard_error[-1], error)
                assert abs(curve.value[-1] - known[-1]) <= 4.0 * both + COUNT / study.ensemble.n_realizations
                assert study is beam or name == "first_passage" or error > 0.0
    assert "quadrature" in beam.cases[0].oracle.method
    assert sandia.cases[0].oracle.method == "the definition, on 400 other realizations"


def test_the_cases_are_the_definition(sandia):
    measured, response = sandia.good, sandia.ensemble.response
    tolerance = 0.16 * np.maximum(np.abs(measured), np.sqrt((measured**2).mean(axis=0)))
    case = case_of(sandia, bad=False)
    assert case.policy is TolerancePolicy.FLOORED
    instantaneous, first_passage = np.zeros((2, len(measured)))
    for y, eps in zip(measured.T, tolerance.T, strict=True):
        within = np.abs(response - y[:, None]) < eps[:, None]
        instantaneous += within.mean(axis=1) / 3.0
        first_passage += np.logical_and.accumulate(within).mean(axis=1) / 3.0
    np.testing.assert_allclose(case.reliability.instantaneous.value, instantaneous, atol=1e-14)
    np.testing.assert_allclose(case.reliability.first_passage.value, first_passage, atol=1e-14)
    running = np.cumsum(instantaneous) / np.arange(1, len(measured) + 1)
    np.testing.assert_allclose(case.reliability.accumulated.value, running, atol=1e-12)


def test_first_passage_never_rises_and_the_accumulated_is_the_running_mean(beam, sandia):
    for study in (beam, sandia):
        for case in (*study.cases, *study.literal, *study.thresholds):
            now, ever, often = (getattr(case.reliability, name).value for name in NAMES)
            assert (np.diff(ever) <= 0.0).all() and (ever <= now + 1e-12).all()
            np.testing.assert_allclose(often, np.cumsum(now) / np.arange(1, len(now) + 1), rtol=1e-12)


def test_the_accumulated_converges_and_the_instantaneous_fluctuates(beam, sandia):
    for study in (beam, sandia):
        for case in study.cases:
            now, _, often = (getattr(case.reliability, name).value for name in NAMES)
            last = slice(2 * len(now) // 3, None)
            assert np.ptp(often[last]) < 0.4 * np.ptp(now[last])
            assert np.abs(np.diff(often)).sum() < 0.5 * np.abs(np.diff(now)).sum()
    assert np.ptp(case_of(beam, bad=False).reliability.accumulated.value[167:]) < 0.01


def test_first_passage_and_accumulated_reject_the_bad_model(beam, sandia):
    for study in (beam, sandia):
        good, bad = (case_of(study, bad).reliability for bad in (False, True))
        assert bad.first_passage.value[-1] < 1e-3 < 0.3 < good.first_passage.value[-1]
        assert bad.accumulated.value[-1] < 0.7 < 0.9 < good.accumulated.value[-1]


def test_the_larger_the_tolerance_the_more_is_accepted(beam, sandia):
    for study in (beam, sandia):
        assert [case.tolerance for case in study.thresholds] == list(THRESHOLDS)
        for name in NAMES:
            values = np.array([getattr(case.reliability, name).value for case in study.thresholds])
            assert (np.diff(values, axis=0) >= 0.0).all()
        # a low threshold rejects a good model by first-passage, not by the accumulated alone
        tight = study.thresholds[0].reliability
        assert tight.first_passage.value[-1] < 0.02 < 0.2 < tight.accumulated.value[-1]


def test_answers_known_beforehand():
    # over triples of replicates these scatter by 0.11, 0.04 and 0.025; of 30 replicates there are ten
    model = StochasticBeam()
    ensemble = sort_ensemble(model.time, simulated(model, 3000, 7))
    good, bad = (
        model_reliability(ensemble, Tolerance(TolerancePolicy.LITERAL, 0.16), replicates(model, 30, 7, bad=bad), 50)
        for bad in (False, True)
    )
    few = sqrt(10.0)
    assert good.first_passage.value[-1] == pytest.approx(0.59, abs=3.0 * 0.11 / few)
    assert good.accumulated.value[-1] == pytest.approx(0.94, abs=3.0 * 0.04 / few)
    assert bad.accumulated.value[-1] == pytest.approx(0.617, abs=3.0 * 0.025 / few)
    assert bad.first_passage.value[-1] == 0.0


def test_a_literal_share_fails_the_structure_at_its_first_sample(sandia):
    # it begins at rest, where the measurement is noise
    assert sandia.literal and all(case.policy is TolerancePolicy.LITERAL for case in sandia.literal)
    for case in sandia.literal:
        assert case.reliability.first_passage.value[-1] == 0.0


def test_by_default_there_are_as_many_realizations_as_take_some_seconds(monkeypatch):
    assert REALIZATIONS == {"beam": 100_000, "sandia": 10_000}
    monkeypatch.setitem(REALIZATIONS, "sandia", 30)
    assert run_study("sandia").ensemble.n_realizations == 30


def test_the_seed_decides_and_the_policy_is_an_argument():
    one, same, other = (run_study("sandia", n_realizations=50, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.good, same.good)
    np.testing.assert_array_equal(one.ensemble.response, same.ensemble.response)
    assert (one.good != other.good).all()
    peak, literal = (
        run_study("sandia", n_realizations=50, policy=policy)
        for policy in (TolerancePolicy.PEAK, TolerancePolicy.LITERAL)
    )
    assert peak.cases[0].policy is TolerancePolicy.PEAK and len(peak.literal) == 4
    assert literal.cases[0].policy is TolerancePolicy.LITERAL and literal.literal == ()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"n_realizations": 1}, "a study needs two and one at least"),
        ({"n_replicates": 0}, "a study needs two and one at least"),
        ({"n_realizations": 10**14}, "do not fit into memory: take fewer"),
        ({"seed": -1, "n_realizations": 10}, "seed -1"),
        ({"name": "bridge", "n_realizations": 10}, "there is no model 'bridge'"),
    ],
)
def test_what_cannot_be_run(words, complaint):
    with pytest.raises(ValueError, match=complaint):
        run_study(**{"name": "beam"} | words)


def test_pictures(beam, sandia):
    drawn = []
    for study in (beam, sandia):
        figures = [block for block in study_blocks(study) if isinstance(block, Figure)]
        assert [each.name for each in figures] == [
            f"{study.name}-{what}" for what in ("responses", "good", "bad", "tolerances")
        ]
        # what they look like on paper is the command's test
        drawn += [each.draw() for each in figures]
    # in words what the tolerance is
    titles = [figure.get_suptitle() for figure in drawn]
    assert titles[1] == "deflection at midspan, good model; tolerance: λ of the measurement"
    assert titles[6].endswith("bad model; tolerance: λ of the measurement or of its rms, whichever is larger")

"""Resampled data, the verdict and what a regulator is told."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from replay.papers.thermal.compliance import (
    FEWEST,
    RULE,
    BiasCorrection,
    Compliance,
    FailureProbability,
    assess_compliance,
    failure_probabilities,
    resample,
    statement,
)
from replay.papers.thermal.limit import SLOPES, by_quadrature
from sim.ensembles import Normal
from sim.models.thermal_population import Conductivity, Family, Population, characterize
from sim.models.thermal_tables import LEVELS, material

KNOWN = {level: characterize(material(level)) for level in LEVELS}
BIAS = BiasCorrection(0.14, 0.067, 0.256, -34.1, 701.0, 818.0, 3000.0, 3500.0)
COOLER = {"1": np.array([0.1, 0.62]), "accreditation": np.array([0.3])}


@pytest.mark.parametrize("level", LEVELS)
def test_normal_theory_finds_the_requirement_missed_too(level):
    """Student's and chi-square's confidence in line, mean and deviations instead of the bootstrap."""
    generator, missed = np.random.default_rng(3), 0
    line, capacity = KNOWN[level].line, KNOWN[level].capacity
    for _ in range(1000):
        wider = [fit.degrees_of_freedom / generator.chisquare(fit.degrees_of_freedom) for fit in (line, capacity)]
        start, slope = generator.multivariate_normal(line.coefficients, line.covariance * wider[0])
        middle = generator.normal(capacity.at(0.0), float(capacity.standard_errors[0]) * np.sqrt(wider[1]))
        k = Normal(start, line.residual_deviation * np.sqrt(wider[0]))
        if not SLOPES[0] < slope < SLOPES[1]:
            continue  # nothing is known: not counted as missed
        with suppress(ValueError):
            c = Normal(middle, capacity.residual_deviation * np.sqrt(wider[1]))
            missed += by_quadrature(Population(k, slope, c)) > 0.01
    assert missed > 950


def made_up(value, families, bootstrap):
    return FailureProbability(value, 0.002, value, bootstrap, families)


def test_the_statement_says_what_was_shown_and_what_is_carried_on():
    bootstrap = np.append(np.full(480, 0.05), np.full(20, 0.005))
    failure = {which: made_up(0.05 + 0.1 * i, {Family.NORMAL: 0.05 + 0.1 * i, Family.LOGNORMAL: 0.04}, bootstrap)
               for i, which in enumerate(reversed(Conductivity))}  # fmt: skip
    verdict, rests_on, confidence, corrected, shown, carried_on = statement(
        "High", failure, COOLER, BIAS, 12345
    ).splitlines()
    assert verdict == (
        "High: the requirement is not met. Of the units 5 % are over 900 degC at 1000 s, where 1 % are allowed."
    )
    assert "30 specimens" in rests_on and "16 tests and 2 of accreditation" in rests_on
    assert "Monte Carlo, of 12345 units computed one by one, says 5 ± 0.2 %" in rests_on
    assert "of 500 bootstrap data sets" in confidence and "480 say that the requirement is missed." in confidence
    assert "A verdict needs" not in confidence
    assert "its share is 14 %, and of bootstrap runs 90 % say 6.7 to 25.6 %" in corrected
    assert "say 4 to 25 %." in confidence
    assert "up to 3000 W/m^2 and 735 degC, the 3 measured fronts end with 10 to 62 %" in shown
    assert carried_on.startswith("Extrapolated: to 3500 W/m^2 and 900 degC, where nothing was tested.")
    assert carried_on.endswith("The properties are not: they were measured from 20 to 1000 degC.")
    # no more than the level has
    low = statement("Low", failure, COOLER, BIAS, 12345)
    assert "6 specimens" in low and "4 tests and 1 of accreditation" in low


@pytest.mark.parametrize(
    ("bootstrap", "words"),
    [(0.002, "the requirement is met. Of the units 0.1 %"), (0.02, "whether the requirement is met stays open. Of")],
)
def test_the_statement_has_words_for_every_verdict(bootstrap, words):
    found = FailureProbability(0.001, 0.0005, 0.001, np.full(500, bootstrap), {Family.NORMAL: 0.001})
    assert statement("Low", dict.fromkeys(Conductivity, found), COOLER, BIAS, 100).startswith(f"Low: {words}")


def test_the_rule_is_said_to_be_ours():
    assert "is ours" in RULE and "with these results in view" in RULE and "95 %" in RULE


def test_resampled_data_are_like_the_data():
    known, data = KNOWN["High"], material("High")
    others = list(resample(known, data, 1000, np.random.default_rng(1)))
    lines = np.array([other.line.coefficients for other in others])
    error = lines.std(axis=0)
    np.testing.assert_allclose(error, known.line.standard_errors, rtol=0.1)
    assert (np.abs(lines.mean(axis=0) - known.line.coefficients) < 4.0 * error / np.sqrt(1000)).all()
    deviations = np.array([other.capacity.residual_deviation for other in others])
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(known.capacity.residual_deviation, rel=0.03)
    assert {other.representative_temperature for other in others} == {known.representative_temperature}


def test_a_decision_needs_units_and_data():
    met = FailureProbability(0.001, 0.0005, 0.001, np.full(500, 0.002), {})
    assert assess_compliance(met) is Compliance.MET
    assert assess_compliance(replace(met, standard_error=0.004)) is Compliance.OPEN
    assert assess_compliance(replace(met, bootstrap=np.linspace(0.0, 0.011, 500))) is Compliance.OPEN
    missed = replace(met, value=0.05, bootstrap=np.linspace(0.009, 0.2, 500))
    assert assess_compliance(missed) is Compliance.NOT_MET
    assert assess_compliance(replace(missed, bootstrap=np.linspace(0.0, 0.08, 500))) is Compliance.OPEN


def test_a_verdict_needs_bootstrap_data_sets():
    """Of 50 sets of a level of which 3.3 % comply, 5 % or more do one time in four: no verdict hangs on that."""
    few = FailureProbability(0.1, 0.002, 0.1, np.full(FEWEST - 1, 0.1), {Family.NORMAL: 0.1})
    assert assess_compliance(few) is Compliance.OPEN
    assert assess_compliance(replace(few, bootstrap=np.full(FEWEST, 0.1))) is Compliance.NOT_MET
    told = statement("Low", dict.fromkeys(Conductivity, few), COOLER, BIAS, 100)
    assert "stays open" in told and "A verdict needs 500 of them." in told


def test_the_same_seed_gives_the_same_numbers(warm_kernels):
    number = dict.fromkeys(Conductivity, 64)
    first, again, other = (
        failure_probabilities(material("Medium"), number, 3, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    for which in Conductivity:
        assert first[which].value == again[which].value
        np.testing.assert_array_equal(first[which].bootstrap, again[which].bootstrap)
        assert (first[which].bootstrap != other[which].bootstrap).any()

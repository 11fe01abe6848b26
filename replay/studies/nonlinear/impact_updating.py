"""Updating a pad from repeated impact tests: the distribution of their shock spectra rather than one record.

Of each configuration the means of the logarithms of the spectra are compared, and their scatter along the two
directions in which the repeats scatter most: preload and tilt are all that differs between them. What is fitted are
quadratic response surfaces of these features, each around the last estimate and smaller than the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property

import numpy as np
from scipy.special import digamma, ndtri, polygamma, stdtrit

from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.studies.nonlinear.impact_records import (
    CONFIGURATIONS,
    NOMINAL,
    Configuration,
    ImpactRecords,
    PadParameters,
    spectra,
)
from sim.identification.fit import Fit, fit
from sim.identification.least_squares import spread_starts

NODES = 48
NAMES = tuple(each.name for each in fields(PadParameters))
# of a spectrum's logarithm: what neither model nor sensor is better than
FLOOR = 0.01
_DIRECTIONS = 2
# of the logarithms of the parameters: three surfaces, one in the other
_REACHES = 0.4, 0.25, 0.2
_MOST_SURFACES = 7


def nodes(number: int) -> tuple[Samples, Samples]:
    """Return standard normal deviates of preload and of tilt, its half of zero or more, that fill both evenly."""
    # the plastic number's lattice, the even sequence of two dimensions
    plastic = 1.32471795724474602596
    count = np.arange(1.0, number + 1.0)
    one, other = (0.5 + count / plastic) % 1.0, (0.5 + count / plastic**2) % 1.0
    return np.asarray(ndtri(one)), np.asarray(ndtri(0.5 + 0.5 * other))


@dataclass(frozen=True, eq=False)
class RepeatedImpacts:
    """Means and scatters of the shock spectra of repeated tests by the parameters of pad, preload and tilt.

    Features are in standard errors of those of the tests, as they are at the reference.

    Parameters
    ----------
    configurations : that were tested.
    reference : parameters at which the standard errors hold.
    n_nodes : tests that stand for the distribution.
    """

    configurations: tuple[Configuration, ...]
    reference: PadParameters = NOMINAL
    n_nodes: int = NODES

    def logarithms(self, parameters: PadParameters, configuration: Configuration) -> Samples:
        """Return (n_nodes, k), logarithms of the spectra of tests that stand for the distribution."""
        test, (tight, tilted) = parameters.test(configuration), nodes(self.n_nodes)
        motion = test.simulate(test.preload.at(tight), test.tilt_deviation * tilted)
        return np.asarray(np.log(spectra(motion.impactor)))

    @cached_property
    def scales(self) -> dict[Configuration, tuple[Samples, Samples, Samples]]:
        """What makes means independent, (k, k), directions of scatter, (k, 2), errors of its logarithm, (2,)."""
        found = {}
        for each in self.configurations:
            logarithms, n = self.logarithms(self.reference, each), each.repeats
            covariance = np.cov(logarithms.T)
            root = np.linalg.cholesky((covariance + FLOOR**2 * np.eye(len(covariance))) / n)
            directions = np.linalg.eigh(covariance)[1][:, : -_DIRECTIONS - 1 : -1]
            along = (logarithms - logarithms.mean(axis=0)) @ directions
            kurtosis = np.mean(along**4, axis=0) / np.mean(along**2, axis=0) ** 2
            # of a normal variable, 3, the variance of the logarithm of a standard deviation is trigamma / 4
            errors = np.sqrt(0.25 * polygamma(1, 0.5 * (n - 1)) * (kurtosis - 1.0) / 2.0)
            found[each] = np.linalg.inv(root), directions, errors
        return found

    def features(self, logarithms: Samples, configuration: Configuration, *, of_tests: bool) -> Samples:
        """Return (k + 2,) features of the logarithms of spectra, (number, k)."""
        independent, directions, errors = self.scales[configuration]
        along = logarithms @ directions
        scatter = np.log(np.maximum(along.std(axis=0, ddof=int(of_tests)), 1e-12))
        if of_tests:
            half = 0.5 * (configuration.repeats - 1)
            # the logarithm of the deviation of few tests is too small on average
            scatter -= 0.5 * (digamma(half) - np.log(half))
        return np.concatenate([independent @ logarithms.mean(axis=0), scatter / errors])

    def observed(self, records: Mapping[Configuration, ImpactRecords]) -> Samples:
        """Return (n,) features of the tests."""
        each = (self.features(np.log(records[c].spectra), c, of_tests=True) for c in self.configurations)
        return np.concatenate(list(each))

    def expected(self, parameters: PadParameters) -> Samples:
        """Return (n,) features of tests with these parameters."""
        each = (self.features(self.logarithms(parameters, c), c, of_tests=False) for c in self.configurations)
        return np.concatenate(list(each))


@dataclass(frozen=True, eq=False)
class ResponseSurface:
    """Quadratic polynomials of the features in the logarithms of the parameters over those of a centre.

    Parameters
    ----------
    coefficients : (n, 1 + p + p (p + 1) / 2).
    reach : of the logarithms, to either side.
    n_points : that they were fitted to.
    error : rms of what the polynomials miss at these points, in standard errors.
    """

    coefficients: Samples
    reach: float
    n_points: int
    error: float

    names = NAMES

    @property
    def lower(self) -> Samples:
        """(p,)."""
        return np.full(len(NAMES), -self.reach)

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return np.full(len(NAMES), self.reach)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return features, (m, n), and their derivatives, (m, n, p)."""
        values, slopes = _powers(parameters)
        return values @ self.coefficients.T, np.einsum("nc,mcp->mnp", self.coefficients, slopes)


def response_surface(model: RepeatedImpacts, reach: float, seed: int = 1) -> ResponseSurface:
    """Return the surface around the model's reference, from a Latin hypercube of its parameters."""
    n_points = 2 * _powers(np.zeros((1, len(NAMES))))[0].shape[1] + len(NAMES)
    ends = np.full(len(NAMES), reach)
    points = spread_starts(-ends, ends, n_points, seed)
    values = np.array([model.expected(_at(model.reference, row)) for row in points])
    powers = _powers(points)[0]
    coefficients = np.linalg.lstsq(powers, values, rcond=None)[0]
    left = values - powers @ coefficients
    degrees = n_points - powers.shape[1]
    return ResponseSurface(
        coefficients.T, reach, n_points, float(np.sqrt(np.sum(left**2) / degrees / values.shape[1]))
    )


def _powers(logarithms: Samples) -> tuple[Samples, Samples]:
    """Return the terms of a quadratic polynomial, (m, c), and their derivatives, (m, c, p)."""
    m, p = logarithms.shape
    one, other = np.triu_indices(p)
    terms = np.column_stack([np.ones(m), logarithms, logarithms[:, one] * logarithms[:, other]])
    slopes = np.zeros((m, terms.shape[1], p))
    slopes[:, 1 : p + 1] = np.eye(p)
    products = np.arange(len(one)) + p + 1
    slopes[:, products, one] += logarithms[:, other]
    slopes[:, products, other] += logarithms[:, one]
    return terms, slopes


def _at(center: PadParameters, logarithms: Samples) -> PadParameters:
    return PadParameters(*(np.array(astuple(center)) * np.exp(logarithms)).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedPad:
    """Parameters from repeated tests.

    Parameters
    ----------
    fit : of the logarithms of the parameters over those of the last surface's centre.
    parameters : the estimates.
    intervals : (p, 2), 95 %, Student's for the logarithms.
    surface_error : of the last surface, in standard errors of the features.
    evaluations : sets of parameters for which the tests were simulated.
    """

    fit: Fit
    parameters: PadParameters
    intervals: Samples
    surface_error: float
    evaluations: int


def update(
    records: Mapping[Configuration, ImpactRecords],
    configurations: Sequence[Configuration] = CONFIGURATIONS,
    *,
    n_nodes: int = NODES,
    progress: Progress = silent,
) -> UpdatedPad:
    """Fit pad, preload and tilt to the distribution of the tests, from the nominal parameters on."""
    center, last, evaluations = NOMINAL, NOMINAL, 0
    reaches = list(_REACHES)
    for number, reach in enumerate(reaches):
        progress("updating the pad", number, len(reaches))
        model = RepeatedImpacts(tuple(configurations), center, n_nodes)
        surface = response_surface(model, reach)
        found = fit(surface, model.observed(records), np.zeros(len(NAMES)))
        last, center = center, _at(center, found.parameters)
        evaluations += surface.n_points
        if number == len(reaches) - 1 and found.at_bound.any() and len(reaches) < _MOST_SURFACES:
            # the estimate is at the end of the surface: another one around it
            reaches.append(reach)
    progress("updating the pad", len(reaches), len(reaches))
    error = float(stdtrit(found.degrees_of_freedom, 0.975)) * found.standard_errors
    ends = [astuple(_at(last, found.parameters + sign * error)) for sign in (-1.0, 1.0)]
    return UpdatedPad(found, center, np.sort(np.transpose(ends), axis=1), surface.error, evaluations)

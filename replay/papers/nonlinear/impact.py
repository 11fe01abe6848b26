"""The study of the impact test: the distribution of repeated tests, and a pad that is updated by it.

Of each configuration the means of the logarithms of the spectra are compared, and their scatter along the two
directions in which the repeats scatter most: preload and tilt are all that differs between them. What is fitted are
quadratic response surfaces of these features, each around the last estimate and smaller than the one before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.papers.nonlinear.impact_records import (
    CONFIGURATIONS,
    NOMINAL,
    SPECIMEN,
    Configuration,
    ImpactRecords,
    PadParameters,
    draw_records,
    largest_turning,
    spectra,
)
from replay.validation.history_measures import area_metric
from sim.fitting.fit import Fit, fit
from sim.fitting.least_squares import spread_starts
from sim.updating.autoregression import choose_orders, fit_autoregression

NODES = 48
NAMES = tuple(each.name for each in fields(PadParameters))
# tests that represent the population, and sets of repeats drawn from it, for the standard errors
_POPULATION, _RESAMPLED = 256, 2000
# of a spectrum's logarithm: what neither model nor sensor is better than
FLOOR = 0.003
_DIRECTIONS = 2
# of the logarithms of the parameters: three surfaces, one in the other
_REACHES = 0.4, 0.25, 0.2
_MOST_SURFACES = 7
# of a surface, of 28 coefficients: an orthogonal array of strength 2 for up to eight parameters
POINTS = 49


def nodes(number: int) -> tuple[Samples, Samples]:
    """Return standard normal deviates of preload and of tilt, its half of zero or more, that fill both evenly."""
    # the plastic number's lattice, the even sequence of two dimensions
    plastic = 1.32471795724474602596
    count = np.arange(1.0, number + 1.0)
    one, other = (0.5 + count / plastic) % 1.0, (0.5 + count / plastic**2) % 1.0
    return np.asarray(ndtri(one)), np.asarray(ndtri(0.5 + 0.5 * other))


class FeatureScale(NamedTuple):
    """What makes the moments of repeated tests features that are independent and scatter by one.

    Parameters
    ----------
    whitening : (k + 2, k + 2), of k means and the logarithms of two deviations.
    directions : (k, 2), in which the repeats scatter most.
    bias : (k + 2,), mean of the moments of few repeats less those of the nodes.
    """

    whitening: Samples
    directions: Samples
    bias: Samples


@dataclass(frozen=True, eq=False)
class RepeatedImpacts:
    """Means and scatters of the shock spectra of repeated tests by the parameters of pad, preload and tilt.

    Features are in standard errors of those of the tests, as they are at the reference.

    Parameters
    ----------
    configurations : that were tested.
    reference : parameters at which the standard errors hold.
    n_nodes : tests that represent the distribution.
    """

    configurations: tuple[Configuration, ...]
    reference: PadParameters = NOMINAL
    n_nodes: int = NODES

    def logarithms(self, parameters: PadParameters, configuration: Configuration, n_nodes: int) -> Samples:
        """Return (n_nodes, k), logarithms of the spectra of tests that represent the distribution."""
        test, (tight, tilted) = parameters.test(configuration), nodes(n_nodes)
        motion = test.simulate(test.preload.at(tight), test.tilt_deviation * tilted)
        return np.asarray(np.log(spectra(motion.impactor)))

    @cached_property
    def scales(self) -> dict[Configuration, FeatureScale]:
        """Of each configuration, from sets of repeats that are drawn from its population at the reference."""
        found = {}
        for each in self.configurations:
            population = self.logarithms(self.reference, each, _POPULATION)
            directions = np.linalg.eigh(np.cov(population.T))[1][:, : -_DIRECTIONS - 1 : -1]
            drawn = np.random.default_rng(0).integers(_POPULATION, size=(_RESAMPLED, each.repeats))
            features = _moments(population[drawn], directions, 1)
            few = _moments(self.logarithms(self.reference, each, self.n_nodes), directions, 0)
            covariance = np.cov(features.T) + FLOOR**2 * np.eye(features.shape[1])
            whitening = np.linalg.inv(np.linalg.cholesky(covariance))
            found[each] = FeatureScale(whitening, directions, features.mean(axis=0) - few)
        return found

    def observed(self, records: Mapping[Configuration, ImpactRecords]) -> Samples:
        """Return (n,) features of the tests."""
        found = []
        for each in self.configurations:
            scale = self.scales[each]
            found.append(scale.whitening @ _moments(np.log(records[each].spectra), scale.directions, 1))
        return np.concatenate(found)

    def expected(self, parameters: PadParameters) -> Samples:
        """Return (n,) features of tests with these parameters."""
        found = []
        for each in self.configurations:
            scale = self.scales[each]
            moments = _moments(self.logarithms(parameters, each, self.n_nodes), scale.directions, 0)
            found.append(scale.whitening @ (moments + scale.bias))
        return np.concatenate(found)


def _moments(logarithms: Samples, directions: Samples, lost: int) -> Samples:
    """Return (..., k + 2): means of (..., number, k), and logarithms of the deviations along directions."""
    along = logarithms @ directions
    deviation = np.maximum(along.std(axis=-2, ddof=lost), 1e-12)
    return np.concatenate([logarithms.mean(axis=-2), np.log(deviation)], axis=-1)


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


def response_surface(
    model: RepeatedImpacts, reach: float, number: int = POINTS, strength: int = 2
) -> ResponseSurface:
    """Return the surface around the model's reference, of an orthogonal array; of a Latin hypercube by strength 1."""
    ends = np.full(len(NAMES), reach)
    points = spread_starts(-ends, ends, number, strength=strength)
    # before threads do it
    model.scales  # noqa: B018
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        values = np.array(list(pool.map(lambda row: model.expected(_at(model.reference, row)), points)))
    powers = _powers(points)[0]
    coefficients = np.linalg.lstsq(powers, values, rcond=None)[0]
    left = values - powers @ coefficients
    degrees = number - powers.shape[1]
    return ResponseSurface(coefficients.T, reach, number, float(np.sqrt(np.sum(left**2) / degrees / values.shape[1])))


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
    intervals : (p, 2), 95 %, Student's for the logarithms; never less than by the errors of features and surface.
        NaN where `settled` is false.
    surface_error : of the last surface, in standard errors of the features.
    evaluations : sets of parameters for which the tests were simulated.
    """

    fit: Fit
    parameters: PadParameters
    intervals: Samples
    surface_error: float
    evaluations: int

    @property
    def settled(self) -> bool:
        """Whether the estimate is inside of the last surface."""
        return not self.fit.at_bound.any()


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
    # the errors of features are known: residuals that are smaller by chance promise nothing
    known = max(found.sigma, 1.0) / found.sigma * float(np.hypot(1.0, surface.error))
    error = float(stdtrit(found.degrees_of_freedom, 0.975)) * known * found.standard_errors
    if found.at_bound.any():
        # the surfaces do not settle: what the last one promises means nothing
        error[:] = np.nan
    ends = [astuple(_at(last, found.parameters + sign * error)) for sign in (-1.0, 1.0)]
    return UpdatedPad(found, center, np.sort(np.transpose(ends), axis=1), surface.error, evaluations)


RUNS = 500
_FEWEST, _MOST = 50, 20_000
TORN = 0.5
# every other sample: at the full rate neighbours are nearly equal, and coefficients of little meaning
_DECIMATION = 2
_MOST_ORDER = 8


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a model predicts of one configuration, beside its tests.

    Parameters
    ----------
    peaks : (runs,), g, of the model's tests.
    area : g, between the distributions of the model's peaks and of those measured.
    inside : measured peaks between the model's 2.5 % and 97.5 %.
    spectra : (3, k), g, 2.5 %, 50 % and 97.5 % of the shock spectra.
    """

    peaks: Samples
    area: float
    inside: int
    spectra: Samples


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRatios:
    """Residual error ratios of ARX models of the first test: from the carriage to the impactor.

    Parameters
    ----------
    orders : of output and input.
    sound, torn : (repeats - 1,) and (repeats,), of the other tests, and of those of a pad that is torn.
    """

    orders: tuple[int, int]
    sound: Samples
    torn: Samples


@dataclass(frozen=True, slots=True, eq=False)
class ImpactStudy:
    """What the study found.

    Parameters
    ----------
    seed, runs : of everything random, and tests of each model.
    records : the tests.
    nominal, updated : predictions before and after the update.
    pad : the update.
    ratios : of each configuration.
    angles : (repeats,) of each configuration, rad, by the three sensors.
    seconds : of the update.
    """

    seed: int
    runs: int
    records: Mapping[Configuration, ImpactRecords]
    nominal: Mapping[Configuration, Prediction]
    updated: Mapping[Configuration, Prediction]
    pad: UpdatedPad
    ratios: Mapping[Configuration, ErrorRatios]
    angles: Mapping[Configuration, Samples]
    seconds: float


def update_and_predict(runs: int, seed: int, progress: Progress) -> ImpactStudy:
    """Draw the tests, update the pad by them, and predict their distribution before and after.

    Parameters
    ----------
    runs : tests of each model and configuration that its distribution is made of.
    seed : of everything random.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    if not _FEWEST <= runs <= _MOST:
        raise ValueError(f"--runs {runs}: give {_FEWEST} to {_MOST}")
    records = draw_records(SPECIMEN, seed)
    began = perf_counter()
    pad = update(records, progress=progress)
    seconds = perf_counter() - began
    predictions: list[dict[Configuration, Prediction]] = []
    for number, parameters in enumerate((NOMINAL, pad.parameters)):
        progress("predictions", number, 2)
        predictions.append({each: predict(parameters, records[each], runs, seed) for each in CONFIGURATIONS})
    progress("predictions", 2, 2)
    torn = draw_records(SPECIMEN, seed + 1, torn=TORN)
    ratios = {each: error_ratios(records[each], torn[each]) for each in CONFIGURATIONS}
    angles = {each: angles_of_impact(records[each], runs, seed) for each in CONFIGURATIONS}
    return ImpactStudy(seed, runs, records, predictions[0], predictions[1], pad, ratios, angles, seconds)


def angles_of_impact(records: ImpactRecords, runs: int, seed: int) -> Samples:
    """Return (repeats,), rad: by the turning that the sensors show, and what tests of the nominal model turn."""
    test = NOMINAL.test(records.configuration)
    preload, tilt = test.draw(np.random.default_rng(seed), runs)
    turned = largest_turning(test.simulate(preload, tilt).sensors)
    return np.asarray(largest_turning(records.sensors) * (tilt @ turned) / (turned @ turned))


def predict(parameters: PadParameters, records: ImpactRecords, runs: int, seed: int) -> Prediction:
    """Return what a model predicts of a configuration, from tests with preloads and tilts of their own."""
    configuration = records.configuration
    number = CONFIGURATIONS.index(configuration)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(CONFIGURATIONS), number)))
    acceleration = parameters.test(configuration).realize(generator, runs)
    peaks, measured = acceleration.max(axis=0), records.peaks
    low, high = np.percentile(peaks, [2.5, 97.5])
    area = float(area_metric(measured[None], peaks[None]).area[0])
    bands = np.percentile(spectra(acceleration), [2.5, 50.0, 97.5], axis=0)
    return Prediction(peaks, area, int(np.sum((measured >= low) & (measured <= high))), bands)


def error_ratios(sound: ImpactRecords, torn: ImpactRecords) -> ErrorRatios:
    """Return the error ratios of the first test's model in the other tests, and in those of a torn pad."""
    outputs, inputs, torn_outputs, torn_inputs = (
        each[::_DECIMATION].T for each in (sound.impactor, sound.carriage, torn.impactor, torn.carriage)
    )
    orders = choose_orders(outputs[0], inputs[0], most_output=_MOST_ORDER, most_input=_MOST_ORDER)
    model = fit_autoregression(outputs[0], orders, inputs[0])
    ratios = model.error_ratio(outputs[1:], inputs[1:]), model.error_ratio(torn_outputs, torn_inputs)
    return ErrorRatios((orders.output, orders.input), *ratios)

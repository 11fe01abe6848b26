"""The study of the impact test: the distribution of repeated tests, and a pad that is updated by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress
from replay.studies import StudyResult, study_result
from replay.studies.nonlinear.impact_records import (
    CONFIGURATIONS,
    NOMINAL,
    SPECIMEN,
    Configuration,
    ImpactRecords,
    PadParameters,
    draw_records,
    spectra,
)
from replay.studies.nonlinear.impact_updating import UpdatedPad, update
from replay.validation.area_metric import area_metric
from sim.updating.autoregression import choose_orders, fit_autoregression

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
    seconds : of the update.
    """

    seed: int
    runs: int
    records: Mapping[Configuration, ImpactRecords]
    nominal: Mapping[Configuration, Prediction]
    updated: Mapping[Configuration, Prediction]
    pad: UpdatedPad
    ratios: Mapping[Configuration, ErrorRatios]
    seconds: float


def run_study(runs: int | None, seed: int, progress: Progress) -> StudyResult:
    """Run the study.

    Parameters
    ----------
    runs : tests of each model and configuration that its distribution is made of; None: 500.
    seed : of everything random.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    study = update_and_predict(RUNS if runs is None else runs, seed, progress)

    return study_result(study, "nonlinear.impact_report", "nonlinear.impact_pictures")


def update_and_predict(runs: int, seed: int, progress: Progress) -> ImpactStudy:
    """Draw the tests, update the pad by them, and predict their distribution before and after."""
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
    return ImpactStudy(seed, runs, records, predictions[0], predictions[1], pad, ratios, seconds)


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

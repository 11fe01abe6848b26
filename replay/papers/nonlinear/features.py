"""Features of one record without a model (section 3.4): which of them show the damage of each test bed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Table, Text, words
from replay import Progress, silent
from sim.ensembles import Experiment, measurement
from sim.models.impact_test import ImpactTest
from sim.models.nonlinear_chains import DuffingOscillator, EightMasses, FourMasses
from sim.updating.autoregression import choose_orders, fit_autoregression
from sim.updating.shock_spectrum import shock_spectrum

RUNS, _MOST_RUNS = 20, 500
_SEGMENT, _MOST_ORDER = 512, 8


class Bed(NamedTuple):
    """Tests whose forces, noise and specimens differ, by their number; damaged ones are bad ones, or others."""

    damage: str
    channel: str
    sound: Callable[[int], Experiment]
    others: Callable[[int], Experiment] | None = None


def _rubbing(run: int) -> EightMasses:
    return EightMasses(seed=run, contact_stiffness=0.0, contact_damping=0.0)


BEDS: Mapping[str, Bed] = {
    "duffing": Bed("spring -15 %", "acceleration_1", lambda _: DuffingOscillator()),
    "four-dof": Bed("spring 3 -15 %", "acceleration_3", lambda run: FourMasses(seed=run)),
    "eight-dof": Bed("spring 5 -14 %", "acceleration_5", _rubbing),
    "bumper": Bed("impacts", "acceleration_5", _rubbing, lambda run: EightMasses(seed=run)),
    "impact": Bed("pad torn", "acceleration", lambda _: ImpactTest()),
}


def features(records: Samples, known: Samples, rate: float) -> dict[str, Samples]:
    """Return numbers of records, (m,) each.

    Parameters
    ----------
    records : (m, n), accelerations.
    known : (k, n), of undamaged tests, that distances and the autoregression are of.
    rate : Hz.
    """
    from scipy.signal import welch  # slow to import
    from scipy.stats import kurtosis, skew, wasserstein_distance

    def spectra(each: Samples) -> tuple[Samples, Samples]:
        frequencies, densities = welch(each, rate, nperseg=min(_SEGMENT, each.shape[-1]))
        return frequencies[1:], densities[..., 1:]

    def distance(found: Samples, usual: Samples) -> Samples:
        return np.asarray(np.sqrt(np.mean((np.log(found) - np.median(np.log(usual), axis=0)) ** 2, axis=-1)))

    frequencies, densities = spectra(records)
    one, pool = ((each - each.mean(axis=-1, keepdims=True)) / each.std(axis=-1, keepdims=True)
                 for each in (records, known))  # fmt: skip
    model = fit_autoregression(known[0], choose_orders(known[0], most_output=_MOST_ORDER))
    return {
        "rms": np.sqrt(np.mean(records**2, axis=-1)),
        "skewness": np.asarray(skew(records, axis=-1)),
        "kurtosis": np.asarray(kurtosis(records, axis=-1)),
        "density of values": np.array([wasserstein_distance(each, pool.ravel()) for each in one]),
        "PSD, mean frequency": np.sqrt(densities @ frequencies**2 / densities.sum(axis=-1)),
        "PSD, distance": distance(densities, spectra(known)[1]),
        "shock spectrum": distance(shock_spectrum(records, rate).maximax(), shock_spectrum(known, rate).maximax()),
        "AR error ratio": model.error_ratio(records),
    }


def found_outside(sound: Samples, damaged: Samples) -> int:
    """Return how many of the damaged tests are outside of the range of the undamaged ones."""
    return int(np.sum((damaged < sound.min()) | (damaged > sound.max())))


class FeatureStudy(NamedTuple):
    """By test bed and feature in how many damaged tests it is other than in undamaged ones."""

    runs: int
    seed: int
    found: dict[str, dict[str, int]]


def compare_features(runs: int, seed: int, progress: Progress = silent) -> FeatureStudy:
    """Return what features find of so many damaged tests of each bed.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    if not 2 <= runs <= _MOST_RUNS:
        raise ValueError(f"--runs {runs}: the study features needs 2 to {_MOST_RUNS}")
    found = {}
    for done, (name, bed) in enumerate(BEDS.items()):
        progress("test beds", done, len(BEDS))
        column = [channel for channel, _ in bed.sound(0).channels].index(bed.channel)
        numbers = range(seed, seed + 3 * runs)
        sound = np.array([measurement(bed.sound(run), run)[:, column] for run in numbers])
        others = range(seed + 3 * runs, seed + 4 * runs)
        make, bad = bed.others or bed.sound, bed.others is None
        damaged = np.array([measurement(make(run), run, bad=bad)[:, column] for run in others])
        known, rate = sound[:runs], 1.0 / float(np.diff(bed.sound(0).time[:2])[0])
        of_sound, of_damaged = (features(each, known, rate) for each in (sound[runs:], damaged))
        found[name] = {feature: found_outside(of_sound[feature], of_damaged[feature]) for feature in of_sound}
    progress("test beds", len(BEDS), len(BEDS))
    return FeatureStudy(runs, seed, found)


def study_blocks(study: FeatureStudy) -> Iterator[Block]:
    """Yield how many damaged tests each feature finds."""
    runs, seed, found = study
    yield Data({"study": "features", "seed": seed, "runs": runs})
    yield Text(
        f"Features of one acceleration. Of {runs} damaged tests of each bed, those whose feature is outside of the "
        f"range of {2 * runs} undamaged ones: one by chance. Forces (but of duffing), "
        "specimens and noise differ."
    )
    columns = [Column(f"{name}\n{bed.damage}", key=name) for name, bed in BEDS.items()]
    rows = [(each, *(found[name][each] for name in BEDS)) for each in found["duffing"]]
    yield Table("Damaged tests found", (words("feature", "feature"), *columns), rows, key="found")

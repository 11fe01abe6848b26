"""Chains of five masses on the ground, drawn at random: which damage is found, and what a fit says where it is not.

Neither metrics nor settings were chosen for them: they are those of the paper's test beds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Points, Table, Text, words
from replay import Progress, silent
from sim.fitting.chain_response import ChainResponse
from sim.fitting.fit import Fit, fit
from sim.fitting.least_squares import spread_starts
from sim.laboratory.structure import Structure
from sim.models.chain import Chain, chain_response
from sim.updating.metric import Correlated, TimeHistories
from sim.updating.modal_residues import ForceResidue, HybridResidue, OutputResidue, ParameterizedStructure
from sim.updating.modes import Modes, compare_modes, identify_modes, natural_modes
from sim.updating.principal_components import PrincipalComponents

RUNS, _MOST_RUNS = 20, 500
SENSORS, WITHIN, WRONG = (1, 3, 5), 3.0, 1.1
_RATE, _SAMPLES, _WINDOW, _RANGE, _MORE_STARTS = 50.0, 8192, 200, 0.3, 3
# of frequencies and of the components of unit shapes, as for the eight masses
_MODAL_ERRORS = 0.01, 0.05
_SPRINGS, _MASSES = (tuple(f"{letter}{i}" for i in range(1, 6)) for letter in "km")


class Damage(StrEnum):
    """What the model has wrong."""

    ONE = "one spring"
    TWO = "two springs"
    MASS = "one spring and one mass"


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTest:
    """A chain, and its accelerations under a random force on mass 5.

    Parameters
    ----------
    model : before the damage, with the masses that an analyst has, and dampers that are too weak.
    masses : (5,) kg, the true ones.
    loss : (5,), % of the stiffness of each spring.
    load, acceleration : (n, 5), N and m/s^2.
    noise : (5,), its standard deviation, m/s^2.
    """

    model: Chain
    masses: Samples
    loss: Samples
    load: Samples
    acceleration: Samples
    noise: Samples

    @property
    def record(self) -> Samples:
        """(n, 3), at the sensors."""
        return self.acceleration[:, [sensor - 1 for sensor in SENSORS]]


def draw_test(damage: Damage, seed: int) -> DrawnTest:
    """Return a test: masses of 0.7 to 1.3 kg, springs of 350 to 550 N/m, of which one or two have lost 10 to 25 %."""
    generator = np.random.default_rng((seed, list(Damage).index(damage)))
    assumed, springs = generator.uniform(0.7, 1.3, 5), generator.uniform(350.0, 550.0, 5)
    places = generator.permutation(5)[: 1 + (damage is Damage.TWO)]
    loss, masses = np.zeros(5), assumed.copy()
    loss[places] = generator.uniform(10.0, 25.0, len(places))
    masses[generator.integers(5)] *= WRONG if damage is Damage.MASS else 1.0
    load = np.zeros((_SAMPLES, 5))
    load[:, 4] = 5.0 * generator.standard_normal(_SAMPLES)
    exact = chain_response(Chain(masses, springs * (1.0 - loss / 100.0), 0.5), load, 1.0 / _RATE).acceleration
    noise = 0.01 * np.sqrt(np.mean(exact**2, axis=0))
    acceleration = exact + noise * generator.standard_normal(exact.shape)
    return DrawnTest(Chain(assumed, springs, 0.3), masses, loss, load, acceleration, noise)


def modes_of(test: DrawnTest) -> Modes:
    """Return the identified modes that have a partner in the model."""
    found = identify_modes(test.record, _RATE)
    pairs = compare_modes(found, natural_modes(Structure(*test.model.matrices), SENSORS)).pairs
    return found.chosen(pairs[np.argsort(pairs[:, 1]), 0])


def _by_modes(residue: type[ForceResidue | OutputResidue], test: DrawnTest, modes: Modes) -> Fit:
    places: list[tuple[int, int | None]] = [(1, None), (1, 2), (2, 3), (3, 4), (4, 5)]
    springs = np.asarray(test.model.springs)
    structure = ParameterizedStructure.of_springs(
        test.model.masses, places, springs, lower=1.0 - _RANGE, upper=1.0 + _RANGE
    )
    errors = _MODAL_ERRORS if residue is OutputResidue else ()
    compared = residue(structure, modes, SENSORS, *errors)
    starts = np.vstack([springs, spread_starts(structure.lower, structure.upper, _MORE_STARTS)])
    return fit(compared, compared.observed, starts)


def _by_histories(metric: str, test: DrawnTest, _modes: Modes, free: tuple[str, ...] = ()) -> Fit:
    model = ChainResponse(test.model, test.load[:_WINDOW], 1.0 / _RATE, (*_SPRINGS, "c", *free), SENSORS)
    record, noise = test.record[:_WINDOW], test.noise[[sensor - 1 for sensor in SENSORS]]
    compared = TimeHistories(record, noise) if metric == "histories" else PrincipalComponents(record)
    near = (1.0 - _RANGE) * model.nominal, (1.0 + _RANGE) * model.nominal
    starts = np.vstack([model.nominal, spread_starts(*near, _MORE_STARTS)])
    return fit(Correlated(model, compared), compared.observed, starts)


METHODS: Mapping[str, Callable[[DrawnTest, Modes], Fit]] = {
    "output residue (4)": partial(_by_modes, OutputResidue),
    "force residue (5)": partial(_by_modes, ForceResidue),
    "hybrid residue (6, 7)": partial(_by_modes, HybridResidue),
    "principal comp. (13)": partial(_by_histories, "components"),
    "time histories (10)": partial(_by_histories, "histories"),
    "time histories, masses free": partial(_by_histories, "histories", free=_MASSES),
}


class Outcomes(NamedTuple):
    """Errors of the worst spring, (runs,) in points of a percent, and whether the fit says why not to trust it."""

    errors: Samples
    doubted: Samples

    def row(self) -> tuple[object, ...]:
        """Return tests, found ones, median error, and how many of those found and not found are doubted."""
        found = self.errors <= WITHIN
        doubted = self.doubted > 0.0
        return (
            *(len(found), int(found.sum()), float(np.median(self.errors)), float(np.max(self.errors))),
            *(int((found & doubted).sum()), f"{int((~found & doubted).sum())} of {int((~found).sum())}"),
        )


class FiveDofStudy(NamedTuple):
    """Tests of each damage, outcomes by damage and method, and modes identified, of five in each test."""

    runs: int
    seed: int
    outcomes: Mapping[Damage, Mapping[str, Outcomes]]
    modes: int


def update_drawn_chains(runs: int, seed: int, progress: Progress = silent) -> FiveDofStudy:
    """Return what is found in so many tests of each damage.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    if not 1 <= runs <= _MOST_RUNS:
        raise ValueError(f"--runs {runs}: the study five-dof needs 1 to {_MOST_RUNS}")
    outcomes, identified = {}, 0
    for number, damage in enumerate(Damage):
        errors, doubted = np.full((len(METHODS), runs), np.nan), np.ones((len(METHODS), runs))
        for run in range(runs):
            progress("tests", number * runs + run, runs * len(Damage))
            test = draw_test(damage, seed + run)
            modes = modes_of(test)
            identified += len(modes)
            for row, method in enumerate(METHODS.values()):
                found = method(test, modes)
                loss = 100.0 * (1.0 - found.parameters[:5] / np.asarray(test.model.springs))
                errors[row, run], doubted[row, run] = np.abs(loss - test.loss).max(), bool(found.doubts())
        outcomes[damage] = {name: Outcomes(*each) for name, *each in zip(METHODS, errors, doubted, strict=True)}
    progress("tests", runs * len(Damage), runs * len(Damage))
    return FiveDofStudy(runs, seed, outcomes, identified)


def study_blocks(study: FiveDofStudy) -> Iterator[Block]:
    """Yield what each method finds of each damage, and what to make of it."""
    yield Data({"study": "five-dof", "seed": study.seed, "runs": study.runs, "modes_identified": study.modes})
    yield Text(
        "Five masses of 0.7 to 1.3 kg on the ground, springs of 350 to 550 N/m, drawn at random: accelerations of "
        f"masses {', '.join(map(str, SENSORS))} under a random force on mass 5, noise of 1 %. A drawn spring, or "
        f"two, have lost 10 to 25 %. Modes of {_SAMPLES / _RATE:.0f} s, histories of {_WINDOW / _RATE:.0f} s."
    )
    whole = 5 * study.runs * len(Damage)
    yield Text(f"{study.modes} of {whole} modes are identified (SSI, settings by default).")
    columns = (
        *(words("metric", "metric"), Column(None, key="tests"), Column("found", key="found")),
        *(Column("median", form=".1f", key="median_error"), Column("largest", form=".1f", key="largest_error")),
        *(Column("found, doubted", key="found_doubted"), Column("not found, doubted", key="not_found_doubted")),
    )
    for damage, by_method in study.outcomes.items():
        rows = [(name, *outcomes.row()) for name, outcomes in by_method.items()]
        title = f"Wrong in the model: {damage}; error of the worst spring [points of a percent]"
        yield Table(title, columns, rows, key=f"damage.{damage}")
    yield Points(tuple(remarks(study)))


def remarks(study: FiveDofStudy) -> Iterator[str]:
    """Yield what the tables mean."""
    yield f"found: all five springs within {WITHIN:g} points, also those that have lost nothing"
    histories = study.outcomes[Damage.MASS]["time histories (10)"]
    missed = histories.errors > WITHIN
    yield (
        f"a mass that is {round(100.0 * (WRONG - 1.0))} % wrong is taken for springs in {missed.sum()} of "
        f"{study.runs} tests by time histories; in {int(histories.doubted[missed].sum())} of these the fit says that "
        "the model leaves something out: then let the masses free, too"
    )
    yield "modes cannot have masses and springs free together: their ratios are all that frequencies determine"

"""The study of four masses with a cubic spring: which spring is damaged, and what force does the model miss?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress
from replay.studies import StudyResult
from replay.studies.nonlinear.four_dof_joint import JointEstimate, identify_jointly
from replay.studies.nonlinear.four_dof_parametric import (
    REDUCTIONS,
    StiffnessFit,
    fit_reduced,
    fit_stiffness,
    principal_components,
)
from replay.studies.nonlinear.four_dof_record import SPRINGS, FourMassRecord, simulate_record

RUNS = 20
_MOST_RUNS = 1000
# records of each variant: they show differences that are far larger than their scatter
_VARIANT_RUNS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """Stiffnesses found in another way, over some records.

    Parameters
    ----------
    features, sensors, noise, force : in words: what was changed and what not.
    percent : (runs, 4) of nominal; NaN for what cannot be identified.
    """

    features: str
    sensors: str
    noise: float
    force: str
    percent: Samples


@dataclass(frozen=True, slots=True, eq=False)
class FourMassStudy:
    """What the study found.

    Parameters
    ----------
    seed : of everything random.
    record : the first.
    parametric : of each record, the cubic spring known.
    joint : of each record, stiffnesses and the force on mass 1 unknown together.
    confirmed : the first record with the law that the recovered force suggests: `k1` to `k4` and `alpha1` fitted.
    variants : features, sensors, noise, knowledge of the force, and reduced models.
    """

    seed: int
    record: FourMassRecord
    parametric: tuple[StiffnessFit, ...]
    joint: tuple[JointEstimate, ...]
    confirmed: StiffnessFit
    variants: tuple[Variant, ...]


def run_study(runs: int | None, seed: int, progress: Progress) -> StudyResult:
    """Run the study.

    Parameters
    ----------
    runs : records, each with a force and noise of its own; None: 20.
    seed : of everything random.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    study = identify_four_masses(RUNS if runs is None else runs, seed, progress)

    def show() -> None:
        from replay.studies.nonlinear.four_dof_report import print_study

        print_study(study)

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.nonlinear.four_dof_pictures import draw

        return draw(study, folder)

    def to_json() -> dict[str, object]:
        from replay.studies.nonlinear.four_dof_report import as_json

        return as_json(study)

    return StudyResult(to_json, show, draw)


def identify_four_masses(runs: int, seed: int, progress: Progress) -> FourMassStudy:
    """Identify each record in both ways, and some of them in others."""
    if not 1 <= runs <= _MOST_RUNS:
        raise ValueError(f"--runs {runs}: give 1 to {_MOST_RUNS}")
    records = [simulate_record(seed, run) for run in range(runs)]
    # kernels are compiled, or read from their cache
    fit_stiffness(records[0])
    identify_jointly(records[0])
    parametric, joint = [], []
    for run, record in enumerate(records):
        parametric.append(fit_stiffness(record))
        joint.append(identify_jointly(record))
        progress("records", run + 1, runs)
    number = min(runs, _VARIANT_RUNS)
    variants, made = [], _variants(records[:number], seed)
    for done, (variant, find) in enumerate(made):
        variants.append(Variant(*variant, np.array([find(run) for run in range(number)])))
        progress("variants", done + 1, len(made))
    return FourMassStudy(
        seed, records[0], tuple(parametric), tuple(joint), fit_stiffness(records[0], free=(*SPRINGS, "alpha1")), tuple(variants)
    )


_Made = tuple[tuple[str, str, float, str], Callable[[int], Samples]]


def _variants(records: list[FourMassRecord], seed: int) -> list[_Made]:
    """Return what is varied, and a function of the run that returns the stiffnesses in percent."""
    level, known, unknown = 0.01, "law known", "unknown, found too"

    def histories(noise: float, sensors: tuple[int, ...] = (1, 3, 4)) -> Callable[[int], Samples]:
        return lambda run: fit_stiffness(simulate_record(seed, run, noise=noise, sensors=sensors)).percent

    def joint(noise: float, sensors: tuple[int, ...] = (1, 3, 4)) -> Callable[[int], Samples]:
        return lambda run: identify_jointly(simulate_record(seed, run, noise=noise, sensors=sensors)).percent

    def components(noise: float) -> Callable[[int], Samples]:
        return lambda run: fit_stiffness(simulate_record(seed, run, noise=noise), principal_components).percent

    def reduced(name: str) -> Callable[[int], Samples]:
        return lambda run: fit_reduced(records[run], name).percent

    usual = "1, 3, 4"
    return [
        (("time histories", usual, level, known), histories(level)),
        (("time histories", usual, 0.05, known), histories(0.05)),
        (("time histories", usual, 0.2, known), histories(0.2)),
        (("time histories", "1, 4", level, known), histories(level, (1, 4))),
        (("time histories", "4", level, known), histories(level, (4,))),
        (("principal components", usual, level, known), components(level)),
        (("principal components", usual, 0.2, known), components(0.2)),
        (
            ("time histories", usual, level, "ignored"),
            lambda run: fit_stiffness(records[run], cubic_known=False).percent,
        ),
        (("likelihood", usual, 0.05, unknown), joint(0.05)),
        (("likelihood", usual, 0.2, unknown), joint(0.2)),
        (("likelihood", "3, 4", level, unknown), joint(level, (3, 4))),
        *(((f"time histories, {name}", usual, level, known), reduced(name)) for name in REDUCTIONS),
    ]

"""The study of four masses with a cubic spring: which spring is damaged, and what force does the model miss?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress
from replay.papers.nonlinear.four_dof_fits import (
    REDUCTIONS,
    SENSORS,
    SPRINGS,
    ForceLaw,
    FourMassRecord,
    JointEstimate,
    StiffnessFit,
    fit_reduced,
    fit_stiffness,
    identify_jointly,
    principal_components,
    recover_law,
    simulate_record,
)

RUNS = 20
_MOST_RUNS = 1000
# records of each variant: they show differences that are far larger than their scatter
_VARIANT_RUNS = 5
# percent of nominal: k1 is 100
_HELD = (100.0, 80.0)
# Hz: between the first and the second natural frequency
_BAND = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class FourMassStudy:
    """What the study found.

    Parameters
    ----------
    seed : of everything random.
    record : the first.
    parametric : of each record, the cubic spring known.
    joint : of each record, stiffnesses and the force on mass 1 unknown together.
    laws : of the force recovered from the first record, with k1 held where it is and where it is not.
    confirmed : the first record with the law that the recovered force suggests: `k1` to `k4` and `alpha1` fitted.
    variants : other ways, with (runs, 4) percent of nominal that they find; NaN for what cannot be identified.
    """

    seed: int
    record: FourMassRecord
    parametric: tuple[StiffnessFit, ...]
    joint: tuple[JointEstimate, ...]
    laws: tuple[ForceLaw, ...]
    confirmed: StiffnessFit
    variants: tuple[tuple[Way, Samples], ...]


def identify_four_masses(runs: int, seed: int, progress: Progress) -> FourMassStudy:
    """Identify each record in both ways, and some of them in others.

    Parameters
    ----------
    runs : records, each with a force and noise of its own.
    seed : of everything random.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
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
    variants = []
    for done, way in enumerate(_WAYS):
        variants.append((way, np.array([way.percent(seed, run) for run in range(number)])))
        progress("variants", done + 1, len(_WAYS))
    return FourMassStudy(
        seed, records[0], tuple(parametric), tuple(joint), tuple(recover_law(records[0], held) for held in _HELD),
        fit_stiffness(records[0], free=(*SPRINGS, "alpha1")), tuple(variants),
    )  # fmt: skip


class Way(NamedTuple):
    """How stiffnesses are found, and of which records; the cubic law is known, ignored, or a force found as well."""

    features: str
    law: str
    identify: Callable[[FourMassRecord], StiffnessFit | JointEstimate]
    noise: float = 0.01
    sensors: tuple[int, ...] = SENSORS
    band: float | None = None

    def percent(self, seed: int, run: int) -> Samples:
        """Return the stiffnesses of a record, (4,)."""
        return self.identify(
            simulate_record(seed, run, noise=self.noise, sensors=self.sensors, band=self.band)
        ).percent


KNOWN, _UNKNOWN = "known", "unknown"


def _components(record: FourMassRecord) -> StiffnessFit:
    return fit_stiffness(record, principal_components)


def _ignoring(record: FourMassRecord) -> StiffnessFit:
    return fit_stiffness(record, cubic_known=False)


_WAYS = (
    *(Way("histories", KNOWN, fit_stiffness, noise) for noise in (0.01, 0.05, 0.2)),
    *(Way("histories", KNOWN, fit_stiffness, sensors=sensors) for sensors in ((1, 4), (4,))),
    *(Way("components", KNOWN, _components, noise) for noise in (0.01, 0.2)),
    Way("histories", "ignored", _ignoring),
    *(Way("likelihood", _UNKNOWN, identify_jointly, noise) for noise in (0.05, 0.2)),
    Way("likelihood", _UNKNOWN, identify_jointly, sensors=(3, 4)),
    *(Way(name, KNOWN, partial(fit_reduced, reduction=name)) for name in REDUCTIONS),
    Way(f"SEREP below {_BAND:g} Hz", KNOWN, partial(fit_reduced, reduction="SEREP"), band=_BAND),
)

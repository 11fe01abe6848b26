"""The seven cases of the paper on tracking indicators: every indicator on each, with known and printed values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.assessment import Assessment, assess
from replay.assessment.run import choose_window
from replay.papers.tracking.paei_noise import NoisyPhase, paei_in_noise
from replay.papers.tracking.plant import PlantStudy, study_plant
from replay.simulations.tracking_tests import case_recording
from sim.cases.tracking_cases import CASES, TrackingCase, tracking_case

# column of the results, and what of the truth it should be
_TRUTH_OF = {
    "fdb_ratio": "ratio",
    "fdb_phase": "phase",
    "fdb_delay": "delay",
    "paei_ratio": "ratio",
    "paei_amplitude_error": "amplitude_error",
    "paei_phase": "phase",
    "paei_delay": "delay",
    "paei_adaptive_ratio": "ratio",
    "paei_adaptive_amplitude_error": "amplitude_error",
    "paei_adaptive_phase": "phase",
    "paei_adaptive_delay": "delay",
    "xcorr_delay": "delay",
    "broadband_ratio": "ratio",
    "broadband_delay": "delay",
}
_STILL = 1e-9
_UNIFORM = "v-uniform"
# case (v) with either noise that its sentence may mean
STUDIED = tuple(part for name in CASES for part in ((name, _UNIFORM) if name == "v" else (name,)))
PARTS = (*STUDIED, "noise", "plant")
_TOGETHER = {"ii": ("ii-a", "ii-b"), "v": ("v", _UNIFORM)}


@dataclass(frozen=True)
class IndicatorAccuracy:
    """One indicator against the truth, where the truth did not change within the window; SI and rad.

    ``mean`` and ``deviation`` of the values, ``error`` the root mean square deviation from the truth, ``worst`` the
    largest; NaN where there is nothing to compare.
    """

    column: str
    unit: str
    known: float
    mean: float
    deviation: float
    error: float
    worst: float


@dataclass(frozen=True)
class CaseStudy:
    """One case: its signals, the results of the indicators, and their errors."""

    case: TrackingCase
    assessment: Assessment
    accuracies: tuple[IndicatorAccuracy, ...]

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,): s, of the values."""
        return self.assessment.series.time

    def values(self, column: str) -> NDArray[np.float64]:
        """Return (n,): one indicator over time."""
        names = [column.name for column in self.assessment.series.columns]
        return self.assessment.series.values[:, names.index(column)]


def study_case(name: str, seed: int = 1) -> CaseStudy:
    """Run one case, one of `STUDIED`, through the engine.

    Raises
    ------
    ValueError : there is no such case; the text lists those there are.
    """
    case = tracking_case("v", seed=seed, noise="uniform") if name == _UNIFORM else tracking_case(name, seed=seed)
    recording = case_recording(case)
    settings = IndicatorSettings()
    window, _ = choose_window(recording, settings.window)
    found = assess(recording, settings.model_copy(update={"window": window}), thin=False)
    return CaseStudy(case, found, tuple(_accuracies(case, found)))


@dataclass(frozen=True)
class TrackingStudy:
    """The requested cases, PAEI in noise, and the benchmark plant; None for what was not requested."""

    cases: tuple[CaseStudy, ...]
    noise: tuple[NoisyPhase, ...] | None
    plant: PlantStudy | None

    @property
    def growth(self) -> dict[str, float] | None:
        """By what factor everything is larger in case (ii-b), where the load is twice that of (ii-a)."""
        by_name = {study.case.name: study for study in self.cases}
        return growth(by_name["ii-a"], by_name["ii-b"]) if {"ii-a", "ii-b"} <= set(by_name) else None


def run_study(parts: Iterable[str], seed: int = 1, progress: Progress = silent) -> TrackingStudy:
    """Run what `parts` names: any of `PARTS`, or ``ii`` for both halves of that case; ``v`` has both its noises.

    Raises
    ------
    ValueError : a name is not one of these.
    """
    requested = [part for name in parts for part in _TOGETHER.get(name, (name,))]
    for name in requested:
        if name not in PARTS:
            raise ValueError(f"there is no case {name!r}: choose among {', '.join(PARTS)}")
    chosen = [name for name in PARTS if name in requested]
    cases, noise, plant = [], None, None
    for done, name in enumerate(chosen):
        progress("cases", done, len(chosen))
        if name == "noise":
            noise = paei_in_noise(seed=seed)
        elif name == "plant":
            plant = study_plant(seed)
        else:
            cases.append(study_case(name, seed))
    progress("cases", len(chosen), len(chosen))
    return TrackingStudy(tuple(cases), noise, plant)


def growth(small: CaseStudy, large: CaseStudy) -> dict[str, float]:
    """Return by what factor each total, and each mean reading, is larger in the second case."""
    totals = zip(small.assessment.pairs[0].totals.items(), large.assessment.pairs[0].totals.values(), strict=True)
    factors = {name: b / a for (name, a), b in totals}
    for a, b in zip(small.accuracies, large.accuracies, strict=True):
        factors[a.column] = b.mean / a.mean
    return factors


def _accuracies(case: TrackingCase, found: Assessment) -> Iterator[IndicatorAccuracy]:
    n_window = round(found.settings.window * case.sample_rate)
    # a window with a switch in it has no one truth, whichever quantity switched
    settled = _unchanged(case.true_ratio, n_window) & _unchanged(case.true_delay, n_window)
    rows = np.rint((found.series.time - found.series.time[0]) * case.sample_rate).astype(np.intp)
    for i, column in enumerate(found.series.columns):
        if column.name not in _TRUTH_OF:
            continue
        truth: Samples = getattr(case, f"true_{_TRUTH_OF[column.name]}")
        values = found.series.values[:, i]
        good = settled[rows] & np.isfinite(values) & np.isfinite(truth[rows])
        if not good.any():
            yield IndicatorAccuracy(column.name, column.unit, *[np.nan] * 5)
            continue
        error = values[good] - truth[rows][good]
        yield IndicatorAccuracy(
            column.name,
            column.unit,
            float(truth[rows][good].mean()),
            float(values[good].mean()),
            float(values[good].std()),
            float(np.sqrt(np.mean(error**2))),
            float(np.abs(error).max()),
        )


def _unchanged(truth: Samples, n_window: int) -> NDArray[np.bool_]:
    """Return (n,): whether the window that ends at each sample is full and the truth the same throughout."""
    changed = np.append(True, ~(np.abs(np.diff(truth)) <= _STILL))
    since = np.arange(len(truth)) - np.maximum.accumulate(np.where(changed, np.arange(len(truth)), 0))
    return since >= n_window - 1

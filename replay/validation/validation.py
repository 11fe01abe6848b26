"""The reliability of a model against replicates, at one site and at several, with its diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from monitor.messages.blocks import Samples, same_unit
from monitor.reliability.curves import Reliability, product_of_sites
from monitor.reliability.decision import (
    Decision,
    DecisionLimits,
    ModelVerdict,
    ReliabilityEstimate,
    decide,
    resolution_of,
)
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.joint import JointReliability
from monitor.reliability.tolerance import Tolerance, check_units
from replay import Progress, silent
from replay.formats.base import RecordingError
from replay.validation.alignment import has_equal_steps, lag, match
from replay.validation.history_measures import HistoryComparison, area_metric, compare_histories
from replay.validation.records import MeasuredRecord, Model, ToleranceChoice, check_same_time, model_reliability

Align = Literal["no", "common", "each"]

_UNEQUAL = "its steps are not equal: the lag is unknown"
# factor to the model: a record beyond it is in another unit
_OTHER_SIZE = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A model and the replicates of its experiment."""

    model: Model
    records: tuple[MeasuredRecord, ...]

    @property
    def unit(self) -> str:
        """The response's, of the model or else of a record; empty if none has one."""
        units = (self.model.unit, *(record.unit for record in self.records))
        return next((unit for unit in units if unit), "")


@dataclass(frozen=True, slots=True, eq=False)
class SiteResult:
    """What was found at one site.

    Parameters
    ----------
    site : what was compared.
    measured : (n_times, n_replicates), at the model's instants.
    tolerance : at these.
    reliability : over the model's instants, of all replicates together.
    alone : the same of each replicate.
    lags : s, by how much each record lags the model by their correlation; NaN if it shows none.
    shifts : s, by how much each was read later than its own time.
    comparisons : of each replicate with the model's mean; None where there is nothing to compare, or steps are not
        equal.
    area, u_area : the mean over the instants of the area metric, in the response's unit, and u-pooling's; NaN for
        a model without realizations.
    notes : what the user should know, a line each.
    """

    site: Site
    measured: Samples
    tolerance: Tolerance
    reliability: Reliability
    alone: tuple[Reliability, ...]
    lags: tuple[float, ...]
    shifts: tuple[float, ...]
    comparisons: tuple[HistoryComparison | None, ...]
    area: float
    u_area: float
    notes: tuple[str, ...]


def validate_site(
    site: Site, choice: ToleranceChoice, *, align: Align, resample: bool, window: int, progress: Progress = silent
) -> SiteResult:
    """Validate one site, with the arguments of `validate`.

    Raises
    ------
    ValueError : units differ, a record does not meet the model's instants, or its lag is unknown.
    """
    model = site.model
    notes: list[str] = []
    for record in site.records:
        if not same_unit(record.unit, model.unit):
            raise RecordingError(
                f"{record.name}: is in {record.unit}, the model in {model.unit}: convert one to the other's unit"
            )
    even = has_equal_steps(model.time)
    if not even:
        if align != "no":
            raise RecordingError(f"{model.name}: {_UNEQUAL}: do not align the records")
        notes.append(f"{model.name}: {_UNEQUAL}, its mean not compared with the records")
    mean = model.mean
    lags = tuple(lag(record, model.time, mean) for record in site.records)
    shifts = _shifts(lags, align, site.records)
    matched = match(site.records, model.time, shifts, resample=resample or align != "no")
    notes += matched.notes
    measured = matched.measured
    tolerance = choice.applied(model.time, measured)
    warning = choice.warning(measured)
    notes += [f"{model.name}: {warning}"] if warning else []
    notes += _sizes(site, measured, mean)
    if isinstance(model, Ensemble) and model.n_realizations == 1:
        notes.append(f"{model.name}: a single realization: each reliability is 0 or 1, without a standard error")
    area, u_area = _areas(model, measured)
    reliability = model_reliability(model, tolerance, measured, window)
    comparisons, alone = [], []
    n_records = len(site.records)
    for j, column in enumerate(measured.T):
        progress(model.name, j, n_records)
        comparisons.append(_compared(column, mean, model.time) if even else None)
        alone.append(model_reliability(model, tolerance.for_replicate(j), measured[:, [j]], window))
    progress(model.name, n_records, n_records)
    found = measured, tolerance, reliability, tuple(alone), lags, shifts, tuple(comparisons), area, u_area
    return SiteResult(site, *found, tuple(notes))


def _sizes(site: Site, measured: Samples, mean: Samples) -> list[str]:
    """Return a note for records of a size that differs much from the model's."""
    notes = []
    for record, column in zip(site.records, measured.T, strict=True):
        known = np.isfinite(column)
        if not known.any():
            continue
        rms, expected = (float(np.sqrt(np.mean(values[known] ** 2))) for values in (column, mean))
        if rms and expected and not 1.0 / _OTHER_SIZE < rms / expected < _OTHER_SIZE:
            notes.append(f"{record.name}: its rms is {rms / expected:.3g} times the model's: check the units")
    return notes


def _shifts(lags: Sequence[float], align: Align, records: Sequence[MeasuredRecord]) -> tuple[float, ...]:
    if align == "no":
        return (0.0,) * len(lags)
    for value, record in zip(lags, records, strict=True):
        if np.isnan(value):
            raise RecordingError(f"{record.name}: its correlation with the model has no clear peak: do not align it")
    return tuple(lags) if align == "each" else (float(np.mean(lags)),) * len(lags)


def _compared(measured: Samples, mean: Samples, time: Samples) -> HistoryComparison | None:
    if int(np.isfinite(measured).sum()) < 2:
        return None
    return compare_histories(measured, mean, float(time[-1] - time[0]) / (len(time) - 1))


def _areas(model: Model, measured: Samples) -> tuple[float, float]:
    if not isinstance(model, Ensemble):
        return float("nan"), float("nan")
    found = area_metric(measured, model.response, model.order)
    known = found.area[np.isfinite(found.area)]
    return float(known.mean()) if len(known) else float("nan"), found.u_area


# fractions of the model's instants: with fewer assessed there is a note, with fewer still no decision
_HALF, _FEW = 0.5, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """What was found at all sites.

    Parameters
    ----------
    time : (n_instants,), s, those from the first to the last that was assessed.
    reliability : at these, of all sites together.
    sites : each alone.
    n_assessed : how many of the instants.
    tolerance : in words.
    decision : at the end.
    notes : what the user should know, a line each.
    """

    time: Samples
    reliability: Reliability
    sites: tuple[SiteResult, ...]
    n_assessed: int
    tolerance: str
    decision: Decision
    notes: tuple[str, ...]


def validate(
    sites: Sequence[Site],
    tolerance: ToleranceChoice,
    *,
    align: Align = "no",
    resample: bool = False,
    joint: bool = False,
    window: float | None = None,
    limits: Mapping[str, DecisionLimits] | None = None,
    progress: Progress = silent,
) -> Validation:
    """Validate models with their records.

    Parameters
    ----------
    sites : at least one; several have the same instants.
    tolerance : how far a model may be off.
    align : shift the records by how much they lag: all of a site by the mean of it, or each by its own; a shift is
        applied only if requested; the lag is always reported.
    resample : interpolate records whose samples are not at the model's instants.
    joint : of several sites, count a realization only if it is within at all; by default the sites' product.
    window : s, of the windowed reliability; by default a fifth of the model's time.
    limits : for the decision, by the name of the reliability.
    progress : called with each model's name, how many of its records are done, and their number.

    Raises
    ------
    ValueError : something does not fit; the message gives what.
    """
    models = [site.model for site in sites]
    check_same_time(models)
    check_units(tolerance.policy, [site.unit for site in sites])
    instants = models[0].time
    span = float(instants[-1] - instants[0])
    step = span / max(1, len(instants) - 1)
    if window is not None and not window > 0.0:
        raise ValueError(f"--window {window:g}: must be a positive time")
    # longer than the model's time it is never full, however long
    duration = 0.2 * span if window is None else min(window, 2.0 * span)
    n_window = max(1, round(duration / step)) if step > 0.0 else 1
    if joint and "windowed" in (limits or {}):
        raise ValueError("--limit windowed: there is no windowed form of the joint reliability")
    results = tuple(
        validate_site(site, tolerance, align=align, resample=resample, window=n_window, progress=progress)
        for site in sites
    )
    together = _together(results, joint)
    known = np.flatnonzero(np.isfinite(together.instantaneous.value))
    if not len(known):
        raise RecordingError("no instant of the model has a sample of every replicate: nothing can be assessed")
    first, last = int(known[0]), int(known[-1]) + 1
    resolution = max(resolution_of(m.n_realizations) if isinstance(m, Ensemble) else 0.0 for m in models)
    estimates = {name: ReliabilityEstimate(*pair, resolution) for name, pair in together.final_values().items()}
    decision = decide(estimates, limits or {})
    notes = [note for result in results for note in result.notes]
    if len(known) < _HALF * len(instants):
        few = f"only {len(known)} of the model's {len(instants)} instants were assessed"
        notes.append(f"{few}: check the unit of time, and how far the records reach")
        if len(known) < _FEW * len(instants):
            decision = Decision(ModelVerdict.WATCH, few)
    cut = together.sliced(first, last)
    return Validation(instants[first:last], cut, results, len(known), str(tolerance), decision, tuple(notes))


def _together(results: Sequence[SiteResult], joint: bool) -> Reliability:
    if not joint:
        reliabilities = [result.reliability for result in results]
        return reliabilities[0] if len(reliabilities) == 1 else product_of_sites(reliabilities)
    ensembles = [result.site.model for result in results if isinstance(result.site.model, Ensemble)]
    if len(ensembles) < len(results):
        raise ValueError("--joint: a prediction has no realizations in common with another site")
    tolerances = [result.tolerance for result in results]
    everything = JointReliability(ensembles, tolerances, [result.measured.shape[1] for result in results])
    return everything.update(np.arange(len(ensembles[0].time)), [result.measured for result in results])

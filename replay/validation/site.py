"""One validation site: a model, the replicates of its experiment, and what is found of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from monitor.messages.blocks import Samples, same_unit
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.tolerance import Tolerance
from replay.comparison.area_metric import area_metric
from replay.comparison.measures import HistoryComparison, compare
from replay.formats.base import RecordingError
from replay.validation.alignment import has_equal_steps, lag
from replay.validation.matching import match
from replay.validation.model import Model, judge
from replay.validation.records import MeasuredRecord
from replay.validation.tolerance_choice import ToleranceChoice

Align = Literal["no", "common", "each"]

_UNEQUAL = "its steps are not equal: no lag is told"
# times the model: a record so much larger or smaller is in another unit
_OTHER_SIZE = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A model and the replicates of its experiment."""

    model: Model
    records: tuple[MeasuredRecord, ...]

    @property
    def unit(self) -> str:
        """The response's, as the model or else a record says it; empty where none does."""
        said = (self.model.unit, *(record.unit for record in self.records))
        return next((unit for unit in said if unit), "")


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
    lags : s, by how much each record lags the model by their correlation; NaN where that does not tell.
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


def judge_site(site: Site, choice: ToleranceChoice, *, align: Align, resample: bool, window: int) -> SiteResult:
    """Judge one site; see `replay.validation.validation.validate` for what the arguments mean.

    Raises
    ------
    ValueError : units differ, a record does not meet the model's instants, or its lag is not to be told.
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
        notes.append(f"{model.name}: {_UNEQUAL}, nor is its mean compared with the records")
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
    comparisons = tuple(_compared(column, mean, model.time) if even else None for column in measured.T)
    area, u_area = _areas(model, measured)
    reliability = judge(model, tolerance, measured, window)
    alone = tuple(judge(model, tolerance.alone(j), measured[:, [j]], window) for j in range(measured.shape[1]))
    found = measured, tolerance, reliability, alone, lags, shifts, comparisons, area, u_area
    return SiteResult(site, *found, tuple(notes))


def _sizes(site: Site, measured: Samples, mean: Samples) -> list[str]:
    """Return what there is to say of records that are of another size altogether than the model."""
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
            raise RecordingError(f"{record.name}: its correlation with the model tells no shift: do not align it")
    return tuple(lags) if align == "each" else (float(np.mean(lags)),) * len(lags)


def _compared(measured: Samples, mean: Samples, time: Samples) -> HistoryComparison | None:
    if int(np.isfinite(measured).sum()) < 2:
        return None
    return compare(measured, mean, float(time[-1] - time[0]) / (len(time) - 1))


def _areas(model: Model, measured: Samples) -> tuple[float, float]:
    if not isinstance(model, Ensemble):
        return float("nan"), float("nan")
    found = area_metric(measured, model.response, model.order)
    known = found.area[np.isfinite(found.area)]
    return float(known.mean()) if len(known) else float("nan"), found.u_area

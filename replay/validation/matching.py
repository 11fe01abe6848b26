"""Records put onto the instants of a model: where a sample stands at the instant, or by interpolation if asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError
from replay.validation.records import MeasuredRecord

# of a record's step: what a written time may be off
_JITTER = 0.01
# of a record's step: where the next sample is further away, some are missing between
_GAP = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Replicates at the model's instants.

    Parameters
    ----------
    measured : (n_instants, n_replicates), NaN where a replicate has no sample there.
    notes : what the user should know, a line each.
    """

    measured: Samples
    notes: tuple[str, ...]


def match(
    records: Sequence[MeasuredRecord], instants: Samples, shifts: Sequence[float], *, resample: bool = False
) -> Matched:
    """Return what every record says at the model's instants.

    Parameters
    ----------
    records : the replicates.
    instants : (n_instants,), s, the model's time.
    shifts : s, one a record: at the instant t a record is read at t + shift, later where it lags.
    resample : interpolate where no sample stands at an instant, by a cubic spline; never over missing samples.

    Raises
    ------
    RecordingError : a record and the model have no time in common, or a record has no samples at the instants.
    """
    columns, notes = [], []
    for record, shift in zip(records, shifts, strict=True):
        column, said = _one(record, instants, shift, resample=resample)
        columns.append(column)
        notes += [f"{record.name}: {text}" for text in said]
    return Matched(np.column_stack(columns), tuple(notes))


def _one(record: MeasuredRecord, instants: Samples, shift: float, *, resample: bool) -> tuple[Samples, list[str]]:
    at, slack = instants + shift, _JITTER * record.dt
    first, last = float(record.time[0]), float(record.time[-1])
    inside = (at >= first - slack) & (at <= last + slack)
    if not inside.any():
        raise RecordingError(
            f"{record.name}: runs from {first:g} to {last:g} s and the model from {at[0]:g} to {at[-1]:g} s: "
            "they have no time in common"
        )
    nearest = np.searchsorted(record.time, at - slack).clip(0, len(record.time) - 1)
    meets = inside & (np.abs(record.time[nearest] - at) <= slack)
    between = inside & ~meets & ~_in_gap(record, at)
    column = np.full(len(at), np.nan)
    notes = list(record.notes)
    if not between.any():
        column[meets] = record.response[nearest[meets]]
    elif resample:
        column[inside] = _interpolated(record, at[inside])
        # the sample at the rim of a hole is known
        rim = meets & np.isnan(column)
        column[rim] = record.response[nearest[rim]]
        notes.append(f"interpolated at the model's {int(inside.sum())} instants")
    else:
        step = f" (every {float(np.median(np.diff(instants))):g} s)" if len(instants) > 1 else ""
        raise RecordingError(
            f"{record.name}: has a sample every {record.dt:g} s, and one at only {int(meets.sum())} of the model's "
            f"{int(inside.sum())} instants{step}: check the rate, or let --resample interpolate"
        )
    missing = int(np.isnan(column[inside]).sum())
    if missing:
        notes.append(f"{missing} of {int(inside.sum())} instants are not judged: the sample is missing")
    if not inside.all():
        notes.append(
            f"tells nothing of {int((~inside).sum())} of the model's {len(at)} instants: they are not judged"
        )
    if last > at[-1] + max(slack, record.dt):
        notes.append(f"runs to {last:g} s, the model only to {at[-1]:g} s: judged up to there")
    return column, notes


def _in_gap(record: MeasuredRecord, at: Samples) -> NDArray[np.bool_]:
    """Return which of the instants lie between two samples with others missing between them."""
    left = np.searchsorted(record.time, at, side="right").clip(1, len(record.time) - 1) - 1
    return np.asarray(record.time[left + 1] - record.time[left] > _GAP * record.dt)


def _interpolated(record: MeasuredRecord, at: Samples) -> Samples:
    """Return the cubic spline through the samples; NaN beside a missing one."""
    from scipy.interpolate import make_interp_spline

    known = np.isfinite(record.response)
    if int(known.sum()) < 2:
        return np.full(len(at), np.nan)
    spline = make_interp_spline(record.time[known], record.response[known], k=min(3, int(known.sum()) - 1))
    at = at.clip(record.time[0], record.time[-1])
    left = np.searchsorted(record.time, at, side="right").clip(1, len(record.time) - 1) - 1
    beside = known[left] & known[left + 1] & ~_in_gap(record, at)
    return np.asarray(np.where(beside, spline(at), np.nan))

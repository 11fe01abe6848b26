"""Measured records on the model's time axis: lag by cross-correlation, shift, resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError
from replay.validation.records import MeasuredRecord

# of the model's time, that a record is shifted at the most
LARGEST_SHARE = 0.1
# instants that a correlation needs
_FEWEST = 3
# under this the two have less than a quarter of their motion in common, and no shift is to be believed
_LEAST = 0.5
# of a step: what an instant may be off its place, as where times are written with few digits
_STEP_TOLERANCE = 0.1
# of a history's whole power; less than that is rounding
_STILL = 1e-10


def has_equal_steps(instants: Samples) -> bool:
    """Whether instants (n_instants,), s, rise in equal steps."""
    even = np.linspace(instants[0], instants[-1], len(instants))
    return len(instants) < _FEWEST or bool(np.abs(instants - even).max() <= _STEP_TOLERANCE * (even[1] - even[0]))


def lag(record: MeasuredRecord, instants: Samples, model: Samples, largest: float | None = None) -> float:
    """Return by how much the record lags the model, s; positive: it is late.

    The shift at which the correlation coefficient of the two, over the time they then have in common, is largest;
    looked for in steps of the model, and between these by a parabola. NaN where there is none: too few samples, no
    motion, steps that are not equal, the largest is at the end of the range, or it is less than a half.

    Parameters
    ----------
    record : the replicate; interpolated linearly.
    instants, model : (n_instants,), s, and the model's expectation there.
    largest : s; by default a tenth of the model's time.
    """
    known = np.isfinite(record.response)
    if len(instants) < _FEWEST or int(known.sum()) < _FEWEST or not has_equal_steps(instants):
        return float("nan")
    dt = float(instants[-1] - instants[0]) / (len(instants) - 1)
    largest = LARGEST_SHARE * float(instants[-1] - instants[0]) if largest is None else largest
    reach = int(largest / dt)
    time, response = record.time[known], record.response[known]
    fewest = max(_FEWEST, int(((instants >= time[0]) & (instants <= time[-1])).sum()) // 2)
    # every instant that any shift reads
    at = instants[0] + dt * np.arange(-reach, len(instants) + reach)
    inside = (at >= time[0]) & (at <= time[-1])
    coefficients = _coefficients(np.interp(at, time, response), inside, model, fewest)
    if not np.isfinite(coefficients).any():
        return float("nan")
    best = int(np.nanargmax(coefficients))
    if not 0 < best < 2 * reach or not np.isfinite(coefficients[best - 1 : best + 2]).all():
        return float("nan")
    if coefficients[best] < _LEAST:
        return float("nan")
    before, here, after = coefficients[best - 1 : best + 2].tolist()
    bend = before - 2.0 * here + after
    return dt * (best - reach + (0.5 * (before - after) / bend if bend < 0.0 else 0.0))


def _coefficients(record: Samples, inside: NDArray[np.bool_], model: Samples, fewest: int) -> Samples:
    """Return the correlation coefficient of the model with the record from each of its instants on.

    Parameters
    ----------
    record, inside : (n_instants + n_shifts - 1,), and where it is known.
    model : (n_instants,).
    fewest : instants that the two must have in common.

    Returns
    -------
    coefficients : (n_shifts,), NaN if there are fewer instants, or either is constant.
    """
    n_shifts = len(record) - len(model) + 1
    if int(inside.sum()) < fewest:
        return np.full(n_shifts, np.nan)
    # without their means, or the powers would drown in them
    y = np.where(inside, record - record[inside].mean(), 0.0)
    m = model - model.mean()
    # a circle as long as the record: no shift that is asked for goes around it
    length = next_fast_len(len(record), real=True)
    records = rfft(np.stack([inside, y, y * y]), length)
    models = rfft(np.stack([np.ones(len(m)), m, m * m]), length).conj()

    def summed(power_of_record: int, power_of_model: int) -> Samples:
        """Return, for every shift, the sum of products over the instants in common."""
        product = records[power_of_record] * models[power_of_model]
        return np.asarray(irfft(product, length)[:n_shifts])

    count = np.rint(summed(0, 0))
    enough = count >= fewest
    count = np.where(enough, count, np.nan)
    sum_y, sum_m = summed(1, 0), summed(0, 1)
    power_y = summed(2, 0) - sum_y * sum_y / count
    power_m = summed(0, 2) - sum_m * sum_m / count
    moves = (power_y > _STILL * float(y @ y)) & (power_m > _STILL * float(m @ m))
    size = np.sqrt(np.where(moves, power_y * power_m, np.nan))
    return np.asarray((summed(1, 1) - sum_y * sum_m / count) / size)


# of a record's step: what a written time may be off
_TIME_TOLERANCE = 0.01
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
    """Return every record at the model's instants.

    Parameters
    ----------
    records : the replicates.
    instants : (n_instants,), s, the model's time.
    shifts : s, one a record: at the instant t a record is read at t + shift, later where it lags.
    resample : interpolate by a cubic spline if there is no sample at an instant; never over missing samples.

    Raises
    ------
    RecordingError : a record and the model have no time in common, or a record has no samples at the instants.
    """
    columns, notes = [], []
    for record, shift in zip(records, shifts, strict=True):
        column, texts = _one(record, instants, shift, resample=resample)
        columns.append(column)
        notes += [f"{record.name}: {text}" for text in texts]
    return Matched(np.column_stack(columns), tuple(notes))


def _one(record: MeasuredRecord, instants: Samples, shift: float, *, resample: bool) -> tuple[Samples, list[str]]:
    at, slack = instants + shift, _TIME_TOLERANCE * record.dt
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
        # the sample at the edge of a gap is known
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
        notes.append(f"{missing} of {int(inside.sum())} instants are not assessed: the sample is missing")
    if not inside.all():
        notes.append(
            f"has no data at {int((~inside).sum())} of the model's {len(at)} instants: they are not assessed"
        )
    if last > at[-1] + max(slack, record.dt):
        notes.append(f"runs to {last:g} s, the model only to {at[-1]:g} s: assessed up to there")
    return column, notes


def _in_gap(record: MeasuredRecord, at: Samples) -> NDArray[np.bool_]:
    """Return which of the instants lie between two samples with others missing between them."""
    left = np.searchsorted(record.time, at, side="right").clip(1, len(record.time) - 1) - 1
    return np.asarray(record.time[left + 1] - record.time[left] > _GAP * record.dt)


def _interpolated(record: MeasuredRecord, at: Samples) -> Samples:
    """Return the cubic spline through the samples; NaN next to a missing one."""
    from scipy.interpolate import make_interp_spline

    known = np.isfinite(record.response)
    if int(known.sum()) < 2:
        return np.full(len(at), np.nan)
    spline = make_interp_spline(record.time[known], record.response[known], k=min(3, int(known.sum()) - 1))
    at = at.clip(record.time[0], record.time[-1])
    left = np.searchsorted(record.time, at, side="right").clip(1, len(record.time) - 1) - 1
    complete = known[left] & known[left + 1] & ~_in_gap(record, at)
    return np.asarray(np.where(complete, spline(at), np.nan))

"""Samples at uneven times -> even ones, by linear interpolation, only when the user asks for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError
from replay.formats.clock import SampleTiming

_GAP = 5.0  # usual steps: samples are not interpolated over a longer one
_MOST_SAMPLES = 1 << 28
_ROUNDING = 1e-9  # of a sample


def resample(
    times: Samples, values: Samples, rate: float, place: Callable[[int], str], span: tuple[float, float] | None = None
) -> tuple[Samples, SampleTiming]:
    """Interpolate linearly to even instants, counted from the first time; longer gaps stay gaps.

    Parameters
    ----------
    times : (n,) s.
    values : (n, m); a missing one (NaN) makes the samples beside it missing.
    rate : Hz of the result.
    place : row -> where it is in the file, for messages.
    span : first and last instant of the result, s; by default those of the times.

    Returns
    -------
    samples : (k, m).
    timing : of the samples.

    Raises
    ------
    RecordingError : a time repeats or goes backwards, or the result would be too large.
    """
    steps = np.diff(times)
    back = np.flatnonzero(~(steps > 0.0))
    if back.size:
        row = int(back[0]) + 1
        what = "repeats" if times[row] == times[row - 1] else "goes backwards"
        raise RecordingError(f"the time {what} at {place(row)} ({times[row]:.10g}): such rows cannot be resampled")
    first, last = (float(times[0]), float(times[-1])) if span is None else span
    if (last - first) * rate >= _MOST_SAMPLES:
        raise RecordingError(f"--resample {rate:g}: {(last - first) * rate:.3g} samples are too many")
    usual = float(np.median(steps))
    number = np.arange(int(np.floor((last - first) * rate + _ROUNDING)) + 1, dtype=np.int64)
    even = np.minimum(first + number / rate, times[-1])
    after = np.clip(np.searchsorted(times, even, side="left"), 1, len(times) - 1)
    # a sample that is there is used as it is, also beside a gap
    there = (steps[after - 1] <= _GAP * usual) | (np.abs(even - times[after]) <= _ROUNDING / rate)
    there |= np.abs(even - times[after - 1]) <= _ROUNDING / rate
    kept, missing = number[there], int(np.count_nonzero(~there))
    samples = np.column_stack([np.interp(even[there], times, column) for column in values.T])
    notes = [f"resampled to {rate:g} Hz by linear interpolation, from steps of {usual:.4g} s as a rule"]
    if rate * usual < 0.9:
        notes.append(f"that is fewer samples than the file's {1.0 / usual:.4g} Hz, without an anti-alias filter")
    if missing:
        n_gaps = int(np.count_nonzero(steps > _GAP * usual))
        notes.append(f"{missing} samples in {n_gaps} gaps longer than {_GAP * usual:.3g} s are missing")
    return samples, SampleTiming(rate, first, kept if missing else None, tuple(notes))

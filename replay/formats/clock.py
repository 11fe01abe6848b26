"""Sample rate and sample numbers from a column of times, and samples at uneven times interpolated to even ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError

_JITTER = 0.01  # of a step: harmless to every indicator, and what a clock of microseconds has at kilohertz
_RARE_GAPS = 0.1  # of all steps: more long steps than that are rounding, if rounding explains them
_MOST_DIGITS = 14  # more are the noise of binary fractions
_PROBED = 1009
_PIECE = 1 << 16  # times that are looked at together
_LARGEST = 1e20  # as written: nanoseconds since 1970 are 2e18
_SHORTEST = 1e-15  # of a step, as written
_MOST_SAMPLES = 2.0**53
_OVERRIDE = "give --rate HZ to take the samples as evenly spaced"
_TWICE = "repeats", "remove the rows that are there twice"
_COARSE = "repeats", "it has too few digits for the rate of the rows"
_BACKWARDS = "goes backwards", "sort the rows by time, or cut the file where a test begins anew"
_RESAMPLE = "give --resample HZ to interpolate, --rate HZ to take them as evenly spaced"


@dataclass(frozen=True, eq=False)
class SampleTiming:
    """When the samples were taken.

    Parameters
    ----------
    sample_rate : Hz.
    start : time of the first sample, s.
    index : (n,): number of each sample from 0; None when none is missing.
    notes : what was taken for granted.
    """

    sample_rate: float
    start: float = 0.0
    index: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()


_HOUR, _HALF_DAY = 3600.0, 43200.0
_COUNTERS = 2.0**16, 2.0**32
_FEWEST_TO_GO_BACK = 4


def through_daylight_saving(times: Samples) -> tuple[Samples, int | None]:
    """Return dated times with the hour added that local time went back once, and the first row after that.

    Parameters
    ----------
    times : (n,) s; as they are, and None, where they do not go back, or by another time, or more than once.
    """
    with np.errstate(invalid="ignore"):
        steps = np.diff(times)
        back = np.flatnonzero(steps < 0.0)
    if len(back) != 1 or len(times) < _FEWEST_TO_GO_BACK:
        return times, None
    row = int(back[0]) + 1
    usual = float(np.median(steps))
    if not abs(steps[row - 1] + _HOUR - usual) <= 0.5 * usual:
        return times, None
    return np.concatenate([times[:row], times[row:] + _HOUR]), row


def over_midnight(times: Samples) -> tuple[Samples, int | None]:
    """Return times of day, (n,) s, with a day added wherever they begin again, and the first row after that."""
    with np.errstate(invalid="ignore"):
        again = np.diff(times, prepend=times[:1]) < -_HALF_DAY
    row = int(np.argmax(again)) if np.any(again) else None
    return times + 2.0 * _HALF_DAY * np.cumsum(again), row


def through_overflow(times: Samples) -> tuple[Samples, int | None]:
    """Return times, (n,), through the overflow of a counter of 16 or 32 bits, and the first row after it, or None."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(times, prepend=times[:1])
    again = steps < 0.0
    if np.any(again) and np.array_equal(times, np.round(times)) and np.min(times) >= 0.0:
        usual = float(np.median(steps))
        for size in _COUNTERS:
            if np.all(np.abs(steps[again] + size - usual) <= usual):
                return times + size * np.cumsum(again), int(np.argmax(again))
    return times, None


def check_times(times: Samples, place: Callable[[int], str], advice: str = f"; {_OVERRIDE}") -> None:
    """Refuse what is no time of any test, before it is computed with.

    Raises
    ------
    RecordingError : a time is missing, or too large; the text names its place and ends with `advice`.
    """
    bad = np.flatnonzero(~(np.abs(times) <= _LARGEST))
    if bad.size:
        row = int(bad[0])
        what = f"{times[row]:.3g} is far too large" if np.isfinite(times[row]) else "is missing"
        raise RecordingError(f"the time {what} at {place(row)}{advice}")


def is_step_index(times: Samples) -> bool:
    """Whether the column counts 0, 1, 2 or 1, 2, 3 and so on."""
    return bool(np.all(np.diff(times) == 1.0) and times[0] == np.floor(times[0]))


def is_increasing(times: Samples) -> bool:
    """Whether every time is later than the one before."""
    # any first column may be asked for
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.all(np.diff(times) > 0.0))


def read_timing(times: Samples, scale: float, place: Callable[[int], str]) -> SampleTiming:
    """Return the rate and the sample numbers behind written times.

    Parameters
    ----------
    times : (n,), n >= 2, as written.
    scale : seconds in the unit that they are written in.
    place : row -> where it is in the file, such as ``line 12``, for messages.

    Raises
    ------
    RecordingError : a time is missing, repeats or goes backwards, or the steps are not even.
    """
    check_times(times, place)
    steps = np.diff(times)
    if float(np.min(steps)) <= 0.0:
        row = int(np.argmax(steps <= 0.0)) + 1
        often = np.count_nonzero(steps == 0.0) > _RARE_GAPS * len(steps)
        what, how = _BACKWARDS if times[row] < times[row - 1] else _COARSE if often else _TWICE
        raise RecordingError(f"the time {what} at {place(row)} ({times[row]:.10g}); {how}; or {_OVERRIDE}")
    usual, single = float(np.median(steps)), _step(steps)
    if usual < _SHORTEST or float(times[-1] - times[0]) > _MOST_SAMPLES * single:
        raise RecordingError(f"the time steps are far too short, or one of them far too long; {_OVERRIDE}")
    quantum = _quantum(times)
    even = np.arange(len(times), dtype=np.int64)
    # a step of two periods makes a missing sample
    counts = np.maximum(np.round(steps / single), 1.0).astype(np.int64)
    gaps = int(np.count_nonzero(counts > 1))
    del steps  # as large as the times, and more is made of them
    counted = np.concatenate(([0], np.cumsum(counts))) if gaps else even
    rare = gaps <= max(_RARE_GAPS * len(times), 1)
    # rounding alone explains deviations of half a digit: then no sample is missing, however long a step is,
    # unless a missing one explains the times far better
    fits = [(index, *_fit(times, index)) for index in ((even, counted) if gaps else (even,))]
    off_even, off_counted = fits[0][2], fits[-1][2]
    rounded = off_even <= 0.51 * quantum and off_counted > 0.5 * off_even
    for index, dt, off in fits[::-1] if rare and not rounded else fits:  # noqa: B007 used below
        if off <= max(0.75 * quantum, _JITTER * dt):
            break
    else:
        row = _first_uneven(times, counted, quantum)
        step = (times[row] - times[row - 1]) * scale
        raise RecordingError(
            f"the time steps are not even: {step:.6g} s before {place(row)}, {usual * scale:.6g} s as a rule; "
            f"{_RESAMPLE}"
        )
    doubt = 2.0 * max(0.5 * quantum, off) / float(times[-1] - times[0])
    rate = _round_rate(1.0 / (dt * scale), doubt)
    notes = []
    if quantum > 1e-6 * dt and off > 1e-6 * dt:
        notes.append(f"the times are rounded to {quantum * scale:.3g} s: using {rate:.10g} Hz")
    missing = int(index[-1]) - len(times) + 1
    if missing:
        row = int(np.flatnonzero(np.diff(index) > 1)[0]) + 1
        found = f"{gaps} gaps" if gaps > 1 else "a gap"
        notes.append(f"{missing} missing samples in {found}, the first before {place(row)}")
    return SampleTiming(rate, float(times[0]) * scale, index if missing else None, tuple(notes))


def _quantum(times: Samples) -> float:
    """Return the value of the last written digit of the largest time, from the digits of all."""
    sizes = np.maximum(np.abs(times[times != 0.0]), _SHORTEST)
    # a few that have more digits spare all others
    pieces = [sizes[:: max(1, len(sizes) // _PROBED)], *(sizes[k : k + _PIECE] for k in range(0, len(sizes), _PIECE))]
    for digits in range(1, _MOST_DIGITS + 1):
        if all(_have_digits(piece, digits) for piece in pieces):
            return float(10.0 ** (np.floor(np.log10(np.max(sizes))) + 1 - digits))
    return 4.0 * float(np.spacing(np.max(sizes)))


def _have_digits(sizes: Samples, digits: int) -> bool:
    scaled = sizes * 10.0 ** (digits - 1 - np.floor(np.log10(sizes)))
    return bool(np.all(np.abs(scaled - np.round(scaled)) <= 8.0 * np.spacing(scaled)))


def _step(steps: Samples) -> float:
    """Return the usual step."""
    dt = float(np.median(steps))
    for _ in range(2):  # the median of rounded steps is itself rounded; their mean is not
        single = steps[np.round(steps / dt) == 1.0]
        dt = float(np.mean(single)) if single.size else dt
    return dt


def _fit(times: Samples, index: NDArray[np.int64]) -> tuple[float, float]:
    """Return the period by least squares, and how far the times are from even spacing, centred, at most."""
    x = index - np.mean(index)
    y = times - times[0]
    dt = float(np.dot(x, y) / np.dot(x, x))
    x *= dt
    y -= x
    return dt, float(0.5 * (np.max(y) - np.min(y)))


def _first_uneven(times: Samples, index: NDArray[np.int64], quantum: float) -> int:
    """Return the row after the first step that is no multiple of the usual one."""
    steps, counts = np.diff(times), np.diff(index)
    usual = float(np.median(steps))
    off = np.flatnonzero(np.abs(steps - counts * usual) > np.maximum(1.5 * quantum, 2.0 * _JITTER * usual))
    if off.size:
        return int(off[0]) + 1
    return int(np.argmax(np.abs(steps - counts * usual))) + 1


def _round_rate(rate: float, doubt: float) -> float:
    """Return the rate, or the inverse of the period, with the fewest digits that the times allow."""
    choices = []
    for order, (value, inverse) in enumerate(((rate, False), (1.0 / rate, True))):
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if abs(short - value) <= doubt * value:
                choices.append((digits, order, 1.0 / short if inverse else short))
                break
    return min(choices)[2] if choices else rate


_GAP = 5.0  # usual steps: samples are not interpolated over a longer one
_MOST_RESAMPLED = 1 << 28
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
    if (last - first) * rate >= _MOST_RESAMPLED:
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

"""Recordings compared on one time axis: the lag between them, and the difference of their curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from gui.model.envelope import Envelope
from gui.model.history import History
from gui.model.pyramid import Pyramid
from monitor.messages.blocks import Channel, Role, Samples, same_unit

_CHUNK = 1 << 18
_ON_GRID = 1e-3  # of a sample: a smaller distance from a sample is rounding
_SNAP = 0.02  # of a sample: an estimate this close to a whole number of samples is one
_MOST = 1 << 20  # samples that are correlated at once
_FEWEST = 8
_MOST_STEPS = 200  # samples from the maximum of the cross-correlation to that of the coefficient


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A recording over another one.

    Parameters
    ----------
    history : of the recording.
    lag : s by which its motion is later, both counted from their first sample; it is drawn that much earlier.
    correlation : of the curve by which the lag was estimated; NaN: it was not.
    differences : computed for this lag, by name of a curve and identity of the rows of the reference.
    """

    history: History
    lag: float = 0.0
    correlation: float = math.nan
    differences: dict[tuple[str, int], object] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name of its file."""
        return "" if self.history.recording is None else self.history.recording.name

    def shift(self, reference: History) -> float:
        """Return x in this recording minus x on the axis of the reference, s."""
        return self.history.begin_x - reference.begin_x + self.lag

    def aligned(self, lag: float, correlation: float = math.nan) -> ComparedRun:
        """Return the same with another lag."""
        return replace(self, lag=lag, correlation=correlation, differences={})


@dataclass(frozen=True, slots=True, eq=False)
class StoredCurve:
    """One column of the rows that a history stores: a channel or a result, in displayed units.

    Parameters
    ----------
    rows : the rows.
    column : of the curve.
    factor : from stored to displayed values.
    shift : x in the rows = x on the axis + shift, s.
    """

    rows: Pyramid
    column: int
    factor: float = 1.0
    shift: float = 0.0

    def envelope(self, left: float, right: float, n_columns: int) -> Envelope:
        """Return the min/max buckets from `left` to `right` of the axis; see `Pyramid.envelope`."""
        found = self.rows.envelope(left + self.shift, right + self.shift, n_columns, [self.column])
        return found.scaled(1.0, -self.shift)

    def between(self, x: float) -> tuple[float, float]:
        """Return the bounds of the value of the row nearest to `x`, equal where it is stored; NaN where it is not."""
        if not math.isfinite(x):
            return math.nan, math.nan
        place = x + self.shift
        low, high = self.rows.envelope(place, place, 1, [self.column]).at(place + 0.5 / self.rows.rate)
        return self.factor * float(low[0]), self.factor * float(high[0])

    def values(self) -> tuple[int, Samples]:
        """Return the number of the first row that is stored as received, and the values from there, (n,)."""
        first = self.rows.exact_begin
        return first, self.factor * self.rows.rows(first, self.rows.end, [self.column])[:, 0]


def difference(of: StoredCurve, reference: StoredCurve) -> StoredCurve:
    """Return the curve `of` minus the reference, at the rows of the reference.

    Between two rows `of` is interpolated; where either is not stored as received, or is NaN, so is the difference.
    """
    rows, rate = reference.rows, reference.rows.rate
    first, other = of.values()
    begin, n_rows = rows.exact_begin, rows.end - rows.exact_begin
    levels = (max(_FEWEST * 2, n_rows), *(max(_FEWEST * 2, n_rows // 16**k + 2) for k in (1, 2, 3)))
    found = Pyramid(1, levels, rate=rate)
    for start in range(begin, rows.end, _CHUNK):
        stop = min(start + _CHUNK, rows.end)
        base = reference.factor * rows.rows(start, stop, [reference.column])[:, 0]
        x = np.arange(start, stop) / rate - reference.shift
        there = _interpolated(other, (x + of.shift) * of.rows.rate - first)
        found.append(start / rate, (there - base)[:, None])
    return StoredCurve(found, 0, 1.0, reference.shift)


def _interpolated(values: Samples, places: Samples) -> Samples:
    """Return values, (n,), at places between them, counted from 0; NaN outside."""
    whole = np.round(places)
    places = np.where(np.abs(places - whole) < _ON_GRID, whole, places)
    at = np.floor(places).astype(np.int64)
    share = places - at
    inside = (at >= 0) & (at + (share > 0.0) < len(values))
    found = np.full(len(places), np.nan)
    at, share = at[inside], share[inside]
    low, high = values[at], values[np.minimum(at + 1, len(values) - 1)]
    found[inside] = np.where(share > 0.0, low + share * (high - low), low)
    return found


def estimate_lag(reference: Samples, other: Samples, rate: float, other_rate: float) -> float:
    """Return how much later the motion is in the other curve than in the reference, s, both from their first sample.

    It is the lag at which the coefficient of their correlation is largest; NaN where one of them does not move.

    Parameters
    ----------
    reference, other : (n,), (m,); NaN is taken as the mean.
    rate, other_rate : Hz.
    """
    if other_rate != rate:
        n = max(1, math.floor((len(other) - 1) * rate / other_rate) + 1)
        other = np.interp(np.arange(n) / rate, np.arange(len(other)) / other_rate, other)
    one, two = _centred(reference), _centred(other)
    if not one.any() or not two.any():
        return math.nan
    q = -(-max(len(one), len(two)) // _MOST)
    lag = q * _peak(_coarse(one, q), _coarse(two, q), None)
    if q > 1:
        # at full resolution, about the part in which the reference moves most
        n = min(_MOST, len(one))
        energy = np.concatenate([[0.0], np.cumsum(one**2)])
        start = int(np.argmax(energy[n:] - energy[:-n]))
        begin = min(max(0, start + round(lag) - 2 * q), len(two))
        part = two[begin : begin + n + 4 * q]
        lag = begin - start + _peak(one[start : start + n], part, (0.0, 4.0 * q))
    nearest = round(lag)
    return (nearest if abs(lag - nearest) < _SNAP else lag) / rate


def _centred(values: Samples) -> Samples:
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    moved: Samples = np.where(known, values - values[known].mean(), 0.0)
    return moved


def _coarse(values: Samples, q: int) -> Samples:
    n = len(values) // q * q
    found: Samples = values if q == 1 else values[:n].reshape(-1, q).mean(axis=1)
    return found


def _peak(one: Samples, two: Samples, within: tuple[float, float] | None) -> float:
    """Return the lag, in samples, with the largest correlation coefficient, by a parabola through three values.

    It is searched from the maximum of the cross-correlation, which decreases with the lag, as curves share less.
    """
    size = 1 << (len(one) + len(two) - 1).bit_length()
    found = np.fft.irfft(np.conj(np.fft.rfft(one, size)) * np.fft.rfft(two, size), size)
    lags = np.arange(size)
    lags = np.where(lags >= len(two), lags - size, lags)
    allowed = (lags > -len(one)) if within is None else (lags >= within[0]) & (lags <= within[1])
    best = int(lags[np.argmax(np.where(allowed, found, -np.inf))])
    before, peak, after = (_coefficient(one, two, best + step) for step in (-1, 0, 1))
    for _ in range(_MOST_STEPS):
        if after > max(before, peak):
            best, before, peak, after = best + 1, peak, after, _coefficient(one, two, best + 2)
        elif before > peak:
            best, before, peak, after = best - 1, _coefficient(one, two, best - 2), before, peak
        else:
            break
    bend = before - 2.0 * peak + after
    shift = 0.5 * (before - after) / bend if -math.inf < bend < 0.0 else 0.0
    return float(best + min(max(shift, -0.5), 0.5))


def _coefficient(one: Samples, two: Samples, lag: int) -> float:
    """Return the correlation coefficient of the samples that two centred curves share at a lag; -inf for too few."""
    begin, end = max(0, -lag), min(len(one), len(two) - lag)
    if end - begin < _FEWEST:
        return -math.inf
    a, b = one[begin:end], two[begin + lag : end + lag]
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0.0 else -math.inf


def compared_difference(run: ComparedRun, key: str, of: StoredCurve, reference: StoredCurve) -> StoredCurve:
    """Return the difference of two curves of a compared recording, computed once for its lag."""
    found = run.differences.get((key, id(reference.rows)))
    if not isinstance(found, StoredCurve):
        found = run.differences[key, id(reference.rows)] = difference(of, reference)
    return found


def channel_curve(history: History, name: str) -> StoredCurve | None:
    """Return the curve of a channel; None where there is none of that name."""
    signals = history.signals
    names = [] if signals is None else [channel.name for channel in signals.channels]
    return StoredCurve(signals, names.index(name)) if signals is not None and name in names else None


def result_curve(history: History, actuator: str, name: str, factor: float) -> StoredCurve | None:
    """Return the curve of a result; None where there is none."""
    results = history.results
    column = None if results is None else results.column(actuator, name)
    return None if results is None or column is None else StoredCurve(results.instants, column, factor)


def correlation(of: StoredCurve, reference: StoredCurve) -> float:
    """Return the correlation coefficient of two curves where both have values; NaN where it is unknown."""
    first, other = of.values()
    begin, base = reference.values()
    x = (np.arange(len(base)) + begin) / reference.rows.rate - reference.shift
    there = _interpolated(other, (x + of.shift) * of.rows.rate - first)
    known = np.isfinite(base) & np.isfinite(there)
    one, two = _centred(base[known]), _centred(there[known])
    size = math.sqrt(float(one @ one) * float(two @ two)) if known.any() else 0.0
    return float(one @ two) / size if size > 0.0 else math.nan


def alignment_channel(history: History, run: ComparedRun, actuator: str) -> str:
    """Return the channel by which recordings are aligned: the command of `actuator`, else the first common one."""
    channels = () if history.signals is None else history.signals.channels
    common = [channel for channel in channels if counterpart(run, channel) is not None]
    common.sort(key=lambda channel: (channel.role is not Role.COMMAND, channel.actuator != actuator))
    return common[0].name if common else ""


def align(history: History, run: ComparedRun, actuator: str) -> ComparedRun:
    """Return a recording with its estimated lag; the same where it cannot be estimated."""
    name = alignment_channel(history, run, actuator)
    own = channel_curve(history, name)
    channel = (
        next((each for each in history.signals.channels if each.name == name), None) if history.signals else None
    )
    other = None if channel is None else counterpart(run, channel)
    if own is None or other is None:
        return run
    (first, one), (other_first, two) = own.values(), other.values()
    lag = estimate_lag(one, two, own.rows.rate, other.rows.rate)
    if not math.isfinite(lag):
        return run
    # where memory has lost the first samples, the stored ones begin later
    lag += (other_first / other.rows.rate - run.history.begin_x) - (first / own.rows.rate - history.begin_x)
    moved = run.aligned(lag)
    return run.aligned(lag, correlation(shifted(other, moved.shift(history)) or other, own))


def counterpart(run: ComparedRun, channel: Channel) -> StoredCurve | None:
    """Return the curve of the channel of that name, or else of that role of the only actuator, of the same unit."""
    signals = run.history.signals
    if signals is None:
        return None
    known = {each.name: each for each in signals.channels}
    found = known.get(channel.name)
    if found is None and channel.role is not Role.AUXILIARY and len(signals.pairs) == 1:
        found = next((each for each in signals.channels if each.role is channel.role), None)
    if found is None or not same_unit(found.unit, channel.unit):
        return None
    return channel_curve(run.history, found.name)


def shifted(curve: StoredCurve | None, shift: float) -> StoredCurve | None:
    """Return a curve on an axis that is shifted by `shift` s."""
    return None if curve is None else StoredCurve(curve.rows, curve.column, curve.factor, shift)

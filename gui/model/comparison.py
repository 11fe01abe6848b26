"""Recordings compared on one time axis: lag, differences of curves, and what `synchroscope compare` finds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from gui.model.history import History
from gui.model.pyramid import Envelope, Pyramid
from monitor.alignment import estimate_lag, interpolated
from monitor.messages.blocks import Channel, Role, Samples, same_unit

_CHUNK = 1 << 18
_FEWEST = 8


class Quantity(msgspec.Struct, frozen=True):
    """One quantity of two runs as `synchroscope compare --json` has it; None where there is no value."""

    reference: float | None = None
    reference_sd: float | None = None
    value: float | None = None
    sd: float | None = None
    difference: float | None = None
    difference_sd: float | None = None
    probability: float | None = None
    limit: float | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `synchroscope compare` has found on one run.

    Parameters
    ----------
    quantities : by the actuator, empty for the run as a whole, and the key.
    correlation : of the command at the lag; NaN where it is unknown.
    problem : why there are none.
    """

    quantities: Mapping[tuple[str, str], Quantity] = field(default_factory=dict)
    correlation: float = math.nan
    problem: str = ""


def read_judgement(answer: Mapping[str, Any]) -> Judgement:
    """Return what the command has found on the only run in its answer.

    Raises
    ------
    ValueError : it is no comparison.
    """
    try:
        (run,) = answer["runs"]
        parts = [*((each["actuator"], each) for each in run["actuators"]), ("", run)]
        quantities = {
            (actuator, key): msgspec.convert(found, Quantity)
            for actuator, part in parts
            for key, found in part.items()
            if isinstance(found, dict)
        }
        known = run["correlation"]
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"no comparison ({problem})") from problem
    return Judgement(quantities, math.nan if known is None else known)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A recording over another one.

    Parameters
    ----------
    history : of the recording.
    lag : s by which its motion is later, both counted from their first sample; it is drawn that much earlier.
    source : words by which `synchroscope compare` reads it: its file and the options for its columns.
    judgement : what `synchroscope compare` has found; of another lag or tolerances, until `judged`.
    differences : computed for this lag, by name of a curve and identity of the rows of the reference.
    """

    history: History
    lag: float = 0.0
    source: tuple[str, ...] = ()
    judgement: Judgement = field(default_factory=Judgement, compare=False)
    judged: bool = field(default=False, compare=False)
    differences: dict[tuple[str, int], object] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name of its file."""
        return "" if self.history.recording is None else self.history.recording.name

    def shift(self, reference: History) -> float:
        """Return x in this recording minus x on the axis of the reference, s."""
        return self.history.begin_x - reference.begin_x + self.lag

    def aligned(self, lag: float) -> ComparedRun:
        """Return the same with another lag, not yet judged."""
        return replace(self, lag=lag, judged=False, differences={})


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
        there = interpolated(other, (x + of.shift) * of.rows.rate - first)
        found.append(start / rate, (there - base)[:, None])
    return StoredCurve(found, 0, 1.0, reference.shift)


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
    return run.aligned(lag)


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

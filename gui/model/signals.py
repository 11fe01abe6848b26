"""Signals of a rig on the display's time axis, in bounded memory: channels, tracking errors, derived channels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gui.model.derived import DerivedChannel, DerivedColumns
from gui.model.pyramid import DAY, Envelope, Pyramid, signal_levels
from gui.model.tracking_error import Difference, MeanSquares, chosen, differences
from monitor.messages.blocks import Channel, Pair, Samples, Stream
from monitor.messages.recordings import Overview

_MAX_SAMPLES = 1 << 20
_MAX_SUMMED = 1 << 16  # rows whose mean square is computed from the samples


@dataclass(frozen=True, slots=True)
class StoredSignal:
    """A signal that panels can show: a channel, a tracking error or a derived channel.

    Parameters
    ----------
    name : unique in the history.
    unit : of its values; empty where unknown.
    column : where it is stored.
    """

    name: str
    unit: str
    column: int


class SignalHistory(Pyramid):
    """Samples of all channels: each of the last minutes, and minima and maxima of buckets for a day.

    The columns after those of the channels are the tracking errors, and then the derived channels.

    Parameters
    ----------
    stream : channels and sample rate.
    minutes : for which every sample is stored, where the memory suffices.
    memory : maximum in bytes; allocated at once.
    longest : s that the stream lasts at most, or for which it is stored.

    Attributes
    ----------
    named : all signals by name.
    """

    def __init__(self, stream: Stream, minutes: float, memory: int, longest: float = DAY) -> None:
        self.stream = stream
        self._differences = differences(stream)
        width, rate = len(stream.channels) + len(self._differences), stream.sample_rate
        self._squares = MeanSquares(len(self._differences), rate)
        memory = max(0, memory - self._squares.nbytes)
        levels = signal_levels(rate, width, minutes, memory, longest, len(stream.channels))
        sources = (*range(len(stream.channels)), *self._differences.values())
        super().__init__(width, levels, rate=rate, sources=sources)
        self._derived = DerivedColumns(width, levels, rate)
        self.named: Mapping[str, StoredSignal] = {}
        self._name_signals()

    @property
    def nbytes(self) -> int:
        """Allocated bytes."""
        return super().nbytes + self._squares.nbytes + self._derived.nbytes

    @property
    def derived(self) -> tuple[DerivedChannel, ...]:
        """The derived channels that are computed."""
        return self._derived.channels

    @property
    def derived_problems(self) -> Mapping[str, str]:
        """Why the other derived channels cannot be computed of this rig, by name."""
        return self._derived.problems

    def derive(self, definitions: Sequence[DerivedChannel]) -> None:
        """Compute these channels from now on, and of the samples that are stored as received."""
        basic = [name for name, signal in self.named.items() if signal.column < self.width]
        self._derived.define(definitions, basic, self, self.rows)
        self._name_signals()

    def _name_signals(self) -> None:
        """Name the signals; the order is that of the columns."""
        units = [(channel.name, channel.unit) for channel in self.channels]
        for actuator, (command, measured) in self._differences.items():
            unit = self.channels[command].unit or self.channels[measured].unit
            units.append((f"{actuator}.tracking_error", unit))
        units += [(channel.name, channel.unit) for channel in self.derived]
        # a channel of the rig may have the name of a tracking error
        named: dict[str, StoredSignal] = {}
        for column, (name, unit) in enumerate(units):
            unique = name
            while unique in named:
                unique += "_"
            named[unique] = StoredSignal(unique, unit, column)
        self.named = named

    @property
    def errors(self) -> dict[str, int]:
        """Column of the tracking error of each actuator."""
        return {actuator: len(self.channels) + k for k, actuator in enumerate(self._differences)}

    def source(self, column: int) -> int | Difference:
        """Return the channel of a column, or those of which it is the difference."""
        k = column - len(self.channels)
        return column if k < 0 else [*self._differences.values()][k]

    def append(self, x: float, rows: Samples) -> None:
        """Append consecutive samples of all channels, (n_rows, n_channels), the first of them at `x`."""
        end, first = self.end, round(x * self.rate)
        fresh = max(0, end - first)
        if self._differences:
            errors = chosen(rows, [*self._differences.values()])
            if fresh < len(errors):
                self._squares.append(first + fresh, errors[fresh:])
            rows = np.concatenate([rows, errors], axis=1)
        super().append(x, rows)
        if self._derived.channels and fresh < len(rows):
            self._derived.append(first + fresh, rows[fresh:], follows=first <= end)

    def rows(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Samples:
        """Return (stop - start, n_columns), a copy of the rows as received; NaN where they are not stored."""
        if columns is None or max(columns, default=0) < self.width:
            return super().rows(start, stop, columns)
        stored = [place for place, column in enumerate(columns) if column < self.width]
        found = np.empty((max(0, stop - start), len(columns)))
        found[:, stored] = super().rows(start, stop, [columns[place] for place in stored])
        for place, column in enumerate(columns):
            if column >= self.width:
                found[:, place] = self._derived.values(column).rows(start, stop)[:, 0]
        return found

    def envelope(self, x0: float, x1: float, n_columns: int, columns: Sequence[int]) -> Envelope:
        """Return the min/max buckets of columns; see `Pyramid.envelope`."""
        if max(columns, default=0) < self.width:
            return super().envelope(x0, x1, n_columns, columns)
        # rings of equal lengths, to which rows are appended at the same time, have the same buckets
        stored = [place for place, column in enumerate(columns) if column < self.width]
        found = super().envelope(x0, x1, n_columns, [columns[place] for place in stored])
        low = np.empty((len(found), len(columns)))
        low[:, stored] = found.low
        high = low
        if not found.exact:
            high = np.empty_like(low)
            high[:, stored] = found.high
        for place, column in enumerate(columns):
            if column >= self.width:
                derived = self._derived.values(column).envelope(x0, x1, n_columns, (0,))
                low[:, place], high[:, place] = derived.low[:, 0], derived.high[:, 0]
        return Envelope(found.edges, low, high, found.rows)

    def error_rms(self, x0: float, x1: float, actuators: Sequence[str]) -> Samples:
        """Return the rms of tracking errors from `x0` to `x1`, (n_actuators,); of long spans that of whole seconds.

        NaN where no value is stored.
        """
        columns = [self.errors[actuator] for actuator in actuators]
        start, stop = max(0.0, x0 * self.rate), min(x1 * self.rate, self.end - 1.0)
        if stop - start > _MAX_SUMMED or start < self.exact_begin:
            return self._squares.root_mean_square(start, stop, [column - len(self.channels) for column in columns])
        found = self.rows(math.ceil(start - 1e-6), math.floor(stop + 1e-6) + 1, columns)
        counts = np.isfinite(found).sum(axis=0)
        sums = np.nansum(found * found, axis=0)
        rms: Samples = np.sqrt(np.divide(sums, counts, out=np.full(len(columns), np.nan), where=counts > 0))
        return rms

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channel of each column."""
        return self.stream.channels

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The columns of each actuator."""
        return self.stream.pairs

    @property
    def sample_rate(self) -> float:
        """Hz."""
        return self.stream.sample_rate

    @property
    def exact_begin_x(self) -> float:
        """x of the oldest sample that is stored as received, s; NaN before the first."""
        return self.exact_begin / self.sample_rate if self.end else math.nan

    @property
    def end_x(self) -> float:
        """x of the newest sample, s; NaN before the first."""
        return (self.end - 1) / self.sample_rate if self.end else math.nan

    def samples(
        self, x0: float, x1: float, most: int = _MAX_SAMPLES, columns: Sequence[int] | None = None
    ) -> tuple[Samples, Samples]:
        """Return x, (n,), and the newest `most` samples from `x0` to `x1` inclusive, by default of all channels."""
        rate = self.sample_rate
        stop = min(self.end, math.floor(x1 * rate + 1e-6) + 1)
        start = max(self.exact_begin, math.ceil(x0 * rate - 1e-6), stop - most)
        found = self.rows(start, stop, range(len(self.channels)) if columns is None else columns)
        return np.arange(start, start + len(found)) / rate, found

    def at(self, x: float, columns: Sequence[int] | None = None) -> Samples:
        """Return the values, (n_columns,), of the sample nearest to `x`; NaN where there is none."""
        columns = range(len(self.channels)) if columns is None else columns
        if not math.isfinite(x):
            return np.full(len(columns), np.nan)
        row = round(x * self.sample_rate)
        found: Samples = self.rows(row, row + 1, columns)[0]
        return found

    def between(self, x: float, columns: Sequence[int]) -> tuple[Samples, Samples]:
        """Return the bounds of the sample nearest to `x`, (n_columns,) each.

        They are equal where the sample is stored as received; else they are the minimum and maximum of its bucket,
        NaN where there is none.
        """
        if not math.isfinite(x):
            nothing = np.full(len(columns), np.nan)
            return nothing, nothing
        half = 0.5 / self.sample_rate
        return self.envelope(x, x, 1, columns).at(x + half)


class CoarseSignals(SignalHistory):
    """Signals of which only an overview is known: minimum and maximum in columns of equal time, and no sample.

    Parameters
    ----------
    stream : channels and sample rate.
    x : of the first sample, s.
    known : of the channels.
    """

    def __init__(self, stream: Stream, x: float, known: Overview) -> None:
        super().__init__(stream, 0.0, 0)
        width = known.seconds[1] - known.seconds[0]
        self._edges: Samples = np.asarray(x + width * np.arange(len(known.seconds) + 1))
        curves = [known.curve(channel.name) for channel in stream.channels]
        # the last column is that of all other curves
        nothing = np.full(len(known.seconds), np.nan)
        self._low, self._high = (np.stack([*(each[k] for each in curves), nothing], axis=1) for k in (1, 2))

    def envelope(self, x0: float, x1: float, n_columns: int, columns: Sequence[int]) -> Envelope:  # noqa: ARG002
        """Return the columns of the overview from `x0` to `x1`, however many; NaN of what is not a channel."""
        first = max(0, int(np.searchsorted(self._edges, x0, side="right")) - 1)
        last = min(len(self._low), int(np.searchsorted(self._edges, x1)) + 1)
        chosen = [min(column, len(self.channels)) for column in columns]
        rows = round((self._edges[1] - self._edges[0]) * self.rate)
        low, high = (side[first:last].take(chosen, axis=1) for side in (self._low, self._high))
        return Envelope(self._edges[first : max(first, last) + 1], low, high, rows)

"""Signals and results of a rig on the display's time axis, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gui.model.envelope import Envelope
from gui.model.pyramid import Pyramid, result_levels, signal_levels
from monitor.messages.blocks import Channel, Column, Pair, ResultStream, Samples, Stream

_MOST = 1 << 20


class SignalHistory:
    """Every sample of the last minutes, and the least and greatest of buckets for a day.

    Row r stands at x = r / sample_rate. What is infinite is kept as NaN: a picture has no place for it.

    Parameters
    ----------
    stream : what the columns are.
    minutes : how far back every sample is kept, where memory allows.
    memory : bytes at most; taken at once.
    """

    def __init__(self, stream: Stream, minutes: float, memory: int) -> None:
        self.stream = stream
        width = len(stream.channels)
        self._rows = Pyramid(width, signal_levels(stream.sample_rate, width, minutes, memory))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One a column."""
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
    def begin_x(self) -> float:
        """Where the oldest that is known begins, s; NaN before the first sample."""
        return self._rows.begin / self.sample_rate if self._rows.end else math.nan

    @property
    def kept_x(self) -> float:
        """Of the oldest sample that is kept as it came, s; NaN before the first."""
        return self._rows.kept / self.sample_rate if self._rows.end else math.nan

    @property
    def end_x(self) -> float:
        """Of the newest sample, s; NaN before the first."""
        return (self._rows.end - 1) / self.sample_rate if self._rows.end else math.nan

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._rows.nbytes

    def append(self, x: float, samples: Samples) -> None:
        """Take consecutive samples, (n_samples, n_channels), the first of them at `x`."""
        if not np.isfinite(samples).all():
            samples = np.where(np.isfinite(samples), samples, np.nan)
        self._rows.append(round(x * self.sample_rate), samples)

    def envelope(self, x0: float, x1: float, n_columns: int, columns: Sequence[int]) -> Envelope:
        """Return what curves of `columns` from `x0` to `x1` are drawn from; its edges are x."""
        rate = self.sample_rate
        return self._rows.envelope(x0 * rate, x1 * rate, n_columns, columns).scaled(1.0 / rate)

    def samples(self, x0: float, x1: float, most: int = _MOST) -> tuple[Samples, Samples]:
        """Return x, (n,), and samples, (n, n_channels), from `x0` to `x1` inclusive: of these the newest `most`."""
        rate = self.sample_rate
        stop = min(self._rows.end, math.floor(x1 * rate + 1e-6) + 1)
        start = max(self._rows.kept, math.ceil(x0 * rate - 1e-6), stop - most)
        found = self._rows.rows(start, stop)
        return np.arange(start, start + len(found)) / rate, found

    def at(self, x: float, columns: Sequence[int] | None = None) -> Samples:
        """Return the values, (n_columns,), of the sample nearest to `x`; NaN where there is none."""
        width = len(self.channels) if columns is None else len(columns)
        if not math.isfinite(x):
            return np.full(width, np.nan)
        row = round(x * self.sample_rate)
        found: Samples = self._rows.rows(row, row + 1, columns)[0]
        return found

    def between(self, x: float, columns: Sequence[int]) -> tuple[Samples, Samples]:
        """Return what is known of the sample nearest to `x`: the least and the greatest it can be, (n_columns,) each.

        The two are one where it is kept as it came; else they are those of its bucket, NaN where nothing is known.
        """
        if not math.isfinite(x):
            nothing = np.full(len(columns), np.nan)
            return nothing, nothing
        half = 0.5 / self.sample_rate
        return self.envelope(x, x, 1, columns).at(x + half)


RATE = 25.0
"""Display instants a second."""
TRACE = 60.0
"""s of a trace, where nothing else is said."""
# what is told of a model and not of an actuator
_MODEL_PREFIXES = ("reliability_", "model_")
# of an instant: x is a quotient, and may lie on either side of where an instant begins
_ROUNDING = 1e-6


class ResultHistory:
    """A row for every display instant, `rate` a second: the last row of results that falls into it.

    A restart of the rig goes on on the same axis. What was said of a model is not true of it after a restart. What is
    infinite is the newest value all the same, but no part of a curve.

    Parameters
    ----------
    stream : what the columns are.
    minutes : how far back every instant is kept, where memory allows; a day in less detail.
    memory : bytes at most; taken at once.
    rate : instants a second, or those of the rows where these are fewer.
    """

    def __init__(self, stream: ResultStream, minutes: float, memory: int, rate: float = RATE) -> None:
        self.stream = stream
        self.rate = min(rate, stream.sample_rate / stream.every)
        columns = stream.columns
        self._columns = {(column.actuator, column.name): i for i, column in enumerate(columns)}
        models = [column.name.startswith(_MODEL_PREFIXES) for column in columns]
        self._of_models: NDArray[np.bool_] = np.array(models, dtype=bool)
        self.sites, self.actuators = (
            tuple(dict.fromkeys(columns[i].actuator for i in np.flatnonzero(chosen)))
            for chosen in (self._of_models, ~self._of_models)
        )
        # beside the values stands x of the row
        width = len(columns) + 1
        self._instants = Pyramid(width, result_levels(self.rate, width, minutes, memory))
        self._newest: Samples = np.full(len(columns), np.nan)
        self._valid: Samples = np.full(len(columns), np.nan)
        self.end_x = math.nan

    @property
    def columns(self) -> tuple[Column, ...]:
        """What each value is."""
        return self.stream.columns

    @property
    def begin_x(self) -> float:
        """Where the oldest that is known begins, s; NaN before the first row."""
        return self._instants.begin / self.rate if self._instants.end else math.nan

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._instants.nbytes

    def restart(self) -> None:
        """Take it that the rig has started again: nothing is newest, and no model has been evaluated."""
        self._newest[:] = np.nan
        self._valid[self._of_models] = np.nan

    def append(self, x: float, values: Samples) -> None:
        """Take consecutive rows, (n_rows, n_columns), at least one, the first of them at `x`."""
        places = x + np.arange(len(values)) * (self.stream.every / self.stream.sample_rate)
        instants = np.floor(places * self.rate + _ROUNDING).astype(np.int64)
        self.end_x = float(places[-1])
        # where an instant stands twice, the later row wins
        last = np.flatnonzero(np.diff(instants, append=instants[-1] + 1))
        first, rows = int(instants[0]), np.column_stack((values[last], places[last]))
        rows[np.isinf(rows)] = np.nan
        if first == self._instants.end - 1:
            self._instants.replace_last(rows[0])
        self._instants.append(first, rows)
        self._newest = values[-1].copy()
        valid = ~np.isnan(values)
        held = valid.any(axis=0)
        newest = len(values) - 1 - np.argmax(valid[::-1], axis=0)
        self._valid[held] = values[newest[held], np.flatnonzero(held)]

    def column(self, actuator: str, name: str) -> int | None:
        """Return the column of a result; None where there is no such one."""
        return self._columns.get((actuator, name))

    def envelope(self, x0: float, x1: float, n_columns: int, names: Sequence[tuple[str, str]]) -> Envelope:
        """Return what the curves of `names`, (actuator, name) each, are drawn from; edges are x.

        Of what there is no such result, the column is NaN.
        """
        columns = [self.column(*name) for name in names]
        known = [column for column in columns if column is not None]
        found = self._instants.envelope(x0 * self.rate, x1 * self.rate, n_columns, known).scaled(1.0 / self.rate)
        if len(known) == len(columns):
            return found
        places = [i for i, column in enumerate(columns) if column is not None]
        low = np.full((len(found), len(columns)), np.nan)
        low[:, places] = found.low
        high = low
        if not found.exact:
            high = np.full_like(low, np.nan)
            high[:, places] = found.high
        return Envelope(found.edges, low, high, found.rows)

    def value(self, actuator: str, name: str, x: float | None = None) -> float:
        """Return the newest value, or that of the newest instant whose row does not lie after `x`.

        NaN where it means nothing, is not kept, or there is no such result.
        """
        column = self.column(actuator, name)
        if column is None or (x is not None and not math.isfinite(x)):
            return math.nan
        if x is None:
            return float(self._newest[column])
        instant = self._instant(x)
        return float(self._instants.rows(instant, instant + 1, (column,))[0, 0])

    def between(self, x: float, names: Sequence[tuple[str, str]]) -> tuple[Samples, Samples]:
        """Return the least and the greatest that results can be at `x`, (n_names,) each, as `value` reads them.

        The two are one where that instant is kept; else they are those of its bucket, NaN where nothing is known.
        """
        if not math.isfinite(x):
            nothing = np.full(len(names), np.nan)
            return nothing, nothing
        place = (self._instant(x) + _ROUNDING) / self.rate
        return self.envelope(place, place, 1, names).at(place)

    def rows(self, x0: float, x1: float) -> tuple[Samples, Samples]:
        """Return x, (n,), and the values, (n, n_columns), of the rows from `x0` to `x1` that are kept one by one."""
        first = max(math.floor(x0 * self.rate + _ROUNDING), self._instants.kept)
        found = self._instants.rows(first, min(math.floor(x1 * self.rate + _ROUNDING) + 1, self._instants.end))
        x, slack = found[:, -1], _ROUNDING / self.rate
        inside = (x >= x0 - slack) & (x <= x1 + slack)
        return x[inside], found[inside, :-1]

    def _instant(self, x: float) -> int:
        """Return the number of the instant at `x`; of the one before where its row came only after `x`."""
        instant = math.floor(x * self.rate + _ROUNDING)
        of_row = self._instants.rows(instant, instant + 1, (len(self.columns),))[0, 0]
        return instant - bool(of_row > x + _ROUNDING / self.rate)

    def last_valid(self, actuator: str, name: str) -> float:
        """Return the newest value that meant something; NaN where there was none yet."""
        column = self.column(actuator, name)
        return math.nan if column is None else float(self._valid[column])

    def trace(self, actuator: str, name: str, seconds: float = TRACE) -> Samples:
        """Return (n_instants,) of the last `seconds`, oldest first; NaN where there is nothing."""
        n, column = max(1, round(seconds * self.rate)), self.column(actuator, name)
        if column is None:
            return np.full(n, np.nan)
        end = self._instants.end
        found: Samples = self._instants.rows(end - n, end, (column,))[:, 0]
        return found

"""Results of the indicators on the display's time axis, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gui.model.pyramid import DAY, Envelope, Pyramid, result_levels
from monitor.messages.blocks import Column, ResultStream, Samples

RATE = 25.0
"""Rows of the display a second."""
# columns of a model, not of an actuator
_MODEL_PREFIXES = ("reliability_", "model_")
# in instants: x is a quotient, and may be on either side of the beginning of an instant
_ROUNDING = 1e-6


class ResultHistory:
    """Results of the indicators: of every display instant, `rate` a second, the last row.

    A restart of the rig continues on the same axis; results of a model are not valid after it. An infinite value is
    returned as the newest one, but is not part of a curve.

    Parameters
    ----------
    stream : columns and rate.
    minutes : for which every instant is stored, where the memory suffices; a day is stored in less detail.
    memory : maximum in bytes; allocated at once.
    rate : instants a second; no more than rows a second.
    longest : as for `SignalHistory`.

    Attributes
    ----------
    instants : the stored rows; their last column is x.
    """

    def __init__(
        self, stream: ResultStream, minutes: float, memory: int, rate: float = RATE, longest: float = DAY
    ) -> None:
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
        # the last column is x of the row
        width = len(columns) + 1
        self.instants = Pyramid(width, result_levels(self.rate, width, minutes, memory, longest), rate=self.rate)
        self._newest: Samples = np.full(len(columns), np.nan)
        self._valid: Samples = np.full(len(columns), np.nan)
        self.end_x = math.nan

    @property
    def columns(self) -> tuple[Column, ...]:
        """Actuator or site, name and unit of each value."""
        return self.stream.columns

    @property
    def begin_x(self) -> float:
        """x of the oldest stored row, s; NaN before the first row."""
        return self.instants.begin_x

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.instants.nbytes

    def restart(self) -> None:
        """Invalidate the newest values, and all of the models: the rig was restarted."""
        self._newest[:] = np.nan
        self._valid[self._of_models] = np.nan

    def append(self, x: float, values: Samples) -> None:
        """Append consecutive rows, (n_rows, n_columns), at least one, the first of them at `x`."""
        places = x + np.arange(len(values)) * (self.stream.every / self.stream.sample_rate)
        instants = np.floor(places * self.rate + _ROUNDING).astype(np.int64)
        self.end_x = float(places[-1])
        # the last row of every instant
        last = np.flatnonzero(np.diff(instants, append=instants[-1] + 1))
        first, rows = int(instants[0]), np.column_stack((values[last], places[last]))
        if first == self.instants.end - 1:
            self.instants.replace_last(rows[0])
        self.instants.append(first / self.rate, rows)
        self._newest = values[-1].copy()
        valid = ~np.isnan(values)
        held = valid.any(axis=0)
        newest = len(values) - 1 - np.argmax(valid[::-1], axis=0)
        self._valid[held] = values[newest[held], np.flatnonzero(held)]

    def column(self, actuator: str, name: str) -> int | None:
        """Return the column of a result; None where there is no such result."""
        return self._columns.get((actuator, name))

    def envelope(self, x0: float, x1: float, n_columns: int, names: Sequence[tuple[str, str]]) -> Envelope:
        """Return the min/max buckets of the curves of `names`, (actuator, name) each; see `Pyramid.envelope`.

        The column of an unknown name is NaN.
        """
        columns = [self.column(*name) for name in names]
        known = [column for column in columns if column is not None]
        found = self.instants.envelope(x0, x1, n_columns, known)
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
        """Return the newest value, or that of the newest instant whose row is not after `x`.

        NaN where it is invalid or not stored, or there is no such result.
        """
        column = self.column(actuator, name)
        if column is None or (x is not None and not math.isfinite(x)):
            return math.nan
        if x is None:
            return float(self._newest[column])
        instant = self._instant(x)
        return float(self.instants.rows(instant, instant + 1, (column,))[0, 0])

    def between(self, x: float, names: Sequence[tuple[str, str]]) -> tuple[Samples, Samples]:
        """Return the bounds of results at `x`, (n_names,) each, at the instant that `value` reads.

        They are equal where that instant is stored; else they are the minimum and maximum of its bucket, NaN where
        there is none.
        """
        if not math.isfinite(x):
            nothing = np.full(len(names), np.nan)
            return nothing, nothing
        place = (self._instant(x) + _ROUNDING) / self.rate
        return self.envelope(place, place, 1, names).at(place)

    @property
    def exact_begin_x(self) -> float:
        """x of the oldest row that is stored as received, s."""
        return self.instants.exact_begin / self.rate

    def rows(self, x0: float, x1: float) -> tuple[Samples, Samples]:
        """Return x, (n,), and the values, (n, n_columns), of the stored rows from `x0` to `x1`."""
        first = max(math.floor(x0 * self.rate + _ROUNDING), self.instants.exact_begin)
        found = self.instants.rows(first, min(math.floor(x1 * self.rate + _ROUNDING) + 1, self.instants.end))
        x, slack = found[:, -1], _ROUNDING / self.rate
        inside = (x >= x0 - slack) & (x <= x1 + slack)
        return x[inside], found[inside, :-1]

    def _instant(self, x: float) -> int:
        """Return the number of the instant at `x`; of the one before where its row is after `x`."""
        instant = math.floor(x * self.rate + _ROUNDING)
        of_row = self.instants.rows(instant, instant + 1, (len(self.columns),))[0, 0]
        return instant - bool(of_row > x + _ROUNDING / self.rate)

    def last_valid(self, actuator: str, name: str) -> float:
        """Return the newest valid value; NaN where there was none yet."""
        column = self.column(actuator, name)
        return math.nan if column is None else float(self._valid[column])

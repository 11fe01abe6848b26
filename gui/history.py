"""The last minute of every result, at the rate of a display."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import ResultBlock, ResultStream, Samples

# what is told of a model and not of an actuator
_JUDGED = ("reliability_", "model_")


class History:
    """A ring of display instants, `rate` a second; each keeps the last row of results that falls into it.

    A restart of the rig goes on where the run before it stopped; other columns begin anew. What was said of a model
    is not true of it after a restart.

    Parameters
    ----------
    seconds : how far back it goes.
    rate : instants a second.
    """

    def __init__(self, seconds: float = 60.0, rate: float = 20.0) -> None:
        self.seconds, self.rate = seconds, rate
        self._length = max(1, round(seconds * rate))
        self._stream: ResultStream | None = None
        self._columns: dict[tuple[str, str], int] = {}
        self._actuators: tuple[str, ...] = ()
        self._sites: tuple[str, ...] = ()
        self._judged: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._clear(0)

    def _clear(self, width: int) -> None:
        self._ring: Samples = np.full((self._length, width), np.nan)
        self._newest: Samples = np.full(width, np.nan)
        self._valid: Samples = np.full(width, np.nan)
        self._head = self._origin = 0  # the instant of the newest row, and that of the sample with index 0

    @property
    def actuators(self) -> tuple[str, ...]:
        """Their names, in the order of the rig."""
        return self._actuators

    @property
    def sites(self) -> tuple[str, ...]:
        """Where a model is judged, in the order of the rig."""
        return self._sites

    @property
    def stream(self) -> ResultStream | None:
        """What the columns are; None before the first block."""
        return self._stream

    def add(self, block: ResultBlock) -> None:
        """Take the next block; rows that are older than what is there change nothing but what they replace."""
        if block.stream is not self._stream:
            self._turn(block.stream)
        if not len(block):
            return
        stream = block.stream
        index = block.index + np.arange(len(block)) * stream.every
        instants: NDArray[np.int64] = (index * (self.rate / stream.sample_rate)).astype(np.int64)
        instants += self._origin
        newest = int(instants[-1])
        if newest > self._head:
            skipped = np.arange(max(self._head, newest - self._length) + 1, newest + 1)
            self._ring[skipped % self._length] = np.nan
            self._head = newest
        kept = instants > self._head - self._length
        # where an instant stands twice, the later row wins
        self._ring[instants[kept] % self._length] = block.values[kept]
        self._newest = block.values[-1].copy()
        held = block.valid.any(axis=0)
        last = len(block) - 1 - np.argmax(block.valid[::-1], axis=0)
        self._valid[held] = block.values[last[held], np.flatnonzero(held)]

    def _turn(self, stream: ResultStream) -> None:
        before, self._stream = self._stream, stream
        if before is not None and replace(before, epoch=stream.epoch) == stream:
            if before.epoch != stream.epoch:
                self._origin = self._head + 1
                self._newest[:] = np.nan
                self._valid[self._judged] = np.nan
            return
        self._columns = {(column.actuator, column.name): i for i, column in enumerate(stream.columns)}
        self._judged = np.array([column.name.startswith(_JUDGED) for column in stream.columns], dtype=bool)
        self._sites, self._actuators = (
            tuple(dict.fromkeys(stream.columns[i].actuator for i in np.flatnonzero(chosen)))
            for chosen in (self._judged, ~self._judged)
        )
        self._clear(len(stream.columns))

    def value(self, actuator: str, name: str) -> float:
        """Return the newest value; NaN where it means nothing or there is no such result."""
        column = self._columns.get((actuator, name))
        return float("nan") if column is None else float(self._newest[column])

    def last_valid(self, actuator: str, name: str) -> float:
        """Return the newest value that meant something; NaN where there was none yet."""
        column = self._columns.get((actuator, name))
        return float("nan") if column is None else float(self._valid[column])

    def trace(self, actuator: str, name: str) -> Samples:
        """Return (n_instants,), oldest first; NaN where there is nothing."""
        column = self._columns.get((actuator, name))
        if column is None:
            return np.full(self._length, np.nan)
        return np.roll(self._ring[:, column], -(self._head + 1) % self._length)

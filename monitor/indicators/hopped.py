"""Indicators that evaluate a whole window every hop, and hold their values in between.

A measure that needs transforms of the whole window cannot be updated at every sample. It is evaluated every `hop`
samples, at sample numbers that do not depend on how the stream is split, and for one pair at a time, so that no
sample waits for the evaluations of all pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.config import Measure
from monitor.indicators.base import Signals, Value, WindowedIndicator
from monitor.indicators.parts.cross_spectra import centred
from monitor.indicators.parts.sample_loop import (
    advance_row_clock,
    is_good,
    next_slot,
    start_row_clock,
    store,
    write_row,
)
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# fraction of a hop between two pairs' evaluations, which spreads any number of pairs evenly
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_LARGE = 1e12


class Centred(NamedTuple):
    """Window of a pair, (n_window,) each, without means and scaled by its largest size; that size, 0 if constant."""

    c: Samples
    m: Samples
    size_c: float
    size_m: float


class _Evaluation(IntEnum):
    """Columns of the state of a pending evaluation."""

    DUE = 0  # number of the sample with which its values are published
    NUMBER = 1  # number of the window's last sample
    GOOD = 2  # consecutive good samples until then
    STAGE = 3
    CLEAN = 4  # no bad sample since


_WAITING, _FOUND = 1, 2


class _Pending(NamedTuple):
    """Pending windows (n_pairs, 2, n_window), the state of their evaluations, and the values found."""

    windows: Samples
    evaluations: NDArray[np.int64]
    found: Samples


class HoppedIndicator(WindowedIndicator[Value]):
    """An indicator whose values are updated every `hop` samples.

    Pair 0 is evaluated at the sample numbers that `hop` divides, every other pair a fixed part of a hop earlier. With
    `evaluates_when_full` each pair is also evaluated when its window is first full, one sample after the previous
    pair. After a bad sample no value is valid until a window without it has been evaluated.

    Parameters
    ----------
    latency : samples from the end of a window to the publication of its value. In between `run_pending` may evaluate
        it in spare time; otherwise it is evaluated when it is due. The value is the same.
    """

    measure: ClassVar[Measure]
    evaluates_when_full: ClassVar[bool] = False

    def __init__(
        self,
        sample_rate: float,
        window: float,
        *,
        hop: int,
        latency: int = 0,
        n_pairs: int = 1,
        every: int = 1,
        **settings: Any,
    ) -> None:
        self.hop = max(1, hop)
        if not 0 <= latency < self.hop:
            raise ValueError(f"latency = {latency} samples: must be less than {self.hop}, when the next value is due")
        self.latency, self._paused = latency, False
        self._offsets = np.rint(_GOLDEN * np.arange(n_pairs) * self.hop).astype(np.int64) % self.hop
        centred(np.zeros(2))
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, latency=latency, **settings)
        # compiles what an evaluation needs, with an amplitude that opens every gate
        wave = np.sin(5.0 * np.pi * np.arange(self.n_window) / self.n_window)
        (c, _), (m, _) = centred(wave), centred(np.roll(wave, 1))
        self._evaluate(0, Centred(c, m, _LARGE, _LARGE), self.n_window, self.n_window)
        self.reset()

    @abstractmethod
    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Any:
        """Return the (n_outputs,) values of a clean window ending with sample `number`, the last of `good` ones."""

    def _new_memory(self) -> tuple[Any, ...]:
        """Return the arrays of state beyond the window."""
        return ()

    @property
    def _memory(self) -> tuple[Any, ...]:
        return self._state[5:]

    def _new_state(self) -> tuple[Any, ...]:
        n, n_outputs = self.n_pairs, len(self.outputs)
        # number of consecutive good samples at which a pair is first due; -1 is never reached
        self._fulls = self.n_window + np.arange(n) if self.evaluates_when_full else np.full(n, -1)
        # what bad samples leave: reasons instead of values
        self._declined = self.no_values(Reason.PAUSED if self._paused else Reason.BAD_SAMPLE)
        ring = np.zeros((n, 2, 2 * self.n_window))
        clock, good = np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        pending = _Pending(
            np.zeros((n, 2, self.n_window)),
            np.zeros((n, len(_Evaluation)), dtype=np.int64),
            np.full((n, n_outputs), np.nan),
        )
        return (ring, clock, good, np.tile(self.no_values(Reason.FILLING), (n, 1)), pending, *self._new_memory())

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        ring, clock, good, held, pending = self._state[:5]
        x_c, x_m, settings = signals.x_c, signals.x_m, (self.every, self.hop, self._offsets, self._fulls)
        start, n = 0, len(x_c)
        while True:
            stop, stopped = _advance_hopped(
                x_c, x_m, first, start, out, *settings, ring, clock, good, held, self._declined, pending.evaluations
            )
            if stopped:
                newest = first + stop - 1
                for pair in () if self._paused else np.flatnonzero(self._due(newest, good)):
                    if pending.evaluations[pair, _Evaluation.STAGE] == _WAITING:
                        # a newer value replaces it, but its contribution to the memory counts
                        self._evaluate_pending(int(pair))
                    pending.windows[pair] = ring[pair, :, clock[0] : clock[0] + self.n_window]
                    pending.evaluations[pair] = newest + self.latency, newest, good[pair], _WAITING, 1
                due = np.flatnonzero(
                    (pending.evaluations[:, _Evaluation.DUE] <= newest)
                    & (pending.evaluations[:, _Evaluation.STAGE] > 0)
                )
                for pair in due:
                    if pending.evaluations[pair, _Evaluation.STAGE] == _WAITING:
                        self._evaluate_pending(int(pair))
                    if pending.evaluations[pair, _Evaluation.CLEAN]:
                        held[pair] = pending.found[pair]
                    pending.evaluations[pair] = 0
                # the row of that sample has already been written
                if len(due) and newest % self.every == 0:
                    out[newest // self.every - (first - 1) // self.every - 1] = held
            if stop == n:
                return
            start = stop

    def run_pending(self) -> bool:
        """Evaluate the pending window that is due first; return whether there was one."""
        evaluations = self._state[4].evaluations
        waiting = np.flatnonzero(evaluations[:, _Evaluation.STAGE] == _WAITING)
        if not len(waiting):
            return False
        self._evaluate_pending(int(waiting[np.argmin(evaluations[waiting, _Evaluation.DUE])]))
        return True

    @property
    def paused(self) -> bool:
        """Whether evaluation is suspended, to shed load; then no value is valid."""
        return self._paused

    @paused.setter
    def paused(self, on: bool) -> None:
        self._paused = on
        self._declined = self.no_values(Reason.PAUSED if on else Reason.BAD_SAMPLE)
        if on:
            self._state[3][:] = self._declined
            self._state[4].evaluations[:] = 0

    def finish_pending(self) -> None:
        """Evaluate all pending windows; their values are published when they are due."""
        while self.run_pending():
            pass

    def _evaluate_pending(self, pair: int) -> None:
        pending: _Pending = self._state[4]
        (c, size_c), (m, size_m) = centred(pending.windows[pair, 0]), centred(pending.windows[pair, 1])
        _, number, good, _, _ = pending.evaluations[pair].tolist()
        pending.found[pair] = self._evaluate(pair, Centred(c, m, size_c, size_m), number, good)
        pending.evaluations[pair, _Evaluation.STAGE] = _FOUND

    def _due(self, number: int, good: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs are evaluated at a sample, (n_pairs,)."""
        scheduled: NDArray[np.bool_] = (good >= self.n_window) & ((number + self._offsets) % self.hop == 0)
        due: NDArray[np.bool_] = scheduled | (good == self._fulls)
        return due


@kernel
def _advance_hopped(
    x_c: Samples,
    x_m: Samples,
    first: int,
    start: int,
    out: Samples,
    every: int,
    hop: int,
    offsets: NDArray[np.int64],
    fulls: NDArray[np.int64],
    ring: Samples,
    clock: NDArray[np.int64],
    good: NDArray[np.int64],
    held: Samples,
    declined: Samples,
    evaluations: NDArray[np.int64],
) -> tuple[int, bool]:
    """Process samples until an evaluation may start or is due; return that position, and whether there is one."""
    n_window, stop, stopped = ring.shape[2] // 2, x_c.shape[0], False
    for pair in range(x_c.shape[1]):
        scheduled, full = start + (-(first + start + offsets[pair])) % hop, start + fulls[pair] - 1 - good[pair]
        # skipped sample numbers are past
        due = max(evaluations[pair, 0] - first, start) if evaluations[pair, 3] > 0 else -1
        for at in (scheduled, full, due):
            if start <= at < stop:
                stop, stopped = at + 1, True
    rows_before = (first + start - 1) // every - (first - 1) // every
    # pair by pair, because the data of one are contiguous
    for pair in range(x_c.shape[1]):
        row_clock, slot = start_row_clock(first + start, every), clock[0]
        for i in range(start, stop):
            c, m = x_c[i, pair], x_m[i, pair]
            row_clock = advance_row_clock(row_clock, every)
            store(ring, pair, 0, slot, c)
            store(ring, pair, 1, slot, m)
            slot = next_slot(slot, n_window)
            if is_good(c, m):
                good[pair] += 1
            else:
                good[pair] = 0
                evaluations[pair, 4] = 0
                for j in range(held.shape[1]):
                    held[pair, j] = declined[j]
            if row_clock.due:
                write_row(out, rows_before + row_clock.row, pair, held)
    clock[0] = (clock[0] + stop - start) % n_window
    return stop, stopped

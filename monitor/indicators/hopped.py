"""Indicators that evaluate a whole window now and then: between two evaluations the last values stand.

What needs transforms of the whole window cannot slide from sample to sample. It is evaluated every `hop` samples,
at sample numbers that do not depend on how the stream is cut, and for one pair at a time, so that no sample waits
for the evaluations of all pairs.
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
from monitor.indicators.parts.good_samples import is_good
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# the fraction of a hop from one pair's turn to the next one's: any number of pairs is spread evenly
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_LOUD = 1e12


class Centred(NamedTuple):
    """The window of a pair, (n_window,) each, without means and over its largest; that largest, 0 if constant."""

    c: Samples
    m: Samples
    size_c: float
    size_m: float


class _Look(IntEnum):
    """The columns of what is known of the window that a pair has held."""

    UNTIL = 0  # number of the sample at which the values are told
    NUMBER = 1  # of the sample that ends it
    GOOD = 2  # samples in a row until then
    STAGE = 3
    CLEAN = 4  # no bad sample has come since


_WAITS, _FOUND = 1, 2


class _Held(NamedTuple):
    """Windows that wait for their evaluation (n_pairs, 2, n_window), what is known of them, and what was found."""

    windows: Samples
    looks: NDArray[np.int64]
    found: Samples


class HoppedIndicator(WindowedIndicator[Value]):
    """An indicator whose values are made anew every `hop` samples.

    Pair 0 is evaluated at the sample numbers that `hop` divides, every other pair a set part of a hop earlier;
    besides, where `at_once`, each as soon as its window is full, one sample after the pair before it.
    A value is not valid from the first bad sample in the window until an evaluation finds the window clean.

    Parameters
    ----------
    later : so many samples after the end of its window a value is told. In the meantime `work` may find it, when
        there is time; it is found when it is to be told at the latest, and is the same.
    """

    measure: ClassVar[Measure]
    at_once: ClassVar[bool] = False

    def __init__(
        self,
        sample_rate: float,
        window: float,
        *,
        hop: int,
        later: int = 0,
        n_pairs: int = 1,
        every: int = 1,
        **settings: Any,
    ) -> None:
        self.hop = max(1, hop)
        if not 0 <= later < self.hop:
            raise ValueError(f"later = {later} samples: must be less than {self.hop}, when the next value is due")
        self.later, self._paused = later, False
        self._turns = np.rint(_GOLDEN * np.arange(n_pairs) * self.hop).astype(np.int64) % self.hop
        centred(np.zeros(2))
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, later=later, **settings)
        # what an evaluation compiles is there when the first one is due; so large that no gate is shut
        wave = np.sin(5.0 * np.pi * np.arange(self.n_window) / self.n_window)
        (c, _), (m, _) = centred(wave), centred(np.roll(wave, 1))
        self._evaluate(0, Centred(c, m, _LOUD, _LOUD), self.n_window, self.n_window)
        self.reset()

    @abstractmethod
    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Any:
        """Return the (n_outputs,) values of a clean window ending with sample `number`, the last of `good` ones."""

    def _new_memory(self) -> tuple[Any, ...]:
        """Return the arrays in which an indicator remembers more than its window."""
        return ()

    @property
    def _memory(self) -> tuple[Any, ...]:
        return self._state[5:]

    def _new_state(self) -> tuple[Any, ...]:
        n, n_outputs = self.n_pairs, len(self.outputs)
        # how many good samples in a row make a pair due at once; less than none is never reached
        self._fulls = self.n_window + np.arange(n) if self.at_once else np.full(n, -1)
        # every sample is written twice, one window apart, so that any window lies in one piece
        ring = np.zeros((n, 2, 2 * self.n_window))
        clock, good = np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        held = _Held(
            np.zeros((n, 2, self.n_window)),
            np.zeros((n, len(_Look)), dtype=np.int64),
            np.full((n, n_outputs), np.nan),
        )
        return (ring, clock, good, np.full((n, n_outputs), np.nan), held, *self._new_memory())

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        ring, clock, good, standing, held = self._state[:5]
        x_c, x_m, settings = signals.x_c, signals.x_m, (self.every, self.hop, self._turns, self._fulls)
        start, n = 0, len(x_c)
        while True:
            stop, stopped = _advance_hopped(
                x_c, x_m, first, start, out, *settings, ring, clock, good, standing, held.looks
            )
            if stopped:
                newest = first + stop - 1
                for pair in () if self._paused else np.flatnonzero(self._due(newest, good)):
                    if held.looks[pair, _Look.STAGE] == _WAITS:
                        # what is newer is told in its place, but what it remembers counts
                        self._find(int(pair))
                    held.windows[pair] = ring[pair, :, clock[0] : clock[0] + self.n_window]
                    held.looks[pair] = newest + self.later, newest, good[pair], _WAITS, 1
                told = np.flatnonzero((held.looks[:, _Look.UNTIL] <= newest) & (held.looks[:, _Look.STAGE] > 0))
                for pair in told:
                    if held.looks[pair, _Look.STAGE] == _WAITS:
                        self._find(int(pair))
                    if held.looks[pair, _Look.CLEAN]:
                        standing[pair] = held.found[pair]
                    held.looks[pair] = 0
                # the row of that sample alone has been made before
                if len(told) and newest % self.every == 0:
                    out[newest // self.every - (first - 1) // self.every - 1] = standing
            if stop == n:
                return
            start = stop

    def work(self) -> bool:
        """Evaluate the window that has waited longest; return whether one waited."""
        looks = self._state[4].looks
        waiting = np.flatnonzero(looks[:, _Look.STAGE] == _WAITS)
        if not len(waiting):
            return False
        self._find(int(waiting[np.argmin(looks[waiting, _Look.UNTIL])]))
        return True

    @property
    def paused(self) -> bool:
        """Nothing is evaluated, and no value is valid: for want of time."""
        return self._paused

    @paused.setter
    def paused(self, on: bool) -> None:
        self._paused = on
        if on:
            self._state[3][:] = np.nan
            self._state[4].looks[:] = 0

    def settle(self) -> None:
        """Evaluate all windows that wait; what was found is told when it is to be."""
        while self.work():
            pass

    def _find(self, pair: int) -> None:
        held: _Held = self._state[4]
        (c, size_c), (m, size_m) = centred(held.windows[pair, 0]), centred(held.windows[pair, 1])
        _, number, good, _, _ = held.looks[pair].tolist()
        held.found[pair] = self._evaluate(pair, Centred(c, m, size_c, size_m), number, good)
        held.looks[pair, _Look.STAGE] = _FOUND

    def _due(self, number: int, good: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs are evaluated at a sample, (n_pairs,)."""
        in_turn: NDArray[np.bool_] = (good >= self.n_window) & ((number + self._turns) % self.hop == 0)
        due: NDArray[np.bool_] = in_turn | (good == self._fulls)
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
    turns: NDArray[np.int64],
    fulls: NDArray[np.int64],
    ring: Samples,
    clock: NDArray[np.int64],
    good: NDArray[np.int64],
    standing: Samples,
    looks: NDArray[np.int64],
) -> tuple[int, bool]:
    """Take the samples up to one at which a pair may be due or is told; return where it stopped, and whether so."""
    n_window, stop, stopped = ring.shape[2] // 2, x_c.shape[0], False
    for pair in range(x_c.shape[1]):
        in_turn, full = start + (-(first + start + turns[pair])) % hop, start + fulls[pair] - 1 - good[pair]
        # numbers that were skipped are over
        told = max(looks[pair, 0] - first, start) if looks[pair, 3] > 0 else -1
        for at in (in_turn, full, told):
            if start <= at < stop:
                stop, stopped = at + 1, True
    # pair by pair: what belongs to one lies side by side in memory
    for pair in range(x_c.shape[1]):
        row = (first + start - 1) // every - (first - 1) // every
        until = (-(first + start)) % every
        at = clock[0]
        for i in range(start, stop):
            c, m = x_c[i, pair], x_m[i, pair]
            ring[pair, 0, at], ring[pair, 0, at + n_window] = c, c
            ring[pair, 1, at], ring[pair, 1, at + n_window] = m, m
            at = 0 if at + 1 == n_window else at + 1
            if is_good(c, m):
                good[pair] += 1
            else:
                good[pair] = 0
                looks[pair, 4] = 0
                for j in range(standing.shape[1]):
                    standing[pair, j] = np.nan
            if until == 0:
                for j in range(standing.shape[1]):
                    out[row, pair, j] = standing[pair, j]
                row += 1
                until = every
            until -= 1
    clock[0] = (clock[0] + stop - start) % n_window
    return stop, stopped

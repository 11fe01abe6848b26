"""Indicators that evaluate a whole window now and then: between two evaluations the last values stand.

What needs transforms of the whole window cannot slide from sample to sample. It is evaluated every `hop` samples,
at sample numbers that do not depend on how the stream is cut, and for one pair at a time, so that no sample waits
for the evaluations of all pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, Signals, Value, WindowedIndicator
from monitor.indicators.cross_spectra import centred
from monitor.kernel import kernel

# the fraction of a hop from one pair's turn to the next one's: any number of pairs is spread evenly
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_LOUD = 1e12


class Centred(NamedTuple):
    """The window of a pair, (n_window,) each, without means and over its largest; that largest, 0 if constant."""

    c: Samples
    m: Samples
    size_c: float
    size_m: float


class HoppedIndicator(WindowedIndicator[Value]):
    """An indicator whose values are made anew every `hop` samples.

    Pair 0 is evaluated at the sample numbers that `hop` divides, every other pair a set part of a hop earlier;
    besides, where `at_once`, each as soon as its window is full, one sample after the pair before it.
    A value is not valid from the first bad sample in the window until an evaluation finds the window clean.
    """

    at_once: ClassVar[bool] = False

    def __init__(
        self, sample_rate: float, window: float, *, hop: int, n_pairs: int = 1, every: int = 1, **settings: Any
    ) -> None:
        self.hop = max(1, hop)
        self._turns = np.rint(_GOLDEN * np.arange(n_pairs) * self.hop).astype(np.int64) % self.hop
        centred(np.zeros(2))
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, **settings)
        # what an evaluation compiles is there when the first one is due; so large that no gate is shut
        wave = np.sin(5.0 * np.pi * np.arange(self.n_window) / self.n_window)
        (c, _), (m, _) = centred(wave), centred(np.roll(wave, 1))
        self._evaluate(0, Centred(c, m, _LOUD, _LOUD), self.n_window)
        self.reset()

    @abstractmethod
    def _evaluate(self, pair: int, window: Centred, number: int) -> Any:
        """Return the (n_outputs,) values of a clean window that ends with sample `number`."""

    def _new_memory(self) -> tuple[Any, ...]:
        """Return the arrays in which an indicator remembers more than its window."""
        return ()

    @property
    def _memory(self) -> tuple[Any, ...]:
        return self._state[4:]

    def _new_state(self) -> tuple[Any, ...]:
        n = self.n_pairs
        # how many good samples in a row make a pair due at once; less than none is never reached
        self._fulls = self.n_window + np.arange(n) if self.at_once else np.full(n, -1)
        # every sample is written twice, one window apart, so that any window lies in one piece
        ring = np.zeros((n, 2, 2 * self.n_window))
        clock, good = np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        return (ring, clock, good, np.full((n, len(self.outputs)), np.nan), *self._new_memory())

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        ring, clock, good, standing = self._state[:4]
        x_c, x_m, settings = signals.x_c, signals.x_m, (self.every, self.hop, self._turns, self._fulls)
        start, n = 0, len(x_c)
        while True:
            stop, due = _advance_hopped(x_c, x_m, first, start, out, *settings, ring, clock, good, standing)
            if due:
                newest = first + stop - 1
                for pair in np.flatnonzero(self._due(newest, good)):
                    newest_c, newest_m = ring[pair, :, clock[0] : clock[0] + self.n_window]
                    (c, size_c), (m, size_m) = centred(newest_c), centred(newest_m)
                    standing[pair] = self._evaluate(int(pair), Centred(c, m, size_c, size_m), newest)
                # the row of that sample alone has been made before the evaluation
                if newest % self.every == 0:
                    out[newest // self.every - (first - 1) // self.every - 1] = standing
            if stop == n:
                return
            start = stop

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
) -> tuple[int, bool]:
    """Take the samples from `start` up to one at which a pair may be due; return where it stopped, and whether so."""
    n_window, stop, due = ring.shape[2] // 2, x_c.shape[0], False
    for pair in range(x_c.shape[1]):
        in_turn, full = start + (-(first + start + turns[pair])) % hop, start + fulls[pair] - 1 - good[pair]
        if in_turn < stop or start <= full < stop:
            stop, due = min(stop, in_turn + 1, full + 1 if full >= start else stop), True
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
            if abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE:
                good[pair] += 1
            else:
                good[pair] = 0
                for j in range(standing.shape[1]):
                    standing[pair, j] = np.nan
            if until == 0:
                for j in range(standing.shape[1]):
                    out[row, pair, j] = standing[pair, j]
                row += 1
                until = every
            until -= 1
    clock[0] = (clock[0] + stop - start) % n_window
    return stop, due

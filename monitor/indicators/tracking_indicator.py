"""TI, the tracking indicator: the area that measured against command encloses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.base import LARGEST_SAMPLE, SIGNAL_UNIT, Output, Signals, WindowedIndicator
from monitor.indicators.kernel import kernel
from monitor.indicators.windowed_sums import new_sums, push, total


class TrackingArea(NamedTuple):
    """TI over the window and since the start, both in the square of the signal's unit."""

    window: float
    total: float


class TrackingIndicator(WindowedIndicator[TrackingArea]):
    """Half the difference of the areas under and left of the synchronization subspace plot.

    ``TI = 1/2 sum [ (m[i+1] + m[i])/2 (c[i+1] - c[i]) - (c[i+1] + c[i])/2 (m[i+1] - m[i]) ]``:
    a leading actuator makes it grow, a lagging one makes it fall (Mercan and Ricles 2007; the review by
    Mirza Hessabi and Mercan states the opposite sign, which holds for the energy integral, not for TI).
    It lumps phase and amplitude together and grows with the square of the command.

    ``ti`` sums over the window; ``ti_total`` over all good samples since the start.
    """

    outputs = (Output("ti", f"{SIGNAL_UNIT}^2"), Output("ti_total", f"{SIGNAL_UNIT}^2"))
    value_type = TrackingArea
    smallest_window = 2

    def __init__(self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1) -> None:
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every)

    def _new_state(self) -> tuple[NDArray[Any], ...]:
        # a window of n samples has n - 1 segments
        sums = new_sums(self.n_window - 1, self.n_pairs, 1)
        previous = np.full((self.n_pairs, 2), np.nan)
        return (*sums, previous, np.zeros(self.n_pairs), np.zeros(self.n_pairs, dtype=np.int64))

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        _advance_ti(signals.x_c, signals.x_m, first, self.every, out, self.n_window, *self._state)


@kernel
def _advance_ti(
    x_c: Samples,
    x_m: Samples,
    first: int,
    every: int,
    out: Samples,
    n_window: int,
    rows: Samples,
    prefix: Samples,
    since: NDArray[np.int64],
    previous: Samples,
    running: Samples,
    good: NDArray[np.int64],
) -> None:
    segment = np.empty(1)
    row = 0
    until = (-first) % every
    for i in range(x_c.shape[0]):
        give = until == 0
        until = every - 1 if give else until - 1
        for pair in range(x_c.shape[1]):
            c, m = x_c[i, pair], x_m[i, pair]
            c_0, m_0 = previous[pair, 0], previous[pair, 1]
            fine = abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE
            good[pair] = good[pair] + 1 if fine else 0
            # the same sum as in the definition, in the form that does not cancel on a large offset
            segment[0] = 0.5 * (m_0 * (c - c_0) - c_0 * (m - m_0)) if good[pair] > 1 else 0.0
            push(rows, prefix, since, pair, segment)
            running[pair] += segment[0]
            previous[pair, 0], previous[pair, 1] = c, m
            if give:
                valid = good[pair] >= n_window
                out[row, pair, 0] = total(rows, prefix, since, pair, 0) if valid else np.nan
                out[row, pair, 1] = running[pair]
        if give:
            row += 1

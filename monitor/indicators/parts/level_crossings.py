"""The frequency of a signal from its crossings of a level, with hysteresis, over a sliding window.

Upward and downward crossings are counted apart, so that a level that is not quite the signal's centre, or that
moves a little, cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part
from monitor.messages.blocks import Samples


class Crossings(NamedTuple):
    """Per pair, and per direction (0 down, 1 up): a queue of crossing times, in samples.

    ``times`` (n_pairs, 2, length); ``ends`` (n_pairs, 2, 2): first slot and number of entries;
    ``side`` (n_pairs,): -1 below, 1 above, 0 not yet known; ``last`` (n_pairs, 2): previous height, time of
    the last change of sign.
    """

    times: Samples
    ends: NDArray[np.int64]
    side: NDArray[np.int64]
    last: Samples


def new_crossings(n_window: int, n_pairs: int) -> Crossings:
    """Return queues that hold all the crossings a window can have."""
    return Crossings(
        np.zeros((n_pairs, 2, n_window // 2 + 2)),
        np.zeros((n_pairs, 2, 2), dtype=np.int64),
        np.zeros(n_pairs, dtype=np.int64),
        np.zeros((n_pairs, 2)),
    )


@part
def forget_crossings(ends: NDArray[np.int64], side: NDArray[np.int64], pair: int) -> None:
    """Begin anew for one pair."""
    side[pair] = 0
    for way in range(2):
        ends[pair, way, 0] = ends[pair, way, 1] = 0


@part
def find_crossings(
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
    pair: int,
    now: float,
    signal: Samples,
    newest: int,
    level: float,
    margin: float,
) -> None:
    """Begin anew with the crossings of a whole window: a ring whose newest sample has the number `now`."""
    forget_crossings(ends, side, pair)
    n_window = signal.shape[0]
    # kept in registers: going through the arrays would take forty times as long
    before, changed, was, slot = 0.0, 0.0, 0, newest
    for age in range(n_window - 1, -1, -1):
        slot = slot + 1 if slot + 1 < n_window else 0
        height = signal[slot] - level
        if (before < 0.0) != (height < 0.0):
            changed = now - age - height / (height - before)
        before = height
        if height > margin and was != 1:
            if was != 0:
                _keep(times, ends, pair, 1, changed, now - n_window)
            was = 1
        elif height < -margin and was != -1:
            if was != 0:
                _keep(times, ends, pair, 0, changed, now - n_window)
            was = -1
    side[pair] = was
    last[pair, 0], last[pair, 1] = before, changed


@part
def watch_crossing(
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
    pair: int,
    now: float,
    height: float,
    margin: float,
    n_window: int,
) -> None:
    """Take the signal's height above the level at the sample number `now`."""
    before = last[pair, 0]
    last[pair, 0] = height
    if (before < 0.0) != (height < 0.0):
        last[pair, 1] = now - height / (height - before)
    was = side[pair]
    if height > margin and was != 1:
        side[pair] = 1
        if was != 0:
            _keep(times, ends, pair, 1, last[pair, 1], now - n_window)
    elif height < -margin and was != -1:
        side[pair] = -1
        if was != 0:
            _keep(times, ends, pair, 0, last[pair, 1], now - n_window)


@part
def _keep(times: Samples, ends: NDArray[np.int64], pair: int, way: int, time: float, oldest: float) -> None:
    _drop(times, ends, pair, way, oldest)
    length = times.shape[2]
    slot = ends[pair, way, 0] + ends[pair, way, 1]
    times[pair, way, slot if slot < length else slot - length] = time
    ends[pair, way, 1] += 1


@part
def _drop(times: Samples, ends: NDArray[np.int64], pair: int, way: int, oldest: float) -> None:
    length = times.shape[2]
    while ends[pair, way, 1] > 0 and times[pair, way, ends[pair, way, 0]] <= oldest:
        ends[pair, way, 0] = ends[pair, way, 0] + 1 if ends[pair, way, 0] + 1 < length else 0
        ends[pair, way, 1] -= 1


@part
def crossing_frequency(times: Samples, ends: NDArray[np.int64], pair: int, oldest: float) -> float:
    """Return cycles a sample from the crossings since `oldest`; NaN when there are none of each kind.

    Where no two of a kind are in the window, half a cycle has to do.
    """
    length = times.shape[2]
    cycles, span = 0.0, 0.0
    for way in range(2):
        _drop(times, ends, pair, way, oldest)
        first, count = ends[pair, way, 0], ends[pair, way, 1]
        if count > 1:
            newest = first + count - 1
            newest = newest if newest < length else newest - length
            cycles += count - 1.0
            span += times[pair, way, newest] - times[pair, way, first]
    if cycles == 0.0 and ends[pair, 0, 1] > 0 and ends[pair, 1, 1] > 0:
        cycles, span = 0.5, abs(times[pair, 0, ends[pair, 0, 0]] - times[pair, 1, ends[pair, 1, 0]])
    return float(cycles / span) if span > 0.0 else np.nan

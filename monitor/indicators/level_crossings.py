"""The frequency of a signal from its crossings of a level, with hysteresis, over a sliding window.

Upward and downward crossings are counted apart, so that a level that is not quite the signal's centre, or that
moves a little, cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.kernel import kernel


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


@kernel
def forget_crossings(
    times: Samples, ends: NDArray[np.int64], side: NDArray[np.int64], last: Samples, pair: int
) -> None:
    """Begin anew for one pair."""
    side[pair] = 0
    for way in range(2):
        ends[pair, way, 0] = ends[pair, way, 1] = 0


@kernel
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
    """Take the signal's height above the level at the sample number `now`; crossings older than a window go."""
    before = last[pair, 0]
    if (before < 0.0) != (height < 0.0):
        last[pair, 1] = now - height / (height - before)
    last[pair, 0] = height
    length = times.shape[2]
    reached = 1 if height > margin else (-1 if height < -margin else 0)
    if reached != 0 and reached != side[pair]:
        if side[pair] != 0:
            way = 1 if reached > 0 else 0
            first, count = ends[pair, way, 0], ends[pair, way, 1]
            if count < length:
                slot = first + count
                times[pair, way, slot if slot < length else slot - length] = last[pair, 1]
                ends[pair, way, 1] = count + 1
        side[pair] = reached
    for way in range(2):
        first, count = ends[pair, way, 0], ends[pair, way, 1]
        while count > 0 and times[pair, way, first] <= now - n_window:
            first = first + 1 if first + 1 < length else 0
            count -= 1
        ends[pair, way, 0], ends[pair, way, 1] = first, count


@kernel
def crossing_frequency(times: Samples, ends: NDArray[np.int64], pair: int) -> float:
    """Return cycles a sample, or NaN when the window holds no whole cycle between crossings of one kind."""
    length = times.shape[2]
    cycles, span = 0, 0.0
    for way in range(2):
        first, count = ends[pair, way, 0], ends[pair, way, 1]
        if count > 1:
            newest = first + count - 1
            newest = newest if newest < length else newest - length
            cycles += count - 1
            span += times[pair, way, newest] - times[pair, way, first]
    return cycles / span if span > 0.0 else np.nan

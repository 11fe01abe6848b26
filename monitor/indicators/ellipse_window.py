"""The window that the ellipse is fitted to: sums of powers of its points that slide and forget.

The window is cut at the last turn, as in `windowed_sums`: suffix sums before it, prefix sums after it. Here the
points are taken in a frame (origin, slope) that every turn lays anew through the window, because the powers
of points far from the origin cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.ellipse_fit import EE, N_SUMS, SWEPT, XE, XX, E, X, add_powers
from monitor.indicators.kernel import part
from monitor.indicators.level_crossings import find_crossings, watch_crossing


class EllipseWindow(NamedTuple):
    """The arrays of the window.

    ``ring`` (n_pairs, n_window, 2); ``suffix`` (n_pairs, n_window + 1, n_sums); ``prefix`` (n_pairs, n_sums);
    ``frame`` (n_pairs, 6): origin of c and m, slope g, margin of the level crossings, squares of the farthest x
    and e that left since the last look; ``counts``:
    good samples in a row, samples since the last turn, samples since the last early turn, and (n_pairs, 4) in all,
    samples until the next regular turn; ``clock`` (2,): slot and number of the sample that is being taken.
    """

    ring: Samples
    suffix: Samples
    prefix: Samples
    frame: Samples
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]


def new_ellipse_window(n_window: int, n_pairs: int) -> EllipseWindow:
    """Return an empty window."""
    return EllipseWindow(
        ring=np.zeros((n_pairs, n_window, 2)),
        suffix=np.zeros((n_pairs, n_window + 1, N_SUMS)),
        prefix=np.zeros((n_pairs, N_SUMS)),
        frame=np.zeros((n_pairs, 6)),
        counts=np.tile(np.array([0, 0, 0, n_window]), (n_pairs, 1)),
        clock=np.zeros(2, dtype=np.int64),
    )


@part
def push(
    pair: int,
    c: float,
    m: float,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
) -> None:
    """Let a sample in; the oldest leaves."""
    n_window, slot = ring.shape[1], clock[0]
    if clock[1] == 0:
        frame[pair, 0], frame[pair, 1], frame[pair, 2] = c, m, 1.0
    x = c - frame[pair, 0]
    e = m - frame[pair, 1] - frame[pair, 2] * x
    if clock[1] > 0:
        x_0 = ring[pair, slot - 1, 0] - frame[pair, 0]
        e_0 = ring[pair, slot - 1, 1] - frame[pair, 1] - frame[pair, 2] * x_0
        prefix[pair, SWEPT] += x_0 * e - x * e_0
    add_powers(x, e, prefix, pair)
    x_old = ring[pair, slot, 0] - frame[pair, 0]
    e_old = ring[pair, slot, 1] - frame[pair, 1] - frame[pair, 2] * x_old
    frame[pair, 4], frame[pair, 5] = max(frame[pair, 4], x_old * x_old), max(frame[pair, 5], e_old * e_old)
    ring[pair, slot, 0], ring[pair, slot, 1] = c, m
    counts[pair, 1] += 1
    counts[pair, 2] += 1
    counts[pair, 3] -= 1
    if counts[pair, 3] == 0:
        turn(pair, ring, suffix, prefix, frame, counts, clock, times, ends, side, last)
        # after the first window the pairs turn at times of their own, so that no one sample waits for all of them
        apart = pair * 40503 % 65536 * n_window // 131072 if clock[1] + 1 == n_window else 0
        counts[pair, 3] = n_window - apart
    else:
        watch_crossing(times, ends, side, last, pair, float(clock[1]), x, frame[pair, 3], n_window)


@part
def turn(
    pair: int,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    clock: NDArray[np.int64],
    times: Samples,
    ends: NDArray[np.int64],
    side: NDArray[np.int64],
    last: Samples,
) -> None:
    """Lay a new frame through the full window, sum it up from its newest sample back, and note its crossings."""
    n_window = ring.shape[1]
    _lay_frame(pair, ring, frame)
    mid_c, mid_m, slope = frame[pair, 0], frame[pair, 1], frame[pair, 2]
    sums = np.zeros((1, N_SUMS))
    x_1 = e_1 = 0.0
    slot = clock[0]
    for age in range(n_window - 1, -1, -1):
        x = ring[pair, slot, 0] - mid_c
        e = ring[pair, slot, 1] - mid_m - slope * x
        add_powers(x, e, sums, 0)
        if age < n_window - 1:
            sums[0, SWEPT] += x * e_1 - x_1 * e
        for j in range(N_SUMS):
            suffix[pair, age, j] = sums[0, j]
        x_1, e_1 = x, e
        slot = slot - 1 if slot > 0 else n_window - 1
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    counts[pair, 1] = 0
    find_crossings(times, ends, side, last, pair, float(clock[1]), ring[pair, :, 0], clock[0], mid_c, frame[pair, 3])


@part
def _lay_frame(pair: int, ring: Samples, frame: Samples) -> None:
    """Put the origin in the middle of the range, which stays where it is whatever part of a cycle is held."""
    n_window = ring.shape[1]
    sum_c = sum_m = 0.0
    low = high = ring[pair, 0, 0]
    for k in range(n_window):
        c = ring[pair, k, 0]
        sum_c += c
        sum_m += ring[pair, k, 1]
        low = c if c < low else low
        high = c if c > high else high
    mean_c, mean_m = sum_c / n_window, sum_m / n_window
    var_c = cov = 0.0
    for k in range(n_window):
        d = ring[pair, k, 0] - mean_c
        var_c += d * d
        cov += d * (ring[pair, k, 1] - mean_m)
    slope = cov / var_c if var_c > 0.0 else 0.0
    mid_c = low + 0.5 * (high - low)
    frame[pair, 0], frame[pair, 1] = mid_c, mean_m + slope * (mid_c - mean_c)
    frame[pair, 2], frame[pair, 3] = slope, 0.3 * np.sqrt(var_c / n_window)


@part
def collect(pair: int, suffix: Samples, prefix: Samples, counts: NDArray[np.int64], sums: Samples) -> None:
    """Fill `sums` with those over the window."""
    since = counts[pair, 1]
    for j in range(N_SUMS):
        sums[j] = suffix[pair, since, j] + prefix[pair, j]


@part
def misplaced(sums: Samples, n: int, margin: float) -> bool:
    """Whether the frame's origin lies so far from the points that their powers cancel; NaN says yes."""
    x, e = sums[X] / n, sums[E] / n
    xx, ee = sums[XX] / n, sums[EE] / n
    var_x, var_e, cov = xx - x * x, ee - e * e, sums[XE] / n - x * e
    return not (
        10.0 * x * x <= 9.0 * xx
        and 10.0 * e * e <= 9.0 * ee
        and margin * margin <= var_x
        and cov * cov <= 0.9 * var_x * var_e
    )


@part
def centred_sweep(pair: int, sums: Samples, ring: Samples, frame: Samples, newest: int) -> float:
    """Return twice the area swept about the mean point; negative is clockwise, a lead."""
    n_window = ring.shape[1]
    oldest = newest + 1 if newest + 1 < n_window else 0
    dx = ring[pair, newest, 0] - ring[pair, oldest, 0]
    de = ring[pair, newest, 1] - ring[pair, oldest, 1] - frame[pair, 2] * dx
    return float(sums[SWEPT] - (sums[X] * de - sums[E] * dx) / n_window)

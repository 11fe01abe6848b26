"""The window that the ellipse is fitted to: sums of powers of its points that slide and forget.

The window is cut at the last turn, as in `windowed_sums`: suffix sums before it, prefix sums after it. Here the
points are taken in a frame (origin, slope) that every turn lays anew through the window, because the powers
of points far from the origin cancel. The samples themselves are in the ring of `chord_sums`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.ellipse_fit import EE, N_SUMS, XE, XX, E, X, add_powers
from monitor.kernel import part
from monitor.messages.blocks import Samples


class EllipseWindow(NamedTuple):
    """The arrays of the window.

    ``suffix`` (n_pairs, n_window + 1, n_sums); ``prefix`` (n_pairs, n_sums); ``frame`` (n_pairs, 6): origin of c and
    m, slope g, smallest spread of c, squares of the farthest x and e that left since the last look; ``counts``
    (n_pairs, 3): samples until the next regular turn, samples since the last turn, since the last early one.
    """

    suffix: Samples
    prefix: Samples
    frame: Samples
    counts: NDArray[np.int64]


def new_ellipse_window(n_window: int, n_pairs: int) -> EllipseWindow:
    """Return an empty window."""
    return EllipseWindow(
        suffix=np.zeros((n_pairs, n_window + 1, N_SUMS)),
        prefix=np.zeros((n_pairs, N_SUMS)),
        frame=np.zeros((n_pairs, 6)),
        counts=np.tile(np.array([n_window, 0, 0]), (n_pairs, 1)),
    )


@part
def push_point(
    pair: int,
    c: float,
    m: float,
    ring: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    slot: int,
    number: int,
) -> None:
    """Let a sample in, which is not yet in the ring; the oldest, which still is, leaves."""
    if number == 0:
        frame[pair, 0], frame[pair, 1], frame[pair, 2] = c, m, 1.0
    x = c - frame[pair, 0]
    e = m - frame[pair, 1] - frame[pair, 2] * x
    add_powers(x, e, prefix, pair)
    x_old = ring[pair, 0, slot] - frame[pair, 0]
    e_old = ring[pair, 1, slot] - frame[pair, 1] - frame[pair, 2] * x_old
    frame[pair, 4], frame[pair, 5] = max(frame[pair, 4], x_old * x_old), max(frame[pair, 5], e_old * e_old)
    counts[pair, 0] -= 1
    counts[pair, 1] += 1
    counts[pair, 2] += 1


@part
def turn_points(
    pair: int,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    slot: int,
    number: int,
) -> None:
    """Lay a new frame through the full window and sum it up from its newest sample back."""
    n_window, oldest = ring.shape[2] // 2, slot + 1
    _lay_frame(pair, ring, oldest, frame)
    mid_c, mid_m, slope = frame[pair, 0], frame[pair, 1], frame[pair, 2]
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    for age in range(n_window - 1, -1, -1):
        x = ring[pair, 0, oldest + age] - mid_c
        e = ring[pair, 1, oldest + age] - mid_m - slope * x
        add_powers(x, e, prefix, pair)
        for j in range(N_SUMS):
            suffix[pair, age, j] = prefix[pair, j]
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    # after the first window the pairs turn at times of their own, so that no one sample waits for all of them
    apart = pair * 40503 % 65536 * n_window // 131072 if number + 1 == n_window else 0
    counts[pair, 0] = n_window - apart
    counts[pair, 1] = 0


@part
def _lay_frame(pair: int, ring: Samples, oldest: int, frame: Samples) -> None:
    """Put the origin in the middle of the range, which stays where it is whatever part of a cycle is held."""
    n_window = ring.shape[2] // 2
    sum_c = sum_m = 0.0
    low = high = ring[pair, 0, oldest]
    for k in range(oldest, oldest + n_window):
        c = ring[pair, 0, k]
        sum_c += c
        sum_m += ring[pair, 1, k]
        low = c if c < low else low
        high = c if c > high else high
    mean_c, mean_m = sum_c / n_window, sum_m / n_window
    var_c = cov = 0.0
    for k in range(oldest, oldest + n_window):
        d = ring[pair, 0, k] - mean_c
        var_c += d * d
        cov += d * (ring[pair, 1, k] - mean_m)
    slope = cov / var_c if var_c > 0.0 else 0.0
    mid_c = low + 0.5 * (high - low)
    frame[pair, 0], frame[pair, 1] = mid_c, mean_m + slope * (mid_c - mean_c)
    frame[pair, 2], frame[pair, 3] = slope, 0.3 * np.sqrt(var_c / n_window)


@part
def sum_points(
    pair: int,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    slot: int,
    number: int,
    sums: Samples,
) -> None:
    """Fill `sums` with those over the full window, seen in a frame that fits it."""
    n_window = ring.shape[2] // 2
    collect_points(pair, suffix, prefix, counts[pair, 1], sums)
    # what leaves and stood far out has bent the frame that the others are seen in
    var_x = sums[XX] / n_window - (sums[X] / n_window) ** 2
    var_e = sums[EE] / n_window - (sums[E] / n_window) ** 2
    outlier = frame[pair, 4] > 16.0 * var_x or frame[pair, 5] > 16.0 * var_e
    frame[pair, 4] = frame[pair, 5] = 0.0
    if (outlier or counts[pair, 2] >= n_window // 8) and misplaced(sums, n_window, frame[pair, 3]):
        turn_points(pair, ring, suffix, prefix, frame, counts, slot, number)
        counts[pair, 2] = 0
        collect_points(pair, suffix, prefix, 0, sums)


@part
def collect_points(pair: int, suffix: Samples, prefix: Samples, row: int, sums: Samples) -> None:
    """Fill `sums` with those from a row of the suffix on."""
    for j in range(N_SUMS):
        sums[j] = suffix[pair, row, j] + prefix[pair, j]


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

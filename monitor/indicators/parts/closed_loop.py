"""The newest closed loop of force against displacement in a window: its area, and the line between its ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.kernel import reduction
from monitor.messages.blocks import Samples

# of the range of displacement: a turn beyond the middle by less is noise
_MARGIN = 0.15
# of a loop's length, half of what is averaged at its ends, and of what tells where an end is
_END, _TURN = 1.0 / 128.0, 1.0 / 16.0


class ClosedLoop(NamedTuple):
    """A loop from one crossing of the middle displacement to the next one in the same direction.

    ``length`` samples, 0 of none; ``area`` : the work of the force along it; ``rise`` of the force between its two
    ends over ``stroke``, the displacement between them; ``highest``, ``lowest``, ``reach``: the samples of the ends,
    and how many to either side are averaged.
    """

    length: float
    area: float
    rise: float
    stroke: float
    highest: int
    lowest: int
    reach: int


@reduction
def newest_loop(x: Samples, f: Samples) -> ClosedLoop:
    """Return the newest loop of displacement and force, (n,) each."""
    low = high = x[0]
    for i in range(x.shape[0]):
        low, high = min(low, x[i]), max(high, x[i])
    middle, margin = low + 0.5 * (high - low), _MARGIN * (high - low)
    begin, end = _newest_turn(x, middle, margin)
    if not begin < end:
        return ClosedLoop(0.0, 0.0, 0.0, 0.0, 0, 0, 0)
    first, last = int(np.floor(begin)) + 1, int(np.floor(end))
    # from the middle to the first sample, and from the last one to the middle
    at_begin, at_end = _between(f, begin), _between(f, end)
    area = 0.5 * (at_begin + f[first]) * (x[first] - middle) + 0.5 * (f[last] + at_end) * (middle - x[last])
    highest = lowest = first
    for i in range(first, last):
        area += 0.5 * (f[i] + f[i + 1]) * (x[i + 1] - x[i])
    for i in range(first, last + 1):
        highest, lowest = (i if x[i] > x[highest] else highest), (i if x[i] < x[lowest] else lowest)
    span = int(_TURN * (end - begin))
    highest, lowest = _turning_point(x, highest, span), _turning_point(x, lowest, span)
    reach = min(int(_END * (end - begin)), highest, lowest, x.shape[0] - 1 - max(highest, lowest))
    rise = stroke = 0.0
    for i in range(-reach, reach + 1):
        rise += (f[highest + i] - f[lowest + i]) / (2 * reach + 1)
        stroke += (x[highest + i] - x[lowest + i]) / (2 * reach + 1)
    return ClosedLoop(end - begin, area, rise, stroke, highest, lowest, reach)


@reduction
def left_by_mean(half: int, period: float) -> float:
    """Return the share of a tone that a mean of `half` samples to either side leaves; its period is in samples."""
    angle, count = np.pi / period, 2 * half + 1
    return float(np.sin(count * angle) / (count * np.sin(angle)))


@reduction
def _turning_point(x: Samples, at: int, span: int) -> int:
    """Return the vertex of a parabola through `span` samples to either side of the largest or smallest one.

    Where noise is largest is not where the motion turns, and a viscous force changes fast there.
    """
    span = min(span, at, x.shape[0] - 1 - at)
    if span < 2:
        return at
    squares = fourths = slope = bend = 0.0
    for i in range(-span, span + 1):
        squares, fourths = squares + float(i * i), fourths + float(i * i) * float(i * i)
    mean = squares / (2 * span + 1)
    for i in range(-span, span + 1):
        slope, bend = slope + i * x[at + i] / squares, bend + (i * i - mean) * x[at + i]
    bend /= fourths - mean * squares
    shift = -0.5 * slope / bend if bend != 0.0 else 0.0
    return at + int(np.rint(min(max(shift, -float(span)), float(span))))


@reduction
def _newest_turn(x: Samples, middle: float, margin: float) -> tuple[float, float]:
    """Return the last two crossings of the middle in one direction, in samples; equal where there is no such pair."""
    up_1 = up_2 = down_1 = down_2 = crossing = -1.0
    before, side = 0.0, 0
    for i in range(x.shape[0]):
        height = x[i] - middle
        if (before < 0.0) != (height < 0.0) and i > 0:
            crossing = i - height / (height - before)
        before = height
        if height > margin and side != 1:
            if side != 0:
                up_1, up_2 = up_2, crossing
            side = 1
        elif height < -margin and side != -1:
            if side != 0:
                down_1, down_2 = down_2, crossing
            side = -1
    up, down = up_1 >= 0.0, down_1 >= 0.0
    if up and (up_2 > down_2 or not down):
        return up_1, up_2
    return (down_1, down_2) if down else (0.0, 0.0)


@reduction
def _between(f: Samples, at: float) -> float:
    """Return the force at a crossing, interpolated."""
    i = min(int(np.floor(at)), f.shape[0] - 2)
    return float(f[i] + (at - i) * (f[i + 1] - f[i]))

"""Change points of a windowed indicator: steps and drifts, by penalised least squares over all segmentations.

A value belongs to the window that ends at its time. Values closer than a window share samples, so that one window of
values counts as one independent observation. Windows that contain a change see both levels and belong to neither. The
noise is estimated from values one window apart: it includes the indicator's own standard deviation and the scatter
from window to window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from replay.assessment.course import SIGNIFICANT, SLOPE_PENALTY, STEP_PENALTY, Course, Observations, Stretch

# values per window, and their maximum number: the search is quadratic
_PER_WINDOW, _MOST = 4, 4000
# minimum number of values in a segment, not counting those that see a change; and at either end of the record
_FEWEST, _FEWEST_AT_END = 6, 3
# standard deviations beyond which a value is an outlier among its neighbours
_OUTLIER = 3.0
# lower quartile of the absolute value of a standard normal variable
_QUARTILE = 0.3186
# mean delay of a result, held and published late, as a fraction of the window
_HELD = 1.0 / 8.0 + 1.0 / 32.0
# minimum length of a record, and of what has values in it, in windows
_FEWEST_WINDOWS = 4.0
# uncertainty of the time of a change, as a fraction of the window
_TIME_UNCERTAINTY = 0.5


@dataclass(frozen=True, slots=True)
class LevelSegment:
    """A constant or linearly drifting level from ``start`` to ``stop`` [s].

    ``first`` and ``last`` are the values at its two ends, equal where it is constant; ``sd`` is their standard
    deviation.
    """

    start: float
    stop: float
    first: float
    last: float
    sd: float

    @property
    def drifts(self) -> bool:
        """Whether the values at the start and the end differ."""
        return self.first != self.last


@dataclass(frozen=True, slots=True)
class Step:
    """A change from one value to another at ``time`` ± ``time_uncertainty`` [s], with the standard deviations."""

    time: float
    time_uncertainty: float
    before: float
    before_sd: float
    after: float
    after_sd: float


@dataclass(frozen=True, slots=True)
class Segmentation:
    """A value over a record in segments of constant or drifting level, and the window [s] it was computed over."""

    segments: tuple[LevelSegment, ...] = ()
    window: float = float("nan")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps between consecutive segments; segments that meet at one value have none."""
        return tuple(
            Step(b.start, _TIME_UNCERTAINTY * self.window, a.last, a.sd, b.first, b.sd)
            for a, b in pairwise(self.segments)
            if a.last != b.first
        )

    @property
    def drifts(self) -> tuple[LevelSegment, ...]:
        """The segments over which the value drifts."""
        return tuple(segment for segment in self.segments if segment.drifts)

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest value; requires at least one segment."""
        ends = [end for segment in self.segments for end in (segment.first, segment.last)]
        return min(ends), max(ends)

    @property
    def changes(self) -> bool:
        """Whether the value changes within the record."""
        return bool(self.steps or self.drifts)


def segment_series(time: Samples, values: Samples, sd: Samples, window: float, least: float) -> Segmentation:
    """Return the segments between the change points of an indicator.

    Parameters
    ----------
    time, values, sd : (n,), s, and an indicator with its standard deviation, of the window that ends at that time;
        NaN where it has no value.
    window : s.
    least : the smallest change of interest, in the indicator's unit.

    Returns
    -------
    Segmentation : without segments where the record, or what has values in it, is shorter than four windows.
    """
    good = np.isfinite(values) & np.isfinite(sd)
    time, values, sd = time[good], values[good], sd[good]
    if not len(time) or time[-1] - time[0] < (_FEWEST_WINDOWS - 1.0) * window:
        return Segmentation((), window)
    step = max(window / _PER_WINDOW, (time[-1] - time[0]) / _MOST)
    rows = np.unique(np.searchsorted(time, np.arange(time[0], time[-1], step)))
    if len(rows) * step < (_FEWEST_WINDOWS - 1.0) * window:
        # motions with a long pause between them
        return Segmentation((), window)
    series = _Series(time[rows], values[rows], sd[rows], window, step, least)
    return Segmentation(tuple(_segments(series, series.pruned(series.partition()))), window)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line fitted to the values from ``begin`` to ``end`` whose windows contain no change, about ``middle`` [s]."""

    begin: int
    end: int
    middle: float
    level: float
    slope: float
    level_variance: float
    slope_variance: float
    cost: float

    def at(self, time: float) -> tuple[float, float]:
        """Return the line's value at a time, and its variance."""
        past = time - self.middle
        return self.level + self.slope * past, self.level_variance + past * past * self.slope_variance


class _Series:
    """Weighted values, with cumulative sums that give the cost of any segment in constant time."""

    def __init__(self, time: Samples, values: Samples, sd: Samples, window: float, step: float, least: float) -> None:
        self.window, self.least = window, least
        self.time = time
        self.overlap = max(1, round(window / step))
        # values whose windows contain the change, and one that is held
        self.mixed = self.overlap + 1
        self.noise = noise = _noise(values, sd, self.overlap)
        self.values = values = _without_outliers(values, noise, self.overlap)
        self.share = min(step / window, 1.0)
        weights = self.share / noise**2
        # centred, so that the sums lose nothing to rounding
        self._origin = float(np.mean(time)), float(np.median(values))
        x, y = time - self._origin[0], values - self._origin[1]
        terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y]) * weights
        self._sums = np.concatenate([np.zeros((6, 1)), np.cumsum(terms, axis=1)], axis=1)

    def _lines(self, begin: NDArray[np.int64], end: int) -> tuple[Samples, Samples]:
        """Return the costs of a constant and of a line through the values from each of (n,) begins to an end."""
        w, x, y, xx, xy, yy = self._sums[:, end, None] - self._sums[:, begin]
        s_xx, s_xy, s_yy = xx - x * x / w, xy - x * y / w, yy - y * y / w
        # a line through a few values that share samples says nothing
        line = np.where(end - begin < _FEWEST, np.inf, s_yy - s_xy**2 / np.maximum(s_xx, 1e-300))
        return s_yy, line

    def partition(self) -> list[int]:
        """Return where the cheapest segments begin, and the end: optimal partitioning by dynamic programming."""
        n = len(self.time)
        least_cost, previous = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
        least_cost[0] = -STEP_PENALTY
        for end in range(_FEWEST_AT_END, n + 1):
            fewest = _FEWEST if end < n else _FEWEST_AT_END
            begin = np.arange(0, max(1, end - fewest - self.mixed + 1))
            begin = begin[np.isfinite(least_cost[begin])]
            flat, line = self._lines(begin + np.where(begin > 0, self.mixed, 0), end)
            costs = least_cost[begin] + STEP_PENALTY + np.minimum(flat, line + SLOPE_PENALTY)
            best = int(np.argmin(costs))
            least_cost[end], previous[end] = costs[best], begin[best]
        edges = [n]
        while edges[-1] > 0:
            edges.append(int(previous[edges[-1]]))
        return edges[::-1]

    def piece(self, begin: int, end: int) -> _Piece:
        """Fit a segment: a constant, or a line where the slope makes a difference."""
        first = begin + self.mixed if begin else begin
        w, x, y, xx, xy, _ = (self._sums[:, end] - self._sums[:, first]).tolist()
        flat, line = (float(cost[0]) for cost in self._lines(np.array([first]), end))
        level, s_xx = y / w, xx - x * x / w
        slope = (xy - x * y / w) / s_xx if s_xx > 0.0 else 0.0
        extent = abs(slope) * (self.time[end - 1] - self.time[first])
        rises = flat - line > SLOPE_PENALTY and extent > self.least
        cost = line if rises else flat
        # scatter beyond the noise makes both less certain
        scatter = max(1.0, cost / max(1.0, (end - first) / self.overlap - 1.0))
        middle = x / w + self._origin[0]
        return _Piece(
            begin,
            end,
            middle,
            level + self._origin[1],
            slope if rises else 0.0,
            scatter / w,
            scatter / s_xx if rises else 0.0,
            cost,
        )

    def pruned(self, edges: list[int]) -> list[_Piece]:
        """Return the segments after merging neighbours that do not differ significantly, least different first."""
        while True:
            pieces = [self.piece(a, b) for a, b in pairwise(edges)]
            doubts = [self._significance(a, b) for a, b in pairwise(pieces)]
            if not doubts or min(doubts) >= 1.0:
                return pieces
            del edges[int(np.argmin(doubts)) + 1]

    def _significance(self, left: _Piece, right: _Piece) -> float:
        """Return the difference of two neighbours over the threshold: from 1 on there is a change between them."""
        jump = self.jump(left, right)
        if not (left.slope or right.slope):
            return jump
        # a kink: two lines that meet
        joined = self.piece(left.begin, right.end)
        return max(jump, (joined.cost - left.cost - right.cost) / (STEP_PENALTY + SLOPE_PENALTY))

    def jump(self, left: _Piece, right: _Piece) -> float:
        """Return the step between two neighbours over the smallest that is significant and of interest."""
        # a value at a window's end is that of the window's middle
        time = self.time[right.begin] + 0.5 * self.window
        (before, before_variance), (after, after_variance) = left.at(time), right.at(time)
        sd = np.sqrt(before_variance + after_variance)
        return float(abs(after - before) / max(self.least, SIGNIFICANT * sd))


def _noise(values: Samples, sd: Samples, overlap: int) -> Samples:
    """Return (n,) standard deviations of values of separate windows: their own, and additional scatter."""
    first = values[overlap:] - values[:-overlap]
    own = sd**2
    excess = _excess(first - np.median(first), own[overlap:] + own[:-overlap], 2.0)
    if len(first) > 2 * overlap:
        # a line has no second differences
        second = first[overlap:] - first[:-overlap]
        own_second = own[2 * overlap :] + 4.0 * own[overlap:-overlap] + own[: -2 * overlap]
        excess = min(excess, _excess(second, own_second, 6.0))
    # for values without any scatter: far below the noise of any instrument
    floor = 1e-6 * max(float(np.median(np.abs(values))), 1e-3)
    return np.asarray(np.sqrt(sd**2 + excess + floor**2))


def _excess(differences: Samples, own: Samples, number: float) -> float:
    """Return the variance of a value, beside its own, that explains the lower quartile of (n,) differences.

    The quartile, for many of them may straddle a change. ``own`` are their variances; ``number`` is how many times
    that of a value is in theirs.
    """
    size = np.abs(differences)
    low, high = 0.0, float(np.max(size, initial=0.0)) ** 2
    for _ in range(40):
        middle = 0.5 * (low + high)
        small = float(np.mean(size < _QUARTILE * np.sqrt(own + number * middle)))
        low, high = (middle, high) if small < 0.25 else (low, middle)
    return low


def _without_outliers(values: Samples, noise: Samples, overlap: int) -> Samples:
    """Return the values, with outliers clipped towards the median of the neighbours within one and a half windows."""
    reach = overlap + overlap // 2
    padded = np.pad(values, reach, mode="edge")
    local = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1), axis=1)
    return np.asarray(np.clip(values, local - _OUTLIER * noise, local + _OUTLIER * noise))


def _segments(series: _Series, pieces: list[_Piece]) -> Iterator[LevelSegment]:
    """Yield the segments with their ends in time."""
    window = series.window
    late = _HELD * window
    stretches = [Stretch(float(series.time[0]) - late - window, pieces[0].slope != 0.0)]
    for left, right in pairwise(pieces):
        time = float(series.time[right.begin]) - late
        stretches.append(Stretch(time, right.slope != 0.0, series.jump(left, right) < 1.0))
    seen = Observations(series.time - late, series.values, series.noise**2, window, series.share)
    course = Course(tuple(stretches), seen, series.least).refined()
    edges = [*np.maximum(course.edges[:-1], 0.0).tolist(), float(series.time[-1])]
    # a line is known between the middles of the first and the last window
    within = float(series.time[0]) - late - 0.5 * window, float(series.time[-1]) - late - 0.5 * window
    for number, (each, (start, stop)) in enumerate(zip(course.stretches, pairwise(edges), strict=True)):
        if each.slopes:
            start, stop = max(start, within[0]), min(stop, within[1])
        first, last, sd = course.values(number, start, stop)
        yield LevelSegment(start, stop, first, last if each.slopes else first, sd)

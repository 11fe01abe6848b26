"""Axes of a stack: scale and tick labels in the rig's time; limits and units of the value axes by row."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gui.plots.time.rows import Frame, PlotRow, RowData
from gui.plots.value_axis import (
    LEAST_NUMBER,
    MINUS,
    Bounds,
    ValueRange,
    decimals_of,
    nice_step,
    scaled_unit,
    ticks,
    unit_text,
)
from monitor.messages.blocks import Samples
from monitor.text.numbers import instant_text, is_dated

if TYPE_CHECKING:
    from gui.model.timeline import ClockSegment

# s between labels of a time of day; below a second, decimal steps are used
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_MOST_DECIMALS = 6
_MIN_ULPS = 4  # float spacings between two labels


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Linear scale from [left, right] s to `width` px, starting at the pixel `begin`."""

    left: float
    right: float
    begin: float
    width: float

    @property
    def span(self) -> float:
        """Its length, s."""
        return self.right - self.left

    def pixels(self, x: Samples) -> Samples:
        """Return the pixels of the instants `x`."""
        scaled: Samples = self.begin + (x - self.left) * (self.width / self.span)
        return scaled

    def pixel(self, x: float) -> float:
        """Return the pixel of the instant `x`."""
        return self.begin + (x - self.left) * self.width / self.span

    def x(self, pixel: float) -> float:
        """Return the instant at a pixel."""
        return self.left + (pixel - self.begin) * self.span / self.width


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A tick label of the time axis."""

    x: float
    text: str


def segment_at(segments: Sequence[ClockSegment], x: float) -> ClockSegment | None:
    """Return the segment at `x`; None in a break."""
    place = bisect_right(segments, x, key=lambda segment: segment.x_begin) - 1
    if place < 0:
        return None
    segment = segments[place]
    # the newest segment has no end
    return segment if x <= segment.x_end or place == len(segments) - 1 else None


def visible(
    segments: Sequence[ClockSegment], left: float, right: float
) -> Iterator[tuple[ClockSegment, float, float]]:
    """Yield each visible segment with its visible begin and end; the newest extends to the right edge."""
    newest = len(segments) - 1
    for place, segment in enumerate(segments):
        begin, end = max(left, segment.x_begin), right if place == newest else min(right, segment.x_end)
        if begin <= end:
            yield segment, begin, end


def breaks(segments: Sequence[ClockSegment], left: float, right: float) -> Iterator[tuple[float, float]]:
    """Yield begin and end of each visible break of the rig's clock."""
    for before, after in pairwise(segments):
        if before.x_end < right and after.x_begin > left and after.x_begin > before.x_end:
            yield before.x_end, after.x_begin


def time_ticks(scale: TimeScale, segments: Sequence[ClockSegment], label_width: float) -> list[TimeTick]:
    """Return the tick labels: round times of the rig in each segment.

    Parameters
    ----------
    label_width : px of a time of day with its spacing.
    """
    most = max(1, int(scale.width / label_width))
    found = []
    for segment, begin, end in visible(segments, scale.left, scale.right):
        step = _step(scale.span, most, dated=is_dated(begin + segment.offset))
        # large times may not resolve the step
        if not step >= _MIN_ULPS * math.ulp(max(abs(begin + segment.offset), abs(end + segment.offset))):
            continue
        first, last = (
            math.ceil((begin + segment.offset) / step - 1e-6),
            math.floor((end + segment.offset) / step + 1e-6),
        )
        decimals = min(decimals_of(step), _MOST_DECIMALS)
        times = np.round(np.arange(first, last + 1) * step, decimals).tolist()
        found += [TimeTick(time - segment.offset, tick_text(time, decimals)) for time in times]
    return found


def tick_text(time: float, decimals: int) -> str:
    """Return a time of the rig without its unit, which is written once beside the axis."""
    if is_dated(time):
        # half a step of the last decimal, so that truncation does not show the one before
        return instant_text(time + 1e-7, decimals)
    return instant_text(time, decimals).removesuffix(" s").replace("-", MINUS)


def axis_unit(segments: Sequence[ClockSegment]) -> str:
    """Return the unit of the tick labels."""
    return "h:min:s" if segments and is_dated(segments[-1].x_end + segments[-1].offset) else "time [s]"


def _step(span: float, most: int, *, dated: bool) -> float:
    step = nice_step(span, most)
    if not dated or step < 1.0:
        return step
    return next((float(clock) for clock in _CLOCK_STEPS if span / clock <= most), step)


_TICK_HEIGHT = 26  # px a tick label


@dataclass(frozen=True, slots=True)
class ShownUnit:
    """Values are shown multiplied by `factor` in `unit`, with this many decimals on the axis."""

    factor: float
    unit: str
    decimals: int


@lru_cache(maxsize=256)
def shown_unit(factor: float, unit: str, low: float, high: float, height: float) -> ShownUnit:
    """Return the unit of a row on an axis of `height` px; see `scaled_unit`."""
    # limits seldom change, and this is called several times a frame
    _, step = ticks(low * factor, high * factor, most_ticks(height))
    return ShownUnit(factor, unit_text(unit), decimals_of(step))


def most_ticks(height: float) -> int:
    """Return the maximum number of intervals on an axis of `height` px."""
    return max(3, int(height / _TICK_HEIGHT))


_SPAN_TOLERANCE = 1e-9
_FIXED_ROOM = 0.05


class AxisRanges:
    """Axis limits by row key; a row that remains keeps its limits."""

    def __init__(self) -> None:
        self._ranges: dict[str, ValueRange] = {}
        self._units: dict[str, tuple[float, str]] = {}
        self._of_largest: dict[str, tuple[float, str]] = {}
        self._span = 0.0

    def __getitem__(self, key: str) -> ValueRange:
        return self._ranges[key]

    def set_rows(self, rows: Sequence[PlotRow]) -> None:
        """Keep limits for these rows only."""
        before = self._ranges
        self._ranges = {row.key: before.get(row.key) or _value_range(row) for row in rows}
        self._units = {key: unit for key, unit in self._units.items() if key in self._ranges}

    def clear(self) -> None:
        """Drop all ranges."""
        self._ranges.clear()
        self._units.clear()

    def unit(self, row: PlotRow) -> tuple[float, str]:
        """Return the factor and the unit of a row: those of the largest row of its quantity, while readable."""
        shared = self._of_largest.get(row.unit) if row.prefixed else None
        if shared is not None and self._size(row) * shared[0] >= LEAST_NUMBER:
            return shared
        return self._units.get(row.key) or self._scaled_unit(row)

    def update(self, rows: Sequence[PlotRow], frame: Frame) -> None:
        """Adapt the limits to the values of a frame."""
        span = frame.right - frame.left
        immediate = not math.isclose(span, self._span, rel_tol=_SPAN_TOLERANCE)
        self._span = span
        for row, data in zip(rows, frame.rows, strict=True):
            if data is not None:
                self._ranges[row.key].update(*data.extent_of(row), immediate=immediate)
                self._update_unit(row)
        sized = sorted((row for row in rows if row.prefixed and row.key in self._units), key=self._size)
        self._of_largest = {row.unit: self._units[row.key] for row in sized}

    def _size(self, row: PlotRow) -> float:
        limits = self._ranges[row.key]
        return max(abs(limits.low), abs(limits.high))

    def enable_auto_range(self, row: PlotRow, data: RowData | None) -> None:
        """Let the limits of a row follow its values again, starting with `data`."""
        self._ranges[row.key].enable_auto_range()
        self._units.pop(row.key, None)
        self._of_largest.pop(row.unit, None)
        if data is not None:
            self._ranges[row.key].update(*data.extent_of(row))
            self._update_unit(row)

    def manual(self, key: str) -> Bounds | None:
        """Return the limits of a row that were set by hand; None where they follow the values."""
        limits = self._ranges[key]
        return (limits.low, limits.high) if limits.manual else None

    def set_manual(self, key: str, limits: Bounds) -> None:
        """Set the limits of a row by hand."""
        self._ranges[key].set_manual(*limits)

    def __contains__(self, key: str) -> bool:
        return key in self._ranges

    def _update_unit(self, row: PlotRow) -> None:
        if self._ranges[row.key].known:
            self._units[row.key] = self._scaled_unit(row)

    def _scaled_unit(self, row: PlotRow) -> tuple[float, str]:
        limits = self._ranges[row.key]
        return scaled_unit(
            row.unit, (limits.low, limits.high), prefixed=row.prefixed, before=self._units.get(row.key)
        )


def _value_range(row: PlotRow) -> ValueRange:
    """Return the range of a row; with a margin around fixed limits, so that the frame hides no curve at them."""
    fixed = row.fixed
    if fixed is not None:
        room = _FIXED_ROOM * (fixed[1] - fixed[0])
        fixed = fixed[0] - room, fixed[1] + room
    return ValueRange(fixed, row.least_span)

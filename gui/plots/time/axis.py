"""The time axis: pixels of an instant, tick labels in the rig's time; and the unit of a value axis."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gui.plots.time.rows import Row
from gui.plots.value_axis import MINUS, ValueRange, decimals_of, nice_step, prefixed_unit, ticks, unit_text
from gui.wording.numbers import instant_text, is_dated
from monitor.messages.blocks import Samples

if TYPE_CHECKING:
    from gui.model.timeline import Segment


# s between labels of a time of day; below a second they are those of any number
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_MOST_DECIMALS = 6
_FEWEST_SPACINGS = 4  # of the floats at an instant, between two labels


@dataclass(frozen=True, slots=True)
class TimeScale:
    """The span [left, right] s of the axis, `width` pixels from the pixel `begin` on."""

    left: float
    right: float
    begin: float
    width: float

    @property
    def span(self) -> float:
        """Its length, s."""
        return self.right - self.left

    def pixels(self, x: Samples) -> Samples:
        """Return where the instants `x` stand."""
        scaled: Samples = self.begin + (x - self.left) * (self.width / self.span)
        return scaled

    def pixel(self, x: float) -> float:
        """Return where the instant `x` stands."""
        return self.begin + (x - self.left) * self.width / self.span

    def x(self, pixel: float) -> float:
        """Return the instant at a pixel."""
        return self.left + (pixel - self.begin) * self.span / self.width


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A label under the axis."""

    x: float
    text: str


def segment_at(segments: Sequence[Segment], x: float) -> Segment | None:
    """Return the segment that `x` stands in; None in a break."""
    place = bisect_right(segments, x, key=lambda segment: segment.x_begin) - 1
    if place < 0:
        return None
    segment = segments[place]
    # the newest goes on: what is to come is its future
    return segment if x <= segment.x_end or place == len(segments) - 1 else None


def visible(segments: Sequence[Segment], left: float, right: float) -> Iterator[tuple[Segment, float, float]]:
    """Give each segment in sight, and from where to where it is; the newest reaches to the right edge."""
    newest = len(segments) - 1
    for place, segment in enumerate(segments):
        begin, end = max(left, segment.x_begin), right if place == newest else min(right, segment.x_end)
        if begin <= end:
            yield segment, begin, end


def breaks(segments: Sequence[Segment], left: float, right: float) -> Iterator[tuple[float, float]]:
    """Give where, in sight, the rig's clock does not go on."""
    for before, after in pairwise(segments):
        if before.x_end < right and after.x_begin > left and after.x_begin > before.x_end:
            yield before.x_end, after.x_begin


def time_ticks(scale: TimeScale, segments: Sequence[Segment], label_width: float) -> list[TimeTick]:
    """Return the labels: round times of the rig in each segment.

    Parameters
    ----------
    label_width : pixels that a label of a time of day and the room beside it take.
    """
    most = max(1, int(scale.width / label_width))
    found = []
    for segment, begin, end in visible(segments, scale.left, scale.right):
        step = _step(scale.span, most, dated=is_dated(begin + segment.offset))
        # a clock in nanoseconds may not tell instants apart that stand side by side
        if not step >= _FEWEST_SPACINGS * math.ulp(max(abs(begin + segment.offset), abs(end + segment.offset))):
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
    """Return a time of the rig without its unit, which stands beside the axis."""
    if is_dated(time):
        # half a step of the last decimal: a float is rarely what was rounded
        return instant_text(time + 1e-7, decimals)
    return instant_text(time, decimals).removesuffix(" s").replace("-", MINUS)


def axis_unit(segments: Sequence[Segment]) -> str:
    """Return what the labels are."""
    return "h:min:s" if segments and is_dated(segments[-1].x_end + segments[-1].offset) else "time [s]"


def _step(span: float, most: int, *, dated: bool) -> float:
    step = nice_step(span, most)
    if not dated or step < 1.0:
        return step
    return next((float(clock) for clock in _CLOCK_STEPS if span / clock <= most), step)


_TICK_ROOM = 26  # pixels of height that a label wants
_SCALES = 1e5, 1e-4  # numbers beyond which, and below which, a power of ten is set apart


@dataclass(frozen=True, slots=True)
class ShownUnit:
    """Values are shown times `factor` in `unit`, with so many decimals on the axis."""

    factor: float
    unit: str
    decimals: int


def shown_unit(row: Row, limits: ValueRange, height: float) -> ShownUnit:
    """Return how the values of a row are written on an axis of `height` pixels."""
    return _shown(row.unit, limits.low, limits.high, height, row.prefixed)


@lru_cache(maxsize=256)
def _shown(unit: str, low: float, high: float, height: float, prefixed: bool) -> ShownUnit:
    # limits seldom change, and this is asked for several times a picture
    largest = max(abs(low), abs(high))
    factor, unit = prefixed_unit(unit, (low, high)) if prefixed else (1.0, unit)
    if factor == 1.0 and not _SCALES[1] <= largest < _SCALES[0] and largest > 0.0:
        power = 3 * math.floor(math.log10(largest) / 3.0)
        factor, unit = 10.0**-power, f"10{_raised(power)} {'' if unit == '1' else unit}".rstrip()
    _, step = ticks(low * factor, high * factor, most_ticks(height))
    return ShownUnit(factor, unit_text(unit), decimals_of(step))


def most_ticks(height: float) -> int:
    """Return how many parts an axis of `height` pixels is divided into at most."""
    return max(3, int(height / _TICK_ROOM))


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))

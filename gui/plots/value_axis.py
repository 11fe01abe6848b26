"""Value axis: limits that do not jitter, round ticks, unit prefixes, and numbers as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import floor, inf, isfinite, log10

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.numbers import DASH

MINUS = "−"
_MANTISSAS = (1.0, 2.0, 5.0, 10.0)


def nice_step(span: float, most: int) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that divides `span` into no more than `most` parts."""
    least = span / max(1, most)
    if not 0.0 < least < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(mantissa for mantissa in _MANTISSAS if mantissa * power >= least * (1.0 - 1e-9))


def decimals_of(step: float) -> int:
    """Return how many decimals multiples of `step` have."""
    return max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0.0 else 0


def ticks(low: float, high: float, most: int) -> tuple[Samples, float]:
    """Return the multiples of a round step within [low, high], rising, two or more, and the step."""
    for parts in (most, 2 * most, 4 * most):
        step = nice_step(high - low, parts)
        first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
        if last > first:
            break
    # whole numbers divided are rounder than steps multiplied
    return np.round(np.arange(first, last + 1) * step, decimals_of(step) + 1), step


def value_text(value: float, decimals: int) -> str:
    """Return a value with a typographic minus; a dash where it is not finite."""
    if not math.isfinite(value):
        return DASH
    # plus zero, so that "-0.0" is not shown
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", MINUS)


def duration_text(seconds: float) -> str:
    """Return a duration with its unit and about four digits: ``12.3 ms``, ``−1.234 s``, ``2 min 03.1 s``."""
    size = abs(seconds)
    if size < 0.9995:
        return f"{value_text(1e3 * seconds, 1 if size >= 0.01 else 2)} ms"
    if size < 99.995:
        return f"{value_text(seconds, 3 if size < 9.9995 else 2)} s"
    minutes, rest = divmod(round(size, 1), 60.0)
    return f"{MINUS if seconds < 0.0 else ''}{minutes:.0f} min {rest:04.1f} s"


Bounds = tuple[float, float]

# units that take prefixes; numbers in others (in, kip, mm, °) are written out
_PLAIN = frozenset({"m", "s", "N", "V", "A", "Pa", "J", "W", "Nm", "N·m", "m/s", "m/s2", "m/s^2", "m/s²"})
_SQUARES = frozenset({"m2", "m^2", "m²"})
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}


def prefixed_unit(unit: str, limits: Bounds) -> tuple[float, str]:
    """Return the factor and the unit in which numbers within `limits` have few digits: (1000, "mm") for 0.05 m."""
    largest = max(abs(limits[0]), abs(limits[1]))
    if not 0.0 < largest < inf:
        return 1.0, unit
    if unit in _SQUARES:
        # areas of displacements in mm are in mm², however small they are at first: to 100 000 mm²
        power = min(3, max(-3, 3 * floor((log10(largest) + 1.0) / 6.0)))
        return 10.0 ** (-2 * power), _PREFIXES[power] + unit
    if unit not in _PLAIN:
        return 1.0, unit
    # 0.9 m is 900 mm, 1.1 m remains 1.1 m; long times have no prefix
    power = min(0 if unit == "s" else 9, max(-9, 3 * floor(log10(largest) / 3.0)))
    return 10.0**-power, _PREFIXES[power] + unit


_PLAIN_RANGE = 1e-4, 1e5  # numbers outside are shown with a power of ten
LEAST_NUMBER = 1e-3
"""Below it a unit is replaced by a smaller one."""


def scaled_unit(
    unit: str, limits: Bounds, *, prefixed: bool, before: tuple[float, str] | None = None
) -> tuple[float, str]:
    """Return the factor and the unit in which numbers within `limits` are shown, with a prefix or a power of ten.

    Parameters
    ----------
    prefixed : the unit may take a prefix.
    before : those shown so far; they are not replaced by a smaller unit while their numbers are readable.
    """
    largest = max(abs(limits[0]), abs(limits[1]))
    factor, found = prefixed_unit(unit, limits) if prefixed else (1.0, unit)
    if factor == 1.0 and not _PLAIN_RANGE[0] <= largest < _PLAIN_RANGE[1] and largest > 0.0:
        power = 3 * floor(log10(largest) / 3.0)
        factor, found = 10.0**-power, f"10{_raised(power)} {'' if unit == '1' else unit}".rstrip()
    return held_unit((factor, found), limits, before)


def held_unit(found: tuple[float, str], limits: Bounds, before: tuple[float, str] | None) -> tuple[float, str]:
    """Return a factor and unit, or those `before`, which are not replaced by a smaller unit while readable."""
    largest = max(abs(limits[0]), abs(limits[1]))
    if before is not None and (largest == 0.0 or (before[0] < found[0] and largest * before[0] >= LEAST_NUMBER)):
        return before
    return found


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def deviation_text(deviation: float, decimals: int) -> str:
    """Return a standard deviation as it is appended to its value; empty where there is none."""
    if not isfinite(deviation):
        return ""
    least = 10.0**-decimals
    # a deviation is not rounded to zero
    small = 0.0 < deviation < 0.5 * least
    return f" ± <{value_text(least, decimals)}" if small else f" ± {value_text(deviation, decimals)}"


def unit_text(unit: str) -> str:
    """Return a unit in typographic form: m² for m^2; empty for a dimensionless number."""
    return "" if unit == "1" else unit.replace("^2", "²").replace("^3", "³").replace("*", "·")


SHRINK_DELAY = 50
"""Updates for which the values must have been small before the scale shrinks: two seconds of a live picture."""
_ROOM = 0.05
"""Margin of new limits, of the range of the values."""
_LEAST_ROOM = 0.02
"""Margin of the axis that values do not enter: a curve at a limit would be hidden by the frame."""
_LEAST_SHARE = 1e-5
"""Smallest range of an axis, of its largest value."""
_STEPS = 20
_SMALL = 0.5
_SHORTEST, _LONGEST = 1e-30, 1e30
_MAX_VALUE = 1e100  # of a scale: its square is still finite
_MIN_SPAN = 1e-290  # below it, steps cannot be represented


def round_limits(low: float, high: float, least_span: float = 0.0) -> tuple[float, float]:
    """Return limits at multiples of a round step with a margin around [low, high].

    Parameters
    ----------
    least_span : of the limits, so that smaller motion does not fill the axis.
    """
    low, high = _within(low), _within(high)
    # the labels of a smaller range would have more digits than there is room for
    span = max(high - low, least_span, _LEAST_SHARE * max(abs(low), abs(high)))
    if span < _MIN_SPAN:
        span = 1.0
    short = max(0.0, span - (high - low)) / 2.0
    low, high = low - short - _ROOM * span, high + short + _ROOM * span
    step = nice_step(high - low, _STEPS)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _within(value: float) -> float:
    return min(max(value, -_MAX_VALUE), _MAX_VALUE)


@dataclass(slots=True)
class ValueRange:
    """Limits of one value axis.

    Parameters
    ----------
    fixed : limits that do not follow the values.
    least_span : see `round_limits`.
    manual : the limits were chosen by hand.
    """

    fixed: tuple[float, float] | None = None
    least_span: float = 0.0
    low: float = 0.0
    high: float = 1.0
    _known: bool = False
    manual: bool = False
    _small: int = 0
    _needed: tuple[float, float] = (math.inf, -math.inf)

    def __post_init__(self) -> None:
        if self.fixed is not None:
            self.low, self.high = self.fixed

    def update(self, low: float, high: float, *, immediate: bool = False) -> None:
        """Adapt the limits to values in [low, high]; NaN where there are none.

        Parameters
        ----------
        immediate : adapt at once, for another time span.
        """
        if self.fixed is not None or self.manual or not (math.isfinite(low) and math.isfinite(high)):
            return
        low, high = _within(low), _within(high)
        wanted = round_limits(low, high, self.least_span)
        if not self._known:
            self._set(wanted)
            # what is at rest has no scale yet: the first motion is fitted at once
            self._known = high > low or self.least_span > 0.0
        elif self._needs_room(low, high):
            self._set(wanted if immediate else self._grown(low, high))
        elif wanted[1] - wanted[0] > _SMALL * (self.high - self.low):
            self._reset_shrinking()
        else:
            # all values seen during the delay must fit afterwards
            self._needed = min(self._needed[0], low), max(self._needed[1], high)
            self._small += 1
            if immediate or self._small >= SHRINK_DELAY:
                self._set(wanted if immediate else round_limits(*self._needed, self.least_span))

    def zoom(self, factor: float, at: float) -> None:
        """Zoom by `factor` about the value `at`, and disable auto-range."""
        low, high = at + (self.low - at) * factor, at + (self.high - at) * factor
        self.set_manual(low, high)

    def set_manual(self, low: float, high: float) -> None:
        """Set the limits, and disable auto-range; limits between which positions have no numbers are ignored."""
        if max(1e-12 * max(abs(low), abs(high)), _SHORTEST) < high - low < _LONGEST:
            self.low, self.high = low, high
            self.manual = True

    def enable_auto_range(self) -> None:
        """Follow the values again, from the next update on."""
        self._known = self.manual = False
        self._reset_shrinking()
        if self.fixed is not None:
            self.low, self.high = self.fixed

    @property
    def known(self) -> bool:
        """Whether the limits are those of values."""
        return self._known or self.manual

    def _inner(self) -> tuple[float, float]:
        """Return the limits without the margin that values do not enter."""
        room = _LEAST_ROOM * (self.high - self.low)
        return self.low + room, self.high - room

    def _needs_room(self, low: float, high: float) -> bool:
        inner = self._inner()
        return low < inner[0] or high > inner[1]

    def _grown(self, low: float, high: float) -> tuple[float, float]:
        """Return limits with a margin at an end that has none; the other would move further with every update."""
        inner = self._inner()
        span = max(high, self.high) - min(low, self.low)
        step = nice_step(span, _STEPS)
        begin, end = self.low, self.high
        if low < inner[0]:
            begin = min(begin, math.floor((low - _ROOM * span) / step) * step)
        if high > inner[1]:
            end = max(end, math.ceil((high + _ROOM * span) / step) * step)
        # zero is a better end than one just beyond it
        if begin < 0.0 <= self.low and low >= _LEAST_ROOM * span:
            begin = 0.0
        if end > 0.0 >= self.high and -high >= _LEAST_ROOM * span:
            end = 0.0
        return begin, end

    def _set(self, limits: tuple[float, float]) -> None:
        self.low, self.high = limits
        self._known = True
        self._reset_shrinking()

    def _reset_shrinking(self) -> None:
        self._small = 0
        self._needed = math.inf, -math.inf

"""The limits of a value axis that grow at once, shrink late and stay round, so that a live scale does not jitter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.plots.ticks import nice_step

SHRINK_DELAY = 50
"""Looks for which the values must have been small before the scale follows: two seconds of a live picture."""
_ROOM = 0.03
_STEPS = 20
_SMALL = 0.5
_SHORTEST, _LONGEST = 1e-30, 1e30
_FARTHEST = 1e100  # of the values that a scale has room for: squares of it are numbers yet
_NOTHING = 1e-290  # a span whose steps floats no longer tell apart


def round_limits(low: float, high: float, least_span: float = 0.0) -> tuple[float, float]:
    """Return limits at multiples of a round step with some room around [low, high].

    Parameters
    ----------
    least_span : of the limits; what moves less than this is shown as still.
    """
    low, high = _within(low), _within(high)
    span = max(high - low, least_span, 1e-9 * max(abs(low), abs(high)))
    if span < _NOTHING:
        span = 1.0
    short = max(0.0, span - (high - low)) / 2.0
    low, high = low - short - _ROOM * span, high + short + _ROOM * span
    step = nice_step(high - low, _STEPS)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _within(value: float) -> float:
    return min(max(value, -_FARTHEST), _FARTHEST)


@dataclass(slots=True)
class ValueRange:
    """The limits of one row.

    Parameters
    ----------
    fixed : limits that never change by themselves.
    least_span : see `round_limits`.
    """

    fixed: tuple[float, float] | None = None
    least_span: float = 0.0
    low: float = 0.0
    high: float = 1.0
    _known: bool = False
    _by_hand: bool = False
    _small: int = 0
    _needed: tuple[float, float] = (math.inf, -math.inf)

    def __post_init__(self) -> None:
        if self.fixed is not None:
            self.low, self.high = self.fixed

    def follow(self, low: float, high: float, *, immediate: bool = False) -> None:
        """Make room for values in [low, high]; NaN where there are none.

        Parameters
        ----------
        immediate : the span of time is another one, so that the scale may be as well.
        """
        if self.fixed is not None or self._by_hand or not (math.isfinite(low) and math.isfinite(high)):
            return
        low, high = _within(low), _within(high)
        wanted = round_limits(low, high, self.least_span)
        if not self._known:
            self._take(wanted)
        elif low < self.low or high > self.high:
            self._take(wanted if immediate else self._grown(low, high))
        elif wanted[1] - wanted[0] > _SMALL * (self.high - self.low):
            self._rest()
        else:
            # all that is seen while waiting must find room afterwards
            self._needed = min(self._needed[0], low), max(self._needed[1], high)
            self._small += 1
            if immediate or self._small >= SHRINK_DELAY:
                self._take(wanted if immediate else round_limits(*self._needed, self.least_span))

    def zoom(self, factor: float, at: float) -> None:
        """Make the scale `factor` times as long around the value `at`, and let it stay so."""
        low, high = at + (self.low - at) * factor, at + (self.high - at) * factor
        # beyond, floats no longer tell one place from another
        if max(1e-12 * max(abs(low), abs(high)), _SHORTEST) < high - low < _LONGEST:
            self.low, self.high = low, high
            self._by_hand = True

    def release(self) -> None:
        """Follow the values again, from the next look on."""
        self._known = self._by_hand = False
        self._rest()
        if self.fixed is not None:
            self.low, self.high = self.fixed

    def _grown(self, low: float, high: float) -> tuple[float, float]:
        # room is made only where there was none: the other end would go farther and farther with every look
        grown = round_limits(min(low, self.low), max(high, self.high))
        return grown[0] if low < self.low else self.low, grown[1] if high > self.high else self.high

    def _take(self, limits: tuple[float, float]) -> None:
        self.low, self.high = limits
        self._known = True
        self._rest()

    def _rest(self) -> None:
        self._small = 0
        self._needed = math.inf, -math.inf

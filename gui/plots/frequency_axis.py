"""An axis of frequencies, logarithmic or not; in a logarithmic plot the curves have log10 of the frequency as x."""

from __future__ import annotations

from math import ceil, floor, log10

import pyqtgraph as pg

from gui.plots.time_ticks import ticks

_NARROW = 0.6  # decades, below which even steps serve better than 1, 2, 5
_TICKS = 6


class FrequencyAxis(pg.AxisItem):
    """Ticks at 1, 2, 5 of every decade; at even steps where little of a decade is seen."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.setStyle(maxTextLevel=0)
        self._suffix = ""

    def unit_at_ticks(self, unit: str) -> None:
        """Write a unit beside every number, for an axis without a label; none where it is empty."""
        self._suffix = f" {unit}" if unit else ""
        self.picture = None
        self.update()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Return the frequencies, each with its unit where it has one."""
        return [f"{text}{self._suffix}" for text in super().tickStrings(values, scale, spacing)]

    def logTickValues(self, low: float, high: float, *_: object) -> list[tuple[None, list[float]]]:  # noqa: N802
        """Return the marked places, as log10."""
        return [(None, [log10(mark) for mark in marks(10.0**low, 10.0**high)])]

    def logTickStrings(self, values: list[float], *_: object) -> list[str]:  # noqa: N802
        """Return the frequencies as numbers."""
        return [f"{10.0**value:.4g}" for value in values]


def marks(low: float, high: float) -> list[float]:
    """Return round frequencies within [low, high], both above zero, for a logarithmic axis."""
    if log10(high / low) >= _NARROW:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        every = [digit * 10.0**decade for decade in decades for digit in (1.0, 2.0, 5.0)]
        return [mark for mark in every if low <= mark <= high]
    return [float(mark) for mark in ticks(low, high, _TICKS)[0]]

"""Axes, pens and fonts of plots of one quantity against another."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetricsF, QGuiApplication

from gui.plots.value_axis import MINUS, nice_step, ticks


def pen(colour: str, width: float = 1.0, opacity: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> Any:
    """Return a cosmetic pen."""
    shade = QColor(colour)
    shade.setAlphaF(opacity)
    return pg.mkPen(shade, width=width, style=style)


def tabular(scale: float = 1.0) -> QFont:
    """Return the application font with tabular figures."""
    font = QGuiApplication.font()
    font.setPointSizeF(scale * font.pointSizeF())
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def monospace(scale: float = 1.0) -> QFont:
    """Return the system's monospace font."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(scale * QGuiApplication.font().pointSizeF())
    return font


class NumberAxis(pg.AxisItem):
    """Axis with a typographic minus; on a vertical one, labels do not touch."""

    def tickSpacing(  # noqa: N802
        self, minVal: float, maxVal: float, size: float
    ) -> list[tuple[float, float]]:
        """Return the steps between ticks, rounder ones where the labels of a low plot would touch."""
        found: list[tuple[float, float]] = super().tickSpacing(minVal, maxVal, size)
        if self.orientation != "left" or not found:
            return found
        line = QFontMetricsF(self.style["tickFont"] or self.font()).height()
        step = nice_step((maxVal - minVal) * line / size, 1) if size > 0.0 else 0.0
        # one label alone is no scale
        if step > found[0][0] and floor(maxVal / step) > ceil(minVal / step):
            return [(step, 0.0)]
        return found

    def boundingRect(self) -> QRectF:  # noqa: N802
        """Return the area of the labels: of a vertical axis with the overhang, which pyqtgraph omits with a grid."""
        rect, overhang = QRectF(super().boundingRect()), self.style["hideOverlappingLabels"]
        wanted = self.orientation == "left" and not isinstance(overhang, bool)
        return rect.adjusted(0.0, -overhang, 0.0, overhang) if wanted else rect

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the tick labels."""
        return [text.replace("-", MINUS) for text in super().tickStrings(values, scale, spacing)]


_MIN_DECADES = 0.6  # below it, linear steps are used instead of 1, 2, 5
_TICKS = 6


class FrequencyAxis(pg.AxisItem):
    """Logarithmic or linear frequency axis: ticks at 1, 2, 5 of every decade, or linear steps within a decade."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.setStyle(maxTextLevel=0)
        self._suffix = ""

    def unit_at_ticks(self, unit: str) -> None:
        """Append a unit to every tick label, for an axis without a title; none where it is empty."""
        self._suffix = f" {unit}" if unit else ""
        self.picture = None
        self.update()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the tick labels, with the unit of `unit_at_ticks`."""
        return [f"{text}{self._suffix}" for text in super().tickStrings(values, scale, spacing)]

    def logTickValues(self, low: float, high: float, *_: object) -> list[tuple[None, list[float]]]:
        """Return the ticks, as log10."""
        return [(None, [log10(mark) for mark in log_ticks(10.0**low, 10.0**high)])]

    def logTickStrings(self, values: list[float], *_: object) -> list[str]:
        """Return the tick labels of log10 frequencies."""
        return [f"{10.0**value:.4g}" for value in values]


def log_ticks(low: float, high: float) -> list[float]:
    """Return round frequencies within [low, high], both positive, for a logarithmic axis."""
    if log10(high / low) >= _MIN_DECADES:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        every = [digit * 10.0**decade for decade in decades for digit in (1.0, 2.0, 5.0)]
        return [mark for mark in every if low <= mark <= high]
    return [float(mark) for mark in ticks(low, high, _TICKS)[0]]

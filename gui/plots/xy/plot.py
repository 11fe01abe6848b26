"""Plots of one quantity against another, with their axes: the wheel zooms, dragging pans, a double click fits."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10, nan
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QFontMetricsF, QGuiApplication

from gui.plots.value_axis import MINUS, Bounds, ValueRange, held_unit, nice_step, prefixed_unit, ticks, value_text
from gui.widgets.painting import font_like
from gui.widgets.theme import Theme
from monitor.messages.blocks import Samples


def pen(colour: str, width: float = 1.0, opacity: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> Any:
    """Return a cosmetic pen."""
    shade = QColor(colour)
    shade.setAlphaF(opacity)
    return pg.mkPen(shade, width=width, style=style)


def tabular(scale: float = 1.0) -> QFont:
    """Return the application font with tabular figures."""
    return font_like(QGuiApplication.font(), scale, tabular=True)


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


_TICK_DENSITY = 0.8
_TICK_ROOM = 14, 4  # font sizes of width, and of height, that the tick labels of an axis need
_LABEL_WIDTH, _USUAL_FONT = 62, 12  # px, of the left axis and of the font for which it is
"""px left of every plot, so that stacked plots align."""
_ANNOTATION = 26, 6  # characters a line, and lines, of the annotation
_ANNOTATION_SHARE = 0.65, 0.6  # of the plot's width and height, for the annotation
_FONT_SCALES = 0.9, 0.8, 0.7, 0.6, 0.5  # of the application font; the largest that fits is used
_TICK = 4  # px
_OVERHANG = 0.45  # of the height of a tick label, by which it may exceed the plot
_MARGIN = 0.03  # of the scale of a square plot, on either side


class _ViewBox(pg.ViewBox):
    """View box that emits `auto_range_requested` at a double click."""

    auto_range_requested = Signal()

    def mouseClickEvent(self, event: Any) -> None:
        if event.double() and event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            self.auto_range_requested.emit()


class XYPlot(pg.PlotItem):
    """A plot with auto-range until its user zooms or pans.

    Parameters
    ----------
    theme : colours.
    square : both axes have the same scale.
    left : fixed limits of the left axis.
    axes : special axis items by side, as for `pyqtgraph.PlotItem`.
    """

    def __init__(
        self, theme: Theme, *, square: bool = False, left: Bounds | None = None, axes: dict[str, Any] | None = None
    ) -> None:
        self.view_box = _ViewBox(enableMenu=False)
        sides = {side: NumberAxis(side) for side in ("bottom", "left")}
        super().__init__(viewBox=self.view_box, enableMenu=False, axisItems=sides | (axes or {}))
        self.auto_range_on = True
        self.factors = {"bottom": 1.0, "left": 1.0}
        self.units = {"bottom": "", "left": ""}
        self._labels: dict[str, tuple[str, dict[str, str]]] = {}
        self._names = {"bottom": ("", ""), "left": ("", "")}
        # factor and unit shown: a prefix stays while the numbers are readable
        self._scaled: dict[str, tuple[float, str]] = {}
        self._ranges = ValueRange(), ValueRange(fixed=left)
        self._shown: tuple[Bounds, Bounds] | None = None
        self._square = False
        self.hideButtons()
        self.view_box.disableAutoRange()
        self.view_box.sigRangeChangedManually.connect(self._disable_auto_range)
        self.view_box.auto_range_requested.connect(self.enable_auto_range)
        self.view_box.sigResized.connect(self._reshape)
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=_TICK, maxTickLevel=0)
            # the grid is drawn by the axes: behind curves and annotation
            axis.setZValue(-1.0)
        self._annotation = pg.TextItem(anchor=(0.0, 0.0))
        self._annotation.setParentItem(self.view_box)
        self._annotation_width = 0.0
        self._fit_annotation_font()
        self._annotation.setPos(6.0, 4.0)
        self._annotation.setZValue(100.0)
        self._base = theme.base
        self.square = square
        self.apply_theme(theme)

    @property
    def square(self) -> bool:
        """Both axes have the same scale and unit."""
        return self._square

    @square.setter
    def square(self, square: bool) -> None:
        if square is not self._square:
            self._square, self._shown = square, None
            self.view_box.setAspectLocked(square, 1.0)
            self._set_annotation_background()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        font = tabular(0.9)
        scale = max(1.0, QFontInfo(font).pixelSize() / _USUAL_FONT)
        self.getAxis("left").setWidth(round(_LABEL_WIDTH * scale))
        self._fit_tick_fonts()
        self._fit_annotation_font()
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.setTickDensity(_TICK_DENSITY / scale**2)
            axis.setPen(pen(theme.muted))
            axis.setTextPen(pen(theme.text))
            axis.setTickPen(pen(theme.grid))
            axis.setGrid(200)
        self._annotation.setColor(theme.text)
        self._base = theme.base
        self._set_annotation_background()
        self.relabel()

    def relabel(self) -> None:
        """Write the labels again: pyqtgraph gives them the colour of the axis when its pen is set."""
        for side, (text, before) in self._labels.items():
            axis = self.getAxis(side)
            style = before | {"color": axis.textPen().color().name()}
            self._labels[side] = text, style
            axis.setLabel(escape(text), **style)

    def name_axes(self, bottom: tuple[str, str], left: tuple[str, str]) -> None:
        """Set names and units of the axes."""
        if self._names != {"bottom": bottom, "left": left}:
            for side, (name, unit) in (("bottom", bottom), ("left", left)):
                if (name, unit) != self._names[side]:
                    self._scaled.pop(side, None)
            self._names = {"bottom": bottom, "left": left}
            self._label()

    def set_annotation(self, text: str, colour: str) -> None:
        """Show text in the upper left corner."""
        self._annotation.setVisible(bool(text))
        if text != self._annotation.toPlainText():
            self._annotation.setPlainText(text)
        self._annotation.setColor(colour)
        # long lines are wrapped
        self._annotation.setTextWidth(-1.0)
        room = max(60.0, self.view_box.width() - 12.0)
        if self._annotation.boundingRect().width() > room:
            self._annotation.setTextWidth(room)
        # over the curves of a plot that is too small for it, it would be read as one of them
        high = self._annotation.boundingRect().height()
        self._annotation.setVisible(bool(text) and not (self._square and 0.0 < self.view_box.height() < high))

    @property
    def names(self) -> tuple[str, str]:
        """Names of the bottom and the left axis."""
        return self._names["bottom"][0], self._names["left"][0]

    @property
    def annotation(self) -> str:
        """Text in the upper left corner; empty where there is none."""
        return str(self._annotation.toPlainText()) if self._annotation.isVisible() else ""

    def fit(self, x: Bounds, y: Bounds, *, immediate: bool = False) -> None:
        """Set the extent of the data, NaN where there are none; the scales follow while auto-range is on.

        `immediate`: other data than before are shown, and too large a scale shrinks at once.
        """
        for scale, limits in zip(self._ranges, (x, y), strict=True):
            scale.update(*limits, immediate=immediate)
        if self.auto_range_on and self._wanted != self._shown:
            self._apply()

    def reset_scales(self) -> None:
        """Enable auto-range and drop the scales, for other data."""
        self.auto_range_on = True
        self._scaled.clear()
        for scale in self._ranges:
            scale.enable_auto_range()

    def set_least_span(self, span: float) -> None:
        """Set the smallest range of the left axis, so that noise does not fill it."""
        self._ranges[1].least_span = span

    def text_of(self, side: str, value: float) -> str:
        """Return a position on an axis as text with its unit."""
        low, high = self.view_box.viewRange()[0 if side == "bottom" else 1]
        factor = self.factors[side]
        # a thousandth of the scale is about a pixel
        decimals = min(9, max(0, 3 - floor(log10(max(abs(factor * (high - low)), 1e-9)))))
        return f"{value_text(factor * value, decimals)} {self.units[side]}".rstrip()

    def enable_auto_range(self) -> None:
        """Enable auto-range."""
        self.auto_range_on = True
        self._apply()

    def keep_scale(self) -> None:
        """Disable auto-range: the scales remain as they are."""
        self.auto_range_on = False

    def zoom(self, factor: float) -> None:
        """Zoom out by `factor` about the centre."""
        self.view_box.scaleBy((factor, factor))
        self._disable_auto_range()

    @property
    def _wanted(self) -> tuple[Bounds, Bounds]:
        x, y = self._ranges
        return (x.low, x.high), (y.low, y.high)

    def _disable_auto_range(self, *_: object) -> None:
        self.auto_range_on = False

    def _apply(self) -> None:
        self._shown = self._wanted
        x, y = self._beside_annotation(*self._shown) if self._square else self._shown
        self.view_box.setRange(xRange=x, yRange=y, padding=0.0)
        self._label()

    def _fit_annotation_font(self) -> None:
        letters, lines = _ANNOTATION
        wide, high = _ANNOTATION_SHARE[0] * self.view_box.width(), _ANNOTATION_SHARE[1] * self.view_box.height()
        for scale in _FONT_SCALES:
            font = monospace(scale)
            metrics = QFontMetricsF(font)
            self._annotation_width = metrics.horizontalAdvance("0" * letters)
            if self._annotation_width <= wide and lines * metrics.lineSpacing() <= high:
                break
        self._annotation.setFont(font)

    def _set_annotation_background(self) -> None:
        ground = QColor(self._base)
        # the annotation of a square plot is beside the curves, of others over them
        ground.setAlphaF(0.0 if self._square else 0.8)
        self._annotation.fill = pg.mkBrush(ground)

    def _fit_tick_fonts(self) -> None:
        """Use the largest fonts with which the labels of small plots do not overlap."""
        for side, room in (
            ("bottom", self.view_box.width() / _TICK_ROOM[0]),
            ("left", self.view_box.height() / _TICK_ROOM[1]),
        ):
            fonts = [tabular(scale) for scale in _FONT_SCALES]
            fitting = (font for font in fonts if QFontInfo(font).pixelSize() <= room)
            font = next(fitting, fonts[-1])
            axis = self.getAxis(side)
            axis.setStyle(tickFont=font)
            if side == "left":
                # a label near an end of the axis is shown, one at the end would be beside that of the next plot
                axis.setStyle(hideOverlappingLabels=round(_OVERHANG * QFontMetricsF(font).height()))

    def _reshape(self, *_: object) -> None:
        self._fit_annotation_font()
        self._fit_tick_fonts()
        for side, label in tuple(self._labels.items()):
            self._write_label(side, label[0])
        if self._square and self.auto_range_on and self._shown is not None:
            self._apply()

    def _beside_annotation(self, x: Bounds, y: Bounds) -> tuple[Bounds, Bounds]:
        """Return limits with one scale for both axes, with the spare room where the annotation is."""
        wide, high = self.view_box.width(), self.view_box.height()
        if not (wide > 0.0 and high > 0.0):
            return x, y
        low, top = min(x[0], y[0]), max(x[1], y[1])
        low, top = low - _MARGIN * (top - low), top + _MARGIN * (top - low)
        pixel = (top - low) / min(wide, high)
        spare = max(0.0, wide - high)
        left = min(spare, max(0.5 * spare, self._annotation_width))
        # where the plot is higher than wide, the annotation is above
        return (low - pixel * left, top + pixel * (spare - left)), (low, low + pixel * high)

    def _label(self) -> None:
        x, y = self._wanted
        if self._square:
            x = y = (min(x[0], y[0]), max(x[1], y[1]))
        for side, limits in (("bottom", x), ("left", y)):
            name, unit = self._names[side]
            scaled = held_unit(prefixed_unit(unit, limits), limits, self._scaled.get(side))
            if all(scale.known for scale in self._ranges):
                self._scaled[side] = scaled
            self.factors[side], self.units[side] = scaled
            axis = self.getAxis(side)
            axis.setScale(self.factors[side])
            shown = f" [{self.units[side]}]" if self.units[side] else ""
            self._write_label(side, name + shown)

    def _write_label(self, side: str, text: str) -> None:
        axis = self.getAxis(side)
        size = _label_size(text, self.view_box.width() if side == "bottom" else self.view_box.height())
        style = {"color": axis.textPen().color().name(), "font-size": f"{size:.1f}pt"}
        before = self._labels.get(side)
        if (text, style) != before:
            self._labels[side] = text, style
            # pyqtgraph interprets labels as HTML
            axis.setLabel(escape(text), **style)
            if side == "bottom" and (text or (before and before[0])):
                # explicit, as an axis that is not visible yet reserves no room for its label; for the largest font
                line = QFontMetricsF(tabular(_FONT_SCALES[0])).height()
                axis.setHeight(_TICK + (2.0 if text else 1.0) * line + 4.0)
            # pyqtgraph centres a label only when the size of its axis changes
            axis.resizeEvent()


def _label_size(text: str, room: float) -> float:
    """Return the font size of a label in points, so that it fits into `room` px."""
    fonts = [tabular(scale) for scale in _FONT_SCALES]
    fitting = (font for font in fonts if QFontMetricsF(font).horizontalAdvance(text) <= room)
    return next(fitting, fonts[-1]).pointSizeF()


def extent(values: Samples) -> Bounds:
    """Return the finite minimum and maximum, both NaN where there is none."""
    good = values[np.isfinite(values)]
    return (float(good.min()), float(good.max())) if len(good) else (nan, nan)

"""Plots of one quantity against another: the wheel zooms, dragging pans, a double click resets to auto-range."""

from __future__ import annotations

from html import escape
from math import floor, log10, nan
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent

from gui.plots.value_axis import Limits, ValueRange, prefixed_unit, value_text
from gui.plots.xy.axes import NumberAxis, fixed, pen, tabular
from gui.widgets.theme import Theme
from monitor.messages.blocks import Samples

_LABEL_WIDTH = 62
"""px beside every plot, so that plots above each other align."""
_ANNOTATION = 26, 6  # letters of a line in the corner, and lines, or fewer
_ANNOTATION_SHARE = 0.65, 0.6  # of the plot's width and height, that they may take
_SCALES = 0.9, 0.8, 0.7, 0.6, 0.5  # of the program's letters: the largest that have room are taken
_TICK = 4  # px
_MARGIN = 0.03  # of a square's scale, on either side


class _ViewBox(pg.ViewBox):
    """Where curves are drawn; `auto_range_requested` is a double click."""

    auto_range_requested = Signal()

    def mouseClickEvent(self, event: Any) -> None:  # noqa: N802 - pyqtgraph's name
        if event.double() and event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            self.auto_range_requested.emit()


class XYPlot(pg.PlotItem):
    """A plot that chooses its scales until somebody takes them in hand.

    Parameters
    ----------
    theme : colours.
    square : both axes have the same scale.
    left : limits of the left axis that never change by themselves.
    axes : of special kinds, by side, as `pyqtgraph.PlotItem` takes them.
    """

    def __init__(
        self,
        theme: Theme,
        *,
        square: bool = False,
        left: Limits | None = None,
        axes: dict[str, Any] | None = None,
    ) -> None:
        self.view_box = _ViewBox(enableMenu=False)
        sides = {side: NumberAxis(side) for side in ("bottom", "left")}
        super().__init__(viewBox=self.view_box, enableMenu=False, axisItems=sides | (axes or {}))
        self.auto_range_on = True
        self.factors = {"bottom": 1.0, "left": 1.0}
        self.units = {"bottom": "", "left": ""}
        self._labels: dict[str, tuple[str, dict[str, str]]] = {}
        self._names = {"bottom": ("", ""), "left": ("", "")}
        self._ranges = ValueRange(), ValueRange(fixed=left)
        self._shown: tuple[Limits, Limits] | None = None
        self._square = False
        self.hideButtons()
        self.view_box.disableAutoRange()
        self.view_box.sigRangeChangedManually.connect(self._disable_auto_range)
        self.view_box.auto_range_requested.connect(self.enable_auto_range)
        self.view_box.sigResized.connect(self._reshape)
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickFont=tabular(0.9), tickLength=_TICK, maxTickLevel=0)
            axis.setTickDensity(0.8)
            # the grid is drawn by the axes: behind curves and words
            axis.setZValue(-1.0)
        self.getAxis("left").setWidth(_LABEL_WIDTH)
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
        """Both axes have the same scale, and the same unit."""
        return self._square

    @square.setter
    def square(self, square: bool) -> None:
        if square is not self._square:
            self._square, self._shown = square, None
            self.view_box.setAspectLocked(square, 1.0)
            self._set_annotation_background()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.setPen(pen(theme.muted))
            axis.setTextPen(pen(theme.text))
            axis.setTickPen(pen(theme.grid))
            axis.setGrid(200)
        self._annotation.setColor(theme.text)
        self._base = theme.base
        self._set_annotation_background()

    def name_axes(self, bottom: tuple[str, str], left: tuple[str, str]) -> None:
        """Say what the axes show, each with its unit."""
        if self._names != {"bottom": bottom, "left": left}:
            self._names = {"bottom": bottom, "left": left}
            self._label()

    def set_annotation(self, text: str, colour: str) -> None:
        """Write lines into the upper left corner."""
        self._annotation.setVisible(bool(text))
        if text != self._annotation.toPlainText():
            self._annotation.setPlainText(text)
        self._annotation.setColor(colour)
        # what is too long goes on in the next line
        self._annotation.setTextWidth(-1.0)
        room = max(60.0, self.view_box.width() - 12.0)
        if self._annotation.boundingRect().width() > room:
            self._annotation.setTextWidth(room)

    @property
    def annotation(self) -> str:
        """What stands in the corner."""
        return str(self._annotation.toPlainText()) if self._annotation.isVisible() else ""

    def fit(self, x: Limits, y: Limits, *, immediate: bool = False) -> None:
        """Say what there is to show, NaN for nothing; the scales follow unless somebody took them in hand.

        `immediate`: something else is shown than at the look before, so that a scale that is too large need not wait.
        """
        for scale, limits in zip(self._ranges, (x, y), strict=True):
            scale.follow(*limits, immediate=immediate)
        if self.auto_range_on and self._wanted != self._shown:
            self._apply()

    def reset_scales(self) -> None:
        """Choose the scales afresh: something else is shown."""
        self.auto_range_on = True
        for scale in self._ranges:
            scale.release()

    def text_of(self, side: str, value: float) -> str:
        """Return a place on the axis of a side as text with its unit."""
        low, high = self.view_box.viewRange()[0 if side == "bottom" else 1]
        factor = self.factors[side]
        # a thousandth of a scale is as much as anybody can point at
        decimals = min(9, max(0, 3 - floor(log10(max(abs(factor * (high - low)), 1e-9)))))
        return f"{value_text(factor * value, decimals)} {self.units[side]}".rstrip()

    def enable_auto_range(self) -> None:
        """Let the plot choose its scales again."""
        self.auto_range_on = True
        self._apply()

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much, about the middle."""
        self.view_box.scaleBy((factor, factor))
        self._disable_auto_range()

    @property
    def _wanted(self) -> tuple[Limits, Limits]:
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
        for scale in _SCALES:
            font = fixed(scale)
            metrics = QFontMetricsF(font)
            self._annotation_width = metrics.horizontalAdvance("0" * letters)
            if self._annotation_width <= wide and lines * metrics.lineSpacing() <= high:
                break
        self._annotation.setFont(font)

    def _set_annotation_background(self) -> None:
        ground = QColor(self._base)
        # the words of a square stand beside what is drawn, others over it
        ground.setAlphaF(0.0 if self._square else 0.8)
        self._annotation.fill = pg.mkBrush(ground)

    def _reshape(self, *_: object) -> None:
        self._fit_annotation_font()
        if "left" in self._labels:
            self._write_label("left", self._labels["left"][0])
        if self._square and self.auto_range_on and self._shown is not None:
            self._apply()

    def _beside_annotation(self, x: Limits, y: Limits) -> tuple[Limits, Limits]:
        """Return limits of one scale that hold both, with the room that is left over where the words stand."""
        wide, high = self.view_box.width(), self.view_box.height()
        if not (wide > 0.0 and high > 0.0):
            return x, y
        low, top = min(x[0], y[0]), max(x[1], y[1])
        low, top = low - _MARGIN * (top - low), top + _MARGIN * (top - low)
        pixel = (top - low) / min(wide, high)
        spare = max(0.0, wide - high)
        left = min(spare, max(0.5 * spare, self._annotation_width))
        # where it is higher than wide, the words stand above
        return (low - pixel * left, top + pixel * (spare - left)), (low, low + pixel * high)

    def _label(self) -> None:
        x, y = self._wanted
        if self._square:
            x = y = (min(x[0], y[0]), max(x[1], y[1]))
        for side, limits in (("bottom", x), ("left", y)):
            name, unit = self._names[side]
            self.factors[side], self.units[side] = prefixed_unit(unit, limits)
            axis = self.getAxis(side)
            axis.setScale(self.factors[side])
            shown = f" [{self.units[side]}]" if self.units[side] else ""
            self._write_label(side, name + shown)

    def _write_label(self, side: str, text: str) -> None:
        axis = self.getAxis(side)
        # the height of the lower axis depends on its letters: they stay as they are
        size = tabular(_SCALES[0]).pointSizeF() if side == "bottom" else _label_size(text, self.view_box.height())
        style = {"color": axis.textPen().color().name(), "font-size": f"{size:.1f}pt"}
        before = self._labels.get(side)
        if (text, style) != before:
            self._labels[side] = text, style
            # pyqtgraph takes it for HTML
            axis.setLabel(escape(text), **style)
            if side == "bottom" and (text or (before and before[0])):
                # told, because an axis that nobody sees yet finds its label to need no room
                line = QFontMetricsF(tabular(_SCALES[0])).height()
                axis.setHeight(_TICK + (2.0 if text else 1.0) * line + 4.0)


def _label_size(text: str, room: float) -> float:
    """Return how large the letters of a label are, in points, so that it has room in so many pixels."""
    fonts = [tabular(scale) for scale in _SCALES]
    fitting = (font for font in fonts if QFontMetricsF(font).horizontalAdvance(text) <= room)
    return next(fitting, fonts[-1]).pointSizeF()


class XYCanvas(pg.GraphicsLayoutWidget):
    """Plots above each other, and what the mouse points at.

    Signals
    -------
    pointed : the mouse is elsewhere, or has left.
    """

    pointed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._mouse: QPointF | None = None
        self.ci.layout.setContentsMargins(2, 4, 10, 2)
        self.ci.layout.setSpacing(4)
        self.setMinimumSize(160, 120)
        self.apply_theme(theme)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.setBackground(theme.base)

    def under_mouse(self) -> tuple[XYPlot, float, float] | None:
        """Return the plot that the mouse is over, and the place in what it shows."""
        if self._mouse is None:
            return None
        for plot in self.ci.items:
            if plot.isVisible() and plot.view_box.sceneBoundingRect().contains(self._mouse):
                at = plot.view_box.mapSceneToView(self._mouse)
                return plot, at.x(), at.y()
        return None

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Point at nothing."""
        super().leaveEvent(event)
        self._mouse = None
        self.pointed.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Point elsewhere; the scene's own signal leaves out moves that follow each other quickly, also the last."""
        super().mouseMoveEvent(event)
        self._mouse = self.mapToScene(event.position().toPoint())
        self.pointed.emit()


def extent(values: Samples) -> Limits:
    """Return the least and the largest number, both NaN where there is none."""
    good = values[np.isfinite(values)]
    return (float(good.min()), float(good.max())) if len(good) else (nan, nan)

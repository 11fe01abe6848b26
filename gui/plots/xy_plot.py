"""Plots of one quantity against another: the wheel zooms, dragging pans, a double click goes back to automatic."""

from __future__ import annotations

from html import escape
from math import floor, log10
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF

from gui.plots.time_range import ValueRange
from gui.plots.time_ticks import value_text
from gui.plots.xy_axis import NumberAxis
from gui.plots.xy_ink import fixed, pen, tabular
from gui.plots.xy_scale import Limits, readable
from gui.widgets.theme import Theme

LABEL_WIDTH = 62
"""px beside every plot, so that plots above each other align."""
_CORNER = 26, 6  # letters of a line in the corner, and lines, or fewer
_CORNER_SHARE = 0.65, 0.6  # of the plot's width and height, that they may take
_SCALES = 0.9, 0.8, 0.7, 0.6, 0.5  # of the program's letters: the largest that have room are taken
_TICK = 4  # px
_MARGIN = 0.03  # of a square's scale, on either side


class _Plane(pg.ViewBox):
    """Where curves are drawn; `recalled` is a double click."""

    recalled = Signal()

    def mouseClickEvent(self, event: Any) -> None:  # noqa: N802 - pyqtgraph's name
        if event.double() and event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            self.recalled.emit()


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
        self.plane = _Plane(enableMenu=False)
        sides = {side: NumberAxis(side) for side in ("bottom", "left")}
        super().__init__(viewBox=self.plane, enableMenu=False, axisItems=sides | (axes or {}))
        self.automatic = True
        self.factors = {"bottom": 1.0, "left": 1.0}
        self.units = {"bottom": "", "left": ""}
        self._labels: dict[str, tuple[str, dict[str, str]]] = {}
        self._names = {"bottom": ("", ""), "left": ("", "")}
        self._ranges = ValueRange(), ValueRange(fixed=left)
        self._shown: tuple[Limits, Limits] | None = None
        self._square = False
        self.hideButtons()
        self.plane.disableAutoRange()
        self.plane.sigRangeChangedManually.connect(self._take_in_hand)
        self.plane.recalled.connect(self.automate)
        self.plane.sigResized.connect(self._reshape)
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickFont=tabular(0.9), tickLength=_TICK, maxTickLevel=0)
            axis.setTickDensity(0.8)
            # the grid is drawn by the axes: behind curves and words
            axis.setZValue(-1.0)
        self.getAxis("left").setWidth(LABEL_WIDTH)
        self._corner = pg.TextItem(anchor=(0.0, 0.0))
        self._corner.setParentItem(self.plane)
        self._corner_width = 0.0
        self._write_corner()
        self._corner.setPos(6.0, 4.0)
        self._corner.setZValue(100.0)
        self._base = theme.base
        self.square = square
        self.restyle(theme)

    @property
    def square(self) -> bool:
        """Both axes have the same scale, and the same unit."""
        return self._square

    @square.setter
    def square(self, square: bool) -> None:
        if square is not self._square:
            self._square, self._shown = square, None
            self.plane.setAspectLocked(square, 1.0)
            self._ground_corner()

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        for side in ("bottom", "left"):
            axis = self.getAxis(side)
            axis.setPen(pen(theme.muted))
            axis.setTextPen(pen(theme.text))
            axis.setTickPen(pen(theme.grid))
            axis.setGrid(200)
        self._corner.setColor(theme.text)
        self._base = theme.base
        self._ground_corner()

    def name_axes(self, bottom: tuple[str, str], left: tuple[str, str]) -> None:
        """Say what the axes show, each with its unit."""
        if self._names != {"bottom": bottom, "left": left}:
            self._names = {"bottom": bottom, "left": left}
            self._label()

    def say(self, text: str, colour: str) -> None:
        """Put lines into the upper left corner."""
        self._corner.setVisible(bool(text))
        if text != self._corner.toPlainText():
            self._corner.setPlainText(text)
        self._corner.setColor(colour)
        # what is too long goes on in the next line
        self._corner.setTextWidth(-1.0)
        room = max(60.0, self.plane.width() - 12.0)
        if self._corner.boundingRect().width() > room:
            self._corner.setTextWidth(room)

    @property
    def said(self) -> str:
        """What stands in the corner."""
        return str(self._corner.toPlainText()) if self._corner.isVisible() else ""

    def fit(self, x: Limits, y: Limits, *, hurry: bool = False) -> None:
        """Say what there is to show, NaN for nothing; the scales follow unless somebody took them in hand.

        `hurry`: something else is shown than at the look before, so that a scale that is too large need not wait.
        """
        for scale, limits in zip(self._ranges, (x, y), strict=True):
            scale.follow(*limits, hurry=hurry)
        if self.automatic and self._wanted != self._shown:
            self._apply()

    def forget(self) -> None:
        """Choose the scales afresh: something else is shown."""
        self.automatic = True
        for scale in self._ranges:
            scale.release()

    def text_of(self, side: str, value: float) -> str:
        """Return a place on the axis of a side as text with its unit."""
        low, high = self.plane.viewRange()[0 if side == "bottom" else 1]
        factor = self.factors[side]
        # a thousandth of a scale is as much as anybody can point at
        decimals = min(9, max(0, 3 - floor(log10(max(abs(factor * (high - low)), 1e-9)))))
        return f"{value_text(factor * value, decimals)} {self.units[side]}".rstrip()

    def automate(self) -> None:
        """Let the plot choose its scales again."""
        self.automatic = True
        self._apply()

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much, about the middle."""
        self.plane.scaleBy((factor, factor))
        self._take_in_hand()

    @property
    def _wanted(self) -> tuple[Limits, Limits]:
        x, y = self._ranges
        return (x.low, x.high), (y.low, y.high)

    def _take_in_hand(self, *_: object) -> None:
        self.automatic = False

    def _apply(self) -> None:
        self._shown = self._wanted
        x, y = self._beside_the_corner(*self._shown) if self._square else self._shown
        self.plane.setRange(xRange=x, yRange=y, padding=0.0)
        self._label()

    def _write_corner(self) -> None:
        letters, lines = _CORNER
        wide, high = _CORNER_SHARE[0] * self.plane.width(), _CORNER_SHARE[1] * self.plane.height()
        for scale in _SCALES:
            font = fixed(scale)
            metrics = QFontMetricsF(font)
            self._corner_width = metrics.horizontalAdvance("0" * letters)
            if self._corner_width <= wide and lines * metrics.lineSpacing() <= high:
                break
        self._corner.setFont(font)

    def _ground_corner(self) -> None:
        ground = QColor(self._base)
        # the words of a square stand beside what is drawn, others over it
        ground.setAlphaF(0.0 if self._square else 0.8)
        self._corner.fill = pg.mkBrush(ground)

    def _reshape(self, *_: object) -> None:
        self._write_corner()
        if "left" in self._labels:
            self._write_label("left", self._labels["left"][0])
        if self._square and self.automatic and self._shown is not None:
            self._apply()

    def _beside_the_corner(self, x: Limits, y: Limits) -> tuple[Limits, Limits]:
        """Return limits of one scale that hold both, with the room that is left over where the words stand."""
        wide, high = self.plane.width(), self.plane.height()
        if not (wide > 0.0 and high > 0.0):
            return x, y
        low, top = min(x[0], y[0]), max(x[1], y[1])
        low, top = low - _MARGIN * (top - low), top + _MARGIN * (top - low)
        pixel = (top - low) / min(wide, high)
        spare = max(0.0, wide - high)
        left = min(spare, max(0.5 * spare, self._corner_width))
        # where it is higher than wide, the words stand above
        return (low - pixel * left, top + pixel * (spare - left)), (low, low + pixel * high)

    def _label(self) -> None:
        x, y = self._wanted
        if self._square:
            x = y = (min(x[0], y[0]), max(x[1], y[1]))
        for side, limits in (("bottom", x), ("left", y)):
            name, unit = self._names[side]
            self.factors[side], self.units[side] = readable(unit, limits)
            axis = self.getAxis(side)
            axis.setScale(self.factors[side])
            shown = f" [{self.units[side]}]" if self.units[side] else ""
            self._write_label(side, name + shown)

    def _write_label(self, side: str, text: str) -> None:
        axis = self.getAxis(side)
        # the height of the lower axis depends on its letters: they stay as they are
        size = tabular(_SCALES[0]).pointSizeF() if side == "bottom" else _label_size(text, self.plane.height())
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

"""A curve over frequency with its uncertainty: strong where coherence is high, thin and grey where it is not."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem

from gui.plots.time.curves import runs
from gui.plots.xy.axes import pen
from gui.plots.xy.plot import XYPlot
from monitor.messages.blocks import Samples


class _Band(QGraphicsPathItem):
    """A translucent band between two curves, open where either is NaN."""

    def set_colour(self, colour: str, opacity: float = 0.18) -> None:
        """Take another colour."""
        shade = QColor(colour)
        shade.setAlphaF(opacity)
        self.setPen(pg.mkPen(None))
        self.setBrush(pg.mkBrush(shade))

    def draw(self, x: Samples, low: Samples, high: Samples) -> None:
        """Show [low, high] over rising x, (n_points,) each."""
        path = QPainterPath()
        for begin, end in runs(np.isfinite(low) & np.isfinite(high)):
            run = slice(begin, end)
            around = np.concatenate([x[run], x[run][::-1]]), np.concatenate([low[run], high[run][::-1]])
            path.addPath(pg.arrayToQPath(*around, connect="all"))
        self.setPath(path)


class CoherentCurve:
    """One quantity of one actuator in a plot, which owns all that is drawn."""

    def __init__(self, plot: XYPlot) -> None:
        self._view_box = plot.view_box
        self.band = _Band()
        self.weak, self.strong = pg.PlotCurveItem(skipFiniteCheck=False), pg.PlotCurveItem(skipFiniteCheck=False)
        for item in (self.band, self.weak, self.strong):
            self._view_box.addItem(item, ignoreBounds=True)

    def set_style(self, colour: str, grey: str, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> None:
        """Take other colours."""
        self.band.set_colour(colour)
        self.weak.setPen(pen(grey, opacity=0.7))
        self.strong.setPen(pen(colour, 2.0, style=style))

    def draw(self, x: Samples, values: Samples, deviation: Samples | None, coherent: NDArray[np.bool_]) -> None:
        """Show values, (n_frequencies,), ± their deviations; NaN where there is nothing."""
        self.weak.setData(x, values, connect="finite")
        strong = np.where(coherent, values, np.nan)
        self.strong.setData(x, strong, connect="finite")
        doubt = np.full_like(values, np.nan) if deviation is None else deviation
        self.band.draw(x, strong - doubt, strong + doubt)

    def remove(self) -> None:
        """Take everything out of the plot."""
        for item in (self.band, self.weak, self.strong):
            self._view_box.removeItem(item)

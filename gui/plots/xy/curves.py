"""Curves of plots of one quantity against another: a fading path, and a curve with an uncertainty band."""

from __future__ import annotations

from math import atan2, ceil, degrees, hypot

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainterPath
from PySide6.QtWidgets import QGraphicsEllipseItem, QGraphicsPathItem

from gui.plots.time.curves import runs
from gui.plots.xy.axes import pen
from gui.plots.xy.plot import XYPlot
from monitor.messages.blocks import Samples

_PARTS = 8
_FAINTEST = 0.12  # opacity of the oldest part
_DOT = 8.0  # px
_STEP = 6.0  # px that the newest point must have moved to have a direction


class Trail:
    """Draw a path into a plot.

    Parameters
    ----------
    plot : where; it owns all that is drawn.
    """

    def __init__(self, plot: XYPlot) -> None:
        self._view_box = plot.view_box
        self.parts = [pg.PlotCurveItem(skipFiniteCheck=False) for _ in range(_PARTS)]
        self.newest = QGraphicsEllipseItem(-_DOT / 2.0, -_DOT / 2.0, _DOT, _DOT)
        self.newest.setFlag(QGraphicsEllipseItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.head = pg.ArrowItem(headLen=16, tipAngle=34, baseAngle=18, pxMode=True)
        for item in (*self.parts, self.head, self.newest):
            self._view_box.addItem(item, ignoreBounds=True)
        self.head.setZValue(20.0)
        self.newest.setZValue(21.0)
        self.clear()

    def set_colours(self, colour: str, ground: str) -> None:
        """Take another colour, on a ground."""
        for number, part in enumerate(self.parts):
            opacity = _FAINTEST + (1.0 - _FAINTEST) * ((number + 1) / _PARTS) ** 2
            part.setPen(pen(colour, opacity=opacity))
        self.newest.setPen(pen(ground))
        self.newest.setBrush(pg.mkBrush(colour))
        self.head.setStyle(pen=pen(ground), brush=pg.mkBrush(colour))

    def clear(self) -> None:
        """Show nothing."""
        self.draw(np.empty(0), np.empty(0))

    def draw(self, x: Samples, y: Samples) -> None:
        """Show a path, (n_points,) each, oldest first; it is broken where either is NaN."""
        edges = np.linspace(0, len(x), _PARTS + 1).astype(int).tolist()
        for part, begin, end in zip(self.parts, edges, edges[1:], strict=False):
            # one point more than its own: no gap to the next part
            part.setData(x[begin : end + 1], y[begin : end + 1], connect="finite")
        good = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        self.newest.setVisible(bool(len(good)))
        direction = self._direction(x[good], y[good]) if len(good) else None
        self.head.setVisible(direction is not None)
        if len(good):
            newest = float(x[good[-1]]), float(y[good[-1]])
            self.newest.setPos(*newest)
            self.head.setPos(*newest)
        if direction is not None:
            self.head.setStyle(angle=direction)

    def _direction(self, x: Samples, y: Samples) -> float | None:
        """Return the angle of an arrow on the screen: 0 points left, 90 up; None where nothing moves."""
        width, height = self._view_box.viewPixelSize()
        if not (width > 0.0 and height > 0.0):
            return None
        # no more than the newest part: what lies before says nothing of now
        recent = slice(-max(2, len(x) // _PARTS), None)
        right, up = (x[-1] - x[recent]) / width, (y[-1] - y[recent]) / height
        far = np.flatnonzero(np.hypot(right, up) >= _STEP)
        if not len(far):
            return None
        dx, dy = float(right[far[-1]]), float(up[far[-1]])
        return 180.0 - degrees(atan2(dy, dx)) if hypot(dx, dy) > 0.0 else None


def decimate_loop(first: int, x: Samples, y: Samples, most: int = 4000) -> NDArray[np.intp]:
    """Choose at most about `most` points of a long loop so that none of its corners is lost.

    Of every stretch of rows the points with the least and largest x and y are taken. Stretches begin at multiples
    of their length in absolute row numbers, so that a point that was chosen stays so while the window moves on.

    Parameters
    ----------
    first : row number of the first point.
    x, y : (n_points,); a point with a NaN is never chosen, but one is kept in its stretch to break the line.
    most : points; the two ends may have some more.

    Returns
    -------
    chosen : positions, rising.
    """
    n = len(x)
    if n <= most:
        return np.arange(n)
    # a power of two: a window of about the same length has the same stretches
    width = 1 << ceil(np.log2(4.0 * n / most))
    lead = first % width
    n_stretches = -(-(lead + n) // width)
    chosen: list[NDArray[np.intp]] = []
    broken = np.isnan(x) | np.isnan(y)
    for values in (x, y):
        padded = np.full(n_stretches * width, np.nan)
        padded[lead : lead + n] = np.where(broken, np.nan, values)
        stretches = padded.reshape(n_stretches, width)
        missing, begin = np.isnan(stretches), np.arange(n_stretches) * width
        some = ~missing.all(axis=1)
        for fill, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            at = pick(np.where(missing, fill, stretches), axis=1)
            chosen.append((begin + at)[some] - lead)
    breaks = np.flatnonzero(broken)
    if len(breaks):
        _, one = np.unique((breaks + lead) // width, return_index=True)
        chosen.append(breaks[one])
    return np.unique(np.concatenate(chosen))


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

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
from gui.plots.xy.plot import XYPlot, pen
from monitor.messages.blocks import Samples

_PARTS = 8
_FAINTEST = 0.12  # opacity of the oldest part
_BAND_OPACITY = 0.18
_DOT = 8.0  # px
_STEP = 6.0  # px of motion that define a direction


class Trail:
    """Path that fades with age, with its newest point and direction.

    Parameters
    ----------
    plot : owns the items that are drawn.
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
        """Set the colour, and that of the background."""
        for number, part in enumerate(self.parts):
            opacity = _FAINTEST + (1.0 - _FAINTEST) * ((number + 1) / _PARTS) ** 2
            part.setPen(pen(colour, opacity=opacity))
        self.newest.setPen(pen(ground))
        self.newest.setBrush(pg.mkBrush(colour))
        self.head.setStyle(pen=pen(ground), brush=pg.mkBrush(colour))

    def clear(self) -> None:
        """Remove the path."""
        self.draw(np.empty(0), np.empty(0))

    def draw(self, x: Samples, y: Samples) -> None:
        """Draw a path, (n_points,) each, oldest first; it is interrupted where either is NaN."""
        edges = np.linspace(0, len(x), _PARTS + 1).astype(int).tolist()
        for part, begin, end in zip(self.parts, edges, edges[1:], strict=False):
            # one more point: no gap to the next part
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
        """Return the angle of the arrow on the screen: 0 points left, 90 up; None without motion."""
        width, height = self._view_box.viewPixelSize()
        if not (width > 0.0 and height > 0.0):
            return None
        # no more than the newest part
        recent = slice(-max(2, len(x) // _PARTS), None)
        right, up = (x[-1] - x[recent]) / width, (y[-1] - y[recent]) / height
        far = np.flatnonzero(np.hypot(right, up) >= _STEP)
        if not len(far):
            return None
        dx, dy = float(right[far[-1]]), float(up[far[-1]])
        return 180.0 - degrees(atan2(dy, dx)) if hypot(dx, dy) > 0.0 else None


def decimate_loop(first: int, x: Samples, y: Samples, most: int = 4000) -> NDArray[np.intp]:
    """Select at most about `most` points of a long loop that preserve its outline.

    Of every bucket of rows the points with minimum and maximum x and y are selected. Buckets begin at multiples of
    their length in absolute row numbers, so that the selection is stable while the window moves.

    Parameters
    ----------
    first : row number of the first point.
    x, y : (n_points,); of the points with a NaN, one a bucket is selected to interrupt the line.
    most : points, about.

    Returns
    -------
    chosen : indices, rising.
    """
    n = len(x)
    if n <= most:
        return np.arange(n)
    # a power of two: windows of similar length have the same buckets
    width = 1 << ceil(np.log2(4.0 * n / most))
    lead = first % width
    n_buckets = -(-(lead + n) // width)
    chosen: list[NDArray[np.intp]] = []
    broken = np.isnan(x) | np.isnan(y)
    for values in (x, y):
        padded = np.full(n_buckets * width, np.nan)
        padded[lead : lead + n] = np.where(broken, np.nan, values)
        buckets = padded.reshape(n_buckets, width)
        missing, begin = np.isnan(buckets), np.arange(n_buckets) * width
        some = ~missing.all(axis=1)
        for fill, pick in ((np.inf, np.argmin), (-np.inf, np.argmax)):
            at = pick(np.where(missing, fill, buckets), axis=1)
            chosen.append((begin + at)[some] - lead)
    breaks = np.flatnonzero(broken)
    if len(breaks):
        _, one = np.unique((breaks + lead) // width, return_index=True)
        chosen.append(breaks[one])
    return np.unique(np.concatenate(chosen))


class _Band(QGraphicsPathItem):
    """Translucent band between two curves, interrupted where either is NaN."""

    def set_colour(self, colour: str) -> None:
        """Set the colour."""
        shade = QColor(colour)
        shade.setAlphaF(_BAND_OPACITY)
        self.setPen(pg.mkPen(None))
        self.setBrush(pg.mkBrush(shade))

    def draw(self, x: Samples, low: Samples, high: Samples) -> None:
        """Draw [low, high] over rising x, (n_points,) each."""
        path = QPainterPath()
        for begin, end in runs(np.isfinite(low) & np.isfinite(high)):
            run = slice(begin, end)
            around = np.concatenate([x[run], x[run][::-1]]), np.concatenate([low[run], high[run][::-1]])
            path.addPath(pg.arrayToQPath(*around, connect="all"))
        self.setPath(path)


class CoherentCurve:
    """Curve over frequency with its uncertainty band; thin and grey where the coherence is low.

    Parameters
    ----------
    plot : owns the items that are drawn.
    """

    def __init__(self, plot: XYPlot) -> None:
        self._view_box = plot.view_box
        self.band = _Band()
        self.weak, self.strong = pg.PlotCurveItem(skipFiniteCheck=False), pg.PlotCurveItem(skipFiniteCheck=False)
        for item in (self.band, self.weak, self.strong):
            self._view_box.addItem(item, ignoreBounds=True)

    def set_style(self, colour: str, grey: str, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> None:
        """Set colours and line style."""
        self.band.set_colour(colour)
        self.weak.setPen(pen(grey, opacity=0.7))
        self.strong.setPen(pen(colour, 2.0, style=style))

    def draw(self, x: Samples, values: Samples, deviation: Samples | None, coherent: NDArray[np.bool_]) -> None:
        """Draw values, (n_frequencies,), ± their standard deviations; NaN where unknown."""
        self.weak.setData(x, values, connect="finite")
        strong = np.where(coherent, values, np.nan)
        self.strong.setData(x, strong, connect="finite")
        doubt = np.full_like(values, np.nan) if deviation is None else deviation
        self.band.draw(x, strong - doubt, strong + doubt)

    def remove(self) -> None:
        """Remove the items from the plot."""
        for item in (self.band, self.weak, self.strong):
            self._view_box.removeItem(item)

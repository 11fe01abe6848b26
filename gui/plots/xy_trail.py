"""A path whose older parts fade, with its newest point and the way it goes."""

from __future__ import annotations

from math import atan2, degrees, hypot

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QGraphicsEllipseItem

from gui.plots.xy_ink import pen
from gui.plots.xy_plot import XYPlot
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
        self._plane = plot.plane
        self.parts = [pg.PlotCurveItem(skipFiniteCheck=False) for _ in range(_PARTS)]
        self.newest = QGraphicsEllipseItem(-_DOT / 2.0, -_DOT / 2.0, _DOT, _DOT)
        self.newest.setFlag(QGraphicsEllipseItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.head = pg.ArrowItem(headLen=16, tipAngle=34, baseAngle=18, pxMode=True)
        for item in (*self.parts, self.head, self.newest):
            self._plane.addItem(item, ignoreBounds=True)
        self.head.setZValue(20.0)
        self.newest.setZValue(21.0)
        self.clear()

    def restyle(self, colour: str, ground: str) -> None:
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
        width, height = self._plane.viewPixelSize()
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

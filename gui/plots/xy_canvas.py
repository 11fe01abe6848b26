"""Plots above each other, and what the mouse points at."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Signal
from PySide6.QtGui import QMouseEvent

from gui.plots.xy_plot import XYPlot
from gui.widgets.theme import Theme


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
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self.setBackground(theme.base)

    def under_mouse(self) -> tuple[XYPlot, float, float] | None:
        """Return the plot that the mouse is over, and the place in what it shows."""
        if self._mouse is None:
            return None
        for plot in self.ci.items:
            if plot.isVisible() and plot.plane.sceneBoundingRect().contains(self._mouse):
                at = plot.plane.mapSceneToView(self._mouse)
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

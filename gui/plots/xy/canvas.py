"""Canvas with stacked plots of one quantity against another, and the position of the mouse in them."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Signal
from PySide6.QtGui import QMouseEvent

from gui.plots.xy.plot import XYPlot
from gui.widgets.theme import Theme


class XYCanvas(pg.GraphicsLayoutWidget):
    """Stacked plots, and the position of the mouse.

    Signals
    -------
    mouse_moved : the mouse has moved or left.
    """

    mouse_moved = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._mouse: QPointF | None = None
        # what is dropped is for the panel
        self.setAcceptDrops(False)
        self.viewport().setAcceptDrops(False)
        self.ci.layout.setContentsMargins(2, 4, 10, 2)
        self.ci.layout.setSpacing(4)
        self.setMinimumSize(160, 120)
        self.apply_theme(theme)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.setBackground(theme.base)

    def under_mouse(self) -> tuple[XYPlot, float, float] | None:
        """Return the plot under the mouse and the position in its coordinates; None where there is none."""
        if self._mouse is None:
            return None
        for plot in self.ci.items:
            if plot.isVisible() and plot.view_box.sceneBoundingRect().contains(self._mouse):
                at = plot.view_box.mapSceneToView(self._mouse)
                return plot, at.x(), at.y()
        return None

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the position of the mouse."""
        super().leaveEvent(event)
        self._mouse = None
        self.mouse_moved.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Track the mouse; the scene's own signal is rate limited and may omit the last move."""
        super().mouseMoveEvent(event)
        self._mouse = self.mapToScene(event.position().toPoint())
        self.mouse_moved.emit()

"""Canvas with stacked plots of one quantity against another, and the position of the mouse in them."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QMouseEvent

from gui.plots.xy.plot import XYPlot
from gui.widgets.theme import Theme

_CLICK_TOLERANCE = 5  # px, from which pyqtgraph drags


class XYCanvas(pg.GraphicsLayoutWidget):
    """Stacked plots, and the position of the mouse.

    Signals
    -------
    mouse_moved : the mouse has moved or left.
    menu_requested : where on the screen a menu is to be: the right button was clicked, not dragged.
    """

    mouse_moved = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName("values against each other")
        self.viewport().setAccessibleName(self.accessibleName())
        self._mouse: QPointF | None = None
        self._pressed: QPoint | None = None
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
            if (
                isinstance(plot, XYPlot)
                and plot.isVisible()
                and plot.view_box.sceneBoundingRect().contains(self._mouse)
            ):
                at = plot.view_box.mapSceneToView(self._mouse)
                return plot, at.x(), at.y()
        return None

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the position of the mouse."""
        super().leaveEvent(event)
        self._mouse = None
        self.mouse_moved.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the menu by key; by mouse when the button is released, as its drag zooms."""
        if event.reason() is not QContextMenuEvent.Reason.Mouse:
            self.menu_requested.emit(event.globalPos())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a click or a drag."""
        super().mousePressEvent(event)
        right = event.button() is Qt.MouseButton.RightButton
        self._pressed = event.position().toPoint() if right else None

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Request the menu after a click with the right button."""
        super().mouseReleaseEvent(event)
        pressed, self._pressed = self._pressed, None
        if pressed is not None and event.button() is Qt.MouseButton.RightButton:
            self.menu_requested.emit(event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Track the mouse; the scene's own signal is rate limited and may omit the last move."""
        super().mouseMoveEvent(event)
        at = event.position().toPoint()
        if self._pressed is not None and (at - self._pressed).manhattanLength() >= _CLICK_TOLERANCE:
            self._pressed = None
        self._mouse = self.mapToScene(at)
        self.mouse_moved.emit()

"""Canvas with stacked plots of one quantity against another, the mouse in them, and their figure for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QPainter, QPen, QPicture

from gui.plots.figure import ONE_COLUMN, Figure, Page, picture_figure
from gui.plots.xy.plot import XYPlot, tabular
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


_SHAPES = {True: 0.85, False: 0.55}  # height of a figure in one column, and in two, over its width


def has_data(plots: Sequence[XYPlot]) -> bool:
    """Whether a curve of any plot has points, or one has an image."""
    items = [item for plot in plots for item in plot.view_box.childGroup.childItems()]
    lengths = [len(item.xData) for item in items if isinstance(item, pg.PlotCurveItem) and item.xData is not None]
    return any(lengths) or any(isinstance(item, pg.ImageItem) and item.image is not None for item in items)


def canvas_figure(title: str, pane: XYCanvas, plots: Sequence[XYPlot], page: Page, about: tuple[str, str]) -> Figure:
    """Return the plots of a canvas, laid out for a page, with text in the size of captions.

    Parameters
    ----------
    plots : of the canvas.
    about : subject and legend of the figure.
    """
    # the fonts of the plots are shares of that of the program
    scale = tabular(0.9).pointSizeF() / page.font(pane.font()).pointSizeF()
    width = page.width * scale
    size = QSize(round(width), round(width * _SHAPES[page.mm <= ONE_COLUMN]))
    picture = QPicture()
    with _laid_out(pane, plots, size), _stroked(pane, plots, page.stroke):
        painter = QPainter(picture)
        area = QRectF(0.0, 0.0, size.width(), size.height())
        pane.scene().render(painter, area, area)
        painter.end()
    return picture_figure(title, picture, QSizeF(size), page.width, *about)


@contextmanager
def _stroked(pane: XYCanvas, plots: Sequence[XYPlot], factor: float) -> Iterator[None]:
    """Draw lines, which have a constant number of pixels on every device, with this many times as many."""
    changed = []
    for item in pane.scene().items():
        match item:
            case pg.PlotCurveItem():
                before = item.opts["pen"]
            case pg.InfiniteLine():
                before = item.pen
            case pg.AxisItem():
                before = item.pen()
            case _:
                continue
        wider = QPen(before)
        wider.setWidthF(factor * before.widthF())
        item.setPen(wider)
        changed.append((item, before))
    for plot in plots:
        plot.relabel()
    try:
        yield
    finally:
        for item, before in changed:
            item.setPen(before)
        for plot in plots:
            plot.relabel()


@contextmanager
def _laid_out(pane: XYCanvas, plots: Sequence[XYPlot], size: QSize) -> Iterator[None]:
    """Give a canvas another size, with smooth lines, while it is drawn; the screen is not updated."""
    before = pane.size()
    ranges = [plot.view_box.viewRange() for plot in plots]
    items = [item for item in pane.scene().items() if hasattr(item, "setExportMode")]
    pane.setUpdatesEnabled(False)
    try:
        pane.resize(size)
        pane.ci.layout.activate()
        for item in items:
            item.setExportMode(True, {"antialias": True})
        # transformations that are otherwise updated when the screen is painted
        pane.scene().prepareForPaint()
        yield
    finally:
        for item in items:
            item.setExportMode(False)
        pane.resize(before)
        pane.ci.layout.activate()
        for plot, (x, y) in zip(plots, ranges, strict=True):
            # zoomed by hand: a square plot would be changed by the other shape
            if not plot.auto_range_on:
                plot.view_box.setRange(xRange=x, yRange=y, padding=0.0)
        pane.setUpdatesEnabled(True)

"""The picture of a stack that is kept, so that a cursor moves over it without its being drawn again."""

from __future__ import annotations

from PySide6.QtGui import QPaintEngine, QPainter, QPixmap

from gui.plots.pixmap_cache import PixmapCache
from gui.plots.time_picture import StackPicture
from gui.plots.time_scene import Scene
from gui.widgets.painting import painting_on


class BackgroundCache:
    """Kept until it is forgotten, or the screen is a finer one."""

    def __init__(self) -> None:
        self._pixmap: QPixmap | None = None

    def forget(self) -> None:
        """Draw anew next time: something is another one."""
        self._pixmap = None

    def draw(self, painter: QPainter, scene: Scene, ratio: float, kept: PixmapCache) -> None:
        """Draw it.

        Parameters
        ----------
        ratio : pixels of the device to those of the widget.
        kept : pieces of the picture before.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # what is written to a file is drawn, not copied
            StackPicture(painter, scene, kept).draw()
            return
        if self._pixmap is None or self._pixmap.devicePixelRatio() != ratio:
            picture = QPixmap(scene.area.size() * ratio)
            picture.setDevicePixelRatio(ratio)
            with painting_on(picture) as made:
                made.setFont(painter.font())
                StackPicture(made, scene, kept).draw()
            # only what was finished is kept
            self._pixmap = picture
        painter.drawPixmap(0, 0, self._pixmap)

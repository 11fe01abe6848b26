"""Caches of a plot: text widths, pixmaps of labels, and the background under the cursors."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPaintEngine, QPainter, QPixmap

from gui.widgets.painting import painting_on

_MOST = 4096
_known: dict[tuple[str, str], float] = {}


class TextMetrics:
    """Widths and the height of what is written in one font.

    Parameters
    ----------
    font : with its features and its size.
    """

    def __init__(self, font: QFont) -> None:
        self._key = font.key()
        self._metrics = QFontMetricsF(font)

    @property
    def height(self) -> float:
        """Pixels of a line."""
        return self._metrics.height()

    def width(self, text: str) -> float:
        """Return how many pixels a text takes."""
        key = self._key, text
        found = _known.get(key)
        if found is None:
            if len(_known) >= _MOST:
                _known.clear()
            found = _known[key] = self._metrics.horizontalAdvance(text)
        return found


_ALIKE = 1e-3  # pixels of the device

DrawFunction = Callable[[QPainter, QRectF], None]
"""Draws a piece with a painter into a box."""


class PixmapCache:
    """Pieces by the places they have in a picture, each kept until it shows something else."""

    def __init__(self) -> None:
        self._pixmaps: dict[Hashable, tuple[object, QPixmap]] = {}

    def clear(self) -> None:
        """Redraw all next time."""
        self._pixmaps.clear()

    def draw(
        self, painter: QPainter, place: Hashable, shows: object, box: QRectF, background: QColor, draw: DrawFunction
    ) -> None:
        """Draw a piece into a box, from memory where it is the same.

        Parameters
        ----------
        place : one that no other piece has.
        shows : of two that are equal, and in boxes of one size, the pictures are the same.
        background : what the piece is drawn on.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # what is written to a file is drawn, not copied
            draw(painter, box)
            return
        ratio = painter.device().devicePixelRatioF()
        at = painter.deviceTransform().map(box.topLeft())
        # on a screen with one and a half pixels a pixel, a box may begin within one; copies begin with one
        off = QPointF(*((place - math.floor(place + _ALIKE)) / ratio for place in (at.x(), at.y())))
        font = painter.font()
        wanted = shows, background.rgba(), font, ratio, box.size(), round(off.x(), 3), round(off.y(), 3)
        known = self._pixmaps.get(place)
        if known is None or known[0] != wanted:
            size = QSize(math.ceil((box.width() + off.x()) * ratio), math.ceil((box.height() + off.y()) * ratio))
            made = QPixmap(size)
            made.setDevicePixelRatio(ratio)
            made.fill(background)
            with painting_on(made) as inner:
                inner.setFont(font)
                draw(inner, QRectF(off, box.size()))
            known = self._pixmaps[place] = wanted, made
        painter.drawPixmap(box.topLeft() - off, known[1])


class BackgroundCache:
    """The picture under the cursors, redrawn only when something in it changes or the screen's resolution does."""

    def __init__(self) -> None:
        self._pixmap: QPixmap | None = None

    def invalidate(self) -> None:
        """Draw it again next time."""
        self._pixmap = None

    def draw(self, painter: QPainter, size: QSize, ratio: float, draw: Callable[[QPainter], None]) -> None:
        """Copy the picture, or draw it with `draw` first.

        Parameters
        ----------
        ratio : pixels of the device to those of the widget.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # what is written to a file is drawn, not copied
            draw(painter)
            return
        if self._pixmap is None or self._pixmap.devicePixelRatio() != ratio:
            picture = QPixmap(size * ratio)
            picture.setDevicePixelRatio(ratio)
            with painting_on(picture) as inner:
                inner.setFont(painter.font())
                draw(inner)
            # only what was finished is kept
            self._pixmap = picture
        painter.drawPixmap(0, 0, self._pixmap)

"""Caches of a plot: text widths, pixmaps of labels, and the background under the cursors."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPaintEngine, QPainter, QPixmap

from gui.widgets.painting import painting_on

_MAX_TEXTS = 4096
_widths: dict[tuple[str, str], float] = {}


class TextMetrics:
    """Widths and line height of texts in one font.

    Parameters
    ----------
    font : with its features and size.
    """

    def __init__(self, font: QFont) -> None:
        self._key = font.key()
        self._metrics = QFontMetricsF(font)

    @property
    def height(self) -> float:
        """Line height, px."""
        return self._metrics.height()

    def width(self, text: str) -> float:
        """Return the width of a text, px."""
        key = self._key, text
        found = _widths.get(key)
        if found is None:
            if len(_widths) >= _MAX_TEXTS:
                _widths.clear()
            found = _widths[key] = self._metrics.horizontalAdvance(text)
        return found

    def elided(self, text: str, width: float) -> str:
        """Return a text, or its beginning with an ellipsis where it is wider than `width` px."""
        return (
            text if self.width(text) <= width else self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        )


_PIXEL_TOLERANCE = 1e-3  # px of the device

DrawFunction = Callable[[QPainter, QRectF], None]
"""Draws with a painter into a box."""


class PixmapCache:
    """Cached pixmaps of parts of a picture, each valid until its content changes."""

    def __init__(self) -> None:
        self._pixmaps: dict[Hashable, tuple[object, QPixmap]] = {}

    def clear(self) -> None:
        """Drop all pixmaps."""
        self._pixmaps.clear()

    def draw(
        self, painter: QPainter, place: Hashable, shows: object, box: QRectF, background: QColor, draw: DrawFunction
    ) -> None:
        """Draw a part into a box, from its pixmap where the content is unchanged.

        Parameters
        ----------
        place : key of the part.
        shows : its content; equal content in boxes of equal size gives equal pixmaps.
        background : filled before drawing.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # vector output is drawn, not copied
            draw(painter, box)
            return
        ratio = painter.device().devicePixelRatioF()
        at = painter.deviceTransform().map(box.topLeft())
        # with a fractional device pixel ratio a box may begin within a device pixel; a pixmap cannot
        off = QPointF(*((place - math.floor(place + _PIXEL_TOLERANCE)) / ratio for place in (at.x(), at.y())))
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
    """Cached picture under the cursors, redrawn when it is invalidated or the device pixel ratio changes."""

    def __init__(self) -> None:
        self._pixmap: QPixmap | None = None

    def invalidate(self) -> None:
        """Redraw the picture next time."""
        self._pixmap = None

    def draw(self, painter: QPainter, size: QSize, ratio: float, draw: Callable[[QPainter], None]) -> None:
        """Copy the picture; where it is invalid, draw it with `draw` first.

        Parameters
        ----------
        ratio : device pixel ratio.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # vector output is drawn, not copied
            draw(painter)
            return
        if self._pixmap is None or self._pixmap.devicePixelRatio() != ratio:
            picture = QPixmap(size * ratio)
            picture.setDevicePixelRatio(ratio)
            with painting_on(picture) as inner:
                inner.setFont(painter.font())
                draw(inner)
            # only a finished picture is stored
            self._pixmap = picture
        painter.drawPixmap(0, 0, self._pixmap)

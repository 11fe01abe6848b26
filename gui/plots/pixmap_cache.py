"""Pieces of a picture that seldom change: drawn once, then copied."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QPaintEngine, QPainter, QPixmap

from gui.widgets.painting import painting_on

_ALIKE = 1e-3  # pixels of the device

Ink = Callable[[QPainter, QRectF], None]
"""Draws a piece with a painter into a box."""


class PixmapCache:
    """Pieces by the places they have in a picture, each kept until it shows something else."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[object, QPixmap]] = {}

    def forget(self) -> None:
        """Draw all anew next time: there are other places."""
        self._kept.clear()

    def draw(self, painter: QPainter, place: Hashable, shows: object, box: QRectF, ground: QColor, ink: Ink) -> None:
        """Draw a piece into a box, from memory where it is the same.

        Parameters
        ----------
        place : one that no other piece has.
        shows : of two that are equal, and in boxes of one size, the pictures are the same.
        ground : what the piece is drawn on.
        """
        if painter.paintEngine().type() is not QPaintEngine.Type.Raster:
            # what is written to a file is drawn, not copied
            ink(painter, box)
            return
        ratio = painter.device().devicePixelRatioF()
        at = painter.deviceTransform().map(box.topLeft())
        # on a screen with one and a half pixels a pixel, a box may begin within one; copies begin with one
        off = QPointF(*((place - math.floor(place + _ALIKE)) / ratio for place in (at.x(), at.y())))
        font = painter.font()
        wanted = shows, ground.rgba(), font, ratio, box.size(), round(off.x(), 3), round(off.y(), 3)
        known = self._kept.get(place)
        if known is None or known[0] != wanted:
            size = QSize(math.ceil((box.width() + off.x()) * ratio), math.ceil((box.height() + off.y()) * ratio))
            made = QPixmap(size)
            made.setDevicePixelRatio(ratio)
            made.fill(ground)
            with painting_on(made) as inner:
                inner.setFont(font)
                ink(inner, QRectF(off, box.size()))
            known = self._kept[place] = wanted, made
        painter.drawPixmap(box.topLeft() - off, known[1])

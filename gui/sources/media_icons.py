"""The shapes of a player's buttons, drawn in the colour of the theme: fonts do not have them all."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPainterPathStroker, QPixmap, QPolygonF

_SIZE = 64  # of the pixmap; scaled down where it is shown


def media_icon(name: str, colour: str) -> QIcon:
    """Return the icon `name`: play, pause, step, restart, loop or open."""
    pixmap = QPixmap(_SIZE, _SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(_path(name), QColor(colour))
    painter.end()
    return QIcon(pixmap)


def _path(name: str) -> QPainterPath:
    """Return the outline of the shape."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    match name:
        case "play":
            _triangle(path, 16.0, 54.0)
        case "pause":
            path.addRect(QRectF(14.0, 10.0, 13.0, 44.0))
            path.addRect(QRectF(37.0, 10.0, 13.0, 44.0))
        case "step":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 27.0, 58.0)
        case "restart":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 54.0, 23.0)
        case "loop":
            arc = QPainterPath()
            circle = QRectF(12.0, 12.0, 40.0, 40.0)
            arc.arcMoveTo(circle, 40.0)
            arc.arcTo(circle, 40.0, 280.0)
            stroker = QPainterPathStroker()
            stroker.setWidth(7.0)
            path = stroker.createStroke(arc)
            path.addPolygon(QPolygonF([QPointF(36.0, 30.0), QPointF(60.0, 30.0), QPointF(48.0, 10.0)]))
        case "open":
            path.addPolygon(
                QPolygonF([QPointF(6.0, 14.0), QPointF(26.0, 14.0), QPointF(32.0, 21.0), QPointF(6.0, 21.0)])
            )
            path.addRect(QRectF(6.0, 21.0, 52.0, 32.0))
        case _:
            raise ValueError(f"there is no icon {name!r}")
    return path


def _triangle(path: QPainterPath, base: float, tip: float) -> None:
    path.addPolygon(QPolygonF([QPointF(base, 10.0), QPointF(tip, 32.0), QPointF(base, 54.0)]))

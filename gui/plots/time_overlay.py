"""What lies over the picture of a stack and goes with the cursor: headings with values, cursors, the focus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen

from gui.plots.pixmap_cache import PixmapCache
from gui.plots.time_heading import draw_heading
from gui.plots.time_layout import MARGIN
from gui.plots.time_legend import heading
from gui.plots.time_reading import Reading
from gui.plots.time_scene import Scene
from gui.plots.time_ticks import duration_text


def draw_headings(painter: QPainter, scene: Scene, readings: Sequence[Reading], kept: PixmapCache) -> None:
    """Draw the headings of the rows in sight, with what is read in each."""
    places, theme = scene.places, scene.theme
    right = places.plot_left + places.plot_width
    painter.save()
    painter.setClipRect(QRect(0, 0, scene.area.width(), scene.axis_top))
    for i in scene.seen:
        row, place = scene.rows[i], places.rows[i]
        box = QRectF(MARGIN, place.top - scene.scrolled, right - MARGIN, place.plot_top - place.top)
        shown = heading(row, readings[i], scene.unit(i), scene.ranges[row.key])
        ink = partial(draw_heading, heading=shown, theme=theme)
        kept.draw(painter, ("heading", row.key), (shown, theme), box, QColor(theme.window), ink)
    painter.restore()


def draw_cursors(painter: QPainter, scene: Scene, cursor: float | None, pinned: float | None) -> None:
    """Draw both cursors with their time, that which moves over the pinned one, with the time between them."""
    if pinned is not None:
        _draw_cursor(painter, scene, pinned, QPen(QColor(scene.theme.accent), 1, Qt.PenStyle.DashLine), "")
    if cursor is not None:
        between = "" if pinned is None else f"   Δt {duration_text(cursor - pinned)}"
        _draw_cursor(painter, scene, cursor, QPen(QColor(scene.theme.text), 1), between)


def draw_focus(painter: QPainter, scene: Scene) -> None:
    """Show that the keys go here."""
    painter.setPen(QPen(QColor(scene.theme.accent), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(scene.area.adjusted(0, 0, -1, -1))


def _draw_cursor(painter: QPainter, scene: Scene, x: float, pen: QPen, more: str) -> None:
    places, at = scene.places, scene.scale.pixel(x)
    if not places.plot_left <= at <= places.plot_left + places.plot_width:
        return
    painter.setPen(pen)
    for i in scene.seen:
        # not through the headings, which are read
        place = places.rows[i]
        top, end = place.plot_top - scene.scrolled, min(place.bottom - scene.scrolled, scene.bottom)
        if top < end:
            painter.drawLine(QPointF(round(at), top), QPointF(round(at), end))
    text = scene.instant(x) + more
    metrics = QFontMetrics(painter.font())
    width = metrics.horizontalAdvance(text) + 8
    left = min(max(at - width / 2.0, 0.0), scene.area.width() - width)
    box = QRectF(left, scene.bottom + 2.0, width, metrics.height() + 2.0)
    painter.fillRect(box, pen.color())
    painter.setPen(QColor(scene.theme.base))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

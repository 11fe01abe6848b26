"""What is copied from memory is what would have been drawn, and no older."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from gui.plots.time.cache import PixmapCache, TextMetrics

GROUND, INK = QColor("#ffffff"), QColor("#204060")


def inked(painter, box):
    painter.fillRect(QRectF(box.left() + 3.0, box.top() + 2.0, 4.0, 5.0), INK)


def picture(ratio, draw):
    made = QImage(round(40 * ratio), round(30 * ratio), QImage.Format.Format_RGB32)
    made.setDevicePixelRatio(ratio)
    made.fill(GROUND)
    painter = QPainter(made)
    draw(painter)
    painter.end()
    return made


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("at", [(0.0, 0.0), (5.0, 7.0), (6.0, 3.0)])
def test_a_copy_is_what_would_have_been_drawn(qapp, ratio, at):
    pixmaps, box = PixmapCache(), QRectF(QPointF(*at), QPointF(at[0] + 20.0, at[1] + 12.0))
    drawn = picture(ratio, lambda painter: inked(painter, box))
    for _ in range(2):
        assert picture(ratio, lambda painter: pixmaps.draw(painter, "piece", 1, box, GROUND, inked)) == drawn


def test_it_is_drawn_anew_only_where_it_shows_something_else(qapp):
    pixmaps, drawn = PixmapCache(), []

    def draw(place, shows, ratio=1.0, ground=GROUND, size=12.0, points=9):
        def paint(painter):
            font = QFont(painter.font())
            font.setPointSize(points)
            painter.setFont(font)
            box = QRectF(1.0, 1.0, 20.0, size)
            pixmaps.draw(painter, place, shows, box, ground, lambda *_: drawn.append((place, shows)))

        before = len(drawn)
        picture(ratio, paint)
        return len(drawn) > before

    assert draw("a", "1.25 mm")
    assert not draw("a", "1.25 mm")
    assert draw("a", "1.26 mm")
    assert draw("b", "1.26 mm")
    assert not draw("a", "1.26 mm")
    for changes in ({"ratio": 2.0}, {"ground": INK}, {"size": 14.0}, {"points": 12}):
        assert draw("a", "1.26 mm", **changes)
        assert not draw("a", "1.26 mm", **changes)
    pixmaps.clear()
    assert draw("b", "1.26 mm")


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x3FF), max_size=12), st.booleans())
def test_widths_are_those_of_the_font(qapp, text, bold):
    font = QFont()
    font.setBold(bold)
    for _ in range(2):
        assert TextMetrics(font).width(text) == QFontMetricsF(font).horizontalAdvance(text)

"""Curves as columns of pixels, and the caches of what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from gui.plots.time.axis import TimeScale
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.curves import ColumnsImage, PixelColumns, ValueScale, runs
from gui.plots.time.decoration import unknown_spans
from gui.plots.time.rows import Trace

WIDTH, HEIGHT = 40, 30


VALUES = ValueScale(-10.0, 10.0, 0.0, float(HEIGHT))


cells = st.one_of(st.just(math.nan), st.floats(-9.9, 9.9))


def strip_of(first, second, width=1.0, begin=0.0):
    low, high = np.fmin(first, second), np.fmax(first, second)
    low[np.isnan(first)] = high[np.isnan(first)] = np.nan
    edges = begin + width * np.arange(len(low) + 1)
    return Trace(edges, edges[:-1] + width / 2, low, high, exact=False)


def painted(trace, time):
    image = ColumnsImage(WIDTH, HEIGHT)
    pixels = PixelColumns(trace.edges, time)
    image.add(pixels, pixels.heights(trace, VALUES), QColor("#ff0000"))
    made = image.image()
    return np.array([[made.pixelColor(x, y).alpha() > 0 for x in range(WIDTH)] for y in range(HEIGHT)])


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.integers(1, 90), elements=cells),
    st.floats(0.3, 1.7),
    st.floats(-20.0, 20.0),
    st.randoms(use_true_random=False),
)
def test_every_value_is_painted_and_nothing_where_there_is_none(first, width, begin, random):
    """A bucket of `width` pixels that begins anywhere covers its own pixels, and joins only neighbours."""
    second = np.array([value + random.uniform(-0.05, 0.05) for value in first])
    trace = strip_of(first.copy(), second, width, begin)
    found = painted(trace, TimeScale(0.0, float(WIDTH), 0.0, float(WIDTH)))
    columns = np.floor(trace.edges).astype(int)
    known = ~np.isnan(trace.low)
    for x in range(WIDTH):
        # buckets that begin in this column of pixels; where none does, the one that reaches over it
        here = np.flatnonzero(columns[:-1] == x)
        if not len(here):
            here = np.flatnonzero((columns[:-1] < x) & (columns[1:] > x))[-1:]
        here = here[known[here]]
        if not len(here):
            assert not found[:, x].any()
            continue
        rows = np.flatnonzero(found[:, x])
        assert len(rows)
        assert (np.diff(rows) == 1).all()
        assert rows[0] <= math.floor(VALUES.pixel(trace.high[here].max()))
        assert rows[-1] >= math.floor(VALUES.pixel(trace.low[here].min()))


def test_a_steep_curve_has_no_holes():
    values = np.array([-8.0, 8.0, -8.0, 8.0])
    found = painted(strip_of(values.copy(), values), TimeScale(0.0, float(WIDTH), 0.0, float(WIDTH)))
    for x in (1, 2, 3):
        assert found[math.floor(VALUES.pixel(8.0)) + 1 : math.floor(VALUES.pixel(-8.0)), x].all()


def test_a_gap_is_not_bridged():
    values = np.array([-8.0, math.nan, 8.0])
    found = painted(strip_of(values.copy(), values.copy()), TimeScale(0.0, float(WIDTH), 0.0, float(WIDTH)))
    assert found.sum(axis=0)[:4].tolist() == [1, 0, 1, 0]


def test_the_later_curve_lies_over_the_earlier():
    trace = strip_of(np.array([0.0]), np.array([0.0]))
    image = ColumnsImage(4, HEIGHT)
    pixels = PixelColumns(trace.edges, TimeScale(0.0, 4.0, 0.0, 4.0))
    for colour in ("#ff0000", "#00ff00"):
        image.add(pixels, pixels.heights(trace, VALUES), QColor(colour))
    assert image.image().pixelColor(0, math.floor(VALUES.pixel(0.0))) == QColor("#00ff00")


@given(st.lists(st.booleans(), max_size=30))
def test_runs_are_where_it_is_true(known):
    found = np.zeros(len(known), dtype=bool)
    for begin, end in runs(np.array(known, dtype=bool)):
        assert begin < end
        found[begin:end] = True
    assert found.tolist() == known


def test_what_no_curve_knows_is_told():
    one = strip_of(np.array([1.0, math.nan, math.nan, 1.0]), np.full(4, 1.0))
    edges, nan = one.edges, np.full(4, math.nan)
    other = Trace(edges, one.centers, np.array([math.nan, 2.0, math.nan, math.nan]), nan, exact=False)
    assert unknown_spans([one, other], -1.0, 6.0) == [(-1.0, 0.0), (2.0, 3.0), (4.0, 6.0)]
    assert unknown_spans([], 0.0, 1.0) == [(0.0, 1.0)]


@pytest.mark.parametrize("value", [-1e300, 1e300])
def test_what_is_far_outside_does_not_overflow(value):
    values = np.array([0.0, value, 0.0])
    found = painted(strip_of(values.copy(), values), TimeScale(0.0, float(WIDTH), 0.0, float(WIDTH)))
    assert found[:, 1].any()


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

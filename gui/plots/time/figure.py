"""Rows over time as a figure: all of them, with a legend in place of readouts, and curves as lines."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.figure import PAPER, Figure, Page
from gui.plots.time.cache import DrawFunction, PixmapCache, TextMetrics
from gui.plots.time.decoration import colour_of, translucent
from gui.plots.time.picture import BAND_ALPHA, ScenePainter
from gui.plots.time.rows import CurveStyle, Frame, PlotRow
from gui.plots.time.scene import LANE_BAR, MARGIN, RowPlace, Scene, StackLayout
from gui.plots.time.stack import TimeStack
from gui.widgets.painting import font_like

_ROW_SHARE = 0.14  # height of a row, of the width of a figure in two columns
_LEAST = 0.08  # at least, where many rows share a page
_GAP = 5
_SAMPLE = 16.0
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class _Uncached(PixmapCache):
    """Draws everything, on every device."""

    def draw(
        self, painter: QPainter, place: Hashable, shows: object, box: QRectF, background: QColor, draw: DrawFunction
    ) -> None:
        """Draw a part into a box."""
        del place, shows, background
        draw(painter, box)


@dataclass(frozen=True, slots=True)
class _Heading:
    """Name of a row, and its legend in lines; with room, the first is beside the name."""

    row: PlotRow
    lines: tuple[tuple[CurveStyle, ...], ...]
    beside: bool

    @property
    def n_lines(self) -> int:
        """Lines of text."""
        return 1 + len(self.lines) - (self.beside and bool(self.lines))


def time_figure(title: str, stack: TimeStack, frame: Frame, page: Page) -> Figure:
    """Return a figure of a stack's rows, with the scales of the screen.

    Parameters
    ----------
    frame : data of all rows.
    """
    rows, ranges, font = stack.rows, deepcopy(stack.scene.ranges), page.font(stack.font())
    # rows that were not visible have no scales yet
    ranges.update(rows, frame)
    metrics = TextMetrics(font)
    headings = _headings(rows, metrics, page.width - 2 * MARGIN)
    places = _layout(headings, page, metrics)
    area = QRect(0, 0, page.width, places.height + places.axis_height)
    scene = Scene(rows, ranges, frame, places, area, 0, PAPER, smooth=True, as_vectors=True)

    def draw(painter: QPainter) -> None:
        painter.save()
        painter.setFont(font)
        ScenePainter(painter, scene, _Uncached()).draw()
        left, width = places.plot_left, places.plot_width
        frames = [QRect(left - 1, at.plot_top - 1, width + 1, at.plot_height + 1) for at in places.rows]
        painter.setPen(QPen(QColor(PAPER.muted), 0.8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRects(frames)
        for i, heading in enumerate(headings):
            box = QRectF(MARGIN, places.rows[i].top, page.width - 2 * MARGIN, metrics.height)
            _draw_heading(painter, box, heading, scene.unit(i).unit)
        painter.restore()

    return Figure(title, QSizeF(area.size()), draw)


def _headings(rows: Sequence[PlotRow], metrics: TextMetrics, width: float) -> list[_Heading]:
    """Return the headings; a legend that is the same as the last one above is not repeated."""
    found: list[_Heading] = []
    last: tuple[CurveStyle, ...] = ()
    for row in rows:
        # a single curve that has the name of its row needs no legend
        one = len(row.curves) == 1 and row.curves[0].label in (row.name, row.quantity)
        curves = () if one else tuple(curve for curve in row.curves if not curve.hidden)
        if curves == last:
            curves = ()
        last = curves or last
        lines = _lines(curves, metrics, width)
        name = metrics.width(_name(row, "[mm²]")) * 1.1 + 2 * _SAMPLE
        beside = len(lines) == 1 and name + _width(lines[0], metrics) <= width
        found.append(_Heading(row, lines, beside))
    return found


def _lines(curves: Sequence[CurveStyle], metrics: TextMetrics, width: float) -> tuple[tuple[CurveStyle, ...], ...]:
    """Divide a legend into lines."""
    lines: list[list[CurveStyle]] = []
    for curve in curves:
        if lines and _width((*lines[-1], curve), metrics) <= width:
            lines[-1].append(curve)
        else:
            lines.append([curve])
    return tuple(map(tuple, lines))


def _width(curves: Sequence[CurveStyle], metrics: TextMetrics) -> float:
    return sum(_SAMPLE + 16.0 + metrics.width(curve.label) for curve in curves) - 12.0


def _layout(headings: Sequence[_Heading], page: Page, metrics: TextMetrics) -> StackLayout:
    """Lay the rows out: as high as they should be, lower where the page is full, but readable on a longer one."""
    line = metrics.height
    digit = metrics.width("0")
    gutter = round(7 * digit) + MARGIN
    # limits are labelled in the margin
    margin = round(11 * digit) + MARGIN if any(heading.row.limits for heading in headings) else 2 * MARGIN
    lane = round(line) + LANE_BAR
    axis = round(line + 8) + lane
    texts = [round(heading.n_lines * line + 3) for heading in headings]
    wide = page.width if page.mm > 100.0 else 1.6 * page.width
    weights = sum(heading.row.weight for heading in headings)
    free = page.height - axis - sum(texts) - _GAP * len(texts) - 3 * line
    each = max(_LEAST * wide, min(_ROW_SHARE * wide, free / weights))
    places, top = [], 0
    for heading, text in zip(headings, texts, strict=True):
        plot = round(each * heading.row.weight)
        places.append(RowPlace(top, top + text, plot))
        top += text + plot + _GAP
    return StackLayout(gutter, max(1, page.width - gutter - margin), margin, axis, lane, top, tuple(places))


def _name(row: PlotRow, unit: str) -> str:
    return " ".join(filter(None, (row.name, row.quantity, unit)))


def _draw_heading(painter: QPainter, box: QRectF, heading: _Heading, unit: str) -> None:
    """Draw the name of a row with its unit, and its legend, at the right of it or below."""
    row, plain, bold = heading.row, painter.font(), font_like(painter.font(), bold=True)
    metrics = TextMetrics(plain)
    painter.setPen(QColor(PAPER.text))
    painter.setFont(bold)
    painter.drawText(box, _LEFT, row.name)
    left = box.left() + (TextMetrics(bold).width(row.name) + 5.0 if row.name else 0.0)
    painter.setFont(plain)
    rest = " ".join(filter(None, (row.quantity, f"[{unit}]" if unit else "")))
    painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()), _LEFT, rest)
    left += metrics.width(rest)
    more = f"{', ' if rest else ''}{row.legend}" if row.legend else ""
    legend = _width(heading.lines[0], metrics) + 12.0 if heading.beside else 0.0
    if more and left + metrics.width(more) <= box.right() - legend:
        painter.setPen(QColor(PAPER.muted))
        painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()), _LEFT, more)
    for number, line in enumerate(heading.lines):
        x = box.right() - _width(line, metrics) if heading.beside else box.left()
        y = box.top() + (number + (not heading.beside)) * box.height()
        for curve in line:
            _draw_entry(painter, QRectF(x, y, box.right() - x, box.height()), curve)
            x += _SAMPLE + 16.0 + metrics.width(curve.label)


def _draw_entry(painter: QPainter, box: QRectF, curve: CurveStyle) -> None:
    pen = QPen(QColor(colour_of(PAPER, curve.colour)), 1.0 if curve.faint else 1.6)
    if curve.dashed:
        pen.setDashPattern([3.0, 2.0])
    y = box.center().y()
    if curve.filled:
        painter.fillRect(QRectF(box.left(), y - 3.0, _SAMPLE, 6.0), translucent(pen.color().name(), BAND_ALPHA))
    else:
        painter.setPen(pen)
        painter.drawLine(QPointF(box.left(), y), QPointF(box.left() + _SAMPLE, y))
    painter.setPen(QColor(PAPER.text))
    painter.drawText(box.adjusted(_SAMPLE + 4.0, 0.0, 0.0, 0.0), _LEFT, curve.label)

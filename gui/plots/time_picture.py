"""The still part of a stack of rows: grounds, grids, curves, limits, marks and the time axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPaintEngine, QPainter, QPen

from gui.event_text import kind_level, kind_word
from gui.level_colour import level_colour
from gui.plots.time_curves import CurvePainter, PixelColumns, ValueScale, runs
from gui.plots.time_layout import MARGIN, RowPlace, StackLayout
from gui.plots.time_range import ValueRange
from gui.plots.time_raster import ColumnsImage
from gui.plots.time_row import Curve, Frame, Row, RowData, Strip, colour_of
from gui.plots.time_scale import TimeScale, axis_unit, breaks, time_ticks
from gui.plots.time_ticks import decimals_of, ticks, value_text
from gui.plots.time_unit import ShownUnit, most_ticks, shown_unit, unit_text
from gui.theme import Theme
from monitor.blocks import Samples

_BAND_ALPHA = 56
_FAINT_ALPHA = 110
_MOST_DASHED = 20  # lines; more of them take too long
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class StackPicture:
    """Draw a frame.

    Parameters
    ----------
    painter : begins where the rows begin.
    places : of the rows.
    frame : what is drawn.
    theme : its colours.
    """

    def __init__(self, painter: QPainter, places: StackLayout, frame: Frame, theme: Theme) -> None:
        self._painter, self._places, self._frame, self._theme = painter, places, frame, theme
        self._pixels: tuple[Samples, PixelColumns] | None = None
        self._raster = painter.paintEngine().type() is QPaintEngine.Type.Raster
        self._metrics = QFontMetricsF(painter.font())
        self._time = TimeScale(frame.left, frame.right, places.plot_left, places.plot_width)
        self._ticks = time_ticks(self._time, frame.segments, self._metrics.horizontalAdvance("00:00:00.000") + 16.0)

    def row(self, row: Row, place: RowPlace, limits: ValueRange, data: RowData | None) -> None:
        """Draw the curves of a row on their ground, and its value axis."""
        painter, theme = self._painter, self._theme
        plot = QRectF(self._places.plot_left, place.plot_top, self._places.plot_width, place.plot_height)
        values = ValueScale(limits.low, limits.high, plot.top(), plot.height())
        painter.save()
        painter.setClipRect(plot)
        painter.fillRect(plot, QColor(theme.base))
        self._ground(plot, data)
        self._grid(plot, values, shown_unit(row, limits, plot.height()))
        if data is not None:
            curves = CurvePainter(painter, self._time, values)
            for colour, strip in zip(row.bands, data.bands, strict=True):
                curves.band(strip, _translucent(colour_of(theme, colour), _BAND_ALPHA))
            # what is faint lies below
            pairs = sorted(zip(row.curves, data.curves, strict=True), key=lambda pair: not pair[0].faint)
            dense = [pair for pair in pairs if self._raster and not pair[1].exact and not pair[0].dashed]
            if dense:
                self._dense(plot, limits, dense)
            for curve, strip in pairs:
                if (curve, strip) not in dense:
                    curves.curve(strip, self._colour(curve), dashed=curve.dashed)
        self._marks(plot)
        self._limits(row, plot, values)
        painter.restore()
        painter.setPen(QColor(theme.grid))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(plot.adjusted(-0.5, -0.5, 0.5, 0.5).toRect())

    def _colour(self, curve: Curve) -> QColor:
        colour = colour_of(self._theme, curve.colour)
        return _translucent(colour, _FAINT_ALPHA) if curve.faint else QColor(colour)

    def _dense(self, plot: QRectF, limits: ValueRange, curves: Sequence[tuple[Curve, Strip]]) -> None:
        """Draw curves of which several rows share a pixel, in pixels of the device."""
        ratio = self._painter.device().devicePixelRatioF()
        width, height = round(plot.width() * ratio), round(plot.height() * ratio)
        time = TimeScale(self._frame.left, self._frame.right, 0.0, width)
        values = ValueScale(limits.low, limits.high, 0.0, height)
        made = ColumnsImage(width, height, ratio)
        for curve, strip in curves:
            if len(strip.low):
                # curves of one envelope have one array of edges
                if self._pixels is None or self._pixels[0] is not strip.edges:
                    self._pixels = strip.edges, PixelColumns(strip.edges, time)
                pixels = self._pixels[1]
                made.add(pixels, pixels.heights(strip, values), self._colour(curve))
        self._painter.drawImage(plot.topLeft(), made.image())

    def axis(self, top: float) -> None:
        """Draw the time axis below `top`: what the labels are, on the left, and the labels."""
        painter, places = self._painter, self._places
        painter.setPen(QColor(self._theme.muted))
        height = places.axis_height - 3.0
        unit = QRectF(MARGIN, top + 3.0, places.plot_left - 2 * MARGIN, height)
        painter.drawText(unit, _LEFT, axis_unit(self._frame.segments))
        taken, right = places.plot_left - 2.0, places.plot_left + places.plot_width + MARGIN
        for tick in self._ticks:
            x, width = self._time.pixel(tick.x), self._metrics.horizontalAdvance(tick.text)
            if not places.plot_left - 0.5 <= x <= right - MARGIN + 0.5:
                continue
            painter.drawLine(QPointF(x, top), QPointF(x, top + 3.0))
            begin = min(max(x - width / 2.0, places.plot_left - 2.0), right - width)
            if begin >= taken:
                painter.drawText(QRectF(begin, top + 3.0, width + 1.0, height), _LEFT, tick.text)
                taken = begin + width + 10.0

    def mark_words(self, plot: QRectF) -> None:
        """Write beside the marks what they are, where there is room: in the last row that is seen."""
        taken = plot.left()
        for mark in self._frame.marks:
            x = self._time.pixel(mark.x) + 3.0
            text = kind_word(mark.event.kind)
            width = self._metrics.horizontalAdvance(text)
            if x < taken or x + width > plot.right():
                continue
            box = QRectF(x, plot.bottom() - self._metrics.height() - 1.0, width + 1.0, self._metrics.height())
            self._tag(box, text, level_colour(self._theme, kind_level(mark.event.kind)))
            taken = x + width + 8.0

    def _ground(self, plot: QRectF, data: RowData | None) -> None:
        """Grey what has no value, and hatch where the rig's clock does not go on."""
        grey = QColor(self._theme.invalid)
        segments = self._frame.segments
        # what is to come is not missing
        newest = min(self._frame.right, segments[-1].x_end) if segments else self._frame.right
        if data is None or not data.curves:
            self._painter.fillRect(plot, grey)
        else:
            for begin, end in unknown_spans(data.curves, self._frame.left, newest):
                left, right = self._time.pixel(begin), self._time.pixel(end)
                if right - left >= 0.5:
                    self._painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), grey)
        for begin, end in breaks(segments, self._frame.left, self._frame.right):
            left, right = self._time.pixel(begin), self._time.pixel(end)
            self._painter.setPen(Qt.PenStyle.NoPen)
            self._painter.setBrush(QColor(self._theme.muted))
            self._painter.setOpacity(0.35)
            self._painter.fillRect(QRectF(left, plot.top(), max(2.0, right - left), plot.height()),
                                   Qt.BrushStyle.BDiagPattern)  # fmt: skip
            self._painter.setOpacity(1.0)

    def _grid(self, plot: QRectF, values: ValueScale, unit: ShownUnit) -> None:
        painter, theme = self._painter, self._theme
        painter.setPen(QPen(QColor(theme.grid), 1))
        for tick in self._ticks:
            x = round(self._time.pixel(tick.x))
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        marks, step = ticks(values.low * unit.factor, values.high * unit.factor, most_ticks(plot.height()))
        places = [(round(values.pixel(mark / unit.factor)), mark) for mark in marks.tolist()]
        for y, _ in places:
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        painter.setClipping(False)
        painter.setPen(QColor(theme.muted))
        height = self._metrics.height()
        for y, mark in places:
            # the outermost labels stay within their row
            top = min(max(y - height / 2.0, plot.top() - 2.0), plot.bottom() - height + 2.0)
            painter.drawText(QRectF(0.0, top, plot.left() - 5.0, height), _RIGHT, value_text(mark, decimals_of(step)))
        painter.setClipping(True)

    def _limits(self, row: Row, plot: QRectF, values: ValueScale) -> None:
        painter, height = self._painter, self._metrics.height()
        taken: list[QRectF] = []
        for limit in row.limits:
            y, colour = values.pixel(limit.value), colour_of(self._theme, limit.colour)
            seen = plot.top() <= y <= plot.bottom()
            text = f"{limit.word} {value_text(limit.value, _digits(limit.value))} {unit_text(row.unit)}".rstrip()
            if seen:
                pen = QPen(QColor(colour), 1)
                pen.setDashPattern([6.0, 4.0])
                painter.setPen(pen)
                painter.drawLine(QPointF(plot.left(), round(y)), QPointF(plot.right(), round(y)))
            else:
                text += " ↑" if y < plot.top() else " ↓"
            width = self._metrics.horizontalAdvance(text)
            top = min(max(y - height if y > plot.center().y() else y + 1.0, plot.top()), plot.bottom() - height)
            box = QRectF(plot.right() - width - 4.0, top, width + 2.0, height)
            while any(box.intersects(other) for other in taken):
                box.moveRight(box.left() - 8.0)
            if box.left() > plot.left():
                taken.append(box)
                self._tag(box, text, colour)

    def _marks(self, plot: QRectF) -> None:
        # many marks of one kind in one place are one line
        lines = {
            round(self._time.pixel(mark.x)): level_colour(self._theme, kind_level(mark.event.kind))
            for mark in self._frame.marks
        }
        for x, colour in lines.items():
            pen = QPen(QColor(colour), 1)
            if len(lines) <= _MOST_DASHED:
                pen.setDashPattern([2.0, 2.0])
            self._painter.setPen(pen)
            self._painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))

    def _tag(self, box: QRectF, text: str, colour: str) -> None:
        """Write on a ground that lets curves through but little."""
        self._painter.fillRect(box.adjusted(-1.0, 0.0, 1.0, 0.0), _translucent(self._theme.base, 200))
        self._painter.setPen(QColor(colour))
        self._painter.drawText(box, _CENTRE, text)


def unknown_spans(curves: Sequence[Strip], left: float, right: float) -> list[tuple[float, float]]:
    """Return where, within [left, right], no curve has a value."""
    covered: list[tuple[float, float]] = []
    for edges in {id(strip.edges): strip.edges for strip in curves}.values():
        known: NDArray[np.bool_] = np.zeros(len(edges) - 1, dtype=bool)
        for strip in curves:
            # the first that is known everywhere answers for all
            if strip.edges is edges and not known.all():
                known |= strip.known
        if len(known) and known.all():
            covered.append((float(edges[0]), float(edges[-1])))
            continue
        covered += [(float(edges[begin]), float(edges[end])) for begin, end in runs(known)]
    found, reached = [], left
    for begin, end in sorted(covered):
        if begin > reached:
            found.append((reached, min(begin, right)))
        reached = max(reached, end)
    if reached < right:
        found.append((reached, right))
    return [(begin, end) for begin, end in found if end > begin]


def _digits(value: float) -> int:
    return next(digits for digits in range(7) if round(value, digits) == value or digits == 6)


def _translucent(colour: str, alpha: int) -> QColor:
    made = QColor(colour)
    made.setAlpha(alpha)
    return made

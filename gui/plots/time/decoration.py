"""Draw background, grid, value and time axis, and the limit lines of a row with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.time.axis import ShownUnit, TimeScale, axis_unit, breaks, most_ticks, time_ticks
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.curves import ValueScale, runs
from gui.plots.time.rows import Frame, LimitLine, PlotRow, RowData, Trace
from gui.plots.time.scene import MARGIN, Scene
from gui.plots.value_axis import decimals_of, ticks, value_text
from gui.widgets.painting import narrowed
from gui.widgets.theme import Theme
from monitor.text.numbers import is_dated


def colour_of(theme: Theme, colour: str | int) -> str:
    """Return ``#rrggbb`` of a series, or of the colour of that name."""
    return theme.series[colour % len(theme.series)] if isinstance(colour, int) else str(getattr(theme, colour))


def translucent(colour: str, alpha: int) -> QColor:
    """Return a colour with the opacity `alpha`, 0 to 255."""
    made = QColor(colour)
    made.setAlpha(alpha)
    return made


_MIN_UNKNOWN = 0.5  # px of an unknown span that is drawn
_HATCHED = 0.35


def draw_background(
    painter: QPainter, plot: QRectF, time: TimeScale, frame: Frame, data: RowData | None, theme: Theme
) -> None:
    """Draw the background of one row: unknown spans in grey, breaks hatched."""
    painter.fillRect(plot, QColor(theme.base))
    _draw_unknown(painter, plot, time, frame, data, QColor(theme.invalid))
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.muted))
    painter.setOpacity(_HATCHED)
    for begin, end in breaks(frame.segments, frame.left, frame.right):
        left, right = time.pixel(begin), time.pixel(end)
        painter.fillRect(QRectF(left, plot.top(), max(2.0, right - left), plot.height()), Qt.BrushStyle.BDiagPattern)
    painter.restore()


def _draw_unknown(
    painter: QPainter, plot: QRectF, time: TimeScale, frame: Frame, data: RowData | None, grey: QColor
) -> None:
    if data is None or not data.curves:
        painter.fillRect(plot, grey)
        return
    # the future is not unknown
    newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
    for begin, end in unknown_spans(data.curves, frame.left, newest):
        left, right = time.pixel(begin), time.pixel(end)
        if right - left >= _MIN_UNKNOWN:
            painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), grey)


def unknown_spans(curves: Sequence[Trace], left: float, right: float) -> list[tuple[float, float]]:
    """Return the spans of [left, right] in which no curve has a value."""
    found, reached = [], left
    for begin, end in sorted(_known_spans(curves)):
        if begin > reached:
            found.append((reached, min(begin, right)))
        reached = max(reached, end)
    if reached < right:
        found.append((reached, right))
    return [(begin, end) for begin, end in found if end > begin]


def _known_spans(curves: Sequence[Trace]) -> list[tuple[float, float]]:
    """Return the spans in which any curve has a value; they may overlap."""
    found: list[tuple[float, float]] = []
    for edges in {id(trace.edges): trace.edges for trace in curves}.values():
        known: NDArray[np.bool_] = np.zeros(len(edges) - 1, dtype=bool)
        for trace in curves:
            # one complete curve is enough
            if trace.edges is edges and not known.all():
                known |= trace.known
        if len(known) and known.all():
            found.append((float(edges[0]), float(edges[-1])))
        else:
            found += [(float(edges[begin]), float(edges[end])) for begin, end in runs(known)]
    return found


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_LONGEST_LABELS = {True: "00:00:00.000", False: "0000.00"}  # of dated times and others
_LABEL_GAP = 10.0
OVERHANG = 2.0
"""px by which a label beside a plot may extend above or below its row."""
DIGIT_HEIGHT = 0.8
"""Of a line: digits have no descenders."""
_LABEL_STEPS = (1, 2, 5, 10, 20, 50, 100)


class TimeAxis:
    """Time axis that all rows share.

    Parameters
    ----------
    painter : draws the axis.
    scene : with the time scale.
    """

    def __init__(self, painter: QPainter, scene: Scene) -> None:
        self._painter, self._scene = painter, scene
        self._metrics = TextMetrics(painter.font())
        self._scale = scene.scale
        segments = scene.frame.segments
        dated = bool(segments) and is_dated(segments[-1].x_end + segments[-1].offset)
        width = self._metrics.width(_LONGEST_LABELS[dated]) + 16.0
        self._ticks = time_ticks(self._scale, scene.frame.segments, width)

    def draw_grid(self, plot: QRectF) -> None:
        """Draw the grid lines of a row."""
        self._painter.setPen(QPen(QColor(self._scene.theme.grid), 1))
        places = [round(self._scale.pixel(tick.x)) for tick in self._ticks]
        self._painter.drawLines([QLineF(x, plot.top(), x, plot.bottom()) for x in places])

    def draw(self, top: float) -> None:
        """Draw the unit and the tick labels below `top`."""
        painter, places = self._painter, self._scene.places
        painter.setPen(QColor(self._scene.theme.muted))
        height = places.axis_height - places.lane - 3.0
        unit = QRectF(MARGIN, top + 3.0, places.plot_left - 2 * MARGIN, height)
        painter.drawText(unit, _LEFT, axis_unit(self._scene.frame.segments))
        taken, right = places.plot_left - 2.0, places.plot_left + places.plot_width + MARGIN
        for tick in self._ticks:
            x, width = self._scale.pixel(tick.x), self._metrics.width(tick.text)
            if not places.plot_left - 0.5 <= x <= right - MARGIN + 0.5:
                continue
            painter.drawLine(QPointF(x, top), QPointF(x, top + 3.0))
            begin = min(max(x - width / 2.0, places.plot_left - 2.0), right - width)
            if begin >= taken:
                painter.drawText(QRectF(begin, top + 3.0, width + 1.0, height), _LEFT, tick.text)
                taken = begin + width + _LABEL_GAP


def draw_value_axis(
    painter: QPainter, plot: QRectF, row: str, values: ValueScale, unit: ShownUnit, theme: Theme, pixmaps: PixmapCache
) -> None:
    """Draw the horizontal grid lines of one row, and its tick labels on the left."""
    height = TextMetrics(painter.font()).height
    inset = values.top - plot.top()
    grid, labels = value_marks(values.low, values.high, unit.factor, plot.height(), inset, height)
    painter.setPen(QPen(QColor(theme.grid), 1))
    lines = (plot.top() + below for below in grid)
    painter.drawLines([QLineF(plot.left(), y, plot.right(), y) for y in lines])

    def write(painter: QPainter, box: QRectF) -> None:
        painter.setPen(QColor(theme.muted))
        # values that differ in their last digits only have long labels
        painter.setFont(narrowed(painter.font(), [text for _, text in labels], box.width()))
        for top, text in labels:
            painter.drawText(QRectF(box.left(), box.top() + OVERHANG + top, box.width(), height), _RIGHT, text)

    painter.setClipping(False)
    box = QRectF(0.0, plot.top() - OVERHANG, plot.left() - 5.0, plot.height() + 2.0 * OVERHANG)
    pixmaps.draw(painter, ("numbers", row), (labels, theme.muted), box, QColor(theme.window), write)
    painter.setClipping(True)


@lru_cache(maxsize=256)
def value_marks(
    low: float, high: float, factor: float, height: float, inset: float, line: float
) -> tuple[tuple[int, ...], tuple[tuple[float, str], ...]]:
    """Return the grid lines of an axis, px below its top, and its tick labels: top and text, none overlapping.

    Parameters
    ----------
    height, line : of the axis and of a label, px.
    inset : from the ends of the axis to the limits, px.
    """
    marks, step = ticks(low * factor, high * factor, most_ticks(height))
    decimals = decimals_of(step)
    pixels = inset + (high - marks / factor) * ((height - 2.0 * inset) / (high - low))
    # the outermost labels are kept within their row
    tops = np.clip(pixels - line / 2.0, -OVERHANG, height + OVERHANG - line)
    multiples = np.rint(marks / step)
    chosen = np.arange(len(marks))
    for parts in _LABEL_STEPS:
        # every tick, else every second one, ..., which includes zero
        chosen = np.flatnonzero(multiples % parts == 0)
        if (np.diff(tops[chosen]) <= -DIGIT_HEIGHT * line).all():
            break
    if len(chosen) < 2 and tops[0] - tops[-1] >= DIGIT_HEIGHT * line:
        chosen = np.array([0, len(marks) - 1])
    labels = tuple((float(tops[i]), value_text(float(marks[i]), decimals)) for i in chosen)
    return tuple(round(y) for y in pixels.tolist()), labels


_MAX_DECIMALS = 6
_GAP = 4.0


class LimitLabel(NamedTuple):
    """Label of a limit line, or the owner of one; `top` is in px below that of the plot."""

    top: float
    text: str
    colour: str


def draw_limit_lines(painter: QPainter, plot: QRectF, row: PlotRow, values: ValueScale, theme: Theme) -> None:
    """Draw the limit lines of a row that are within its scale."""
    for limit in row.limits:
        y = values.pixel(limit.value)
        if plot.top() <= y <= plot.bottom():
            pen = QPen(QColor(colour_of(theme, limit.colour)), 1)
            if limit.pending:
                pen.setDashPattern([1.0, 4.0])
            elif not limit.solid:
                pen.setDashPattern([6.0, 4.0])
            painter.setPen(pen)
            painter.drawLine(QPointF(plot.left(), round(y)), QPointF(plot.right(), round(y)))


def draw_limit_labels(
    painter: QPainter, box: QRectF, row: PlotRow, values: ValueScale, unit: ShownUnit, theme: Theme,
    pixmaps: PixmapCache,
) -> None:  # fmt: skip
    """Draw the labels of the limit lines of a row into its right margin `box`, as high as the plot."""
    if not row.limits:
        return
    metrics = TextMetrics(painter.font())
    labels = tuple(limit_labels(row.limits, values, unit, box.width() - _GAP, metrics))
    box = box.adjusted(_GAP, -OVERHANG, 0.0, OVERHANG)

    def write(painter: QPainter, box: QRectF) -> None:
        for label in labels:
            painter.setPen(QColor(colour_of(theme, label.colour)))
            place = QRectF(box.left(), box.top() + OVERHANG + label.top, box.width(), metrics.height)
            painter.drawText(place, _LEFT, label.text)

    pixmaps.draw(painter, ("limits", row.key), (labels, theme), box, QColor(theme.window), write)


def limit_labels(
    limits: Iterable[LimitLine], values: ValueScale, unit: ShownUnit, width: float, metrics: TextMetrics
) -> list[LimitLabel]:
    """Return labels that do not overlap, each beside its line; of limits outside the scale with an arrow.

    Where there is no room for all, those within the scale come first, of these trip limits. The owner is in the
    label, in place of the word, in a line below, or omitted.

    Parameters
    ----------
    width : of the margin, px.
    """
    lowest, line = values.height + OVERHANG - metrics.height, metrics.height
    found: list[LimitLabel] = []

    def is_free(top: float) -> bool:
        return -OVERHANG <= top <= lowest and all(abs(top - other.top) >= line - 1.0 for other in found)

    owners: list[LimitLabel] = []
    # lines that are drawn first; of others the nearest
    outside = {each: max(values.low - each.value, each.value - values.high, 0.0) for each in limits}
    order = sorted(outside, key=lambda each: (outside[each] > 0.0, not each.solid, outside[each]))
    for limit in order:
        y = values.pixel(limit.value) - values.top
        wanted = min(max(y - line / 2.0, -OVERHANG), lowest)
        # beside its line, else next to the labels that are there
        near = [other.top + side for other in found for side in (line, -line)]
        nearest = sorted([wanted, *near], key=lambda top: abs(top - wanted))
        top = next((top for top in nearest if is_free(top)), None)
        if top is None or abs(top - wanted) > line:
            continue
        arrow = " ↑" if y < 0.0 else " ↓" if y > values.height else ""
        # of "display limit" the last word is enough
        word = limit.word.rpartition(" ")[2]
        number = f"{limit_number(limit.value, unit)}{arrow}{' …' * limit.pending}"
        text = " ".join(filter(None, (word, limit.owner, number)))
        if limit.owner and metrics.width(text) > width:
            # the line is dashed or solid, and has the colour of the word
            text = f"{limit.owner} {number}"
        if limit.owner and metrics.width(text) > width:
            owners.append(LimitLabel(top, metrics.elided(limit.owner, width), limit.colour))
            text = f"{word} {number}"
        found.append(LimitLabel(top, text, limit.colour))
    for owner in owners:
        below = next((top for top in (owner.top + line, owner.top - line) if is_free(top)), None)
        if below is not None:
            found.append(owner._replace(top=below))
    return found


def limits_tip(row: PlotRow, unit: ShownUnit) -> str:
    """Return the limits of a row, the highest first, a line each."""
    return "\n".join(
        " ".join(
            filter(
                None,
                (limit.word, limit.owner, limit_number(limit.value, unit), unit.unit, "(pending)" * limit.pending),
            )
        )
        for limit in sorted(row.limits, key=lambda each: -each.value)
    )


def limit_number(limit: float, unit: ShownUnit) -> str:
    """Return a limit as a number in the unit of the display."""
    # limits are round numbers; their products with a factor are not
    value = float(f"{limit * unit.factor:.6g}")
    decimals = next((n for n in range(_MAX_DECIMALS) if round(value, n) == value), _MAX_DECIMALS)
    return value_text(value, decimals)

"""Limit lines of a row: the lines in the plot, their labels in the right margin, and their tool tip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.plots.time.axis import ShownUnit
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.curves import ValueScale
from gui.plots.time.decoration import OVERHANG, colour_of
from gui.plots.time.rows import LimitLine, PlotRow
from gui.plots.value_axis import value_text
from gui.widgets.theme import Theme

_MAX_DECIMALS = 6
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
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

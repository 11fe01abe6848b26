"""The heading of a row: what it shows on the left, each curve with its value on the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from gui.plots.time_range import ValueRange
from gui.plots.time_row import Curve, Row, colour_of
from gui.plots.time_ticks import MINUS, value_text
from gui.plots.time_unit import ShownUnit
from gui.theme import Theme

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SAMPLE = 12.0
_GAP = 12.0
_FINER = 2  # decimals of a value beyond those of the axis
_MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of a row's curves, and by how much they differ from those at the pinned instant."""

    values: Sequence[float]
    differences: Sequence[float] | None = None
    stale: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the legend says of one curve."""

    curve: Curve
    value: str
    difference: str = ""


def entries(row: Row, reading: Reading, unit: ShownUnit) -> list[Entry]:
    """Return the texts; values have the unit at their end."""
    decimals = min(_MOST_DECIMALS, unit.decimals + _FINER)

    def text(value: float) -> str:
        shown = value_text(value * unit.factor, decimals)
        return f"{shown} {unit.unit}".rstrip() if math.isfinite(value) else shown

    values = [*reading.values, *[math.nan] * (len(row.curves) - len(reading.values))]
    found = []
    for i, curve in enumerate(row.curves):
        differences = reading.differences
        difference = "" if differences is None or i >= len(differences) else f"Δ {text(differences[i])}"
        found.append(Entry(curve, text(values[i]), difference))
    return found


def draw_heading(
    painter: QPainter,
    box: QRectF,
    row: Row,
    reading: Reading,
    unit: ShownUnit,
    limits: ValueRange,
    theme: Theme,
) -> None:
    """Draw the heading of a row into `box`; entries without room are counted."""
    metrics = QFontMetricsF(painter.font())
    # what is background comes last, and goes first where there is no room
    found = sorted(entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    number = _number_width(metrics, unit, limits)
    wanted = sum(_entry_width(metrics, entry, number) + _GAP for entry in found)
    name_end = _draw_name(painter, box, row, unit, theme, box.right() - wanted)
    free = box.right() - name_end - _GAP
    if reading.stale:
        free -= metrics.horizontalAdvance(reading.stale) + _GAP
    shown = _fitting(metrics, found, number, free)
    if not shown:
        # no room for any word: the colours say which is which, and the tool tip
        wordless = [replace(entry, curve=replace(entry.curve, label="")) for entry in found]
        shown = _fitting(metrics, wordless, number, free)
    right = box.right()
    if len(shown) < len(found):
        text = f"…+{len(found) - len(shown)}"
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(box.left(), box.top(), right - box.left(), box.height()), _RIGHT, text)
        right -= metrics.horizontalAdvance(text) + _GAP
    for entry, width in reversed(shown):
        _draw_entry(painter, QRectF(right - width, box.top(), width, box.height()), entry, number, reading, theme)
        right -= width + _GAP
    if reading.stale:
        painter.setPen(QColor(theme.bad))
        painter.drawText(QRectF(name_end, box.top(), right - name_end, box.height()), _RIGHT, reading.stale)


def _fitting(metrics: QFontMetricsF, found: Sequence[Entry], number: float, free: float) -> list[tuple[Entry, float]]:
    """Return the first entries that fit, and how wide they are; where some do not, their count must fit as well."""
    widths = [_entry_width(metrics, entry, number) + _GAP for entry in found]
    if sum(widths) - _GAP > free:
        free -= metrics.horizontalAdvance("…+00")
    ends = accumulate(widths)
    return [
        (entry, width - _GAP) for entry, width, end in zip(found, widths, ends, strict=True) if end - _GAP <= free
    ]


def _draw_name(painter: QPainter, box: QRectF, row: Row, unit: ShownUnit, theme: Theme, end: float) -> float:
    """Draw all of it where it ends before `end`, else only what must be there; return where it ends."""
    plain, bold = painter.font(), QFont(painter.font())
    bold.setBold(True)
    painter.setFont(bold)
    painter.setPen(QColor(theme.text))
    width = QFontMetricsF(bold).horizontalAdvance(row.name)
    painter.drawText(QRectF(box.left(), box.top(), width + 1.0, box.height()), _LEFT, row.name)
    painter.setFont(plain)
    painter.setPen(QColor(theme.muted))
    left = box.left() + width + (6.0 if row.name else 0.0)
    metrics = QFontMetricsF(plain)
    rest = " ".join(filter(None, (row.quantity, f"[{unit.unit}]" if unit.unit else "")))
    longer = ", ".join(filter(None, (rest, row.legend)))
    if left + metrics.horizontalAdvance(longer) < end:
        rest = longer
    rest = metrics.elidedText(rest, Qt.TextElideMode.ElideRight, box.right() - left)
    painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()), _LEFT, rest)
    return left + metrics.horizontalAdvance(rest)


def _draw_entry(painter: QPainter, box: QRectF, entry: Entry, number: float, reading: Reading, theme: Theme) -> None:
    metrics = QFontMetricsF(painter.font())
    colour = QColor(colour_of(theme, entry.curve.colour))
    pen = QPen(colour, 1 if entry.curve.faint else 2)
    if entry.curve.dashed:
        pen.setDashPattern([2.0, 1.5])
    painter.setPen(pen)
    y = box.center().y()
    painter.drawLine(QPointF(box.left(), y), QPointF(box.left() + _SAMPLE, y))
    left = box.left() + _SAMPLE + 4.0
    painter.setPen(QColor(theme.muted))
    painter.drawText(QRectF(left, box.top(), box.width(), box.height()), _LEFT, entry.curve.label)
    left += metrics.horizontalAdvance(entry.curve.label) + 4.0
    painter.setPen(QColor(theme.muted if reading.stale else theme.text))
    painter.drawText(QRectF(left, box.top(), number, box.height()), _RIGHT, entry.value)
    if entry.difference:
        painter.setPen(QColor(theme.accent))
        painter.drawText(QRectF(left + number, box.top(), box.right() - left - number, box.height()), _RIGHT,
                         entry.difference)  # fmt: skip


def _entry_width(metrics: QFontMetricsF, entry: Entry, number: float) -> float:
    width = _SAMPLE + 8.0 + metrics.horizontalAdvance(entry.curve.label) + number
    return width + (number + metrics.horizontalAdvance("Δ ") + 4.0 if entry.difference else 0.0)


def _number_width(metrics: QFontMetricsF, unit: ShownUnit, limits: ValueRange) -> float:
    """Return the room of the widest value, so that nothing moves when a digit comes or goes."""
    decimals = min(_MOST_DECIMALS, unit.decimals + _FINER)
    largest = max(abs(limits.low), abs(limits.high)) * unit.factor
    whole = len(f"{largest:.0f}") if math.isfinite(largest) else 1
    text = MINUS + "8" * (whole + decimals) + ("." if decimals else "") + (f" {unit.unit}" if unit.unit else "")
    return metrics.horizontalAdvance(text)

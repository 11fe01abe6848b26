"""Readouts at the cursor: values and differences, the row headers that show them, and their update rate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from gui.plots.time.axis import ShownUnit, segment_at
from gui.plots.time.cache import TextMetrics
from gui.plots.time.decoration import colour_of, translucent
from gui.plots.time.rows import CurveStyle, Facts, Frame, Interval, PlotRow
from gui.plots.value_axis import MINUS, ValueRange, value_text
from gui.widgets.theme import Theme


@dataclass(frozen=True, slots=True)
class Readout:
    """Values of a row's curves, their differences to the pinned cursor, and facts about the span."""

    values: Sequence[Interval]
    differences: Sequence[Interval] | None = None
    stale: str = ""
    facts: Facts = ()


def readouts(frame: Frame, n_rows: int, cursor: float | None, pinned: float | None) -> list[Readout]:
    """Return the readout of every row: at the cursor, else at the pinned cursor, else at the right edge.

    Only values at the right edge can be stale.
    """
    at = pinned if cursor is None else cursor
    now = _read(frame, n_rows, frame.right if at is None else at)
    stale = frame.stale if at is None else ""
    facts = [() if row is None else row.facts for row in frame.rows] or [()] * n_rows
    if cursor is None or pinned is None:
        return [Readout(values, None, stale, fact) for values, fact in zip(now, facts, strict=True)]
    then = _read(frame, n_rows, pinned)
    return [
        # zip ends with the shorter: no difference where a value is missing
        Readout(values, [a.minus(b) for a, b in zip(values, before, strict=False)], stale, fact)
        for values, before, fact in zip(now, then, facts, strict=True)
    ]


def _read(frame: Frame, n_rows: int, x: float) -> list[Sequence[Interval]]:
    """Return the values of every row at `x`; none in a break of the rig's clock."""
    in_break = bool(frame.segments) and segment_at(frame.segments, x) is None
    found = () if in_break else frame.read(x)
    return [found[i] if i < len(found) else () for i in range(n_rows)]


DELTA = "Δ "
RANGE = " … "
_EXTRA_DECIMALS = 2  # of a value, beyond those of the axis
_MAX_DECIMALS = 6
_UNKNOWN = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """Legend of one curve: its style, value and difference."""

    curve: CurveStyle
    value: str
    difference: str = ""


def legend_entries(row: PlotRow, reading: Readout, unit: ShownUnit) -> list[LegendEntry]:
    """Return the legend of a row; values with their unit, or a range where the value is not exact."""
    n = len(row.curves)
    values = [_known_text(value, unit) for value in _filled(reading.values, n)]
    differences = [""] * n
    if reading.differences is not None:
        differences = [DELTA + _known_text(value, unit) for value in _filled(reading.differences, n)]
    return [LegendEntry(*entry) for entry in zip(row.curves, values, differences, strict=True)]


@dataclass(frozen=True, slots=True)
class RowHeader:
    """Content of a row header.

    Parameters
    ----------
    row : the row.
    unit : of the values; empty where they have none.
    entries : of the curves; faint ones last, which are the first to be left out.
    widest : widest value within the axis limits, which sets the column width.
    stale : state of the service where the values are old; else empty.
    facts : names and values.
    """

    row: PlotRow
    unit: str
    entries: tuple[LegendEntry, ...]
    widest: str
    stale: str
    facts: tuple[tuple[str, str], ...] = ()


def row_header(row: PlotRow, reading: Readout, unit: ShownUnit, limits: ValueRange) -> RowHeader:
    """Return the header of a row."""
    found = sorted(legend_entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    return RowHeader(
        row, unit.unit, tuple(found), _widest(unit, limits), reading.stale, fact_texts(reading.facts, unit)
    )


def fact_texts(facts: Facts, unit: ShownUnit) -> tuple[tuple[str, str], ...]:
    """Return names, and values with their unit."""
    return tuple((name, _known_text(Interval(value, value), unit)) for name, value in facts)


def _widest(unit: ShownUnit, limits: ValueRange) -> str:
    """Return a text as long as that of any value within the limits."""
    largest = max(abs(limits.low), abs(limits.high)) * unit.factor
    whole = len(f"{largest:.0f}") if math.isfinite(largest) else 1
    decimals = _decimals(unit)
    return MINUS + "8" * (whole + decimals) + ("." if decimals else "") + (f" {unit.unit}" if unit.unit else "")


def _filled(known: Sequence[Interval], n: int) -> list[Interval]:
    return [*known, *[_UNKNOWN] * (n - len(known))]


def _known_text(value: Interval, unit: ShownUnit) -> str:
    """Return ``3.42 mm``; ``−2.10 … 3.42 mm`` for a range; a dash where the value is unknown."""
    texts = [value_text(bound * unit.factor, _decimals(unit)) for bound in value]
    # bounds that round to the same text are one value
    shown = RANGE.join(dict.fromkeys(texts))
    return f"{shown} {unit.unit}".rstrip() if math.isfinite(value.low) else shown


def _decimals(unit: ShownUnit) -> int:
    return min(_MAX_DECIMALS, unit.decimals + _EXTRA_DECIMALS)


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SAMPLE = 12.0
_FILLED_ALPHA = 90
_GAP = 12.0


def draw_row_header(painter: QPainter, box: QRectF, header: RowHeader, theme: Theme) -> None:
    """Draw a row header into `box`; the number of entries left out is shown."""
    metrics, found = TextMetrics(painter.font()), header.entries
    number = _number_width(metrics, header.widest, found)
    wanted = sum(_entry_width(metrics, entry, number) + _GAP for entry in found)
    name_end = _draw_name(painter, box, header, theme, box.right() - wanted)
    free = box.right() - name_end - _GAP
    if header.stale:
        free -= metrics.width(header.stale) + _GAP
    shown: list[tuple[LegendEntry, float]] = []
    for shortened in _shortened(found):
        number = _number_width(metrics, header.widest, shortened)
        fitting = _fitting(metrics, shortened, number, free)
        if not shown or len(fitting) == len(found):
            shown = fitting
        if len(shown) == len(found) or (shown and not found[0].curve.named):
            break
    right = box.right()
    if len(shown) < len(found):
        text = f"…+{len(found) - len(shown)}"
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(box.left(), box.top(), right - box.left(), box.height()), _RIGHT, text)
        right -= metrics.width(text) + _GAP
    values = QColor(theme.muted if header.stale else theme.text)
    for entry, width in reversed(shown):
        _draw_entry(painter, QRectF(right - width, box.top(), width, box.height()), entry, number, values, theme)
        right -= width + _GAP
    if header.stale:
        painter.setPen(QColor(theme.bad))
        painter.drawText(QRectF(name_end, box.top(), right - name_end, box.height()), _RIGHT, header.stale)


def _shortened(found: Sequence[LegendEntry]) -> Iterator[Sequence[LegendEntry]]:
    """Yield shorter and shorter legends; the tool tip has the full one."""
    yield found
    if found and found[0].curve.named:
        yield [replace(entry, value="", difference="") for entry in found]
        return
    # colours identify the curves
    wordless = [replace(entry, curve=replace(entry.curve, label="")) for entry in found]
    yield wordless
    yield [replace(entry, difference="") for entry in wordless]


def _fitting(
    metrics: TextMetrics, found: Sequence[LegendEntry], number: float, free: float
) -> list[tuple[LegendEntry, float]]:
    """Return the first entries that fit with their widths; if some do not, room for their count is reserved."""
    widths = [_entry_width(metrics, entry, number) + _GAP for entry in found]
    if sum(widths) - _GAP > free:
        free -= metrics.width("…+00")
    ends = accumulate(widths)
    return [
        (entry, width - _GAP) for entry, width, end in zip(found, widths, ends, strict=True) if end - _GAP <= free
    ]


def _draw_name(painter: QPainter, box: QRectF, header: RowHeader, theme: Theme, end: float) -> float:
    """Draw name, quantity and unit, and the legend where it ends before `end`; return the end."""
    row, plain, bold = header.row, painter.font(), QFont(painter.font())
    bold.setBold(True)
    painter.setFont(bold)
    painter.setPen(QColor(theme.text))
    width = TextMetrics(bold).width(row.name)
    painter.drawText(QRectF(box.left(), box.top(), width + 1.0, box.height()), _LEFT, row.name)
    painter.setFont(plain)
    painter.setPen(QColor(theme.muted))
    left = box.left() + width + (6.0 if row.name else 0.0)
    metrics = TextMetrics(plain)
    rest = " ".join(filter(None, (row.quantity, f"[{header.unit}]" if header.unit else "")))
    longer = ", ".join(filter(None, (rest, row.legend)))
    if not header.facts and left + metrics.width(longer) < end:
        rest = longer
    rest = QFontMetricsF(plain).elidedText(rest, Qt.TextElideMode.ElideRight, box.right() - left)
    painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()), _LEFT, rest)
    left += metrics.width(rest)
    number = max(
        (metrics.width(text) for text in (header.widest, *(value for _, value in header.facts))), default=0.0
    )
    for name, value in header.facts:
        width = metrics.width(name) + 4.0 + number
        if left + _GAP + width > box.right():
            break
        left += _GAP
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(left, box.top(), width, box.height()), _LEFT, name)
        painter.setPen(QColor(theme.muted if header.stale else theme.text))
        painter.drawText(QRectF(left, box.top(), width, box.height()), _RIGHT, value)
        left += width
    return left


def _draw_entry(
    painter: QPainter, box: QRectF, entry: LegendEntry, number: float, values: QColor, theme: Theme
) -> None:
    metrics = TextMetrics(painter.font())
    colour = QColor(colour_of(theme, entry.curve.colour))
    pen = QPen(colour, 1 if entry.curve.faint else 2)
    if entry.curve.dashed:
        pen.setDashPattern([2.0, 1.5])
    painter.setPen(pen)
    y = box.center().y()
    if entry.curve.filled:
        painter.fillRect(QRectF(box.left(), y - 4.0, _SAMPLE, 8.0), translucent(colour.name(), _FILLED_ALPHA))
    else:
        painter.drawLine(QPointF(box.left(), y), QPointF(box.left() + _SAMPLE, y))
    left = box.left() + _SAMPLE + 4.0
    painter.setPen(QColor(theme.muted))
    painter.drawText(QRectF(left, box.top(), box.width(), box.height()), _LEFT, entry.curve.label)
    left += metrics.width(entry.curve.label) + 4.0
    painter.setPen(values)
    number = _value_width(metrics, entry, number)
    painter.drawText(QRectF(left, box.top(), number, box.height()), _RIGHT, entry.value)
    if entry.difference:
        painter.setPen(QColor(theme.accent))
        painter.drawText(QRectF(left + number, box.top(), box.right() - left - number, box.height()), _RIGHT,
                         entry.difference)  # fmt: skip


def _entry_width(metrics: TextMetrics, entry: LegendEntry, number: float) -> float:
    number = _value_width(metrics, entry, number)
    width = _SAMPLE + 8.0 + metrics.width(entry.curve.label) + number
    return width + (number + metrics.width(DELTA) + 4.0 if entry.difference else 0.0)


def _value_width(metrics: TextMetrics, entry: LegendEntry, number: float) -> float:
    """Return the width of a value: none where it is omitted, that of two numbers where it is a range by nature."""
    if not entry.value:
        return 0.0
    return 2.0 * number + metrics.width(RANGE) if entry.curve.filled else number


def _number_width(metrics: TextMetrics, widest: str, found: Sequence[LegendEntry]) -> float:
    """Return the column width of values: of the widest, so that changing digits move nothing."""
    texts = [
        text
        for entry in found
        if not entry.curve.filled
        for text in (entry.value, entry.difference.removeprefix(DELTA))
    ]
    return max(metrics.width(text) for text in (widest, *texts))


_READOUT_INTERVAL = 0.2  # s of data between two readouts


class ReadoutThrottle:
    """Limit the rate of changing numbers; a value that becomes known or unknown is shown at once."""

    def __init__(self) -> None:
        self._shown: Sequence[Readout] | None = None
        self._shown_at = self._newest = math.nan
        self._waiting = False
        self.pending = False
        """Whether newer values than those shown are available."""

    def reset(self) -> None:
        """Show the next values at once."""
        self._shown = None

    def update(self, frame: Frame, *, more: bool) -> None:
        """Register a new frame; `more`: another one is expected soon."""
        newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
        self._waiting = more and newest != self._newest and abs(newest - self._shown_at) < _READOUT_INTERVAL
        self._newest = newest

    def flush(self) -> None:
        """Show the newest values: no other frame has come."""
        self._waiting = False

    def choose(self, found: Sequence[Readout], *, live: bool) -> Sequence[Readout]:
        """Return the readouts to show: `found`, or those shown before.

        Parameters
        ----------
        live : the readouts follow the newest sample; others are shown at once.
        """
        shown = self._shown
        self.pending = live and self._waiting and shown is not None and _same_known(found, shown)
        if shown is not None and self.pending:
            return shown
        self._shown, self._shown_at = found if live else None, self._newest
        return found


def _same_known(found: Sequence[Readout], shown: Sequence[Readout]) -> bool:
    """Return whether the same values are known in both."""
    return _known(found) == _known(shown)


def _known(found: Sequence[Readout]) -> list[tuple[str, list[bool]]]:
    return [(reading.stale, [math.isfinite(value.low + value.high) for value in reading.values]) for reading in found]

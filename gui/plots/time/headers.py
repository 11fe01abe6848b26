"""Row headers: values and differences at the cursor, their layout, in which clicks find legend entries, drawing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from gui.plots.time.axis import ShownUnit, segment_at
from gui.plots.time.cache import TextMetrics
from gui.plots.time.decoration import colour_of, translucent
from gui.plots.time.rows import CurveStyle, Facts, Frame, Interval, PlotRow
from gui.plots.value_axis import MINUS, ValueRange, value_text
from gui.widgets.painting import font_like
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
    now = values_at(frame, n_rows, frame.right if at is None else at)
    stale = frame.stale if at is None else ""
    facts = [() if row is None else row.facts for row in frame.rows] or [()] * n_rows
    if cursor is None or pinned is None:
        return [Readout(values, None, stale, fact) for values, fact in zip(now, facts, strict=True)]
    then = values_at(frame, n_rows, pinned)
    return [
        # zip ends with the shorter: no difference where a value is missing
        Readout(values, [a.minus(b) for a, b in zip(values, before, strict=False)], stale, fact)
        for values, before, fact in zip(now, then, facts, strict=True)
    ]


def values_at(frame: Frame, n_rows: int, x: float) -> list[Sequence[Interval]]:
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
    """Legend of one curve: its style, value and difference, and its number in the row."""

    curve: CurveStyle
    value: str
    difference: str = ""
    index: int = 0


def legend_entries(row: PlotRow, reading: Readout, unit: ShownUnit) -> list[LegendEntry]:
    """Return the legend of a row; values with their unit, or a range where the value is not exact."""
    n = len(row.curves)
    values = [_known_text(value, unit) for value in _filled(reading.values, n)]
    differences = [""] * n
    if reading.differences is not None:
        differences = [DELTA + _known_text(value, unit) for value in _filled(reading.differences, n)]
    return [
        LegendEntry(curve, "", "", i) if curve.hidden else LegendEntry(curve, value, difference, i)
        for i, (curve, value, difference) in enumerate(zip(row.curves, values, differences, strict=True))
    ]


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
    manual : the scale was set by hand.
    """

    row: PlotRow
    unit: str
    entries: tuple[LegendEntry, ...]
    widest: str
    stale: str
    facts: tuple[tuple[str, str], ...] = ()
    manual: bool = False


def row_header(row: PlotRow, reading: Readout, unit: ShownUnit, limits: ValueRange) -> RowHeader:
    """Return the header of a row."""
    found = sorted(legend_entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    return RowHeader(
        row, unit.unit, tuple(found), _widest(unit, limits), reading.stale, fact_texts(reading.facts, unit),
        limits.manual,
    )  # fmt: skip


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
        self.pending = live and self._waiting and shown is not None and _known(found) == _known(shown)
        if shown is not None and self.pending:
            return shown
        self._shown, self._shown_at = found if live else None, self._newest
        return found


def _known(found: Sequence[Readout]) -> list[tuple[str, list[bool]]]:
    return [(reading.stale, [math.isfinite(value.low + value.high) for value in reading.values]) for reading in found]


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SAMPLE = 12.0
_FILLED_ALPHA = 90
_GAP = 12.0
MANUAL = "⇕ manual"
"""Mark of a row whose scale was set by hand."""


@dataclass(frozen=True, slots=True)
class HeaderLayout:
    """Positions in a row header, px from its left end.

    Parameters
    ----------
    name_width : of the name, in bold.
    rest : quantity, unit and legend, after the name.
    mark : begin and width of the mark of a manual scale; zero without it.
    facts : begin, width, name and value of each.
    name_end : end of all these.
    entries : begin and width of each shown entry of the legend.
    number : width of a value.
    omitted : number of entries without room.
    """

    name_width: float
    rest: str
    mark: tuple[float, float]
    facts: tuple[tuple[float, float, str, str], ...]
    name_end: float
    entries: tuple[tuple[float, float, LegendEntry], ...]
    number: float
    omitted: int

    def entry_at(self, x: float) -> LegendEntry | None:
        """Return the legend entry at `x`."""
        return next((entry for begin, width, entry in self.entries if begin <= x <= begin + width), None)

    def is_mark(self, x: float) -> bool:
        """Whether the mark of a manual scale is at `x`."""
        begin, width = self.mark
        return width > 0.0 and begin <= x <= begin + width


def header_layout(font: QFont, width: float, header: RowHeader) -> HeaderLayout:
    """Return the layout of a header of `width` px; entries without room are omitted, those of faint curves first."""
    metrics, bold, found, row = TextMetrics(font), TextMetrics(font_like(font, bold=True)), header.entries, header.row
    number = _number_width(metrics, header.widest, found)
    wanted = sum(_entry_width(metrics, entry, number) + _GAP for entry in found)
    name_width = bold.width(row.name)
    left = name_width + (6.0 if row.name else 0.0)
    rest = " ".join(filter(None, (row.quantity, f"[{header.unit}]" if header.unit else "")))
    longer = ", ".join(filter(None, (rest, row.legend)))
    if not header.facts and not header.manual and left + metrics.width(longer) < width - wanted:
        rest = longer
    # the count of entries that are left out has a place of its own
    rest = metrics.elided(rest, width - left - (metrics.width(_omitted_text(len(found))) + _GAP if found else 0.0))
    left += metrics.width(rest)
    mark = (left + _GAP, metrics.width(MANUAL)) if header.manual else (0.0, 0.0)
    left = sum(mark) or left
    facts, values = [], max(metrics.width(text) for text in (header.widest, *(value for _, value in header.facts)))
    for name, value in header.facts:
        size = metrics.width(name) + 4.0 + values
        if left + _GAP + size > width:
            break
        facts.append((left + _GAP, size, name, value))
        left += _GAP + size
    free = width - left - _GAP
    if header.stale:
        free -= metrics.width(header.stale) + _GAP
    shown: list[tuple[LegendEntry, float]] = []
    for shortened in _shortened(found):
        size = _number_width(metrics, header.widest, shortened)
        fitting = _fitting(metrics, shortened, size, free)
        if not shown or len(fitting) == len(found):
            shown, number = fitting, size
        if len(shown) == len(found) or (shown and not found[0].curve.named):
            break
    right, omitted, entries = width, len(found) - len(shown), []
    if omitted:
        right -= metrics.width(_omitted_text(omitted)) + _GAP
    for entry, size in reversed(shown):
        entries.append((right - size, size, entry))
        right -= size + _GAP
    return HeaderLayout(name_width, rest, mark, tuple(facts), left, tuple(reversed(entries)), number, omitted)


def draw_row_header(painter: QPainter, box: QRectF, header: RowHeader, theme: Theme) -> None:
    """Draw a row header into `box`; the number of entries left out is shown."""
    plain, row = painter.font(), header.row
    found = header_layout(plain, box.width(), header)
    values = QColor(theme.muted if header.stale else theme.text)

    def write(begin: float, width: float, text: str, colour: QColor | str, align: Qt.AlignmentFlag = _LEFT) -> None:
        painter.setPen(QColor(colour))
        painter.drawText(QRectF(box.left() + begin, box.top(), width, box.height()), align, text)

    painter.setFont(font_like(plain, bold=True))
    write(0.0, found.name_width + 1.0, row.name, theme.text)
    painter.setFont(plain)
    write(found.name_width + (6.0 if row.name else 0.0), box.width(), found.rest, theme.muted)
    if header.manual:
        write(*found.mark, MANUAL, theme.accent)
    for begin, width, name, value in found.facts:
        write(begin, width, name, theme.muted)
        write(begin, width, value, values, _RIGHT)
    if found.omitted:
        write(0.0, box.width(), _omitted_text(found.omitted), theme.muted, _RIGHT)
    for begin, width, entry in found.entries:
        place = QRectF(box.left() + begin, box.top(), width, box.height())
        _draw_entry(painter, place, entry, found.number, values, theme)
    if header.stale:
        right = found.entries[0][0] - _GAP if found.entries else box.width()
        write(found.name_end, right - found.name_end, header.stale, theme.bad, _RIGHT)


def _omitted_text(n: int) -> str:
    return f"…+{n}"


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


def _draw_entry(
    painter: QPainter, box: QRectF, entry: LegendEntry, number: float, values: QColor, theme: Theme
) -> None:
    metrics = TextMetrics(painter.font())
    colour = QColor(theme.muted if entry.curve.hidden else colour_of(theme, entry.curve.colour))
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
    if entry.curve.hidden:
        painter.drawLine(QPointF(box.left(), y), QPointF(left + metrics.width(entry.curve.label), y))
        return
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

"""Readouts at the cursor: values, differences to the pinned cursor, their legend texts, and how often they change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from gui.plots.time.axis import ShownUnit, segment_at
from gui.plots.time.cache import TextMetrics
from gui.plots.time.decoration import colour_of
from gui.plots.time.rows import Curve, Frame, Interval, Row
from gui.plots.value_axis import MINUS, ValueRange, value_text
from gui.widgets.theme import Theme


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a row's curves, and of their differences to the pinned instant."""

    values: Sequence[Interval]
    differences: Sequence[Interval] | None = None
    stale: str = ""


def readings(frame: Frame, n_rows: int, cursor: float | None, pinned: float | None) -> list[Reading]:
    """Return what is read in every row: at the cursor, else at the pinned instant, else at the right edge.

    Only what is newest can be stale.
    """
    at = pinned if cursor is None else cursor
    now = _read(frame, n_rows, frame.right if at is None else at)
    stale = frame.stale if at is None else ""
    if cursor is None or pinned is None:
        return [Reading(values, None, stale) for values in now]
    then = _read(frame, n_rows, pinned)
    return [
        # of what is not known on one side there is no difference
        Reading(values, [a.minus(b) for a, b in zip(values, before, strict=False)], stale)
        for values, before in zip(now, then, strict=True)
    ]


def _read(frame: Frame, n_rows: int, x: float) -> list[Sequence[Interval]]:
    """Return what is known at `x`: nothing where the rig's clock does not go on, whatever lies beside."""
    in_break = bool(frame.segments) and segment_at(frame.segments, x) is None
    found = () if in_break else frame.read(x)
    return [found[i] if i < len(found) else () for i in range(n_rows)]


DELTA = "Δ "
_FINER = 2  # decimals of a value beyond those of the axis
_MOST_DECIMALS = 6
_UNKNOWN = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the legend says of one curve."""

    curve: Curve
    value: str
    difference: str = ""


def entries(row: Row, reading: Reading, unit: ShownUnit) -> list[Entry]:
    """Return the texts; values have the unit at their end, and where only a range is known they are that."""
    n = len(row.curves)
    values = [_known_text(value, unit) for value in _filled(reading.values, n)]
    differences = [""] * n
    if reading.differences is not None:
        differences = [DELTA + _known_text(value, unit) for value in _filled(reading.differences, n)]
    return [Entry(*entry) for entry in zip(row.curves, values, differences, strict=True)]


@dataclass(frozen=True, slots=True)
class Heading:
    """All that a heading shows.

    Parameters
    ----------
    row : what its curves are.
    unit : of the values; empty where they have none.
    entries : of the curves; what is background comes last, and goes first where there is no room.
    widest : the widest of the usual values.
    stale : a word where the values are old.
    """

    row: Row
    unit: str
    entries: tuple[Entry, ...]
    widest: str
    stale: str


def heading(row: Row, reading: Reading, unit: ShownUnit, limits: ValueRange) -> Heading:
    """Return what is said of a row."""
    found = sorted(entries(row, reading, unit), key=lambda entry: entry.curve.faint)
    return Heading(row, unit.unit, tuple(found), _widest(unit, limits), reading.stale)


def _widest(unit: ShownUnit, limits: ValueRange) -> str:
    """Return a value as long as any within the limits."""
    largest = max(abs(limits.low), abs(limits.high)) * unit.factor
    whole = len(f"{largest:.0f}") if math.isfinite(largest) else 1
    decimals = _decimals(unit)
    return MINUS + "8" * (whole + decimals) + ("." if decimals else "") + (f" {unit.unit}" if unit.unit else "")


def _filled(known: Sequence[Interval], n: int) -> list[Interval]:
    return [*known, *[_UNKNOWN] * (n - len(known))]


def _known_text(value: Interval, unit: ShownUnit) -> str:
    """Return ``3.42 mm``; ``−2.10 … 3.42 mm`` where no more is known; a dash where nothing is."""
    texts = [value_text(bound * unit.factor, _decimals(unit)) for bound in value]
    # what is rounded to the same is the same
    shown = " … ".join(dict.fromkeys(texts))
    return f"{shown} {unit.unit}".rstrip() if math.isfinite(value.low) else shown


def _decimals(unit: ShownUnit) -> int:
    return min(_MOST_DECIMALS, unit.decimals + _FINER)


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SAMPLE = 12.0
_GAP = 12.0


def draw_heading(painter: QPainter, box: QRectF, heading: Heading, theme: Theme) -> None:
    """Draw the heading of a row into `box`; entries without room are counted."""
    metrics, found = TextMetrics(painter.font()), heading.entries
    number = _number_width(metrics, heading.widest, found)
    wanted = sum(_entry_width(metrics, entry, number) + _GAP for entry in found)
    name_end = _draw_name(painter, box, heading, theme, box.right() - wanted)
    free = box.right() - name_end - _GAP
    if heading.stale:
        free -= metrics.width(heading.stale) + _GAP
    for shortened in _shortened(found):
        number = _number_width(metrics, heading.widest, shortened)
        shown = _fitting(metrics, shortened, number, free)
        if shown:
            break
    right = box.right()
    if len(shown) < len(found):
        text = f"…+{len(found) - len(shown)}"
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(box.left(), box.top(), right - box.left(), box.height()), _RIGHT, text)
        right -= metrics.width(text) + _GAP
    values = QColor(theme.muted if heading.stale else theme.text)
    for entry, width in reversed(shown):
        _draw_entry(painter, QRectF(right - width, box.top(), width, box.height()), entry, number, values, theme)
        right -= width + _GAP
    if heading.stale:
        painter.setPen(QColor(theme.bad))
        painter.drawText(QRectF(name_end, box.top(), right - name_end, box.height()), _RIGHT, heading.stale)


def _shortened(found: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Give entries with less and less in them; the tool tip has all of it."""
    yield found
    # the colours say which is which
    wordless = [replace(entry, curve=replace(entry.curve, label="")) for entry in found]
    yield wordless
    yield [replace(entry, difference="") for entry in wordless]


def _fitting(metrics: TextMetrics, found: Sequence[Entry], number: float, free: float) -> list[tuple[Entry, float]]:
    """Return the first entries that fit, and how wide they are; where some do not, their count must fit as well."""
    widths = [_entry_width(metrics, entry, number) + _GAP for entry in found]
    if sum(widths) - _GAP > free:
        free -= metrics.width("…+00")
    ends = accumulate(widths)
    return [
        (entry, width - _GAP) for entry, width, end in zip(found, widths, ends, strict=True) if end - _GAP <= free
    ]


def _draw_name(painter: QPainter, box: QRectF, heading: Heading, theme: Theme, end: float) -> float:
    """Draw all of it where it ends before `end`, else only what must be there; return where it ends."""
    row, plain, bold = heading.row, painter.font(), QFont(painter.font())
    bold.setBold(True)
    painter.setFont(bold)
    painter.setPen(QColor(theme.text))
    width = TextMetrics(bold).width(row.name)
    painter.drawText(QRectF(box.left(), box.top(), width + 1.0, box.height()), _LEFT, row.name)
    painter.setFont(plain)
    painter.setPen(QColor(theme.muted))
    left = box.left() + width + (6.0 if row.name else 0.0)
    metrics = TextMetrics(plain)
    rest = " ".join(filter(None, (row.quantity, f"[{heading.unit}]" if heading.unit else "")))
    longer = ", ".join(filter(None, (rest, row.legend)))
    if left + metrics.width(longer) < end:
        rest = longer
    rest = QFontMetricsF(plain).elidedText(rest, Qt.TextElideMode.ElideRight, box.right() - left)
    painter.drawText(QRectF(left, box.top(), box.right() - left, box.height()), _LEFT, rest)
    return left + metrics.width(rest)


def _draw_entry(painter: QPainter, box: QRectF, entry: Entry, number: float, values: QColor, theme: Theme) -> None:
    metrics = TextMetrics(painter.font())
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
    left += metrics.width(entry.curve.label) + 4.0
    painter.setPen(values)
    painter.drawText(QRectF(left, box.top(), number, box.height()), _RIGHT, entry.value)
    if entry.difference:
        painter.setPen(QColor(theme.accent))
        painter.drawText(QRectF(left + number, box.top(), box.right() - left - number, box.height()), _RIGHT,
                         entry.difference)  # fmt: skip


def _entry_width(metrics: TextMetrics, entry: Entry, number: float) -> float:
    width = _SAMPLE + 8.0 + metrics.width(entry.curve.label) + number
    return width + (number + metrics.width(DELTA) + 4.0 if entry.difference else 0.0)


def _number_width(metrics: TextMetrics, widest: str, found: Sequence[Entry]) -> float:
    """Return the room of the widest value, so that nothing moves when a digit comes or goes; more for a range."""
    texts = [text for entry in found for text in (entry.value, entry.difference.removeprefix(DELTA))]
    return max(metrics.width(text) for text in (widest, *texts))


_READOUT_INTERVAL = 0.2  # s of data between two numbers


class ReadoutThrottle:
    """Let numbers go by while more are on their way; what becomes known, or unknown, is never kept back."""

    def __init__(self) -> None:
        self._shown: Sequence[Reading] | None = None
        self._shown_at = self._newest = math.nan
        self._waiting = False
        self.pending = False
        """Whether there is a newer number than the one that is shown."""

    def reset(self) -> None:
        """Show the next numbers, whatever they are: they are others."""
        self._shown = None

    def update(self, frame: Frame, *, more: bool) -> None:
        """Say that there are other numbers, and whether more are on their way."""
        newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
        self._waiting = more and newest != self._newest and abs(newest - self._shown_at) < _READOUT_INTERVAL
        self._newest = newest

    def flush(self) -> None:
        """Say that nothing more has come."""
        self._waiting = False

    def choose(self, found: Sequence[Reading], *, live: bool) -> Sequence[Reading]:
        """Return what is shown: what is found, or what was shown before.

        Parameters
        ----------
        live : the newest are looked at; others are shown at once.
        """
        shown = self._shown
        self.pending = live and self._waiting and shown is not None and _alike(found, shown)
        if shown is not None and self.pending:
            return shown
        self._shown, self._shown_at = found if live else None, self._newest
        return found


def _alike(found: Sequence[Reading], shown: Sequence[Reading]) -> bool:
    """Return whether the same is known of the same curves."""
    return _known(found) == _known(shown)


def _known(readings: Sequence[Reading]) -> list[tuple[str, list[bool]]]:
    return [
        (reading.stale, [math.isfinite(value.low + value.high) for value in reading.values]) for reading in readings
    ]

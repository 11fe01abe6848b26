"""Draw what lies over a frame: row headers with readouts, cursors, the focus; and the texts of tool tips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter, QPen

from gui.plots.ticks import duration_text
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.decoration import colour_of
from gui.plots.time.layout import MARGIN
from gui.plots.time.readings import DELTA, Entry, Heading, Reading, heading
from gui.plots.time.scene import Scene
from gui.widgets.theme import Theme
from gui.wording.event_text import kind_word, sentence
from gui.wording.numbers import instant_text

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SAMPLE = 12.0
_GAP = 12.0


def _draw_heading(painter: QPainter, box: QRectF, heading: Heading, theme: Theme) -> None:
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


def draw_headings(painter: QPainter, scene: Scene, readings: Sequence[Reading], pixmaps: PixmapCache) -> None:
    """Draw the headings of the rows in sight, with what is read in each."""
    places, theme = scene.places, scene.theme
    right = places.plot_left + places.plot_width
    painter.save()
    painter.setClipRect(QRect(0, 0, scene.area.width(), scene.axis_top))
    for i in scene.seen:
        row, place = scene.rows[i], places.rows[i]
        box = QRectF(MARGIN, place.top - scene.scrolled, right - MARGIN, place.plot_top - place.top)
        shown = heading(row, readings[i], scene.unit(i), scene.ranges[row.key])
        draw = partial(_draw_heading, heading=shown, theme=theme)
        pixmaps.draw(painter, ("heading", row.key), (shown, theme), box, QColor(theme.window), draw)
    painter.restore()


def draw_cursors(painter: QPainter, scene: Scene, cursor: float | None, pinned: float | None) -> None:
    """Draw both cursors with their time, that which moves over the pinned one, with the time between them."""
    if pinned is not None:
        _draw_cursor(painter, scene, pinned, QPen(QColor(scene.theme.accent), 1, Qt.PenStyle.DashLine), "")
    if cursor is not None:
        between = "" if pinned is None else f"   Δt {duration_text(cursor - pinned)}"
        _draw_cursor(painter, scene, cursor, QPen(QColor(scene.theme.text), 1), between)


def draw_focus(painter: QPainter, scene: Scene) -> None:
    """Show that the keys go here."""
    painter.setPen(QPen(QColor(scene.theme.accent), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(scene.area.adjusted(0, 0, -1, -1))


def _draw_cursor(painter: QPainter, scene: Scene, x: float, pen: QPen, more: str) -> None:
    places, at = scene.places, scene.scale.pixel(x)
    if not places.plot_left <= at <= places.plot_left + places.plot_width:
        return
    painter.setPen(pen)
    for i in scene.seen:
        # not through the headings, which are read
        place = places.rows[i]
        top, end = place.plot_top - scene.scrolled, min(place.bottom - scene.scrolled, scene.bottom)
        if top < end:
            painter.drawLine(QPointF(round(at), top), QPointF(round(at), end))
    text = scene.instant(x) + more
    metrics = QFontMetrics(painter.font())
    width = metrics.horizontalAdvance(text) + 8
    left = min(max(at - width / 2.0, 0.0), scene.area.width() - width)
    box = QRectF(left, scene.bottom + 2.0, width, metrics.height() + 2.0)
    painter.fillRect(box, pen.color())
    painter.setPen(QColor(scene.theme.base))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


POINTER_TOLERANCE = 5.0
"""Pixels that a hand is off."""


def heading_tip(scene: Scene, row: int, legend: Sequence[str]) -> str:
    """Return all that the heading of a row says where it has room."""
    shown = scene.rows[row]
    return "\n".join(filter(None, (f"{shown.name} {shown.quantity}".strip(), *legend, shown.legend)))


def event_tip(scene: Scene, at: QPoint) -> str:
    """Return the events at a place, a line each."""
    return "\n".join(
        f"{instant_text(mark.event.time)}  {kind_word(mark.event.kind)}  {sentence(mark.event)}".strip()
        for mark in scene.frame.marks
        if abs(scene.scale.pixel(mark.x) - at.x()) <= POINTER_TOLERANCE
    )

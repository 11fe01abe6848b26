"""Overview of a run: the picture on its timeline, and the preview of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QColor, QPainter, QPaintEvent, QPixmap, QPolygonF
from PySide6.QtWidgets import QMenu, QWidget

from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import event_level, event_sentence
from gui.wording.level import Level
from monitor.messages.blocks import Event, EventKind, Samples
from monitor.messages.recordings import Description, Overview, RecordedEvent


class ChannelMenu(QMenu):
    """Menu of the channels; deleted when it is closed.

    Signals
    -------
    chosen : name of the channel.
    """

    chosen = Signal(str)

    def __init__(self, channels: Sequence[str], shown: str, parent: QWidget) -> None:
        super().__init__("Channel of the overview", parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        group = QActionGroup(self)
        for name in channels:
            action = QAction(name, self, checkable=True, checked=name == shown)
            # Qt may insert a mnemonic into the text
            action.setData(name)
            group.addAction(action)
            self.addAction(action)
        group.triggered.connect(self._choose)

    def _choose(self, action: QAction) -> None:
        self.chosen.emit(str(action.data()))


_ROOM = 0.08  # share of the height, above and below


def limits(low: Samples, high: Samples) -> tuple[float, float]:
    """Return minimum and maximum; (0, 0) where all values are NaN."""
    known = np.concatenate((low[np.isfinite(low)], high[np.isfinite(high)]))
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def draw_curve(
    painter: QPainter,
    where: QRectF,
    overview: Overview,
    channel: str,
    duration: float,
    colour: str,
    span: tuple[float, float] | None = None,
) -> None:
    """Draw the envelope of `channel` over `duration` s into `where`, with gaps where it is NaN.

    Parameters
    ----------
    span : the values at the lower and the upper edge; by default the channel's own.
    """
    seconds, low, high = overview.curve(channel)
    bottom, top = limits(low, high) if span is None else span
    if not len(seconds) or duration <= 0.0:
        return
    # each column ends where the next begins; the last at the end
    ends = np.append(seconds[1:], max(duration, seconds[-1]))
    x0 = where.left() + where.width() * seconds / duration
    x1 = where.left() + where.width() * ends / duration
    room = _ROOM * where.height()
    scale = (where.height() - 2.0 * room) / (top - bottom) if top > bottom else 0.0
    floor = where.bottom() - room if scale else where.center().y()
    y_low, y_high = (floor - (y - bottom) * scale for y in (low, high))
    painter.setPen(QColor(colour))
    painter.setBrush(QColor(colour))
    for start, stop in _stretches(np.isfinite(y_low) & np.isfinite(y_high)):
        middles = 0.5 * (x0[start:stop] + x1[start:stop])
        # at least a thin line, so that a constant is visible
        upper = [QPointF(x, y) for x, y in zip(middles.tolist(), (y_high[start:stop] - 0.5).tolist(), strict=True)]
        lower = [QPointF(x, y) for x, y in zip(middles.tolist(), (y_low[start:stop] + 0.5).tolist(), strict=True)]
        painter.drawPolygon(QPolygonF(upper + lower[::-1]))


def _stretches(there: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Return begin and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2).tolist()]


_NEAR = 4.0  # half the width of a marker, px
_MOST_LINES = 12
_SIDE, _EDGE = 4.0, 3.0  # margin of the curve, px
_MARK, _TALL = 7.0, 14.0  # height of a marker, px; the second of a trip


@dataclass(frozen=True)
class RunPicture:
    """Picture of an overview, `width` by `height` pixels.

    Parameters
    ----------
    description : of the run; None while unknown.
    channel : that is drawn.
    duration : of the run, s.
    """

    description: Description | None
    channel: str
    duration: float
    width: int
    height: int

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """Events that have a marker."""
        return () if self.description is None else self.description.events

    @property
    def _where(self) -> QRectF:
        return QRectF(0.0, 0.0, self.width, self.height).adjusted(_SIDE, _EDGE, -_SIDE, -_EDGE)

    def seconds_at(self, x: float) -> float:
        """Return the time at a pixel."""
        share = (x - self._where.left()) / max(self._where.width(), 1.0)
        return min(max(share, 0.0), 1.0) * self.duration

    def x_of(self, seconds: float) -> float:
        """Return the pixel of a time."""
        share = seconds / self.duration if self.duration > 0.0 else 0.0
        return self._where.left() + min(max(share, 0.0), 1.0) * self._where.width()

    def tip(self, x: float) -> str:
        """Return the tool tip at a pixel: time, events, and channel."""
        lines = [f"{self.seconds_at(x):.3f} s"] if self.duration > 0.0 else []
        lines += [_sentence(event) for event in self.events if abs(self.x_of(event.time) - x) <= _NEAR]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more events"]
        if self.channel and self.description is not None:
            unit = self.description.unit(self.channel)
            lines.append(f"curve: {self.channel}{f' [{unit}]' if unit else ''}")
        return "\n".join(lines)

    def draw(self, theme: Theme, ratio: float) -> QPixmap:
        """Return the picture for a device pixel ratio."""
        picture = QPixmap(round(self.width * ratio), round(self.height * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(QColor(theme.base))
        painter = QPainter(picture)
        painter.setPen(QColor(theme.grid))
        painter.drawRect(QRectF(0.5, 0.5, self.width - 1.0, self.height - 1.0))
        overview = None if self.description is None else self.description.overview
        if overview is not None and self.channel:
            draw_curve(painter, self._where, overview, self.channel, self.duration, theme.measured)
        # markers are at the lower edge, below the curve; of several at one place the most severe is on top
        y = self.height - 1.0
        for event in sorted(self.events, key=lambda event: list(Level).index(_level(event))):
            x, colour = self.x_of(event.time), QColor(level_colour(theme, _level(event)))
            painter.setPen(colour)
            painter.setBrush(colour)
            high = _TALL if _level(event) is Level.BAD else _MARK
            painter.drawPolygon(QPolygonF([QPointF(x - 3.0, y), QPointF(x, y - high), QPointF(x + 3.0, y)]))
        painter.end()
        return picture


def _sentence(event: RecordedEvent) -> str:
    what = f"{event.time:.3f} s  {event.kind.replace('_', ' ')}"
    step = _step(event)
    detail = event.detail if step is None else event_sentence(step)
    return f"{what}: {detail}" if detail else what


def _level(event: RecordedEvent) -> Level:
    """Return the level of an event: warning, or that of the alarm."""
    step = _step(event)
    return Level.WARN if step is None else event_level(step)


def _step(event: RecordedEvent) -> Event | None:
    if event.kind != EventKind.ALARM:
        return None
    return Event(EventKind.ALARM, event.time, 0, 0, event.detail, event.alarm)


class ColumnPreview(QWidget):
    """Preview: some channels of an overview on one axis.

    Parameters
    ----------
    theme : colours.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.overview: Overview | None = None
        self.curves: tuple[tuple[str, str], ...] = ()
        self.text = ""
        self.setMinimumSize(240, 100)
        self.setAccessibleName("preview of the chosen columns")

    def show_curves(self, overview: Overview | None, curves: Sequence[tuple[str, str]], text: str = "") -> None:
        """Show channels, each in its colour, or else `text`."""
        self.overview = overview
        self.curves = tuple((name, colour) for name, colour in curves if overview and name in overview.channels)
        self.text = text
        self.update()

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(520, 140)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the curves and their names."""
        painter = QPainter(self)
        where = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.fillRect(where, QColor(self.theme.base))
        painter.setPen(QColor(self.theme.grid))
        painter.drawRect(where)
        if self.overview is None or not self.curves:
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(where, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.text)
        else:
            self._draw(painter, self.overview, where.adjusted(4.0, 4.0, -4.0, -4.0))
        painter.end()

    def _draw(self, painter: QPainter, overview: Overview, where: QRectF) -> None:
        ranges = [limits(*overview.curve(name)[1:]) for name, _ in self.curves]
        span = min(low for low, _ in ranges), max(high for _, high in ranges)
        seconds = overview.seconds
        # columns of equal width; the last has no edge of its own
        end = seconds[-1] + (seconds[-1] - seconds[-2] if len(seconds) > 1 else 1.0)
        metrics = painter.fontMetrics()
        # names are above the curves
        below = where.adjusted(0.0, metrics.height() + 2.0, 0.0, 0.0)
        for name, colour in self.curves:
            draw_curve(painter, below, overview, name, end, colour, span)
        x = where.left() + 4.0
        for name, colour in self.curves:
            painter.setPen(QColor(colour))
            painter.drawText(round(x), round(where.top()) + metrics.ascent(), name)
            x += metrics.horizontalAdvance(name) + 16.0

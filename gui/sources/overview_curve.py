"""A whole run in few pixels: the range of one channel over time, drawn between two edges."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPolygonF

from monitor.messages.blocks import Samples
from monitor.messages.recordings import Overview

_ROOM = 0.08  # of the height, above and below


def limits(low: Samples, high: Samples) -> tuple[float, float]:
    """Return the smallest and the largest number; (0, 0) where there is none."""
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
    """Draw the range of `channel` over `duration` s into `where`; a gap where there are no numbers.

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
        # a little thickness, or a constant would not be seen
        upper = [QPointF(x, y) for x, y in zip(middles.tolist(), (y_high[start:stop] - 0.5).tolist(), strict=True)]
        lower = [QPointF(x, y) for x, y in zip(middles.tolist(), (y_low[start:stop] + 0.5).tolist(), strict=True)]
        painter.drawPolygon(QPolygonF(upper + lower[::-1]))


def _stretches(there: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Return begin and end of each run of what is there."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2).tolist()]

"""The ground below curves: grey where there is no value, hatched where the rig's clock does not go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gui.plots.time_curves import runs
from gui.plots.time_frame import Frame, RowData, Strip
from gui.plots.time_scale import TimeScale, breaks
from gui.widgets.theme import Theme

_NARROWEST = 0.5  # pixels of grey that are seen
_HATCHED = 0.35


def draw_ground(
    painter: QPainter, plot: QRectF, time: TimeScale, frame: Frame, data: RowData | None, theme: Theme
) -> None:
    """Draw it where the curves of one row will be."""
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
    # what is to come is not missing
    newest = min(frame.right, frame.segments[-1].x_end) if frame.segments else frame.right
    for begin, end in unknown_spans(data.curves, frame.left, newest):
        left, right = time.pixel(begin), time.pixel(end)
        if right - left >= _NARROWEST:
            painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), grey)


def unknown_spans(curves: Sequence[Strip], left: float, right: float) -> list[tuple[float, float]]:
    """Return where, within [left, right], no curve has a value."""
    found, reached = [], left
    for begin, end in sorted(_known_spans(curves)):
        if begin > reached:
            found.append((reached, min(begin, right)))
        reached = max(reached, end)
    if reached < right:
        found.append((reached, right))
    return [(begin, end) for begin, end in found if end > begin]


def _known_spans(curves: Sequence[Strip]) -> list[tuple[float, float]]:
    """Return where any curve has a value; spans may overlap."""
    found: list[tuple[float, float]] = []
    for edges in {id(strip.edges): strip.edges for strip in curves}.values():
        known: NDArray[np.bool_] = np.zeros(len(edges) - 1, dtype=bool)
        for strip in curves:
            # the first that is known everywhere answers for all
            if strip.edges is edges and not known.all():
                known |= strip.known
        if len(known) and known.all():
            found.append((float(edges[0]), float(edges[-1])))
        else:
            found += [(float(edges[begin]), float(edges[end])) for begin, end in runs(known)]
    return found

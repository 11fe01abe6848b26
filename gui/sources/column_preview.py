"""The chosen columns over the whole file, drawn small: whether a choice can be right is seen at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.sources.overview_curve import draw_curve, limits
from gui.widgets.theme import Theme
from monitor.messages.recordings import Overview


class ColumnPreview(QWidget):
    """Draw some channels of an overview over each other, between common edges.

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
        """Draw channels, each with its colour; `text` is shown where there is nothing to draw."""
        self.overview = overview
        self.curves = tuple((name, colour) for name, colour in curves if overview and name in overview.channels)
        self.text = text
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what is comfortable."""
        return QSize(520, 140)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw."""
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
        # the columns are equally wide; the last has no edge of its own
        end = seconds[-1] + (seconds[-1] - seconds[-2] if len(seconds) > 1 else 1.0)
        metrics = painter.fontMetrics()
        # the names stand above, so that they hide nothing
        below = where.adjusted(0.0, metrics.height() + 2.0, 0.0, 0.0)
        for name, colour in self.curves:
            draw_curve(painter, below, overview, name, end, colour, span)
        x = where.left() + 4.0
        for name, colour in self.curves:
            painter.setPen(QColor(colour))
            painter.drawText(round(x), round(where.top()) + metrics.ascent(), name)
            x += metrics.horizontalAdvance(name) + 16.0

"""What is seen from across the room: how many alarms stand, and the one that matters most."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.model.alarms import AlarmSummary
from gui.model.history import History
from gui.widgets.labels import plain_tip
from gui.widgets.painting import painting
from gui.widgets.theme import Theme, level_colour
from gui.wording.alarm_text import headline, state_words
from gui.wording.level import Level

BLINK = 0.5
"""s that it is filled, and s that it is not: once a second."""
_LETTERS, _LARGE = 1.25, 2.6  # times the letters of the window; the second in operator mode
_HEIGHT = 1.75  # times its letters
_MARGIN = 10.0
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_HELP = "the alarms of the service; a click shows the list"


class AlarmBanner(QWidget):
    """A strip across the window, as high when nothing stands: the panels below it never move.

    While somebody has to take note of an alarm it blinks, unless that is switched off; letters are always readable.

    Signals
    -------
    clicked : somebody wants to see the list.
    """

    clicked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._large = False
        self._inverted = False
        self._stale = ""
        self._there = False
        self.blinks = True
        self.found = AlarmSummary()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(_HELP)
        self.setAccessibleName("alarms")

    @property
    def text(self) -> str:
        """All that it says."""
        return "   ".join(filter(None, (self._counts, self._told)))

    @property
    def filled(self) -> bool:
        """Its ground has the colour of what stands, and not its letters."""
        return self.found.stands and not self._inverted

    def show_alarms(self, history: History, now: float) -> None:
        """Show what stands; `now` in s says how far it has blinked."""
        state, found = history.state, history.summary
        stale = state.words if state.key in ("silent", "connecting") else ""
        inverted = self.blinks and found.unacknowledged > 0 and not stale and now % (2.0 * BLINK) >= BLINK
        shown = found, stale, inverted, bool(history.alarms)
        if shown != (self.found, self._stale, self._inverted, self._there):
            self.found, self._stale, self._inverted, self._there = shown
            self.setToolTip(plain_tip(f"{self.text}\n{_HELP}"))
            self.setAccessibleDescription(self.text)
            self.update()

    def set_large(self, large: bool) -> None:
        """Be read from further away."""
        self._large = large
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours, and letters."""
        self._theme = theme
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return one line."""
        return QSize(400, round(_HEIGHT * QFontMetricsF(self._letters(bold=True)).height() / 1.2))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the height of the line."""
        return QSize(0, self.sizeHint().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Say that the list is wanted."""
        if event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002, N802 - Qt's name
        """Draw the counts large, and beside them what is first."""
        with painting(self) as painter:
            theme = self._theme
            level = level_colour(theme, self.found.level)
            ground, letters = (level, theme.base) if self.filled else (theme.window, level)
            if self._stale:
                ground, letters = theme.invalid, theme.text
            painter.fillRect(self.rect(), QColor(ground))
            if self.found.stands:
                pen = QPen(QColor(level), 4.0, Qt.PenStyle.DashLine if self._stale else Qt.PenStyle.SolidLine)
                painter.setPen(pen)
                painter.drawRect(QRectF(self.rect()).adjusted(2.0, 2.0, -2.0, -2.0))
            area = QRectF(self.rect()).adjusted(_MARGIN, 0.0, -_MARGIN, 0.0)
            used = self._write(painter, area, self._counts, letters, bold=self.found.stands)
            area.setLeft(area.left() + used + 2.0 * _MARGIN)
            self._write(painter, area, self._told, letters, bold=False)

    @property
    def _counts(self) -> str:
        if self.found.stands:
            return self.found.words
        if not self._there:
            return "○ no alarms from this service"
        return "○ alarms not known" if self._stale else "● no alarm"

    @property
    def _told(self) -> str:
        found, first = self.found, self.found.first
        parts = [f"{self._stale}; the last was" if self._stale and first else self._stale]
        if first is not None:
            parts += [headline(first), state_words(first)]
        elif self._there and not self._stale:
            parts.append(f"{found.watched} watched")
        if found.shelved:
            parts.append(f"{found.shelved} shelved")
        return ", ".join(filter(None, parts)).replace("last was,", "last was")

    def _letters(self, *, bold: bool) -> QFont:
        font = QFont(self.font())
        times = (_LARGE if self._large else _LETTERS) if bold else (0.6 * _LARGE if self._large else 1.0)
        font.setPointSizeF(font.pointSizeF() * times)
        font.setBold(bold)
        return font

    def _write(self, painter: QPainter, area: QRectF, text: str, colour: str, *, bold: bool) -> float:
        """Write at the left of an area as much as there is room for; return how wide that is."""
        font = self._letters(bold=bold)
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, area.width()))
        painter.setFont(font)
        painter.setPen(QColor(self._theme.muted if self.found.level is Level.NONE else colour))
        painter.drawText(area, _LEFT, shown)
        return metrics.horizontalAdvance(shown)

"""Wall panel: delay and severity of every actuator, worst first, to be read from a distance."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen

from gui.panels.tile import Tile, fitted, write_fitted
from gui.panels.tile_content import TileContent, TileValue
from gui.panels.tiles import TilesPanel
from gui.plots.value_axis import MINUS
from gui.widgets.painting import painting
from gui.widgets.theme import level_colour
from gui.wording.event_text import NOT_JUDGED_SHAPE
from gui.wording.level import Level

_WIDTH, _HEIGHT = 6.4, 2.75  # of a cell, in units of the font size of its number
_FIRST = 0.62  # share of the width for the delay; the amplitude is beside it
_BESIDE, _SECOND = 0.62, 0.5  # font sizes of the amplitude, and of the other values
_MIN_HEIGHT = 64.0  # px
_USUAL = f"{MINUS}88.8"  # longest usual number: shorter ones have its font size
_MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
_LEFT = Qt.AlignmentFlag.AlignLeft | _MIDDLE
_STRIPE = 0.16


class WallCell(Tile):
    """Tile with one large number; filled with the colour of its severity while an alarm is active."""

    # as high as it is at least, the number has its size at this width
    MIN_WIDTH = _WIDTH * _MIN_HEIGHT / _HEIGHT

    @staticmethod
    def font_size(width: float, height: float) -> float:
        """Return the font size of the number, px."""
        return min(width / _WIDTH, height / _HEIGHT)

    @staticmethod
    def least_height(width: float) -> float:  # noqa: ARG004 - the same for every width
        """Return the minimum height, px."""
        return _MIN_HEIGHT

    @property
    def state(self) -> str:
        """Severity in a shape and words; without one, what the values are."""
        content = self.content
        found = content.severity if content.severity.words else content.status
        return f"{found.shape} {found.words}"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the name, the number, the state, and further values where there is room."""
        content, theme = self.content, self.theme
        active = content.severity.active
        level = level_colour(theme, content.level)
        colour, muted = (theme.base, theme.base) if active else (theme.text, theme.muted)
        dated = bool(content.time_label)
        ground = level if active else theme.base if content.current else theme.invalid
        size = self.font_size(self.width(), self.height())
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
            painter.setPen(QPen(QColor(theme.muted if dated else theme.grid), 1.0))
            painter.setBrush(QColor(ground))
            painter.drawRect(box)
            painter.fillRect(QRectF(box.left(), box.top(), _STRIPE * size, box.height()), QColor(level))
            area = box.adjusted((_STRIPE + 0.12) * size, 0.06 * size, -0.12 * size, -0.06 * size)
            lines = _Lines(painter, area)
            lines.write(content.name, 0.5 * size, colour, bold=True)
            values = content.values
            beside = [value for value in values[1:] if value.label == "amplitude"]
            for value in beside:
                lines.write_value(value, _BESIDE * size, colour, muted, begin=_FIRST, high=size)
            for value in values[:1]:
                lines.write_value(value, size, colour, muted, end=_FIRST if beside else 1.0)
            plain = not content.severity.words and content.level is Level.NONE
            lines.write(self.state, 0.5 * size, colour if active or plain else level, bold=True)
            details = content.severity.details or content.time_label or content.remark
            if details and lines.has_room(0.34 * size):
                lines.write(details, 0.34 * size, muted)
            for value in values[1:]:
                if value not in beside and lines.has_room(_SECOND * size):
                    lines.write_value(value, _SECOND * size, colour, muted, label=True)
            self.draw_outline(painter)


class _Lines:
    """Writes lines of text from top to bottom into an area."""

    def __init__(self, painter: QPainter, area: QRectF) -> None:
        self._painter, self._area, self._top = painter, area, area.top()

    def has_room(self, size: float) -> bool:
        """Whether a line in this font size fits below the last one."""
        return self._top + 1.2 * size <= self._area.bottom()

    def write(self, text: str, size: float, colour: str, *, bold: bool = False) -> None:
        """Write a line; in a smaller font where it does not fit, then elided."""
        write_fitted(self._painter, self._row(1.2 * size), text, size, colour, _LEFT, bold=bold)

    def write_value(
        self,
        value: TileValue,
        size: float,
        colour: str,
        muted: str,
        *,
        label: bool = False,
        begin: float = 0.0,
        end: float = 1.0,
        high: float = 0.0,
    ) -> None:
        """Write a number and its unit, with its label before it, from `begin` to `end` of the width.

        With the font size `high` of the number that follows beside it, the row remains.
        """
        row, painter = self._row(1.25 * (high or size)), self._painter
        if high:
            self._top = row.top()
        row = QRectF(row.left() + begin * row.width(), row.top(), (end - begin) * row.width(), row.height())
        unit, unit_width = _font(painter, value.unit, 0.5 * size)
        name, name_width = _font(painter, f"{value.label} " if label else "", 0.7 * size)
        room = row.width() - unit_width - name_width - 0.15 * size
        shown = value.text.replace("-", MINUS)
        number, _ = fitted(max(shown, _USUAL, key=len), painter.font(), size, room, bold=True)
        width = QFontMetricsF(number).horizontalAdvance(shown)
        left = row.left()
        for text, font, ink, wide in (
            (f"{value.label} " if label else "", name, muted, name_width),
            (shown, number, colour, width + 0.15 * size),
            (value.unit, unit, muted, unit_width),
        ):
            painter.setFont(font)
            painter.setPen(QColor(ink))
            painter.drawText(QRectF(left, row.top(), wide, row.height()), _LEFT, text)
            left += wide

    def _row(self, height: float) -> QRectF:
        row = QRectF(self._area.left(), self._top, self._area.width(), height)
        self._top += height
        return row


def _font(painter: QPainter, text: str, size: float) -> tuple[QFont, float]:
    """Return the font of a short text, and the width of the text."""
    font, _ = fitted(text, painter.font(), size, float("inf"))
    return font, QFontMetricsF(font).horizontalAdvance(text)


def urgency(content: TileContent) -> int:
    """Return the rank of a content: alarms, display limits and decisions, no values, not judged, shelved, others."""
    severity, level = content.severity, content.level
    if level in (Level.WARN, Level.BAD):
        first = 0 if severity.active else 2 if severity.words or content.is_site else 4
        return first + (level is Level.WARN)
    if severity.shape == NOT_JUDGED_SHAPE:
        return 6
    return 7 if level is Level.INFO else 8


class WallPanel(TilesPanel):
    """Cells of all actuators and sites; of equal urgency in their own order, so that they keep their places."""

    key = "wall"
    title = "Wall"
    tile = WallCell

    def ordered(self, contents: list[TileContent]) -> list[TileContent]:
        """Return the contents, the most urgent first."""
        return sorted(contents, key=urgency)

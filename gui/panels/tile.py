"""Tile: widget that draws a tile's content as large as it fits, portrait or landscape."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.model.tracking_status import CONTRADICTION_SIGN, NO_VALUE, contradiction_reason
from gui.panels.tile_content import TileContent, TileValue
from gui.plots.value_axis import MINUS
from gui.widgets.painting import painting, plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level

_MIN_FONT = 6
"""Minimum font size, px."""
_TABULAR = QFont.Tag("tnum")
_FIGURES = str.maketrans("012345679", "888888888")


def fitted(text: str, font: QFont, pixels: float, width: float, *, bold: bool = False) -> tuple[QFont, bool]:
    """Return `font` with tabular figures in the largest size up to `pixels` in which `text` fits into `width`.

    The second value is False where it does not fit even in the minimum size.
    """
    # tabular figures: the result does not depend on the digits
    size, fits = _fitting(text.translate(_FIGURES), font.family(), pixels, width, bold)
    return _font(font.family(), size, bold), fits


def write_fitted(
    painter: QPainter, box: QRectF, text: str, pixels: float, colour: str, align: int, *, bold: bool, usual: str = ""
) -> None:
    """Write a text in the largest size up to `pixels` in which it (or `usual`) fits into a box, then elided."""
    font, fits = fitted(max(text, usual, key=len), painter.font(), pixels, box.width(), bold=bold)
    if not fits:
        text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, box.width())
    painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(box, align, text)


@lru_cache(4096)
def _fitting(text: str, family: str, pixels: float, width: float, bold: bool) -> tuple[int, bool]:
    for _ in range(3):
        size = int(max(_MIN_FONT, pixels))
        needed = QFontMetricsF(_font(family, size, bold)).horizontalAdvance(text)
        if needed <= width or size <= _MIN_FONT:
            break
        pixels = size * width / needed
    return size, needed <= width


def _font(family: str, size: int, bold: bool) -> QFont:
    font = QFont(family)
    font.setFeature(_TABULAR, 1)
    font.setBold(bold)
    font.setPixelSize(size)
    return font


MIN_WIDTH, MIN_HEIGHT = 160, 120
"""Minimum size of a tile, px."""
LANDSCAPE_MIN_WIDTH, LANDSCAPE_MIN_HEIGHT = 310, 70
"""Minimum size of a landscape tile, px: values are beside the words instead of below them."""
_PORTRAIT, _LANDSCAPE = (10.0, 8.6), (22.0, 4.8)  # width and height, in units of the font size
_LANDSCAPE_MERIT = 1.2
_WORDS_END, _VALUES_BEGIN = 0.5, 0.54  # of the width of a landscape tile
_LABEL, _NUMBER, _UNIT, _SPACE = 0.18, 0.44, 0.12, 0.012  # shares of the width; the rest is the standard deviation
_USUAL = f"{MINUS}88.8"  # longest usual number: shorter ones have its font size
_USUAL_BADGE = " ■ TRIP: delay −88.88 ms (+1 more)"
_USUAL_LABEL = "phases"  # longest label: all labels of a tile have one font size
_MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft | _MIDDLE, Qt.AlignmentFlag.AlignRight | _MIDDLE
_FOOT, _MARK, _GAP = 0.7, 0.62, 0.3  # font sizes of the bottom line and of the mark in it; gap between them
_FRAME = 3.0  # px, of a tile with an active alarm
_HELP = "ampl. = measured / command amplitude: < 100 %: undershoot; delay > 0: lag; ± one standard deviation"


class Tile(QWidget):
    """Widget that draws a tile; the colour at the left edge repeats the words.

    Signals
    -------
    clicked : name on the tile.
    """

    clicked = Signal(str)
    MIN_WIDTH: ClassVar[float] = MIN_WIDTH

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.content = TileContent("", "", NO_VALUE, ())
        self.selected = self.focused = False

    @staticmethod
    def font_size(width: float, height: float) -> float:
        """Return the font size of the values of a tile of this size, px; larger in landscape, as its small print."""
        size, landscape = _layout(width, height)
        return size * (_LANDSCAPE_MERIT if landscape else 1.0)

    @staticmethod
    def least_height(width: float) -> float:
        """Return the minimum height of a tile of this width, px."""
        return LANDSCAPE_MIN_HEIGHT if width >= LANDSCAPE_MIN_WIDTH else MIN_HEIGHT

    @property
    def selectable(self) -> bool:
        """Whether the tile is that of an actuator, which can be selected."""
        return not self.content.is_site

    def set_content(self, content: TileContent) -> None:
        """Show this content; equal content is not redrawn."""
        if content != self.content:
            self.content = content
            self.setAccessibleName(content.name)
            self.setAccessibleDescription(content.text)
            if self.selectable:
                self.setCursor(Qt.CursorShape.PointingHandCursor)
                why = content.severity.text, _HELP, contradiction_reason(content.contradicting)
                self.setToolTip(plain_tip("\n\n".join(filter(None, why))))
            else:
                self.unsetCursor()
                self.setToolTip("")
            self.update()

    def set_outline(self, *, selected: bool, focused: bool) -> None:
        """Set the outline: selected, and heavier with the keyboard focus."""
        if (selected, focused) != (self.selected, self.focused):
            self.selected, self.focused = selected, focused
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Emit `clicked`."""
        if event.button() is Qt.MouseButton.LeftButton and self.selectable:
            self.clicked.emit(self.content.name)
        else:
            super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the frame, then the lines of text."""
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            size, landscape = _layout(self.width(), self.height())
            self._frame(painter, size)
            area = QRectF(self.rect()).adjusted(0.65 * size, 0.3 * size, -0.35 * size, -0.3 * size)
            if landscape:
                beside = area.adjusted(_VALUES_BEGIN * area.width(), 0.0, 0.0, 0.0)
                area.setWidth(_WORDS_END * area.width())
                words = _Lines(painter, self.theme, area, size, _LANDSCAPE[1])
                numbers = _Lines(painter, self.theme, beside, size, _LANDSCAPE[1])
            else:
                words = numbers = _Lines(painter, self.theme, area, size, _PORTRAIT[1])
            words.head(self.content)
            numbers.values(self.content)
            words.foot(self.content)

    def _frame(self, painter: QPainter, size: float) -> None:
        theme, content = self.theme, self.content
        area = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        dated = bool(content.time_label)
        style = Qt.PenStyle.DashLine if dated else Qt.PenStyle.SolidLine
        painter.setPen(QPen(QColor(theme.muted if dated else theme.grid), 1.0, style))
        painter.setBrush(QColor(theme.base if content.current else theme.invalid))
        painter.drawRect(area)
        stripe = QRectF(area.left(), area.top(), 0.3 * size, area.height())
        painter.fillRect(stripe, level_colour(theme, content.level))
        if content.severity.active:
            # within the outline of a selected tile
            half = 0.5 * _FRAME
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(level_colour(theme, content.level)), _FRAME))
            painter.drawRect(area.adjusted(2.0 + half, 2.0 + half, -2.0 - half, -2.0 - half))
        self.draw_outline(painter)

    def draw_outline(self, painter: QPainter) -> None:
        """Draw the outline of the selected tile."""
        if self.selected:
            width = 4.0 if self.focused else 2.0
            inset = width / 2.0
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.theme.accent), width))
            painter.drawRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset))


def _layout(width: float, height: float) -> tuple[float, bool]:
    """Return the font size of the values of a tile, px, and whether its layout is landscape."""
    portrait, landscape = (min(width / wide, height / high) for wide, high in (_PORTRAIT, _LANDSCAPE))
    return (landscape, True) if landscape > portrait and width >= LANDSCAPE_MIN_WIDTH else (portrait, False)


class _Lines:
    """Writes the text of a tile from top to bottom; `size` is the font size of the values, px."""

    def __init__(self, painter: QPainter, theme: Theme, area: QRectF, size: float, high: float) -> None:
        self._painter = painter
        self._theme = theme
        self._size = size
        self._area = area
        # spare height is distributed over the lines
        self._stretch = max(1.0, area.height() / ((high - 0.6) * size))
        self._top = area.top()

    def head(self, content: TileContent) -> None:
        """Write name, origin and status."""
        theme = self._theme
        row = self._row(1.3)
        # the instant matters more than the indicator
        size, colour, start = (0.7, theme.text, 0.52) if content.time_label else (0.58, theme.muted, 0.68)
        self._text(row, content.name, 1.0, theme.text, share=start - 0.02, bold=True)
        upper, lower = content.origin
        beside = theme.muted
        if content.mark and not self._marked(content):
            # there is room for the sign only
            if content.time_label:
                lower, beside = f"{CONTRADICTION_SIGN} {lower}", theme.info
            else:
                upper, colour = f"{CONTRADICTION_SIGN} {upper}", theme.info
        lines = _halves(row) if lower else (row, row)
        self._text(lines[0], upper, size, colour, _RIGHT, start=start)
        self._text(lines[1], lower, 0.5, beside, _RIGHT, start=start)
        status = content.status
        # what the values are is no state: it has the colour of text
        colour = theme.text if status.level is Level.NONE else level_colour(theme, status.level)
        self._text(self._row(1.5), f"{status.shape} {status.words}", 1.15, colour, bold=True)

    def values(self, content: TileContent) -> None:
        """Write the values."""
        for rank, value in enumerate(content.values):
            self._value(value, 1.35 if rank == 0 else 1.0)

    def foot(self, content: TileContent) -> None:
        """Write the severity or the remark at the bottom."""
        high = 0.95 * self._size
        row = QRectF(self._area.left(), self._area.bottom() - high, self._area.width(), high)
        if marked := self._marked(content):
            font, width = marked
            self._painter.setFont(font)
            self._painter.setPen(QColor(self._theme.info))
            self._painter.drawText(row, _RIGHT, content.mark)
            row.setRight(row.right() - width - _GAP * self._size)
        severity = content.severity
        if severity.active:
            self._painter.fillRect(row, level_colour(self._theme, severity.level))
            # badges of one size, whatever they say
            self._text(row, f" {severity.text}", _FOOT, self._theme.base, bold=True, usual=_USUAL_BADGE)
        elif severity.words:
            self._text(row, severity.text, _FOOT, level_colour(self._theme, severity.level), bold=True)
        else:
            self._text(row, content.remark, _FOOT, self._theme.muted)

    def _marked(self, content: TileContent) -> tuple[QFont, float] | None:
        """Return font and width of the mark beside the text of the bottom line; None without room."""
        if not content.mark:
            return None
        plain, room = self._painter.font(), self._area.width()
        if words := (content.severity.text or content.remark).replace("amplitude", "ampl."):
            widest = max(words, _USUAL_BADGE if content.severity.active else "", key=len)
            written, _ = fitted(widest, plain, _FOOT * self._size, room, bold=bool(content.severity.words))
            room -= QFontMetricsF(written).horizontalAdvance(f" {words}") + _GAP * self._size
        font, fits = fitted(content.mark, plain, _MARK * self._size, room, bold=True)
        return (font, QFontMetricsF(font).horizontalAdvance(content.mark)) if fits else None

    def _value(self, value: TileValue, size: float) -> None:
        theme, row = self._theme, self._row(1.25 * size)
        plain = value.level is Level.NONE
        colour = theme.text if plain else level_colour(theme, value.level)
        # without a unit there is room for a longer label
        unit = _UNIT + _SPACE if value.unit else 0.0
        start = _LABEL + _UNIT + _SPACE - unit
        self._text(row, value.label, 0.6, theme.muted, share=start - _SPACE, usual=_USUAL_LABEL)
        strong = size > 1.0 or not plain
        shown = value.text.replace("-", MINUS)
        self._text(row, shown, size, colour, _RIGHT, start=start, share=_NUMBER, bold=strong, usual=_USUAL)
        start += _NUMBER + _SPACE
        self._text(row, value.unit, 0.62, theme.muted, start=start, share=_UNIT)
        self._text(row, value.spread, 0.58, theme.muted, start=start + unit)

    def _row(self, height: float) -> QRectF:
        height *= self._size * self._stretch
        row = QRectF(self._area.left(), self._top, self._area.width(), height)
        self._top += height
        return row

    def _text(
        self,
        row: QRectF,
        text: str,
        size: float,
        colour: str,
        align: int = _LEFT,
        *,
        start: float = 0.0,
        share: float | None = None,
        bold: bool = False,
        usual: str = "",
    ) -> None:
        """Write into a share of the row: in a smaller font where it (or `usual`) does not fit, then elided."""
        if not text:
            return
        # the word is too long for small tiles
        text = text.replace("amplitude", "ampl.")
        share = 1.0 - start if share is None else share
        box = QRectF(row.left() + start * row.width(), row.top(), share * row.width(), row.height())
        write_fitted(self._painter, box, text, size * self._size, colour, align, bold=bold, usual=usual)


def _halves(row: QRectF) -> tuple[QRectF, QRectF]:
    half = 0.5 * row.height()
    return row.adjusted(0.0, 0.0, 0.0, -half), row.adjusted(0.0, half, 0.0, 0.0)

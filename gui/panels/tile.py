"""Tile: a widget that draws a tile's content as large as there is room, portrait or landscape."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.model.verdict import NO_VALUE, SIGN, contradiction_reason
from gui.panels.tile_faces import Reading, TileFace
from gui.plots.value_axis import MINUS
from gui.widgets.painting import painting
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level

_SMALLEST = 6
"""Pixels of a letter that can still be read."""
_TABULAR = QFont.Tag("tnum")
_FIGURES = str.maketrans("012345679", "888888888")


def fitted(text: str, font: QFont, pixels: float, width: float, *, bold: bool = False) -> tuple[QFont, bool]:
    """Return `font` with figures of one width, in at most `pixels` and so that `text` has room in `width`.

    It is never smaller than can be read; whether the text has room then is told beside it.
    """
    # figures are of one width: what fits once fits with other figures
    size, fits = _fitting(text.translate(_FIGURES), font.family(), pixels, width, bold)
    return _font(font.family(), size, bold), fits


@lru_cache(4096)
def _fitting(text: str, family: str, pixels: float, width: float, bold: bool) -> tuple[int, bool]:
    for _ in range(3):
        size = int(max(_SMALLEST, pixels))
        needed = QFontMetricsF(_font(family, size, bold)).horizontalAdvance(text)
        if needed <= width or size <= _SMALLEST:
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
"""Pixels, down to which all of a tile can be read."""
LANDSCAPE_MIN_WIDTH, LANDSCAPE_MIN_HEIGHT = 310, 70
"""The same for one whose numbers stand beside its words instead of below them."""
_PORTRAIT, _LANDSCAPE = (10.0, 8.6), (22.0, 4.8)  # width and height, in the size of plain numbers
_WORDS, _APART = 0.5, 0.54  # shares of the width of a landscape tile: where the words end, where the numbers begin
_LABEL, _NUMBER, _UNIT, _SPACE = 0.18, 0.44, 0.12, 0.012  # shares of the width; the rest is the spread
_USUAL = f"{MINUS}88.8"  # has the size of numbers that are as long or shorter
_USUAL_LABEL = "phases"  # so do labels: those of a tile have one size
_MIDDLE = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft | _MIDDLE, Qt.AlignmentFlag.AlignRight | _MIDDLE
_FOOT, _MARK, _GAP = 0.7, 0.62, 0.3  # sizes of the lowest line, of the mark in it, and between them
_FRAME = 3.0  # pixels, of one whose alarm stands
_HELP = "ratio = command / measured amplitude: over 100 % it undershoots; delay > 0 lags; ± one standard deviation"


def letter_size(width: float, height: float) -> tuple[float, bool]:
    """Return how large the plain numbers of a tile are, in pixels, and whether it is a landscape one."""
    portrait, landscape = (min(width / wide, height / high) for wide, high in (_PORTRAIT, _LANDSCAPE))
    return (landscape, True) if landscape > portrait and width >= LANDSCAPE_MIN_WIDTH else (portrait, False)


class Tile(QWidget):
    """Draw a face; a colour at the left edge and words say the same.

    Signals
    -------
    picked : the name on the tile that was clicked.
    """

    picked = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget, *, pickable: bool = True) -> None:
        super().__init__(parent)
        self.theme = theme
        self.face = TileFace("", "", NO_VALUE, ())
        self.pickable = pickable
        self.chosen = self.focused = False
        if pickable:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
            self.setToolTip(_HELP)

    def show_face(self, face: TileFace) -> None:
        """Draw this one from now on; the same again costs nothing."""
        if face != self.face:
            self.face = face
            self.setAccessibleName(face.name)
            self.setAccessibleDescription(face.text)
            if self.pickable:
                self.setToolTip("\n\n".join(filter(None, (_HELP, contradiction_reason(face.contradicting)))))
            self.update()

    def mark(self, *, chosen: bool, focused: bool) -> None:
        """Draw an outline round the chosen one, a heavier one while the keys move it."""
        if (chosen, focused) != (self.chosen, self.focused):
            self.chosen, self.focused = chosen, focused
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Say that it was clicked."""
        if event.button() is Qt.MouseButton.LeftButton and self.pickable:
            self.picked.emit(self.face.name)
        else:
            super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002, N802 - Qt's name
        """Draw the frame, then line by line."""
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            size, landscape = letter_size(self.width(), self.height())
            self._frame(painter, size)
            area = QRectF(self.rect()).adjusted(0.65 * size, 0.3 * size, -0.35 * size, -0.3 * size)
            if landscape:
                beside = area.adjusted(_APART * area.width(), 0.0, 0.0, 0.0)
                area.setWidth(_WORDS * area.width())
                words = _Lines(painter, self.theme, area, size, _LANDSCAPE[1])
                numbers = _Lines(painter, self.theme, beside, size, _LANDSCAPE[1])
            else:
                words = numbers = _Lines(painter, self.theme, area, size, _PORTRAIT[1])
            words.head(self.face)
            numbers.readings(self.face)
            words.foot(self.face)

    def _frame(self, painter: QPainter, size: float) -> None:
        theme, face = self.theme, self.face
        area = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        dated = bool(face.said)
        painter.setPen(QPen(QColor(theme.muted if dated else theme.grid), 1.0, _dash(dated)))
        painter.setBrush(QColor(theme.base if face.known and not dated else theme.invalid))
        painter.drawRect(area)
        level = max(face.verdict.level, face.alarm_level, key=list(Level).index)
        painter.fillRect(QRectF(area.left(), area.top(), 0.3 * size, area.height()), level_colour(theme, level))
        if face.standing:
            # within the outline of the chosen one
            half = 0.5 * _FRAME
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(level_colour(theme, face.alarm_level)), _FRAME))
            painter.drawRect(area.adjusted(2.0 + half, 2.0 + half, -2.0 - half, -2.0 - half))
        if self.chosen:
            width = 4.0 if self.focused else 2.0
            inset = width / 2.0
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.accent), width))
            painter.drawRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset))


class _Lines:
    """The text of a tile from top to bottom; `size` is that of plain numbers, in pixels."""

    def __init__(self, painter: QPainter, theme: Theme, area: QRectF, size: float, high: float) -> None:
        self._painter = painter
        self._theme = theme
        self._size = size
        self._area = area
        # what is higher than it need be is shared out between the lines
        self._stretch = max(1.0, area.height() / ((high - 0.6) * size))
        self._top = area.top()

    def head(self, face: TileFace) -> None:
        """Write what is shown, and how it is."""
        theme = self._theme
        row = self._row(1.3)
        # when it is of matters more than how it was found
        size, colour, start = (0.7, theme.text, 0.52) if face.said else (0.58, theme.muted, 0.68)
        self._text(row, face.name, 1.0, theme.text, share=start - 0.02, bold=True)
        upper, lower = face.origin
        beside = theme.muted
        if face.mark and not self._marked(face):
            # there is no room for more than the sign
            if face.said:
                lower, beside = f"{SIGN} {lower}", theme.info
            else:
                upper, colour = f"{SIGN} {upper}", theme.info
        lines = _halves(row) if lower else (row, row)
        self._text(lines[0], upper, size, colour, _RIGHT, start=start)
        self._text(lines[1], lower, 0.5, beside, _RIGHT, start=start)
        colour = level_colour(theme, face.verdict.level)
        self._text(self._row(1.5), f"{face.verdict.shape} {face.verdict.words}", 1.15, colour, bold=True)

    def readings(self, face: TileFace) -> None:
        """Write the numbers."""
        for rank, reading in enumerate(face.readings):
            self._reading(reading, 1.35 if rank == 0 else 1.0)

    def foot(self, face: TileFace) -> None:
        """Write what is over a limit, or a remark, at the bottom."""
        high = 0.95 * self._size
        row = QRectF(self._area.left(), self._area.bottom() - high, self._area.width(), high)
        if marked := self._marked(face):
            font, width = marked
            self._painter.setFont(font)
            self._painter.setPen(QColor(self._theme.info))
            self._painter.drawText(row, _RIGHT, face.mark)
            row.setRight(row.right() - width - _GAP * self._size)
        if face.alarm:
            self._painter.fillRect(row, level_colour(self._theme, face.alarm_level))
            self._text(row, f" {face.alarm}", _FOOT, self._theme.base, bold=True)
        else:
            self._text(row, face.remark, _FOOT, self._theme.muted)

    def _marked(self, face: TileFace) -> tuple[QFont, float] | None:
        """Return how the mark is written beside the words of the lowest line, and its width; None without room."""
        if not face.mark:
            return None
        plain, room = self._painter.font(), self._area.width()
        if words := face.alarm or face.remark:
            written, _ = fitted(words, plain, _FOOT * self._size, room, bold=bool(face.alarm))
            room -= QFontMetricsF(written).horizontalAdvance(f" {words}") + _GAP * self._size
        font, fits = fitted(face.mark, plain, _MARK * self._size, room, bold=True)
        return (font, QFontMetricsF(font).horizontalAdvance(face.mark)) if fits else None

    def _reading(self, reading: Reading, size: float) -> None:
        theme, row = self._theme, self._row(1.25 * size)
        plain = reading.level is Level.NONE
        colour = theme.text if plain else level_colour(theme, reading.level)
        # what has no unit has room for a longer label
        unit = _UNIT + _SPACE if reading.unit else 0.0
        start = _LABEL + _UNIT + _SPACE - unit
        self._text(row, reading.label, 0.6, theme.muted, share=start - _SPACE, usual=_USUAL_LABEL)
        strong = size > 1.0 or not plain
        shown = reading.text.replace("-", MINUS)
        self._text(row, shown, size, colour, _RIGHT, start=start, share=_NUMBER, bold=strong, usual=_USUAL)
        start += _NUMBER + _SPACE
        self._text(row, reading.unit, 0.62, theme.muted, start=start, share=_UNIT)
        self._text(row, reading.spread, 0.58, theme.muted, start=start + unit)

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
        """Write in a share of the row: smaller where there is no room (for `usual`), only then with an ellipsis."""
        if not text:
            return
        share = 1.0 - start if share is None else share
        box = QRectF(row.left() + start * row.width(), row.top(), share * row.width(), row.height())
        widest = max(text, usual, key=len)
        font, fits = fitted(widest, self._painter.font(), size * self._size, box.width(), bold=bold)
        if not fits:
            text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        self._painter.setFont(font)
        self._painter.setPen(QColor(colour))
        self._painter.drawText(box, align, text)


def _halves(row: QRectF) -> tuple[QRectF, QRectF]:
    half = 0.5 * row.height()
    return row.adjusted(0.0, 0.0, 0.0, -half), row.adjusted(0.0, half, 0.0, 0.0)


def _dash(dated: bool) -> Qt.PenStyle:
    return Qt.PenStyle.DashLine if dated else Qt.PenStyle.SolidLine

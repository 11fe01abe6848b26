"""Painters that always end, as one that is left active crashes Qt; texts that fit, labels and icons."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QIcon,
    QPainter,
    QPainterPath,
    QPainterPathStroker,
    QPaintEvent,
    QPalette,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

_MARGIN = 6
_MAX_LENGTH = 200


@contextmanager
def painting(widget: QWidget) -> Iterator[QPainter]:
    """Yield a painter on a widget; an exception is reported, and its text drawn instead."""
    painter = QPainter(widget)
    try:
        yield painter
    except Exception as problem:  # noqa: BLE001 - it must not reach Qt
        painter.end()
        _draw_text(widget, failure_text(problem))
        sys.excepthook(type(problem), problem, problem.__traceback__)
    finally:
        if painter.isActive():
            painter.end()


@contextmanager
def painting_on(pixmap: QPixmap) -> Iterator[QPainter]:
    """Yield a painter on a pixmap; exceptions reach the caller."""
    painter = QPainter(pixmap)
    try:
        yield painter
    finally:
        painter.end()


_FONT_SCALES = 1.0, 0.9, 0.8, 0.7, 0.6, 0.5
"""Of the font of a text; the largest that fits is used."""


def narrowed(font: QFont, texts: Iterable[str], width: float) -> QFont:
    """Return a font in which all texts fit into `width` px: this one, or a smaller one."""
    found, shown = font, tuple(texts)
    for scale in _FONT_SCALES:
        found = font_like(font, scale)
        metrics = QFontMetricsF(found)
        if all(metrics.horizontalAdvance(text) <= width for text in shown):
            break
    return found


def draw_wrapped(painter: QPainter, area: QRect, text: str) -> None:
    """Draw centred and wrapped text, in a smaller font where it does not fit into `area` otherwise."""
    font, flags = painter.font(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    for scale in _FONT_SCALES:
        painter.setFont(font_like(font, scale))
        if area.contains(painter.boundingRect(area, flags, text)):
            break
    painter.drawText(area, flags, text)
    painter.setFont(font)


def font_like(font: QFont, scale: float = 1.0, *, bold: bool = False, tabular: bool = False) -> QFont:
    """Return a copy of a font, larger or smaller, bold, or with tabular figures, which do not jitter."""
    made = QFont(font)
    if scale != 1.0:
        made.setPointSizeF(scale * font.pointSizeF())
    if bold:
        made.setBold(True)
    if tabular:
        made.setFeature(QFont.Tag("tnum"), 1)
    return made


def failure_text(problem: Exception) -> str:
    """Return the text that replaces a picture: ``cannot be drawn (OverflowError: ...)``."""
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    return f"cannot be drawn ({what[:_MAX_LENGTH]})"


def _draw_text(widget: QWidget, text: str) -> None:
    painter, area = QPainter(widget), widget.rect()
    palette = widget.palette()
    painter.fillRect(area, palette.color(QPalette.ColorRole.Window))
    painter.setPen(palette.color(QPalette.ColorRole.WindowText))
    draw_wrapped(painter, area.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN), text)
    painter.end()


_ICON_SIZE = 64  # of the pixmap; scaled down where it is shown


def media_icon(name: str, colour: str) -> QIcon:
    """Return the icon `name`: play, pause, step, restart, loop or open."""
    pixmap = QPixmap(_ICON_SIZE, _ICON_SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillPath(_icon_path(name), QColor(colour))
    painter.end()
    return QIcon(pixmap)


def _icon_path(name: str) -> QPainterPath:
    """Return the outline of the shape."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)
    match name:
        case "play":
            _triangle(path, 16.0, 54.0)
        case "pause":
            path.addRect(QRectF(14.0, 10.0, 13.0, 44.0))
            path.addRect(QRectF(37.0, 10.0, 13.0, 44.0))
        case "step":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 27.0, 58.0)
        case "restart":
            path.addRect(QRectF(10.0, 10.0, 9.0, 44.0))
            _triangle(path, 54.0, 23.0)
        case "loop":
            arc = QPainterPath()
            circle = QRectF(12.0, 12.0, 40.0, 40.0)
            arc.arcMoveTo(circle, 40.0)
            arc.arcTo(circle, 40.0, 280.0)
            stroker = QPainterPathStroker()
            stroker.setWidth(7.0)
            path = stroker.createStroke(arc)
            path.addPolygon(QPolygonF([QPointF(36.0, 30.0), QPointF(60.0, 30.0), QPointF(48.0, 10.0)]))
        case "open":
            path.addPolygon(
                QPolygonF([QPointF(6.0, 14.0), QPointF(26.0, 14.0), QPointF(32.0, 21.0), QPointF(6.0, 21.0)])
            )
            path.addRect(QRectF(6.0, 21.0, 52.0, 32.0))
        case _:
            raise ValueError(f"there is no icon {name!r}")
    return path


def _triangle(path: QPainterPath, base: float, tip: float) -> None:
    path.addPolygon(QPolygonF([QPointF(base, 10.0), QPointF(tip, 32.0), QPointF(base, 54.0)]))


def plain_tip(text: str) -> str:
    """Return a tool tip that shows `text` as plain text, with its line breaks."""
    # without these characters Qt does not detect rich text
    if not {"<", "&"} & set(text):
        return text
    return f'<p style="white-space: pre-wrap">{escape(text)}</p>'


class PlainLabel(QLabel):
    """A label of plain text: names from a rig are not interpreted as rich text."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        # the stubs know the arguments of QLabel only one by one
        super().__init__(*arguments, textFormat=Qt.TextFormat.PlainText, **keywords)  # type: ignore[call-overload]


class ProblemLabel(PlainLabel):
    """Label of what is wrong with an input, in the colour of errors; hidden while nothing is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, wordWrap=True)
        self.setForegroundRole(QPalette.ColorRole.BrightText)
        self.hide()

    def show_problem(self, text: str) -> None:
        """Show a problem; empty: there is none."""
        self.setText(text)
        self.setVisible(bool(text))


class MutedLabel(PlainLabel):
    """Label of wrapped text that is less important."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text, wordWrap=True)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)


class ElidedLabel(PlainLabel):
    """Label that is elided instead of widening what it is in; its tool tip has the whole text."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def setText(self, text: str) -> None:  # noqa: N802 - Qt's name
        """Set the text."""
        super().setText(text)
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the elided text."""
        with painting(self) as painter:
            painter.setPen(self.palette().windowText().color())
            text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

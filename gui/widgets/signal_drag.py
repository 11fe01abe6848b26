"""Drag and drop of signals: what is dragged, where it may be dropped, and the highlight of that place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakMethod

import msgspec
from PySide6.QtCore import QByteArray, QEvent, QMimeData, QObject, QPoint, QRect, Qt
from PySide6.QtGui import (
    QColor,
    QDrag,
    QDragMoveEvent,
    QDropEvent,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QWidget

from gui.widgets.painting import painting, painting_on

SIGNALS_TYPE = "application/x-synchroscope-signals"
"""MIME type of the names of signals, a JSON list."""
_MAX_SIGNALS = 64
_MAX_BYTES = 1 << 16
_PADDING = 5  # px
_ALPHA = 45


def signals_data(names: Sequence[str]) -> QMimeData:
    """Return names of signals as MIME data, also as text."""
    data = QMimeData()
    data.setData(SIGNALS_TYPE, QByteArray(msgspec.json.encode(list(names))))
    data.setText(", ".join(names))
    return data


def dragged_signals(data: QMimeData) -> tuple[str, ...]:
    """Return the names in MIME data; none where it has no signals."""
    content = bytes(data.data(SIGNALS_TYPE).data())
    if not content or len(content) > _MAX_BYTES:
        return ()
    try:
        return tuple(dict.fromkeys(msgspec.json.decode(content, type=list[str])[:_MAX_SIGNALS]))
    except msgspec.DecodeError:
        # of another program
        return ()


def drag_signals(source: QWidget, names: Sequence[str]) -> None:
    """Let the mouse drag signals from a widget; return when they are dropped."""
    drag = QDrag(source)
    drag.setMimeData(signals_data(names))
    drag.setPixmap(_label(source, ", ".join(names)))
    drag.exec(Qt.DropAction.CopyAction)


def _label(source: QWidget, text: str) -> QPixmap:
    metrics, ratio = QFontMetrics(source.font()), source.devicePixelRatioF()
    text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, 40 * metrics.averageCharWidth())
    box = metrics.boundingRect(text).adjusted(-_PADDING, -_PADDING, _PADDING, _PADDING)
    pixmap = QPixmap(round(box.width() * ratio), round(box.height() * ratio))
    pixmap.setDevicePixelRatio(ratio)
    palette = source.palette()
    pixmap.fill(palette.highlight().color())
    with painting_on(pixmap) as painter:
        painter.setFont(source.font())
        painter.setPen(palette.highlightedText().color())
        painter.drawText(QRect(QPoint(), box.size()), Qt.AlignmentFlag.AlignCenter, text)
    return pixmap


@dataclass(frozen=True, slots=True)
class DropPlace:
    """Where signals can be dropped.

    Parameters
    ----------
    area : that is highlighted, px of the widget.
    text : what a drop there does.
    drop : does it.
    """

    area: QRect
    text: str
    drop: Callable[[], None]


class SignalDrop(QWidget):
    """Accepts signals that are dragged onto a widget, and highlights the place under the mouse.

    Parameters
    ----------
    target : the widget; its children must not accept drops.
    place : method that returns what a drop at a point would do; None where nothing.

    Attributes
    ----------
    text : what a drop would do now; empty where nothing is dragged here.
    """

    def __init__(self, target: QWidget, place: Callable[[QPoint, tuple[str, ...]], DropPlace | None]) -> None:
        super().__init__(target)
        # a panel that referred to itself would be deleted by the garbage collector, perhaps while it is painted
        self._place = WeakMethod(place)
        self.text = ""
        self._area = QRect()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        target.setAcceptDrops(True)
        target.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle what is dragged over the widget."""
        if watched is not self.parentWidget():
            return False
        if event.type() is QEvent.Type.DragLeave:
            self._highlight(None)
        elif isinstance(event, QDropEvent):
            names = dragged_signals(event.mimeData())
            find = self._place()
            place = find(event.position().toPoint(), names) if names and find is not None else None
            dropped = not isinstance(event, QDragMoveEvent)
            self._highlight(None if dropped else place)
            if place is not None:
                event.setDropAction(Qt.DropAction.CopyAction)
                event.accept()
                if dropped:
                    place.drop()
            elif names:
                # it may be possible elsewhere in the widget
                event.setAccepted(event.type() is QEvent.Type.DragEnter)
            else:
                # files are for the window
                event.ignore()
            return True
        return False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the highlight."""
        with painting(self) as painter:
            self._draw(painter)

    def _draw(self, painter: QPainter) -> None:
        palette = self.palette()
        colour = palette.highlight().color()
        fill = QColor(colour)
        fill.setAlpha(_ALPHA)
        area = self._area.adjusted(1, 1, -1, -1)
        painter.fillRect(area, fill)
        painter.setPen(QPen(colour, 2))
        painter.drawRect(area)
        metrics = self.fontMetrics()
        text = metrics.elidedText(self.text, Qt.TextElideMode.ElideRight, max(0, self.width() - 4 * _PADDING))
        box = metrics.boundingRect(text).adjusted(-_PADDING, -_PADDING, _PADDING, _PADDING)
        box.moveCenter(area.center())
        # beside a narrow area it is still within the panel
        box.moveLeft(max(_PADDING, min(box.left(), self.width() - _PADDING - box.width())))
        painter.fillRect(box, colour)
        painter.setPen(palette.highlightedText().color())
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _highlight(self, place: DropPlace | None) -> None:
        self.text = "" if place is None else place.text
        self._area = QRect() if place is None else place.area
        self.setVisible(place is not None)
        target = self.parentWidget()
        if place is not None and target is not None:
            self.setGeometry(target.rect())
            self.raise_()
            self.update()

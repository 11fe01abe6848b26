"""Layouts: widgets in a row or a column, and a row that is scrolled where it is too narrow."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QScrollArea, QSizePolicy, QWidget

Box = TypeVar("Box", bound=QBoxLayout)
Part = QWidget | QLayout | None


def fill(
    layout: Box, *parts: Part | tuple[Part, int], margins: tuple[int, int, int, int] | None = None, spacing: int = -1
) -> Box:
    """Add parts to a layout, in order, and return it: a pair has its stretch, None is a space that grows.

    Parameters
    ----------
    margins : around the parts, px; None: those of the style.
    spacing : between the parts, px; -1: that of the style.
    """
    if margins is not None:
        layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for each in parts:
        part, stretch = each if isinstance(each, tuple) else (each, 0)
        if part is None:
            layout.addStretch(1)
        elif isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        else:
            layout.addLayout(part, stretch)
    return layout


class WidgetRow(QScrollArea):
    """Widgets in one row; where it is too narrow for them, it has a scroll bar."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self._content = QWidget()
        fill(QHBoxLayout(self._content), *widgets, None, margins=(4, 4, 4, 4), spacing=8)
        self.setWidget(self._content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for widget in (self._content, *self._content.findChildren(QWidget)):
            widget.installEventFilter(self)

    def sizeHint(self) -> QSize:
        """Return the size of the row, and of the scroll bar where it is needed."""
        size = self._content.minimumSizeHint()
        overflows = size.width() > self.width()
        return QSize(
            size.width(), size.height() + (self.horizontalScrollBar().sizeHint().height() if overflows else 0)
        )

    def minimumSizeHint(self) -> QSize:
        """Return the height of the row, and no width."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Make room for the scroll bar, or for none."""
        super().resizeEvent(event)
        self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the size of the widgets, and scroll to the one that gets the focus."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        elif event.type() == QEvent.Type.FocusIn and isinstance(watched, QWidget):
            self.ensureWidgetVisible(watched, 8, 0)
        return super().eventFilter(watched, event)

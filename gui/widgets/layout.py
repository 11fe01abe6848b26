"""A row of widgets that is scrolled; padding of rows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)


class WidgetRow(QScrollArea):
    """Widgets in one row; where it is too narrow for them, it has a scroll bar."""

    def __init__(self, *widgets: QWidget, margin: int = 4, spacing: int = 8) -> None:
        super().__init__()
        self._content = QWidget()
        row = QHBoxLayout(self._content)
        row.setContentsMargins(margin, margin, margin, margin)
        row.setSpacing(spacing)
        for widget in widgets:
            row.addWidget(widget)
        row.addStretch(1)
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


_ROW_PADDING = 6  # pixels a row


class _PaddedRow(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), size.height() + _ROW_PADDING)


def set_row_padding(view: QAbstractItemView) -> None:
    """Make the rows of a view higher, so that they are easy to distinguish and to click."""
    view.setItemDelegate(_PaddedRow(view))

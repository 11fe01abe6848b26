"""Flow layout, which wraps widgets like words; a row of widgets that is scrolled; padding of rows."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)


class FlowLayout(QLayout):
    """Lays widgets out from left to right, and wraps them into lines."""

    def __init__(self, parent: QWidget | None = None, *, margin: int = 6, spacing: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(margin, margin, margin, margin)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        """Add an item."""
        self._items.append(item)

    def count(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """Return an item, None beyond the last."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem:
        """Remove and return an item, None beyond the last."""
        # the stubs of PySide 6.9 do not allow None
        return cast(QLayoutItem, self._items.pop(index) if 0 <= index < len(self._items) else None)

    def expandingDirections(self) -> Qt.Orientation:
        """Expand in no direction."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Return True: the height depends on the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        return self._arrange(QRect(0, 0, width, 0), apply=False)

    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        self._arrange(rect, apply=True)

    def sizeHint(self) -> QSize:
        """Return the minimum size: lines may be as short as the widest item."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """Return the size of the largest item."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        margins = self.contentsMargins()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, *, apply: bool) -> int:
        """Return the height; with `apply`, place the items."""
        margins = self.contentsMargins()
        inner = rect.marginsRemoved(margins)
        for line, top, height in self._lines(inner.width()):
            x = inner.x()
            for item in line:
                size = item.sizeHint()
                if apply:
                    y = inner.y() + top + (height - size.height()) // 2
                    item.setGeometry(QRect(QPoint(x, y), size))
                x += size.width() + self.spacing()
        lines = self._lines(inner.width())
        bottom = lines[-1][1] + lines[-1][2] if lines else 0
        return bottom + margins.top() + margins.bottom()

    def _lines(self, width: int) -> list[tuple[list[QLayoutItem], int, int]]:
        """Return the lines: the items, the top and the height of each."""
        lines: list[tuple[list[QLayoutItem], int, int]] = []
        line: list[QLayoutItem] = []
        used = top = 0
        for item in self._items:
            needed = item.sizeHint().width()
            if line and used + self.spacing() + needed > width:
                height = max(each.sizeHint().height() for each in line)
                lines.append((line, top, height))
                top += height + self.spacing()
                line, used = [], 0
            used += needed + (self.spacing() if line else 0)
            line.append(item)
        if line:
            lines.append((line, top, max(each.sizeHint().height() for each in line)))
        return lines


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

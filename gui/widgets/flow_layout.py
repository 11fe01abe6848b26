"""Widgets in lines, as words in a text: what has no room goes to the next line."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Lay widgets out from left to right, then below."""

    def __init__(self, parent: QWidget | None = None, *, margin: int = 6, spacing: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(margin, margin, margin, margin)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: N802 - Qt's name
        """Take one more."""
        self._items.append(item)

    def count(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: N802 - Qt's name
        """Return one of them, None beyond the last."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem:  # noqa: N802 - Qt's name
        """Give one back, None beyond the last."""
        # the stubs of PySide 6.9 know of no None here
        return cast(QLayoutItem, self._items.pop(index) if 0 <= index < len(self._items) else None)

    def expandingDirections(self) -> Qt.Orientation:  # noqa: N802 - Qt's name
        """Take no more room than is needed."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """Say that the height follows from the width."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """Return the height that all lines take."""
        return self._arrange(QRect(0, 0, width, 0), apply=False)

    def setGeometry(self, rect: QRect) -> None:  # noqa: N802 - Qt's name
        """Put all of them in their places."""
        super().setGeometry(rect)
        self._arrange(rect, apply=True)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what is needed at least: lines can be as short as the widest."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the largest."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        margins = self.contentsMargins()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, *, apply: bool) -> int:
        """Return the height; where `apply` is said, move the widgets."""
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
        """Return the lines: what stands in each, where it begins, and how high it is."""
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

"""Rows of lists with air between them."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem

_AIR = 6  # pixels a row


class _RoomyRow(QStyledItemDelegate):
    """Draws rows as ever, but higher."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:  # noqa: N802 - Qt's name
        """Return what a row needs, and some more."""
        size = super().sizeHint(option, index)
        return QSize(size.width(), size.height() + _AIR)


def make_roomy(view: QAbstractItemView) -> None:
    """Let the rows of a view be easy to tell apart and to hit."""
    view.setItemDelegate(_RoomyRow(view))

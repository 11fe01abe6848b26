"""Lists of rows: model and style of tables that are selected row by row."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


def row_text(index: QModelIndex) -> str:
    """Return the cells of a row, separated by tabs."""
    model = index.model()
    return "\t".join(str(model.index(index.row(), column).data()) for column in range(model.columnCount()))


class ListModel(QAbstractTableModel):
    """Table model with `_rows` and `headings`."""

    headings: ClassVar[tuple[str, ...]] = ()
    _rows: Sized = ()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.headings)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heading of a column."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self.headings[section]
        return None


def set_list_style(view: QTableView, name: str) -> None:
    """Configure a table as a list that is selected row by row; `name` is its accessible name."""
    view.setAccessibleName(name)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setFrameShape(QTableView.Shape.NoFrame)

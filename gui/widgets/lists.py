"""Lists of rows: model, view, style and padding of tables that are selected row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QBrush, QColor, QContextMenuEvent, QFont, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from gui.widgets.painting import plain_tip
from gui.widgets.theme import Theme

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


def row_text(index: QModelIndex) -> str:
    """Return the cells of a row, separated by tabs."""
    model = index.model()
    return "\t".join(str(model.index(index.row(), column).data()) for column in range(model.columnCount()))


class ListModel(QAbstractTableModel):
    """Table of `rows`; a subclass returns the text of each cell, and tip, font and colour where there are any."""

    headings: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[int, ...]] = ()  # columns that are aligned at the right
    rows: Sequence[Any] = ()

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme

    def text(self, row: Any, column: int) -> str:
        """Return the text of a cell."""
        raise NotImplementedError

    def tip(self, row: Any) -> str:  # noqa: ARG002 - for subclasses
        """Return the tool tip of a row."""
        return ""

    def font(self, row: Any) -> QFont | None:  # noqa: ARG002 - for subclasses
        """Return the font of a row; None: that of the view."""
        return None

    def colour(self, row: Any, column: int) -> str:  # noqa: ARG002 - for subclasses
        """Return the colour of a text as ``#rrggbb``; empty: that of the view."""
        return ""

    def set_rows(self, rows: Sequence[Any]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def emit_changed(self) -> None:
        """Draw all cells again: the rows are others, or look different, and selection and position remain."""
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(self.headings) - 1))

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        self.emit_changed()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        row, column = self.rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return self.text(row, column)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(self.tip(row)) or None
            case Qt.ItemDataRole.TextAlignmentRole if column in self.numbers:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole:
                return self.font(row)
            case Qt.ItemDataRole.ForegroundRole if colour := self.colour(row, column):
                return QBrush(QColor(colour))
        return None

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.headings)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heading of a column."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self.headings[section]
        return None


class ListView(QTableView):
    """View of a list, with a menu for its rows.

    Signals
    -------
    row_activated : the index of a row on which Enter was pressed.
    menu_requested : the index of the row under the mouse, or of the selected one, and a point of the screen.
    """

    row_activated = Signal(QModelIndex)
    menu_requested = Signal(QModelIndex, QPoint)

    def __init__(self, model: ListModel, name: str) -> None:
        super().__init__()
        self.setModel(model)
        set_list_style(self, name)
        # rows are not measured
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setHighlightSections(False)

    def fit_to_font(self) -> None:
        """Fit rows and columns to the font."""

    def changeEvent(self, event: QEvent) -> None:
        """Fit rows and columns to another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit_to_font()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Activate the current row at Enter."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.row_activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the menu of a row."""
        by_mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if index.isValid():
            key_place = self.viewport().mapToGlobal(self.visualRect(index).center())
            self.menu_requested.emit(index, event.globalPos() if by_mouse else key_place)


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
    view.verticalHeader().hide()


_ROW_PADDING = 6  # pixels a row


class _PaddedRow(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), size.height() + _ROW_PADDING)


def set_row_padding(view: QAbstractItemView) -> None:
    """Make the rows of a view higher, so that they are easy to distinguish and to click."""
    view.setItemDelegate(_PaddedRow(view))

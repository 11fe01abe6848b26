"""Table of runs: its model, sorted by a click on a heading, and its view, whose columns make room for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from gui.model.run_catalogue import (
    COLUMNS,
    RunFilter,
    alarm_level,
    cell_text,
    details,
    ordered,
    outcome_level,
    searched_text,
)
from gui.widgets.lists import Index, ListModel, ListView
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level
from monitor.messages.recordings import RunRow

START, NAME, OUTCOME, _DURATION, _WORST, ALARMS, NOTES, _SIZE = range(len(COLUMNS))
_NUMBERS = (_DURATION, _WORST, ALARMS, _SIZE)
_TIPS = {_WORST: "Delay farthest from zero of all actuators, ms", NOTES: "Notes of the operator"}
_WIDEST = ("2026-11-24 14:30", "", "▲ truncated", "00:00:00", "−8888.8", "■ 888", "", "888 MB")
_HIDE_ORDER = (_SIZE, _DURATION, NOTES, ALARMS)  # where the table is narrow
_MARGIN, _ARROW = 12, 14  # px: of a cell; of a heading that shows the order
_MIN_NAME, _MIN_NOTES = 16, 12  # characters


class RunTable(ListModel):
    """Model of the runs that match the filter, in the chosen order."""

    headings = COLUMNS
    numbers = _NUMBERS

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.all: Sequence[RunRow] = ()
        self._searched: Sequence[str] = ()
        self._filter = RunFilter()
        self._column, self._descending = START, True

    def set_runs(self, rows: Sequence[RunRow]) -> None:
        """Set all runs."""
        self.all, self._searched = rows, [searched_text(row) for row in rows]
        self._update()

    def show_only(self, run_filter: RunFilter) -> None:
        """Set the filter."""
        if run_filter != self._filter:
            self._filter = run_filter
            self._update()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        self._column, self._descending = column, order is Qt.SortOrder.DescendingOrder
        self._update()

    def _update(self) -> None:
        matching = self._filter.matching(self.all, self._searched)
        self.set_rows(ordered(matching, self._column, descending=self._descending))

    def text(self, row: RunRow, column: int) -> str:
        """Return the text of a cell."""
        return cell_text(row, column)

    def tip(self, row: RunRow) -> str:
        """Return what is known of a run."""
        return details(row)

    def colour(self, row: RunRow, column: int) -> str:
        """Return the colour of outcomes and alarms, which have a shape too."""
        level = outcome_level(row) if column == OUTCOME else alarm_level(row)
        if column in (OUTCOME, ALARMS) and level is not Level.NONE:
            return level_colour(self.theme, level)
        return self.theme.muted if column in (OUTCOME, _SIZE) else ""

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heading of a column, aligned as its cells."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.ToolTipRole:
                return _TIPS.get(section)
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if section in _NUMBERS else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        return super().headerData(section, orientation, role)


class _PathDelegate(QStyledItemDelegate):
    """Elides the beginning of paths: their ends differ."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideLeft  # type: ignore[attr-defined,unused-ignore]


class RunView(ListView):
    """View of the table; several runs can be selected, and remain so when the table is sorted or listed again.

    Signals
    -------
    opened : file of a run that was double-clicked, or selected with Enter.
    """

    opened = Signal(str)

    def __init__(self, table: RunTable) -> None:
        super().__init__(table, "runs; Enter opens the selected one, the context menu compares and reports")
        self._table = table
        self._selected: set[str] = set()
        self._current = ""
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setFrameShape(QTableView.Shape.StyledPanel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegateForColumn(NAME, _PathDelegate(self))
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionsClickable(True)
        self.setSortingEnabled(True)
        self.sortByColumn(START, Qt.SortOrder.DescendingOrder)
        self.doubleClicked.connect(self._open)
        self.row_activated.connect(self._open)
        table.modelAboutToBeReset.connect(self._save_selection)
        table.modelReset.connect(self._restore_selection)

    @property
    def chosen(self) -> list[RunRow]:
        """The selected runs, in the order of the table."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self._table.rows[row] for row in rows]

    def fit_rows(self, most: int) -> None:
        """Make the view as high as its rows, at most `most` of them."""
        rows = max(1, min(most, len(self._table.rows)))
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + rows * self.verticalHeader().defaultSectionSize() + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the width among the columns."""
        super().resizeEvent(event)
        self._fit_columns()

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(self._table.rows[index.row()].file)

    def _fit_columns(self) -> None:
        """Hide columns of lesser importance until names and notes have room, and share the rest among these."""
        metrics = self.fontMetrics()
        character = metrics.averageCharWidth()
        widths = {
            column: max(
                metrics.horizontalAdvance(_WIDEST[column]), metrics.horizontalAdvance(COLUMNS[column]) + _ARROW
            )
            + _MARGIN
            for column in range(len(COLUMNS))
        }
        widths[NAME], widths[NOTES] = _MIN_NAME * character, _MIN_NOTES * character
        hidden = _too_many(widths, self.viewport().width())
        spare = self.viewport().width() - sum(width for column, width in widths.items() if column not in hidden)
        if NOTES in hidden:
            widths[NAME] += max(0, spare)
        else:
            more = round(0.6 * max(0, spare))
            widths[NAME] += more
            widths[NOTES] += max(0, spare) - more
        for column, width in widths.items():
            self.setColumnHidden(column, column in hidden)
            self.setColumnWidth(column, width)

    def _save_selection(self) -> None:
        self._selected = {row.file for row in self.chosen}
        current = self.currentIndex().row()
        self._current = self._table.rows[current].file if 0 <= current < len(self._table.rows) else ""

    def _restore_selection(self) -> None:
        model, flags = self.selectionModel(), QItemSelectionModel.SelectionFlag
        selection, first = QItemSelection(), -1
        for place, row in enumerate((*self._table.rows, None)):
            selected = row is not None and row.file in self._selected
            # neighbours at once: Qt is slow at many ranges
            if selected and first < 0:
                first = place
            elif not selected and first >= 0:
                selection.select(self._table.index(first, 0), self._table.index(place - 1, len(COLUMNS) - 1))
                first = -1
            if row is not None and row.file == self._current:
                model.setCurrentIndex(self._table.index(place, 0), flags.NoUpdate)
        model.select(selection, flags.Select)


def _too_many(widths: dict[int, int], room: int) -> set[int]:
    """Return the columns that are hidden where there is not enough room for all."""
    hidden: set[int] = set()
    for column in _HIDE_ORDER:
        if sum(width for each, width in widths.items() if each not in hidden) <= room:
            break
        hidden.add(column)
    return hidden

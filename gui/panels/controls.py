"""Controls that panels share: menu buttons, the menu that chooses rows, table models."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyleOptionToolButton, QTableView, QToolButton, QWidget


class MenuButton(QToolButton):
    """A tool button whose text says that there is a menu, ``Rows ▾``."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:  # noqa: N802 - Qt's name
        """Take Qt's mark away."""
        super().initStyleOption(option)
        # the stubs of PySide 6.9 do not know the attribute
        option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu  # type: ignore[attr-defined,unused-ignore]


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that can be shown.

    Parameters
    ----------
    key : of the row.
    text : as the menu says it.
    group : heading in the menu.
    """

    key: str
    text: str
    group: str = ""


class _StayingMenu(QMenu):
    """A menu that stays open while items are ticked; Enter ticks and closes, Esc closes."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if not self._tick(self.activeAction()):
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() != Qt.Key.Key_Space or not self._tick(self.activeAction()):
            super().keyPressEvent(event)

    def _tick(self, action: QAction | None) -> bool:
        if action is None or not action.isCheckable() or not action.isEnabled():
            return False
        action.trigger()
        return True


class RowMenu(MenuButton):
    """Offer choices in a menu.

    Signals
    -------
    chosen : the keys that are ticked, in the order of the choices.
    """

    chosen = Signal(tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText("Rows ▾")
        self.setToolTip("Choose which rows are shown")
        self.setAccessibleName("rows that are shown")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setMenu(_StayingMenu(self))
        self._actions: dict[str, QAction] = {}

    def offer(self, choices: Sequence[Choice], shown: Sequence[str]) -> None:
        """Put other choices into the menu, those of `shown` ticked."""
        menu = self.menu()
        menu.clear()
        self._actions = {}
        group = ""
        for choice in choices:
            if choice.group != group:
                group = choice.group
                menu.addSection(group)
            action = menu.addAction(choice.text)
            action.setCheckable(True)
            action.setChecked(choice.key in shown)
            action.triggered.connect(self._changed)
            self._actions[choice.key] = action
        self.setEnabled(bool(choices))

    def tick(self, shown: Sequence[str]) -> None:
        """Tick those of `shown`, and no others."""
        for key, action in self._actions.items():
            action.setChecked(key in shown)

    def _changed(self) -> None:
        self.chosen.emit(tuple(key for key, action in self._actions.items() if action.isChecked()))


Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class ListModel(QAbstractTableModel):
    """A table that shows what is in `_rows`, a column for each of `headings`."""

    headings: ClassVar[tuple[str, ...]] = ()
    _rows: Sized = ()

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """Return how many are listed."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:  # noqa: N802 - Qt's name
        """Return how many headings there are."""
        return 0 if parent.isValid() else len(self.headings)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the headings of the columns."""
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self.headings[section]
        return None


def set_list_style(view: QTableView, name: str) -> None:
    """Let a table be read and moved through row by row; `name` is what screen readers call it."""
    view.setAccessibleName(name)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setFrameShape(QTableView.Shape.NoFrame)

"""Controls that panels share: menu buttons, the menu that chooses rows, table models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QMenu,
    QStyleOptionToolButton,
    QTableView,
    QToolButton,
    QWidget,
)

from gui.widgets.signal_drag import drag_signals


class MenuButton(QToolButton):
    """Tool button that shows its menu indicator as text, ``Rows ▾``."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """Remove Qt's menu indicator."""
        super().initStyleOption(option)
        # the stubs of PySide 6.9 do not know the attribute
        option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu  # type: ignore[attr-defined,unused-ignore]


@dataclass(frozen=True, slots=True)
class RowChoice:
    """A row in the menu.

    Parameters
    ----------
    key : of the row.
    text : of the menu item.
    group : section of the menu.
    signals : that are dragged with the item onto plots.
    """

    key: str
    text: str
    group: str = ""
    signals: tuple[str, ...] = ()


class _CheckMenu(QMenu):
    """Menu that stays open while items are checked; Enter checks and closes, Esc closes; items can be dragged."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pressed: QPoint | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            moved = event.position().toPoint() - self._pressed
            action = self.actionAt(self._pressed)
            names = None if action is None else action.data()
            if names and moved.manhattanLength() >= QApplication.startDragDistance():
                self._pressed = None
                # a menu grabs the mouse
                self.close()
                drag_signals(self.parentWidget() or self, names)
                return
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        if not self._toggle(self.activeAction()):
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or not self._toggle(self.activeAction()):
            super().keyPressEvent(event)

    def _toggle(self, action: QAction | None) -> bool:
        if action is None or not action.isCheckable() or not action.isEnabled():
            return False
        action.trigger()
        return True


class RowMenu(MenuButton):
    """Menu button to choose the rows of a panel, with a `command` below them where that is not empty.

    Signals
    -------
    chosen : keys of the checked items, in menu order.
    commanded : the command below the rows.
    """

    chosen = Signal(tuple)
    commanded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText("Rows ▾")
        self.setToolTip("Choose which rows are shown")
        self.setAccessibleName("rows that are shown")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setMenu(_CheckMenu(self))
        self._actions: dict[str, QAction] = {}
        self.command = ""

    def set_choices(self, choices: Sequence[RowChoice], shown: Sequence[str]) -> None:
        """Set the items of the menu; those of `shown` are checked."""
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
            action.setData(list(choice.signals))
            action.setChecked(choice.key in shown)
            action.triggered.connect(self._changed)
            self._actions[choice.key] = action
        if self.command:
            menu.addSeparator()
            menu.addAction(self.command).triggered.connect(self.commanded)
        self.setEnabled(bool(choices))

    def set_checked(self, shown: Sequence[str]) -> None:
        """Check the items of `shown` only."""
        for key, action in self._actions.items():
            action.setChecked(key in shown)

    def _changed(self) -> None:
        self.chosen.emit(tuple(key for key, action in self._actions.items() if action.isChecked()))


class MenuEntry(NamedTuple):
    """Entry of a context menu: its text, and what it does."""

    text: str
    act: Callable[[], object]
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class MenuPlace:
    """Place of a context menu.

    Parameters
    ----------
    at : on the screen.
    row : key of the row of a plot over time; empty: none.
    x : instant, s on the display's axis; None: none.
    """

    at: QPoint
    row: str = ""
    x: float | None = None


def show_context_menu(parent: QWidget, at: QPoint, *groups: Iterable[MenuEntry]) -> QMenu | None:
    """Show a menu at a point of the screen, with a separator between groups; None where there is no entry.

    It is deleted when it is closed.
    """
    filled = [found for group in groups if (found := list(group))]
    if not filled:
        return None
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for number, group in enumerate(filled):
        if number:
            menu.addSeparator()
        for entry in group:
            action = menu.addAction(entry.text)
            action.setEnabled(entry.enabled)
            action.triggered.connect(_without_checked(entry.act))
    menu.popup(at)
    return menu


def _without_checked(act: Callable[[], object]) -> Callable[[], None]:
    """Return a slot that ignores the argument of `QAction.triggered`."""

    def call() -> None:
        act()

    return call


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

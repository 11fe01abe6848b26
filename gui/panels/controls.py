"""Controls that panels share: menu buttons, the menu that chooses rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QStyleOptionToolButton, QToolButton, QWidget

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

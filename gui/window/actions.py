"""The actions of a window: its menus, its shortcuts, and what is allowed now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QMainWindow,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from gui.window.commands import COMMANDS, GROUPS, N_LAYOUTS, Command

_TEXT = (QLineEdit, QTextEdit, QPlainTextEdit, QAbstractSpinBox)
_MOVED_THROUGH = (QAbstractItemView, QAbstractSlider, QComboBox, QTabBar)
_LIBRARIES = ("PySide6", "pyqtgraph", "Shiboken", "builtins")
_K = Qt.Key
_MOVES = frozenset(
    (_K.Key_Left, _K.Key_Right, _K.Key_Up, _K.Key_Down, _K.Key_Home, _K.Key_End, _K.Key_PageUp, _K.Key_PageDown)
)
_EDITS = _MOVES | {_K.Key_Backspace, _K.Key_Delete}
# these move and select in a text: Ctrl+Left goes a word back
_TEXT_MODIFIERS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier


class ShortcutFilter(QObject):
    """Hears what no widget claimed before it becomes a shortcut, and claims it for the one that has the focus.

    A text field keeps whatever can be typed and what moves its cursor; a list, a slider, a row of tabs and a widget
    of ours with keys of its own what moves through it; a button the space. Docks of the window that float are windows
    of their own, and guarded too.

    Parameters
    ----------
    window : the guard is its child and lives as long.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)
        for dock in window.findChildren(QDockWidget):
            dock.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 Qt's name
        """Claim a key; watch docks that are new."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_claimed(QApplication.focusWidget(), event):
                event.accept()
                return True
        elif event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QDockWidget):
                child.installEventFilter(self)
        return super().eventFilter(watched, event)


def _is_claimed(focus: QWidget | None, event: QKeyEvent) -> bool:
    key, modifiers = Qt.Key(event.key()), event.modifiers()
    plain = not modifiers & ~_TEXT_MODIFIERS
    if isinstance(focus, _TEXT) or (isinstance(focus, QComboBox) and focus.isEditable()):
        by_word = not modifiers & ~(_TEXT_MODIFIERS | Qt.KeyboardModifier.ControlModifier)
        return (plain and (event.text().isprintable() and bool(event.text()))) or (by_word and key in _EDITS)
    if isinstance(focus, _MOVED_THROUGH) or _has_own_keys(focus):
        return plain and (key in _MOVES or key == _K.Key_Space)
    return isinstance(focus, QAbstractButton) and plain and key == _K.Key_Space


def _has_own_keys(focus: QWidget | None) -> bool:
    """Whether a class of this program, and not of a library, handles its keys and does not yield to shortcuts."""
    if focus is None or focus.isWindow() or getattr(focus, "yields_to_shortcuts", False):
        return False
    kinds = (kind for kind in type(focus).__mro__ if not kind.__module__.startswith(_LIBRARIES))
    return any("keyPressEvent" in vars(kind) for kind in kinds)


# where macOS puts them into the menu of the program
_ROLES = {
    "file.quit": QAction.MenuRole.QuitRole,
    "window.settings": QAction.MenuRole.PreferencesRole,
    "help.about": QAction.MenuRole.AboutRole,
}


class Actions:
    """The actions of a window, by the keys of their commands.

    Every action belongs to the window itself, so that its keys work where menus are hidden; keys that somebody types
    or moves with stay with the field that has the focus.

    Parameters
    ----------
    window : owns the actions.
    commands : what there is at first.

    Raises
    ------
    ValueError : two commands have the same key or the same shortcut.
    """

    def __init__(self, window: QMainWindow, commands: Iterable[Command] = COMMANDS) -> None:
        self._window = window
        self._guard = ShortcutFilter(window)
        self._actions: dict[str, QAction] = {}
        self._commands: dict[str, Command] = {}
        self._choices: dict[str, QActionGroup] = {}
        self._taken: dict[str, str] = {}
        self._refused: set[str] = set()
        self._menus: dict[str, QMenu] = {}
        self.locked = False
        for command in commands:
            self.add(command)

    def __getitem__(self, key: str) -> QAction:
        return self._actions[key]

    def __iter__(self) -> Iterator[tuple[Command, QAction]]:
        return ((command, self._actions[key]) for key, command in self._commands.items())

    def add(self, command: Command) -> QAction:
        """Make an action of one more command; it comes last in its menu."""
        keys = [QKeySequence(text) for text in command.shortcuts]
        for text in [command.key, *(key.toString() for key in keys)]:
            if text in self._taken or not text:
                raise ValueError(f"{command.key}: {text!r} is taken by {self._taken.get(text)}, give it another one")
        self._taken |= dict.fromkeys((command.key, *(key.toString() for key in keys)), command.key)
        action = QAction(command.text, self._window)
        action.setObjectName(command.key)
        action.setShortcuts(keys)
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        action.setCheckable(command.checkable)
        action.setMenuRole(_ROLES.get(command.key, QAction.MenuRole.NoRole))
        shown = f" ({keys[0].toString(QKeySequence.SequenceFormat.NativeText)})" if keys else ""
        action.setToolTip(f"{command.tip or command.plain_text}{shown}")
        action.setStatusTip(command.tip)
        if command.choice:
            group = self._choices.get(command.choice) or QActionGroup(self._window)
            self._choices[command.choice] = group
            group.addAction(action)
        self._window.addAction(action)
        self._actions[command.key], self._commands[command.key] = action, command
        self._allow(command.key)
        if self._menus:
            self._enter(command, action)
        return action

    def connect(self, handlers: Mapping[str, Callable[[], object]]) -> None:
        """Call each handler when the action of its key is triggered."""
        for key, handler in handlers.items():
            self._actions[key].triggered.connect(_without_checked(handler))

    def remove(self, key: str) -> None:
        """Take a command away again, such as a simulation that is no longer offered."""
        action = self._actions.pop(key)
        del self._commands[key]
        self._taken = {text: owner for text, owner in self._taken.items() if owner != key}
        self._refused.discard(key)
        for menu in self._menus.values():
            menu.removeAction(action)
        self._window.removeAction(action)
        action.deleteLater()

    def enable(self, key: str, enabled: bool) -> None:
        """Say whether a command makes sense now; in the operator mode it stays off if it changes anything."""
        (self._refused.discard if enabled else self._refused.add)(key)
        self._allow(key)

    def lock(self, locked: bool) -> None:
        """Switch everything off that changes anything, or give it back as it is now."""
        self.locked = locked
        for key in self._commands:
            self._allow(key)

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Make the menus in an empty bar; return them by group, and submenus as ``group/submenu``."""
        for group in GROUPS:
            self._menus[group] = bar.addMenu(f"&{group}")
            self._menus[group].setToolTipsVisible(True)
        for command, action in self:
            self._enter(command, action)
        return self._menus

    def name_layouts(self, names: Iterable[str], current: str) -> None:
        """Let the numbered actions bear the layouts' names; those without a layout are not shown."""
        given = list(names)[:N_LAYOUTS]
        for n in range(1, N_LAYOUTS + 1):
            action = self._actions[f"layout.{n}"]
            there = n <= len(given)
            action.setVisible(there)
            self.enable(f"layout.{n}", there)
            if there:
                name = given[n - 1].replace("&", "&&")
                action.setText(f"{name} (now)" if given[n - 1] == current else name)

    def _allow(self, key: str) -> None:
        refused = key in self._refused or (self.locked and self._commands[key].modifies)
        self._actions[key].setEnabled(not refused)

    def _enter(self, command: Command, action: QAction) -> None:
        menu = self._menus[command.group]
        if command.submenu:
            path = f"{command.group}/{command.submenu}"
            if path not in self._menus:
                self._menus[path] = menu.addMenu(command.submenu)
            menu = self._menus[path]
        elif command.separator_before:
            menu.addSeparator()
        menu.addAction(action)


def _without_checked(handler: Callable[[], object]) -> Callable[[bool], None]:
    """Return a slot: an action hands over whether it is checked, which no handler asks for."""

    def call(_checked: bool = False) -> None:
        handler()

    return call


def shown_keys(action: QAction) -> str:
    """Return the keys of an action as this desktop writes them."""
    written = QKeySequence.SequenceFormat.NativeText
    return ", ".join(key.toString(written) for key in action.shortcuts())


def shown_text(action: QAction) -> str:
    """Return the text of an action without the marks of a menu."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")

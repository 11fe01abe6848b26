"""The QActions of a window: menus, shortcuts, and which are enabled."""

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

from gui.widgets.menus import without_checked
from gui.window.action_table import ACTIONS, MENUS, N_LAYOUTS, ActionSpec, plain_text

_TEXT = (QLineEdit, QTextEdit, QPlainTextEdit, QAbstractSpinBox)
_NAVIGABLE = (QAbstractItemView, QAbstractSlider, QComboBox, QTabBar)
_LIBRARIES = ("PySide6", "pyqtgraph", "Shiboken", "builtins")
_K = Qt.Key
_MOVES = frozenset(
    (_K.Key_Left, _K.Key_Right, _K.Key_Up, _K.Key_Down, _K.Key_Home, _K.Key_End, _K.Key_PageUp, _K.Key_PageDown)
)
_EDITS = _MOVES | {_K.Key_Backspace, _K.Key_Delete}
# with these a key still moves or selects in a text
_TEXT_MODIFIERS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier


class ShortcutFilter(QObject):
    """Event filter for `ShortcutOverride`: a key that the focused widget uses does not trigger a shortcut.

    A text field keeps printable keys and those that move its cursor; a list, a slider, a tab bar and a widget of this
    program with a `keyPressEvent` those that navigate; a button, and a list without keys of its own, Space. Floating
    docks are windows of their own, and filtered too.

    Parameters
    ----------
    window : parent of the filter.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)
        for dock in window.findChildren(QDockWidget):
            dock.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept a key for the focused widget; filter new docks too."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_used_by(QApplication.focusWidget(), event):
                event.accept()
                return True
        elif event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QDockWidget):
                child.installEventFilter(self)
        return super().eventFilter(watched, event)


def _is_used_by(focus: QWidget | None, event: QKeyEvent) -> bool:
    key, modifiers = Qt.Key(event.key()), event.modifiers()
    plain = not modifiers & ~_TEXT_MODIFIERS
    if isinstance(focus, _TEXT) or (isinstance(focus, QComboBox) and focus.isEditable()):
        by_word = not modifiers & ~(_TEXT_MODIFIERS | Qt.KeyboardModifier.ControlModifier)
        return (plain and (event.text().isprintable() and bool(event.text()))) or (by_word and key in _EDITS)
    if _has_own_keys(focus):
        return plain and key in _MOVES
    if isinstance(focus, _NAVIGABLE):
        return plain and (key in _MOVES or key == _K.Key_Space)
    return isinstance(focus, QAbstractButton) and plain and key == _K.Key_Space


def _has_own_keys(focus: QWidget | None) -> bool:
    """Whether a class of this program handles keys and does not yield to shortcuts."""
    if focus is None or focus.isWindow() or getattr(focus, "yields_to_shortcuts", False):
        return False
    kinds = (kind for kind in type(focus).__mro__ if not kind.__module__.startswith(_LIBRARIES))
    return any("keyPressEvent" in vars(kind) for kind in kinds)


# macOS has these in the application menu
_ROLES = {
    "file.quit": QAction.MenuRole.QuitRole,
    "window.settings": QAction.MenuRole.PreferencesRole,
    "help.about": QAction.MenuRole.AboutRole,
}


class Actions:
    """The actions of a window by their keys.

    Actions belong to the window itself, so that shortcuts work while menus are hidden.

    Parameters
    ----------
    window : owns the actions.
    specs : what the actions are made from.

    Raises
    ------
    ValueError : two actions have the same key or the same shortcut.
    """

    def __init__(self, window: QMainWindow, specs: Iterable[ActionSpec] = ACTIONS) -> None:
        self._window = window
        self._filter = ShortcutFilter(window)
        self._actions: dict[str, QAction] = {}
        self._specs: dict[str, ActionSpec] = {}
        self._exclusive: dict[str, QActionGroup] = {}
        self._used: dict[str, str] = {}
        self._disabled: set[str] = set()
        self._menus: dict[str, QMenu] = {}
        self.locked = False
        for spec in specs:
            self.add(spec)

    def __getitem__(self, key: str) -> QAction:
        return self._actions[key]

    def __iter__(self) -> Iterator[tuple[ActionSpec, QAction]]:
        return ((spec, self._actions[key]) for key, spec in self._specs.items())

    def add(self, spec: ActionSpec) -> QAction:
        """Create an action; it is the last of its menu."""
        keys = [QKeySequence(text) for text in spec.shortcuts]
        names = [spec.key, *(key.toString() for key in keys)]
        for name in names:
            if name in self._used or not name:
                raise ValueError(
                    f"{spec.key}: {name!r} is already used by {self._used.get(name)}, choose another one"
                )
        self._used |= dict.fromkeys(names, spec.key)
        action = QAction(spec.text, self._window)
        action.setObjectName(spec.key)
        action.setShortcuts(keys)
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        action.setCheckable(spec.checkable)
        action.setMenuRole(_ROLES.get(spec.key, QAction.MenuRole.NoRole))
        shortcut = f" ({keys[0].toString(QKeySequence.SequenceFormat.NativeText)})" if keys else ""
        action.setToolTip(f"{spec.tip or spec.plain_text}{shortcut}")
        action.setStatusTip(spec.tip)
        if spec.exclusive_group:
            group = self._exclusive.get(spec.exclusive_group) or QActionGroup(self._window)
            self._exclusive[spec.exclusive_group] = group
            group.addAction(action)
        self._window.addAction(action)
        self._actions[spec.key], self._specs[spec.key] = action, spec
        self._update_enabled(spec.key)
        if self._menus:
            self._add_to_menu(spec, action)
        return action

    def connect(self, handlers: Mapping[str, Callable[[], object]]) -> None:
        """Connect actions, by their keys, to handlers without arguments."""
        for key, handler in handlers.items():
            self._actions[key].triggered.connect(without_checked(handler))

    def enable(self, key: str, enabled: bool) -> None:
        """Enable or disable an action; one that modifies something stays disabled in the operator mode."""
        (self._disabled.discard if enabled else self._disabled.add)(key)
        self._update_enabled(key)

    def lock(self, locked: bool) -> None:
        """Disable all actions that modify something, or undo that."""
        self.locked = locked
        for key in self._specs:
            self._update_enabled(key)

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Add the menus to an empty menu bar; return them by title, and submenus as ``menu/submenu``."""
        for title in MENUS:
            self._menus[title] = bar.addMenu(f"&{title}")
            self._menus[title].setToolTipsVisible(True)
        for spec, action in self:
            self._add_to_menu(spec, action)
        return self._menus

    def name_layouts(self, names: Iterable[str], current: str) -> None:
        """Name the numbered actions after the layouts; those without a layout are hidden."""
        given = list(names)[:N_LAYOUTS]
        for n in range(1, N_LAYOUTS + 1):
            action = self._actions[f"layout.{n}"]
            exists = n <= len(given)
            action.setVisible(exists)
            self.enable(f"layout.{n}", exists)
            if exists:
                name = given[n - 1].replace("&", "&&")
                action.setText(f"{name} (current)" if given[n - 1] == current else name)

    def _update_enabled(self, key: str) -> None:
        disabled = key in self._disabled or (self.locked and self._specs[key].modifies)
        self._actions[key].setEnabled(not disabled)

    def _add_to_menu(self, spec: ActionSpec, action: QAction) -> None:
        menu = self._menus[spec.menu]
        path = spec.menu
        for name in spec.submenu.split("/") if spec.submenu else ():
            path = f"{path}/{name}"
            if path not in self._menus:
                self._menus[path] = menu.addMenu(name)
            menu = self._menus[path]
        if not spec.submenu and spec.separator_before:
            menu.addSeparator()
        menu.addAction(action)


def shortcuts_text(action: QAction) -> str:
    """Return the shortcuts of an action as this desktop writes them."""
    native = QKeySequence.SequenceFormat.NativeText
    return ", ".join(key.toString(native) for key in action.shortcuts())


def action_text(action: QAction) -> str:
    """Return the text of an action without mnemonic and ellipsis."""
    return plain_text(action.text())

"""Layouts: apply, save and delete them; the operator mode, read-only on the full screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from zlib import crc32

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QDockWidget, QInputDialog, QMainWindow, QToolBar, QWidget

from gui.window.action_table import N_LAYOUTS
from gui.window.actions import Actions
from gui.window.panel_docks import BUILT_IN, LayoutPart, arrange
from gui.window.window import Controller, MainWindow

DEFAULT = "Operator"
_GROUP = "layouts"
_LAST, _STATE, _GEOMETRY = "window/layout", "window/state", "window/geometry"
_NAME = "name of the layout"
_FORMAT = 1
_MAX_NAME = 40  # letters
_DEFAULT_SIZE = QSize(1280, 720)
_HANDLE = 40  # pixels of a window's title bar that must be on a screen so that it can be moved
_CHECKSUM_SIZE = 4


class LayoutStore(QObject):
    """Applies, saves and restores layouts.

    A saved layout that is damaged, or was saved by a version with other panels, is replaced by the default.

    Parameters
    ----------
    window : its geometry is saved.
    docks : by the keys of their panels, which are their object names where they have none.
    store : the settings of the program.
    dock_area : the main window with the docks, where that is a child of `window`.

    Signals
    -------
    changed : there are other layouts, or another one is used.
    """

    changed = Signal()

    def __init__(
        self,
        window: QMainWindow,
        docks: Mapping[str, QDockWidget],
        store: QSettings,
        dock_area: QMainWindow | None = None,
    ) -> None:
        super().__init__(window)
        self._dock_area = dock_area or window
        self._window, self._docks, self._store = window, dict(docks), store
        self.current = DEFAULT
        for key, dock in self._docks.items():
            if not dock.objectName():
                dock.setObjectName(key)
        self._dock_area.setDockNestingEnabled(True)
        self._dock_area.setAnimated(False)
        # with other panels the state has another version
        self._version = (crc32(",".join(sorted(self._docks)).encode()) & 0xFFFFFF) << 7 | _FORMAT

    @property
    def saved(self) -> tuple[str, ...]:
        """Names of the saved layouts, in alphabetical order."""
        self._store.beginGroup(_GROUP)
        names = self._store.childKeys()
        self._store.endGroup()
        return tuple(
            sorted((name for name in map(_name_of, names) if name and name not in BUILT_IN), key=str.casefold)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All layouts, the built-in ones first."""
        return (*BUILT_IN, *self.saved)

    def apply(self, name: str) -> str:
        """Apply the layout `name`; return a message if the default was applied instead."""
        message = ""
        part: LayoutPart | None = BUILT_IN.get(name)
        if part is not None:
            arrange(self._dock_area, self._docks, part)
        elif not self._restore(self._store.value(f"{_GROUP}/{_key_of(name)}")):
            message = f"the layout {name!r} cannot be used any more: {DEFAULT} is shown instead"
            name = DEFAULT
            arrange(self._dock_area, self._docks, BUILT_IN[DEFAULT])
        self.current = name
        self.changed.emit()
        return message

    def reset(self) -> str:
        """Apply the current layout again."""
        return self.apply(self.current)

    def save(self, name: str) -> None:
        """Save the arrangement of the panels under a name; a saved layout of that name is replaced.

        Raises
        ------
        ValueError : the name is empty, too long or that of a built-in layout.
        """
        name = " ".join(name.split())
        if not name or len(name) > _MAX_NAME:
            raise ValueError(f"a layout's name has 1 to {_MAX_NAME} letters, this one {len(name)}")
        if name.casefold() in {known.casefold() for known in BUILT_IN}:
            raise ValueError(f"{name} is built in: choose another name")
        self._store.setValue(f"{_GROUP}/{_key_of(name)}", self.state)
        self.current = name
        self.changed.emit()

    def delete(self, name: str) -> None:
        """Delete a saved layout; the panels stay where they are."""
        self._store.remove(f"{_GROUP}/{_key_of(name)}")
        if self.current == name:
            self.current = DEFAULT
        self.changed.emit()

    @property
    def state(self) -> QByteArray:
        """The arrangement of the panels, with its checksum."""
        return with_checksum(self._dock_area.saveState(self._version))

    def restore(self, name: str, state: bytes) -> None:
        """Arrange the panels as in `state` under the name of its layout; one of other panels changes nothing."""
        if self._restore(QByteArray(state)):
            self.current = name if name in self.names else DEFAULT
            self.changed.emit()

    def save_state(self) -> None:
        """Store the geometry and the arrangement of the window."""
        self._store.setValue(_LAST, self.current)
        self._store.setValue(_STATE, self.state)
        self._store.setValue(_GEOMETRY, with_checksum(self._window.saveGeometry()))

    def restore_state(self) -> None:
        """Restore what `save_state` stored; at the first start, `DEFAULT`."""
        geometry = without_checksum(self._store.value(_GEOMETRY))
        restored = geometry is not None and self._window.restoreGeometry(geometry)
        if not restored or not _reachable(self._window.frameGeometry()):
            self._window.setWindowState(Qt.WindowState.WindowNoState)
            free = QGuiApplication.primaryScreen().availableGeometry()
            # its title bar is on the screen too
            self._window.resize(_DEFAULT_SIZE.boundedTo(free.size() - QSize(0, _HANDLE)))
            self._window.move(free.topLeft())
        last = self._store.value(_LAST)
        self.current = last if isinstance(last, str) and last in self.names else DEFAULT
        if self._restore(self._store.value(_STATE)):
            self.changed.emit()
        else:
            self.apply(self.current)

    def _restore(self, stored: object) -> bool:
        """Restore a state of the docks; return whether it could be used."""
        state = without_checksum(stored)
        return state is not None and self._dock_area.restoreState(state, self._version) and self._settle()

    def _settle(self) -> bool:
        """Dock floating panels that are on no screen; return whether a panel is shown."""
        for dock in self._docks.values():
            if dock.isFloating() and not _reachable(dock.frameGeometry()):
                dock.setFloating(False)
        # a window without panels could not be rearranged
        return any(not dock.isHidden() for dock in self._docks.values())


def _reachable(frame: QRect) -> bool:
    """Whether the title bar of a window is on a screen."""
    handle = QRect(frame.left(), frame.top(), max(frame.width(), _HANDLE), _HANDLE)
    for screen in QGuiApplication.screens():
        seen = screen.availableGeometry().intersected(handle)
        if seen.width() >= _HANDLE and seen.height() >= _HANDLE // 2:
            return True
    return False


def _key_of(name: str) -> str:
    """Return the key of a layout in the settings, in which slashes separate groups."""
    return name.encode().hex()


def _name_of(key: str) -> str:
    """Return the name of a layout by its key; empty if the key is malformed."""
    try:
        return bytes.fromhex(key).decode()
    except ValueError:
        return ""


def with_checksum(state: QByteArray) -> QByteArray:
    """Return a state of Qt with its checksum in front: a damaged one can crash `restoreState`."""
    content = bytes(state.data())
    return QByteArray(crc32(content).to_bytes(_CHECKSUM_SIZE, "big") + content)


def without_checksum(stored: object) -> QByteArray | None:
    """Return the state; None where its checksum does not match."""
    if not isinstance(stored, QByteArray):
        return None
    whole = bytes(stored.data())
    checksum, content = whole[:_CHECKSUM_SIZE], whole[_CHECKSUM_SIZE:]
    return QByteArray(content) if content and crc32(content).to_bytes(_CHECKSUM_SIZE, "big") == checksum else None


class LayoutController(Controller):
    """Connects the actions of the menu Layouts."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.layouts = LayoutStore(window, window.dock_area.docks, window.store, window.dock_area)
        self.layouts.changed.connect(self._name_layouts)
        window.view.restored.connect(self._restore_name)
        self._actions.connect(
            {f"layout.{n}": partial(self._apply_number, n) for n in range(1, N_LAYOUTS + 1)}
            | {
                "layout.save": self._ask_name,
                "layout.delete": lambda: self.layouts.delete(self.layouts.current),
                "layout.reset": lambda: self._apply(self.layouts.current),
            }
        )

    def restore(self, layout: str = "") -> None:
        """Restore the window as it was closed, and apply `layout`, if there is one."""
        self.layouts.restore_state()
        if layout and layout not in self.layouts.names:
            self._notify("warning", f"there is no layout {layout!r}: there are {', '.join(self.layouts.names)}")
        elif layout:
            self._apply(layout)

    def show_panel(self, key: str, layout: str) -> None:
        """Show a panel; where it is hidden, apply a layout that has it."""
        if self._window.dock_area.docks[key].isHidden():
            self._apply(layout)

    def _apply(self, name: str) -> None:
        docks = self._window.dock_area
        with self._window.view.step("", lambda: {_NAME: self.layouts.current} | docks.arrangement()):
            message = self.layouts.apply(name)
        if message:
            self._notify("warning", message)

    def _restore_name(self, parts: Mapping[str, Any]) -> None:
        if _NAME in parts:
            self.layouts.current = parts[_NAME]
            self.layouts.changed.emit()

    def _apply_number(self, number: int) -> None:
        if number <= len(self.layouts.names):
            self._apply(self.layouts.names[number - 1])

    def _name_layouts(self) -> None:
        self._actions.name_layouts(self.layouts.names, self.layouts.current)
        self._actions.enable("layout.delete", self.layouts.current in self.layouts.saved)

    def _ask_name(self) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Save layout")
        dialog.setLabelText("Name of the layout:")
        dialog.textValueSelected.connect(self._save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save(self, name: str) -> None:
        try:
            self.layouts.save(name)
        except ValueError as problem:
            self._notify("error", str(problem))


class OperatorMode(QObject):
    """Enters and leaves the operator mode.

    Parameters
    ----------
    window : shown on the full screen, without menus and tool bars.
    actions : those that modify something are disabled.
    controls : other widgets that are hidden, such as the replay bar.
    dock_area : the main window with the docks, where that is a child of `window`.

    Signals
    -------
    changed : the mode was entered or left.
    """

    changed = Signal(bool)

    def __init__(
        self,
        window: QMainWindow,
        actions: Actions,
        controls: Sequence[QWidget] = (),
        dock_area: QMainWindow | None = None,
    ) -> None:
        super().__init__(window)
        self._dock_area = dock_area or window
        self._window, self._actions, self._controls = window, actions, tuple(controls)
        self._hidden: list[QWidget] = []
        self._features: dict[QDockWidget, QDockWidget.DockWidgetFeature] = {}
        self._before = self._state()
        self.on = False
        actions["window.operator"].toggled.connect(self.set)

    def set(self, on: bool) -> None:
        """Enter or leave the mode."""
        if on == self.on:
            return
        self.on = on
        self._enter() if on else self._leave()
        self._actions["window.operator"].setChecked(on)
        self.changed.emit(on)

    def _enter(self) -> None:
        window = self._window
        self._before = self._state()
        candidates = [window.menuBar(), *window.findChildren(QToolBar), *self._controls]
        self._hidden = [widget for widget in candidates if not widget.isHidden()]
        for widget in self._hidden:
            widget.hide()
        self._features = {dock: dock.features() for dock in window.findChildren(QDockWidget)}
        for dock in self._features:
            dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
            dock.installEventFilter(self)
        # the context menu can hide panels
        window.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        window.installEventFilter(self)
        self._actions.lock(True)
        window.setWindowState(window.windowState() | Qt.WindowState.WindowFullScreen)

    def _state(self) -> tuple[Qt.WindowState, QByteArray, Qt.ContextMenuPolicy, QRect]:
        window = self._window
        return window.windowState(), self._dock_area.saveState(), window.contextMenuPolicy(), window.geometry()

    def _leave(self) -> None:
        window = self._window
        state, arrangement, policy, geometry = self._before
        window.removeEventFilter(self)
        for dock, features in self._features.items():
            dock.removeEventFilter(self)
            dock.setFeatures(features)
        self._features = {}
        window.setContextMenuPolicy(policy)
        window.setWindowState(state)
        if not state & (Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen):
            window.setGeometry(geometry)
        for widget in self._hidden:
            widget.show()
        self._hidden = []
        # last: the panels share the space that the other widgets leave
        layout = window.layout()
        if layout is not None:
            layout.activate()
        self._dock_area.restoreState(arrangement)
        self._actions.lock(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave with Esc, where no widget has used the key."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self.set(False)
            return True
        return super().eventFilter(watched, event)

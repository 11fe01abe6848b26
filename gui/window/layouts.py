"""Layouts with names: built in or saved, kept over the end of the program, and never broken by what was kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from zlib import crc32

from PySide6.QtCore import QObject, QRect, QSettings, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QInputDialog, QMainWindow

from gui.window.actions import Actions
from gui.window.arrangement import BUILT_IN, Part, arrange
from gui.window.checksum import with_checksum, without_checksum
from gui.window.commands import N_LAYOUTS
from gui.window.window import MainWindow

DEFAULT = "Operator"
_GROUP = "layouts"
_LAST, _STATE, _GEOMETRY = "window/layout", "window/state", "window/geometry"
_FORMAT = 1
_LONGEST_NAME = 40
_DEFAULT_SIZE = (1280, 720)
_HANDLE = 40  # pixels of a window's title that must be on a screen so that it can be moved


class Layouts(QObject):
    """Which panels stand where.

    A layout is known by its name. One that was saved by a program with other panels, or whose bytes are damaged,
    is not used: what it replaces is the default, and `apply` says so.

    Parameters
    ----------
    window : where it stands is kept.
    docks : by the key of their panel, which is their object name where they have none.
    store : where layouts are kept.
    desk : the main window that holds the docks, where that is a part of `window`.

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
        desk: QMainWindow | None = None,
    ) -> None:
        super().__init__(window)
        self._desk = desk or window
        self._window, self._docks, self._store = window, dict(docks), store
        self.current = DEFAULT
        for key, dock in self._docks.items():
            if not dock.objectName():
                dock.setObjectName(key)
        self._desk.setDockNestingEnabled(True)
        self._desk.setAnimated(False)
        # a state of other panels is of another version
        self._version = (crc32(",".join(sorted(self._docks)).encode()) & 0xFFFFFF) << 7 | _FORMAT

    @property
    def saved(self) -> tuple[str, ...]:
        """Names of the layouts that were saved, in the order of the alphabet."""
        self._store.beginGroup(_GROUP)
        names = self._store.childKeys()
        self._store.endGroup()
        return tuple(sorted((name for name in map(_shown, names) if name and name not in BUILT_IN), key=str.casefold))

    @property
    def names(self) -> tuple[str, ...]:
        """All layouts: first those that are built in."""
        return (*BUILT_IN, *self.saved)

    def apply(self, name: str) -> str:
        """Arrange the panels like the layout `name`; return a line if the default had to serve instead."""
        told = ""
        part: Part | None = BUILT_IN.get(name)
        if part is not None:
            arrange(self._desk, self._docks, part)
        elif not self._restore(self._store.value(f"{_GROUP}/{_kept(name)}")):
            told = f"the layout {name!r} cannot be used any more: {DEFAULT} is shown instead"
            name = DEFAULT
            arrange(self._desk, self._docks, BUILT_IN[DEFAULT])
        self.current = name
        self.changed.emit()
        return told

    def reset(self) -> str:
        """Arrange the panels as the present layout has them."""
        return self.apply(self.current)

    def save(self, name: str) -> None:
        """Keep the present arrangement under a name; one of that name is replaced.

        Raises
        ------
        ValueError : the name is empty, too long or that of a layout that is built in.
        """
        name = " ".join(name.split())
        if not name or len(name) > _LONGEST_NAME:
            raise ValueError(f"a layout's name has 1 to {_LONGEST_NAME} letters, this one {len(name)}")
        if name.casefold() in {known.casefold() for known in BUILT_IN}:
            raise ValueError(f"{name} is built in: choose another name")
        self._store.setValue(f"{_GROUP}/{_kept(name)}", with_checksum(self._desk.saveState(self._version)))
        self.current = name
        self.changed.emit()

    def delete(self, name: str) -> None:
        """Forget a layout that was saved; the panels stay where they are."""
        self._store.remove(f"{_GROUP}/{_kept(name)}")
        if self.current == name:
            self.current = DEFAULT
        self.changed.emit()

    def store(self) -> None:
        """Keep how the window stands, for the next start."""
        self._store.setValue(_LAST, self.current)
        self._store.setValue(_STATE, with_checksum(self._desk.saveState(self._version)))
        self._store.setValue(_GEOMETRY, with_checksum(self._window.saveGeometry()))

    def restore(self) -> None:
        """Put the window where it stood when `store` was called last; at a first start, as `DEFAULT` has it."""
        geometry = without_checksum(self._store.value(_GEOMETRY))
        restored = geometry is not None and self._window.restoreGeometry(geometry)
        if not restored or not _reachable(self._window.frameGeometry()):
            self._window.setWindowState(Qt.WindowState.WindowNoState)
            self._window.resize(*_DEFAULT_SIZE)
            screen = QGuiApplication.primaryScreen()
            if screen is not None:
                free = screen.availableGeometry()
                self._window.resize(min(free.width(), _DEFAULT_SIZE[0]), min(free.height(), _DEFAULT_SIZE[1]))
                self._window.move(free.topLeft())
        last = self._store.value(_LAST)
        self.current = last if isinstance(last, str) and last in self.names else DEFAULT
        if self._restore(self._store.value(_STATE)):
            self.changed.emit()
        else:
            self.apply(self.current)

    def _restore(self, kept: object) -> bool:
        """Arrange the panels as bytes say; whether they could be used."""
        state = without_checksum(kept)
        if state is None or not self._desk.restoreState(state, self._version):
            return False
        for dock in self._docks.values():
            if dock.isFloating() and not _reachable(dock.frameGeometry()):
                dock.setFloating(False)
        # a window without a panel has nothing to take hold of
        return any(not dock.isHidden() for dock in self._docks.values())


class LayoutController(QObject):
    """Lead the commands of layouts to those of a window.

    Parameters
    ----------
    say : tells level and text.
    """

    def __init__(
        self, window: MainWindow, actions: Actions, store: QSettings, say: Callable[[str, str], None]
    ) -> None:
        super().__init__(window)
        self._window, self._actions, self._say = window, actions, say
        self.layouts = Layouts(window, window.desk.docks, store, window.desk)
        self.layouts.changed.connect(self._name_layouts)
        actions.connect(
            {f"layout.{n}": partial(self._apply_number, n) for n in range(1, N_LAYOUTS + 1)}
            | {
                "layout.save": self._ask_name,
                "layout.delete": lambda: self.layouts.delete(self.layouts.current),
                "layout.reset": lambda: self._apply(self.layouts.current),
            }
        )

    def restore(self, layout: str = "") -> None:
        """Put the panels where they were at the end of the last time, or as `layout` has them."""
        self.layouts.restore()
        if layout and layout not in self.layouts.names:
            self._say("warning", f"there is no layout {layout!r}: there are {', '.join(self.layouts.names)}")
        elif layout:
            self._apply(layout)

    def show_panel(self, key: str, layout: str) -> None:
        """Show a panel: where it is hidden, by the layout that has it."""
        if self._window.desk.docks[key].isHidden():
            self._apply(layout)

    def _apply(self, name: str) -> None:
        if told := self.layouts.apply(name):
            self._say("warning", told)

    def _apply_number(self, number: int) -> None:
        if number <= len(self.layouts.names):
            self._apply(self.layouts.names[number - 1])

    def _name_layouts(self) -> None:
        self._actions.name_layouts(self.layouts.names, self.layouts.current)
        self._actions.enable("layout.delete", self.layouts.current in self.layouts.saved)

    def _ask_name(self) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Save layout")
        dialog.setLabelText("Name of this arrangement of the panels:")
        dialog.textValueSelected.connect(self._save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save(self, name: str) -> None:
        try:
            self.layouts.save(name)
        except ValueError as problem:
            self._say("error", str(problem))


def _reachable(frame: QRect) -> bool:
    """Whether the upper edge of a window, where it is moved, is on a screen."""
    handle = QRect(frame.left(), frame.top(), max(frame.width(), _HANDLE), _HANDLE)
    for screen in QGuiApplication.screens():
        seen = screen.availableGeometry().intersected(handle)
        if seen.width() >= _HANDLE and seen.height() >= _HANDLE // 2:
            return True
    return False


def _kept(name: str) -> str:
    """Return a name as a key of the store, in which slashes part groups."""
    return name.encode().hex()


def _shown(key: str) -> str:
    """Return the name behind a key; an empty one if it is none of ours."""
    try:
        return bytes.fromhex(key).decode()
    except ValueError:
        return ""

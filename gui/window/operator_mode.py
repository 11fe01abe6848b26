"""Operator mode: the window read-only on the full screen, for a control room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar, QWidget

from gui.window.actions import Actions


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

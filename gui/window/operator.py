"""The read-only full screen of a control room: only what is measured, and nothing to change by mistake."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow, QToolBar, QWidget

from gui.widgets.labels import PlainLabel
from gui.window.actions import Actions

_HINT = "Operator mode: read-only. F11 or Esc leaves."
_HINT_MS = 5000


class OperatorMode(QObject):
    """Enter and leave the mode.

    Parameters
    ----------
    window : goes to the full screen; its menus and tool bars are hidden.
    actions : those that change anything are switched off.
    controls : what else is hidden, such as the replay bar.
    desk : the main window that holds the docks, where that is a part of `window`.

    Signals
    -------
    changed : it was entered or left.
    """

    changed = Signal(bool)

    def __init__(
        self, window: QMainWindow, actions: Actions, controls: Sequence[QWidget] = (), desk: QMainWindow | None = None
    ) -> None:
        super().__init__(window)
        self._desk = desk or window
        self._window, self._actions, self._controls = window, actions, tuple(controls)
        self._hidden: list[QWidget] = []
        self._features: dict[QDockWidget, QDockWidget.DockWidgetFeature] = {}
        self._before = (window.windowState(), self._desk.saveState(), window.contextMenuPolicy(), window.geometry())
        self.on = False
        self.hint = PlainLabel(_HINT, window)
        self.hint.setObjectName("operator-hint")
        self.hint.setFrameShape(QLabel.Shape.Box)
        self.hint.setAutoFillBackground(True)
        self.hint.setMargin(10)
        # what lies under it can be clicked
        self.hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hint.hide()
        self._until = QTimer(self)
        self._until.setSingleShot(True)
        self._until.setInterval(_HINT_MS)
        self._until.timeout.connect(self.hint.hide)
        actions["window.operator"].toggled.connect(self.set)

    def set(self, on: bool) -> None:
        """Enter or leave; nothing happens where it is so already."""
        if on == self.on:
            return
        self.on = on
        self._enter() if on else self._leave()
        self._actions["window.operator"].setChecked(on)
        self.changed.emit(on)

    def _enter(self) -> None:
        window = self._window
        self._before = (window.windowState(), self._desk.saveState(), window.contextMenuPolicy(), window.geometry())
        candidates = [window.menuBar(), *window.findChildren(QToolBar), *self._controls]
        self._hidden = [widget for widget in candidates if not widget.isHidden()]
        for widget in self._hidden:
            widget.hide()
        self._features = {dock: dock.features() for dock in window.findChildren(QDockWidget)}
        for dock in self._features:
            dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
            dock.installEventFilter(self)
        # the menu of a right click would hide panels
        window.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        window.installEventFilter(self)
        self._actions.lock(True)
        window.setWindowState(window.windowState() | Qt.WindowState.WindowFullScreen)
        self._show_hint()

    def _leave(self) -> None:
        window = self._window
        state, arrangement, policy, geometry = self._before
        self._until.stop()
        self.hint.hide()
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
        # last: the panels share the room that is left beside all the rest
        layout = window.layout()
        if layout is not None:
            layout.activate()
        self._desk.restoreState(arrangement)
        self._actions.lock(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 Qt's name
        """Leave with Esc, where nobody else wants it."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self.set(False)
            return True
        if isinstance(event, QResizeEvent) and watched is self._window and not self.hint.isHidden():
            self._place_hint()
        return super().eventFilter(watched, event)

    def _show_hint(self) -> None:
        self.hint.adjustSize()
        self._place_hint()
        self.hint.show()
        self.hint.raise_()
        self._until.start()

    def _place_hint(self) -> None:
        self.hint.move((self._window.width() - self.hint.width()) // 2, 24)

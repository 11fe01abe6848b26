"""Derived channels of the window: defined in a dialog, stored with the settings, computed in every history."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

from PySide6.QtCore import QObject, QSettings

from gui.model.derived import DerivedChannel, from_text, to_text
from gui.panels.derived_dialog import DerivedDialog
from gui.panels.histories import HistoriesPanel
from gui.window.actions import Actions
from gui.window.window import MainWindow

_KEY = "channels/derived"


class DerivedChannelController(QObject):
    """Shows the dialog, and stores what is defined.

    Parameters
    ----------
    window, actions : have the connection, the panel and the action.
    store : the settings of the program.
    notify : shows a message; arguments are level and text.
    """

    def __init__(
        self, window: MainWindow, actions: Actions, store: QSettings, notify: Callable[[str, str], None]
    ) -> None:
        super().__init__(window)
        self._window, self._store = window, store
        self._panel = window.dock_area.panel(HistoriesPanel)
        self._dialog: DerivedDialog | None = None
        self._shown: tuple[object, ...] = ()
        try:
            stored = store.value(_KEY, "")
            window.connection.derive(from_text(stored) if isinstance(stored, str) and stored else ())
        except ValueError:
            notify("warning", "the stored derived channels cannot be read: none are shown")
        actions.connect({"window.derived": self._present})
        self._panel.derived_wanted.connect(actions["window.derived"].trigger)
        window.ticked.connect(self._update)

    def _present(self) -> None:
        if self._dialog is None:
            self._dialog = DerivedDialog(self._window)
            self._dialog.changed.connect(self._set)
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._dialog.name.setFocus()
        self._shown = ()
        self._update()

    def _set(self, definitions: tuple[DerivedChannel, ...], name: str) -> None:
        self._window.connection.derive(definitions)
        self._store.setValue(_KEY, to_text(definitions))
        if name:
            self._panel.show_derived(name)
        self._update()
        self._window.redraw()

    def _update(self) -> None:
        """Show other definitions and channels in the dialog."""
        connection = self._window.connection
        # not the history itself: its memory is freed when another one is opened
        state = ref(connection.history), connection.history.generation, connection.derived
        if self._dialog is None or not self._dialog.isVisible() or state == self._shown:
            return
        self._shown = state
        self._dialog.show_channels(connection.derived, connection.history)

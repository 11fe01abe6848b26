"""The panels, each in a dock that can be moved, stacked, floated or hidden."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget

from gui.history.history import History
from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.theme import Theme
from gui.view import View

Kind = TypeVar("Kind", bound=Panel)


class Desk(QMainWindow):
    """All panels of one view.

    Signals
    -------
    uncovered : a panel can be seen that could not be seen before.
    """

    uncovered = Signal()

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        # a part of a window, though Qt has docks in main windows only
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._in_front: set[str] = set()
        for kind in PANELS:
            self._add(kind(view, theme))

    @property
    def seen(self) -> tuple[Panel, ...]:
        """The panels that are not hidden, nor behind another tab."""
        return tuple(
            panel for key, panel in self.panels.items() if key in self._in_front and self.docks[key].isVisible()
        )

    def panel(self, kind: type[Kind]) -> Kind:
        """Return the panel of that kind."""
        panel = self.panels[kind.key]
        assert isinstance(panel, kind)
        return panel

    def configure(self, history: History) -> None:
        """Let every panel make what depends on channels."""
        for panel in self.panels.values():
            panel.configure(history)

    def refresh(self, history: History) -> None:
        """Let those that are seen draw."""
        health = history.health
        for panel in self.seen:
            if health is not None and health.window:
                panel.window_seconds = health.window
            panel.refresh(history)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        for panel in self.panels.values():
            panel.restyle(theme)

    def _add(self, panel: Panel) -> None:
        dock = QDockWidget(panel.title, self)
        dock.setObjectName(panel.key)
        dock.setWidget(panel)
        dock.visibilityChanged.connect(self._note)
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
        self.panels[panel.key], self.docks[panel.key] = panel, dock

    def _note(self, in_front: bool) -> None:
        dock = self.sender()
        if isinstance(dock, QDockWidget):
            (self._in_front.add if in_front else self._in_front.discard)(dock.objectName())
            if in_front:
                self.uncovered.emit()

"""The panels, each in a dock that can be moved, stacked, floated or hidden."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget

from gui.model.history import History
from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.plots.view import View
from gui.widgets.painting import failure_text
from gui.widgets.theme import Theme

Kind = TypeVar("Kind", bound=Panel)


class PanelDocks(QMainWindow):
    """All panels of one view.

    Signals
    -------
    uncovered : a panel can be seen that could not be seen before.
    failed : a panel cannot be drawn, and why; told once, until it can be again.
    """

    uncovered = Signal()
    failed = Signal(str)

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        # a part of a window, though Qt has docks in main windows only
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._in_front: set[str] = set()
        self._failing: dict[tuple[str, str], str] = {}
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
            self._try(panel, "configure", panel.configure, history)

    def refresh(self, history: History) -> None:
        """Let those that are seen draw."""
        health = history.health
        for panel in self.seen:
            if health is not None and 0.0 < health.window < inf:
                panel.window_seconds = health.window
            self._try(panel, "refresh", panel.refresh, history)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        for panel in self.panels.values():
            panel.apply_theme(theme)

    def _try(self, panel: Panel, what: str, draw: Callable[[History], None], history: History) -> None:
        """Let a panel draw; what goes wrong in one keeps nothing from the others."""
        place = panel.key, what
        try:
            draw(history)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the others are drawn
            told = f"{panel.title}: {failure_text(problem)}"
            if self._failing.get(place) != told:
                self._failing[place] = told
                self.failed.emit(told)
        else:
            self._failing.pop(place, None)

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

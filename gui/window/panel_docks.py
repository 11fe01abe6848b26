"""The panels in docks, and the built-in arrangements of these: rows, columns and tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any, TypeVar

from PySide6.QtCore import QByteArray, QSize, Qt, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget

from gui.model.history import History
from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.panels.over_time import TimePanel
from gui.plots.view import View
from gui.widgets.painting import failure_text
from gui.widgets.theme import Theme

PanelType = TypeVar("PanelType", bound=Panel)


_ARRANGEMENT = "arrangement of panels"
_MAX_MINIMUM = QSize(640, 300)
"""With the bars around the panels, and text at twice the size, less than 1280 x 720."""


class PanelDocks(QMainWindow):
    """The panels, each in a dock that can be moved, stacked, floated or hidden.

    Signals
    -------
    uncovered : a panel became visible.
    failed : a panel cannot be drawn, and why; emitted once until it can be drawn again.
    """

    uncovered = Signal()
    failed = Signal(str)

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        # Qt has docks in main windows only; this one is a child widget
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.panels: dict[str, Panel] = {}
        self.docks: dict[str, QDockWidget] = {}
        self._in_front: set[str] = set()
        self._failing: dict[tuple[str, str], str] = {}
        for kind in PANELS:
            self._add(kind(view, theme))
        view.restored.connect(self._restore)

    @property
    def visible_panels(self) -> tuple[Panel, ...]:
        """The panels that are visible: not hidden, nor behind another tab."""
        return tuple(
            panel for key, panel in self.panels.items() if key in self._in_front and self.docks[key].isVisible()
        )

    def panel(self, kind: type[PanelType]) -> PanelType:
        """Return the panel of a class, or the view of that class within a panel."""
        every = (each for panel in self.panels.values() for each in (panel, *getattr(panel, "parts", ())))
        found = next(each for each in every if type(each) is kind)
        assert isinstance(found, kind)
        return found

    def arrangement(self) -> dict[str, QByteArray]:
        """Return where the panels are, as a part of the view."""
        return {_ARRANGEMENT: self.saveState()}

    def _restore(self, parts: Mapping[str, Any]) -> None:
        if _ARRANGEMENT in parts:
            self.restoreState(parts[_ARRANGEMENT])

    def minimumSizeHint(self) -> QSize:
        """Return the size that the panels need, at most one with which the window fits a small screen."""
        return super().minimumSizeHint().boundedTo(_MAX_MINIMUM)

    def focus_plot(self) -> None:
        """Give the keys to the first plot over time, or else to no panel, so that all of them are shortcuts."""
        plots = (
            panel for key, panel in self.panels.items() if isinstance(panel, TimePanel) and key in self._in_front
        )
        (next((panel for panel in plots if panel.isVisible()), None) or self).setFocus()

    def configure(self, history: History) -> None:
        """Configure every panel for the channels and columns of a history."""
        for panel in self.panels.values():
            self._try(panel, "configure", panel.configure, history)

    def refresh(self, history: History) -> None:
        """Draw the visible panels."""
        about = history.health if history.recording is None else history.recording.header
        for panel in self.visible_panels:
            if about is not None and 0.0 < about.window < inf:
                panel.window_seconds = about.window
            self._try(panel, "refresh", panel.refresh, history)

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme to all panels."""
        for panel in self.panels.values():
            panel.apply_theme(theme)

    def _try(self, panel: Panel, step: str, draw: Callable[[History], None], history: History) -> None:
        """Call a method of a panel; an error in one panel does not stop the others."""
        try:
            draw(history)
        except Exception as problem:  # noqa: BLE001 - the other panels are drawn all the same
            text = f"{panel.title}: {failure_text(problem)}"
            if self._failing.get((panel.key, step)) != text:
                self._failing[panel.key, step] = text
                self.failed.emit(text)
        else:
            self._failing.pop((panel.key, step), None)

    def _add(self, panel: Panel) -> None:
        dock = QDockWidget(panel.title, self)
        dock.setObjectName(panel.key)
        dock.setWidget(panel)
        dock.visibilityChanged.connect(self._update_visible)
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
        self.panels[panel.key], self.docks[panel.key] = panel, dock

    def _update_visible(self, in_front: bool) -> None:
        dock = self.sender()
        if isinstance(dock, QDockWidget):
            (self._in_front.add if in_front else self._in_front.discard)(dock.objectName())
            # Qt makes them as docks are stacked
            for tabs in self.findChildren(QTabBar):
                tabs.setAccessibleName("panels behind each other")
            if in_front:
                self.uncovered.emit()


@dataclass(frozen=True, slots=True)
class Tabs:
    """Panels behind each other, the first in front."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Parts beside or above each other, with their shares of the width or height."""

    orientation: Qt.Orientation
    parts: tuple[LayoutPart, ...]
    shares: tuple[int, ...]


LayoutPart = str | Tabs | Split
"""A panel by its key, or several."""


def row(*parts: tuple[LayoutPart, int]) -> Split:
    """Return parts side by side, each with its share of the width."""
    return Split(Qt.Orientation.Horizontal, tuple(p for p, _ in parts), tuple(share for _, share in parts))


def column(*parts: tuple[LayoutPart, int]) -> Split:
    """Return parts one above the other, each with its share of the height."""
    return Split(Qt.Orientation.Vertical, tuple(p for p, _ in parts), tuple(share for _, share in parts))


def panels_of(part: LayoutPart) -> tuple[str, ...]:
    """Return the keys of all panels of a part, in order."""
    match part:
        case str():
            return (part,)
        case Tabs():
            return part.keys
        case Split():
            return tuple(key for each in part.parts for key in panels_of(each))


_CURVES = column(("histories", 4), ("indicators", 3))
BUILT_IN: Mapping[str, LayoutPart] = {
    "Operator": row((column(("tiles", 1), ("events", 1)), 2), (column(("histories", 3), ("indicators", 2)), 3)),
    "Tracking": row((_CURVES, 3), (column(("xy", 3), ("frequency", 3)), 2)),
    "Reliability": row((column(("reliability", 3), ("histories", 2)), 3), (column(("tiles", 1), ("events", 1)), 1)),
    "Replay": row((_CURVES, 3), (column(("xy", 2), (Tabs(("events", "frequency")), 2)), 2)),
    "Wall": "wall",
    "Comparison": row(("comparison", 3), (column(("tiles", 2), ("events", 2)), 1)),
}
"""The built-in layouts."""


def arrange(window: QMainWindow, docks: Mapping[str, QDockWidget], part: LayoutPart) -> None:
    """Show the panels of a part in their places, and hide the others, as tabs of the last one.

    Parameters
    ----------
    window : has the dock areas.
    docks : by the keys of their panels; a panel without a dock is left out.
    """
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    known = [docks[key] for key in panels_of(part) if key in docks]
    if not known:
        return
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, known[0])
    _place(window, docks, part)
    # hidden docks need a place too: a saved state holds only docks that have one
    for key in (key for key in docks if key not in panels_of(part)):
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks[key])
        window.tabifyDockWidget(known[-1], docks[key])
        docks[key].hide()
    for dock in known:
        dock.show()
    layout = window.layout()
    # sizes are set for docks that are laid out, and applied when they are laid out again
    if layout is not None:
        layout.activate()
    _share(window, docks, part, window.width(), window.height())
    if layout is not None:
        layout.activate()
    _raise(docks, part)


def _first(docks: Mapping[str, QDockWidget], part: LayoutPart) -> QDockWidget | None:
    return next((docks[key] for key in panels_of(part) if key in docks), None)


def _place(window: QMainWindow, docks: Mapping[str, QDockWidget], part: LayoutPart) -> None:
    """Place the panels after the first one, which is placed."""
    if isinstance(part, Split):
        parts = [each for each in part.parts if _first(docks, each) is not None]
        # all parts are placed before any of them is split, or the splits would be nested the other way round
        for before, after in pairwise(parts):
            one, other = _first(docks, before), _first(docks, after)
            if one is not None and other is not None:
                window.splitDockWidget(one, other, part.orientation)
        for each in parts:
            _place(window, docks, each)
    elif isinstance(part, Tabs):
        behind = [docks[key] for key in part.keys if key in docks]
        for dock in behind[1:]:
            window.tabifyDockWidget(behind[0], dock)


def _share(window: QMainWindow, docks: Mapping[str, QDockWidget], part: LayoutPart, width: int, height: int) -> None:
    if not isinstance(part, Split):
        return
    across = part.orientation is Qt.Orientation.Horizontal
    pairs = [(each, share) for each, share in zip(part.parts, part.shares, strict=True) if _first(docks, each)]
    whole = sum(share for _, share in pairs)
    sizes = [(width if across else height) * share // whole for _, share in pairs]
    window.resizeDocks([dock for each, _ in pairs if (dock := _first(docks, each))], sizes, part.orientation)
    for (each, _), size in zip(pairs, sizes, strict=True):
        _share(window, docks, each, *((size, height) if across else (width, size)))


def _raise(docks: Mapping[str, QDockWidget], part: LayoutPart) -> None:
    if isinstance(part, Split):
        for each in part.parts:
            _raise(docks, each)
    elif isinstance(part, Tabs) and (first := _first(docks, part)):
        first.raise_()

"""All panels, in the order of the menu, and those that show one of several views of a kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from PySide6.QtWidgets import QComboBox, QStackedLayout

from gui.model.history import History
from gui.panels.base import Panel
from gui.panels.comparison import ComparisonPanel
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.reliability import ReliabilityPanel
from gui.panels.spectrum import SpectrumPanel
from gui.panels.subspace import SubspacePanel
from gui.panels.tiles import TilesPanel
from gui.panels.transfer import TransferPanel
from gui.panels.wall import WallPanel
from gui.panels.xy_panel import PairPanel, XYPanel
from gui.plots.figure import Figure, Page
from gui.plots.view import View
from gui.widgets.menus import MenuEntry, MenuPlace
from gui.widgets.theme import Theme


class GroupPanel(Panel):
    """Panel with several views, of which the one that is chosen in its heading is shown and drawn."""

    views: ClassVar[tuple[type[XYPanel], ...]]

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self.parts = tuple(kind(view, theme) for kind in self.views)
        self._pages = QStackedLayout(self)
        self._choosers: list[QComboBox] = []
        for part in self.parts:
            chooser = QComboBox()
            chooser.setAccessibleName(f"view of {self.title}")
            chooser.addItems([each.title for each in self.parts])
            chooser.activated.connect(self._choose)
            part.add_control(chooser, 1)
            # one menu, whichever view it is requested on
            part.menu_sources = self.menu_sources
            self._choosers.append(chooser)
            self._pages.addWidget(part)
        self.setFocusProxy(self.parts[0])

    @property
    def shown(self) -> XYPanel:
        """The view that is shown."""
        return self.parts[self._pages.currentIndex()]

    def show_part(self, kind: type[XYPanel]) -> None:
        """Show the view of a class."""
        self._choose(self.views.index(kind))

    def configure(self, history: History) -> None:
        """Adapt all views."""
        for part in self.parts:
            part.configure(history)

    def refresh(self, history: History) -> None:
        """Draw the view that is shown."""
        self.shown.window_seconds = self.window_seconds
        self.shown.refresh(history)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme to all views."""
        super().apply_theme(theme)
        for part in self.parts:
            part.apply_theme(theme)

    def menu_entries(self, place: MenuPlace) -> Iterable[Iterable[MenuEntry]]:
        """Return the entries of the view that is shown."""
        return self.shown.menu_entries(place)

    def figure(self, page: Page, history: History) -> Figure:
        """Return the figure of the view that is shown."""
        return self.shown.figure(page, history)

    def _choose(self, number: int) -> None:
        self._pages.setCurrentIndex(number)
        self.setFocusProxy(self.parts[number])
        for chooser in self._choosers:
            chooser.setCurrentIndex(number)
        # the window redraws when the range of the view changes
        self.view.range_changed.emit()


class XYGroup(GroupPanel):
    """One quantity against another: the synchronization subspace, the hysteresis loop, or any two signals."""

    key: ClassVar[str] = "xy"
    title: ClassVar[str] = "XY"
    views = SubspacePanel, HysteresisPanel, PairPanel


class FrequencyPanel(GroupPanel):
    """Transfer functions, or spectra with a spectrogram."""

    key: ClassVar[str] = "frequency"
    title: ClassVar[str] = "Frequency"
    views = TransferPanel, SpectrumPanel


PANELS: tuple[type[Panel], ...] = (
    HistoriesPanel,
    IndicatorsPanel,
    TilesPanel,
    XYGroup,
    ReliabilityPanel,
    FrequencyPanel,
    EventsPanel,
    WallPanel,
    ComparisonPanel,
)

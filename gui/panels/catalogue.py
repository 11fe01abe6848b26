"""All panels, in the order of the menu."""

from __future__ import annotations

from gui.panels.base import Panel
from gui.panels.comparison import ComparisonPanel
from gui.panels.events import EventsPanel
from gui.panels.grouped import FrequencyPanel, XYGroup
from gui.panels.histories import HistoriesPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.reliability import ReliabilityPanel
from gui.panels.tiles import TilesPanel
from gui.panels.wall import WallPanel

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

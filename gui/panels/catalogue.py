"""All panels, in the order of the menu."""

from __future__ import annotations

from gui.panels.base import Panel
from gui.panels.comparison import ComparisonPanel
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.pair import PairPanel
from gui.panels.reliability import ReliabilityPanel
from gui.panels.spectrum import SpectrumPanel
from gui.panels.subspace import SubspacePanel
from gui.panels.tiles import TilesPanel
from gui.panels.transfer import TransferPanel
from gui.panels.wall import WallPanel

PANELS: tuple[type[Panel], ...] = (
    HistoriesPanel,
    IndicatorsPanel,
    TilesPanel,
    SubspacePanel,
    ReliabilityPanel,
    TransferPanel,
    HysteresisPanel,
    EventsPanel,
    WallPanel,
    SpectrumPanel,
    ComparisonPanel,
    PairPanel,
)

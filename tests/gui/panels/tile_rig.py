"""Tiles of results that are known, and what stands on them."""

from __future__ import annotations

import html
import re

import numpy as np
from PySide6.QtCore import QBuffer
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QScrollArea

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.tiles import TilesPanel
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from tests.gui.shown import show_panel

RATE = 1024.0
RECEIVING = Health("lab", "receiving", sample_rate=RATE, measured_rate=RATE)
DELAY, RATIO, PHASE = 0.0123, 1.082, -0.15
VALUES = {
    "broadband_delay": DELAY,
    "broadband_delay_sd": 0.0004,
    "broadband_ratio": RATIO,
    "broadband_ratio_sd": 0.003,
    "fdb_delay": 0.0119,
    "fdb_delay_sd": 0.0001,
    "fdb_ratio": 1.08,
    "fdb_ratio_sd": 0.001,
    "fdb_phase": PHASE,
    "fdb_phase_sd": 0.0002,
    "fdb_frequency": 2.13,
}


def history_of(values=None, actuators=("north",), unit="1", n=512, health=RECEIVING):
    """Half a second of constant results."""
    values = VALUES if values is None else values
    columns = tuple(
        Column(name, unit if "ratio" in name else "", actuator) for actuator in actuators for name in values
    )
    row = np.array(list(values.values()) * len(actuators))
    stream = ResultStream("lab", 1, RATE, 1, columns)
    history = History(memory=8 << 20)
    history.update(
        ReceivedMessages(health=health, results=(ResultBlock(stream, 0, 10.0, np.tile(row, (n, 1))),)),
        silence=0.1,
        age=0.02,
    )
    return history


def panel_of(qtbot, history, width=700, height=400):
    panel = show_panel(qtbot, TilesPanel, history, (width, height), window=0.25)
    return panel, panel.view


def tiles(panel):
    return panel.findChild(QScrollArea).widget().tiles


def read(panel, name):
    content = next(tile.content for tile in tiles(panel) if tile.content.name == name)
    numbers = {r.label: " ".join(filter(None, (r.text, r.unit, r.spread))) for r in content.values}
    return content, numbers


def drawn(tile):
    """The pieces of text that stand in a picture of the tile."""
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(tile.size())
    tile.render(generator)
    found = re.findall(r"<text[^>]*>(.*?)</text>", bytes(buffer.data()).decode(), re.DOTALL)
    return [html.unescape(text).strip() for text in found]

"""Colours of severities: apart for people with and without colour-vision deficiency, and readable."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QColor

from gui.model.receiver import ReceivedMessages
from gui.panels.wall import WallPanel
from gui.widgets.theme import DARK, LIGHT, Theme, level_colour
from gui.wording.event_text import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.panels.tile_rig import RECEIVING, history_of, tiles
from tests.gui.shown import show_panel

SEVERITIES = (Level.GOOD, Level.WARN, Level.BAD)
# Machado, Oliveira and Fernandes 2009, full severity; of linear RGB
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    """Linear RGB of ``#rrggbb``."""
    value = np.array(QColor(colour).getRgbF()[:3])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2."""
    low, high = sorted((_TO_XYZ @ linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE Lab of linear RGB."""
    t = _TO_XYZ @ np.clip(rgb, 0.0, 1.0) / _WHITE
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Colour difference of Sharma, Wu and Dalal 2005."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1 + 0.5 * (1 - np.sqrt(c7 / (c7 + 25.0**7)))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = (h1 + h2) / 2 if abs(h1 - h2) <= 180 else ((h1 + h2 + 360) / 2) % 360
    waves = ((0.17, 1, -30), (-0.24, 2, 0), (-0.32, 3, 6), (0.2, 4, -63))
    t = 1 - sum(size * np.cos(np.radians(times * hue + phase)) for size, times, phase in waves)
    d_l = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    d_c = (c2 - c1) / (1 + 0.045 * chroma)
    d_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    rotation *= np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return float(np.sqrt(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h))


def difference(one: str, other: str, vision: str) -> float:
    return ciede2000(*(lab(VISIONS[vision] @ linear(colour)) for colour in (one, other)))


def test_the_colour_difference_is_that_of_the_published_pairs():
    # Sharma et al. 2005, table 1, pairs 1, 7, 17, 25
    published = [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]
    for one, other, expected in published:
        assert ciede2000(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_severities_stay_apart(theme: Theme, vision: str):
    for one, other in combinations(SEVERITIES, 2):
        least = 15.0 if Level.GOOD not in (one, other) else 10.0
        assert difference(level_colour(theme, one), level_colour(theme, other), vision) >= least, (one, other)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_in_the_colour_of_a_level_and_on_it_is_readable(theme: Theme):
    for level in Level:
        colour = level_colour(theme, level)
        for ground in (theme.base, theme.window, theme.invalid):
            assert contrast(colour, ground) >= 4.5, (level, ground)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_cells_of_a_trip_and_of_a_warning_are_told_apart(qtbot, theme: Theme):
    history = history_of(actuators=("north", "south"))
    alarm = Alarm("n", "broadband_delay", "north", "s", Severity.TRIP, state=AlarmState.UNACKNOWLEDGED, active=True)
    alarms = (alarm, replace(alarm, name="s", actuator="south", severity=Severity.WARN))
    history.update(ReceivedMessages(health=RECEIVING, alarms=AlarmReport(alarms)), silence=0.1, age=0.02)
    panel = show_panel(qtbot, WallPanel, history, (800, 300), theme=theme)
    colours = []
    for tile in tiles(panel):
        image = tile.grab().toImage()
        colours.append(image.pixelColor(image.width() - 12, image.height() // 2).name())
    assert colours == [theme.bad, theme.warn]
    assert all(difference(*colours, vision) >= 15.0 for vision in VISIONS)

"""Appearance: colours of severities, contrast, text sizes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QUrl
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QInputDialog, QTextBrowser

from gui.model.receiver import ReceivedMessages
from gui.panels.wall import WallPanel
from gui.widgets.theme import DARK, LIGHT, Theme, level_colour
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.panels.tile_rig import RECEIVING, history_of, tiles
from tests.gui.shown import show_panel


def shown(hands):
    """Return the keys of the panels that are not hidden."""
    return {key for key, dock in hands.window.dock_area.docks.items() if not dock.isHidden()}


def settings(hands):
    hands.key("Ctrl+,")
    dialog = hands.program.preferences._dialog
    hands.until(dialog.isActiveWindow)
    return dialog


def enter(hands, dialog, page, name, text):
    """Write into the field of a setting."""
    keys = list(dialog.pages)
    dialog.list.setCurrentRow(keys.index(page))
    row = dialog.pages[page].rows[name]
    row.editor.setFocus()
    hands.key("Ctrl+A")
    hands.key("Delete")
    hands.type(text)
    return row


def test_settings_are_taken_checked_and_remembered(begin, store):
    hands = begin(theme="light")
    dialog = settings(hands)
    row = enter(hands, dialog, "window", "frame_rate", "500")
    assert not dialog.ok.isEnabled()
    assert row.problem.isVisible()
    hands.click(dialog.ok)
    assert dialog.isVisible()
    enter(hands, dialog, "window", "frame_rate", "40")
    row = enter(hands, dialog, "limits", "delay_warn", "-3")
    assert not dialog.ok.isEnabled()
    enter(hands, dialog, "limits", "delay_warn", "7")
    assert dialog.ok.isEnabled()
    hands.click(dialog.ok)
    assert not dialog.isVisible()
    assert hands.window._timer.interval() == 25
    assert hands.program.preferences.settings.limits.delay_warn == 7.0
    hands.leave()
    again = begin()
    assert again.program.preferences.settings.frame_rate == 40
    assert again.program.preferences.settings.limits.lines["delay"].warn == 7.0


def test_limits_are_on_the_tiles(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: "north" in hands.tile_texts and "delay —" not in hands.tile_texts["north"])
    dialog = settings(hands)
    assert "display limit" not in hands.tile_texts["north"]
    enter(hands, dialog, "limits", "delay_warn", "")
    enter(hands, dialog, "limits", "delay_trip", "0.001")
    hands.click(dialog.ok)
    hands.key("Space")
    hands.until(lambda: "◇ over display limit: delay" in hands.tile_texts["north"])


def test_the_service_s_settings_are_written_for_its_next_start(begin):
    hands = begin()
    dialog = settings(hands)
    enter(hands, dialog, "indicators", "window", "3.5")
    hands.click(dialog.ok)
    assert "window = 3.5" in hands.program.preferences.service_file.read_text()
    assert "apply when the source is opened again" in hands.notices[-1]


def test_a_damaged_memory_is_told_and_everything_is_as_at_first(begin, store):
    store.setValue("window/settings", "{")
    store.setValue("window/state", b"nonsense")
    store.setValue("window/layout", 5)
    hands = begin()
    assert any("damaged" in line for line in hands.notices)
    assert hands.program.preferences.settings.frame_rate == 25
    assert shown(hands) == {"tiles", "events", "histories", "indicators"}


def test_themes_are_chosen_in_the_palette_and_remembered(begin):
    hands = begin(theme="light")
    assert hands.program.preferences.themes.theme is LIGHT
    hands.key("Ctrl+K")
    hands.type("dark")
    hands.key("Return")
    assert hands.program.preferences.themes.theme is DARK
    assert QApplication.palette().window().color().name() == DARK.window
    assert all(panel.theme is DARK for panel in hands.window.dock_area.panels.values())
    hands.leave()
    again = begin()
    assert again.program.preferences.themes.theme is DARK
    assert again.program.actions["theme.dark"].isChecked()


def test_a_theme_of_the_command_line_gives_way_to_the_one_that_is_agreed_to(begin):
    hands = begin(theme="dark")
    dialog = settings(hands)
    hands.click(dialog.ok)
    chosen = hands.program.preferences.settings.theme
    assert chosen == "system"
    assert hands.program.actions["theme.system"].isChecked()
    assert hands.program.preferences.themes.theme is LIGHT


def test_layouts_are_saved_reset_and_restored_at_the_next_start(begin):
    hands = begin(connect="tcp://127.0.0.1:9")
    hands.key("Ctrl+1")
    assert shown(hands) == {"tiles", "events", "histories", "indicators"}
    hands.key("Alt+2")
    assert shown(hands) == {"tiles", "events", "histories"}
    hands.key("Ctrl+Shift+S")
    dialog = hands.window.findChild(QInputDialog)
    hands.until(dialog.isActiveWindow)
    hands.type("my own")
    hands.key("Return")
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    assert hands.program.layouts.layouts.current == "my own"
    hands.key("Alt+7")
    assert shown(hands) == {"tiles", "histories"}
    hands.key("Ctrl+0")
    assert shown(hands) == {"tiles", "events", "histories"}
    hands.key("Ctrl+2")
    assert shown(hands) == {"histories", "indicators", "xy", "frequency"}
    hands.key("Alt+6")
    tracking = {"histories", "indicators", "xy"}
    assert shown(hands) == tracking
    QApplication.processEvents()
    places = {key: hands.window.dock_area.docks[key].geometry().getRect() for key in tracking}
    hands.leave()

    again = begin(connect="tcp://127.0.0.1:9")
    assert shown(again) == tracking
    QApplication.processEvents()
    found = {key: again.window.dock_area.docks[key].geometry().getRect() for key in tracking}
    for key, place in places.items():
        assert found[key] == pytest.approx(place, abs=40), key
    again.key("Ctrl+7")
    assert again.program.layouts.layouts.current == "my own"
    assert shown(again) == {"tiles", "events", "histories"}
    again.key("Ctrl+K")
    again.type("delete this layout")
    again.key("Return")
    assert "my own" not in again.program.layouts.layouts.names


def test_a_layout_stands_although_nothing_was_opened_since(begin):
    hands = begin(connect="tcp://127.0.0.1:9", layout="Reliability")
    expected = shown(hands)
    assert "reliability" in expected
    hands.leave()
    begin().leave()
    again = begin(connect="tcp://127.0.0.1:9")
    assert shown(again) == expected


def test_a_layout_that_is_not_there_is_one_line(begin):
    hands = begin(layout="Nonsense")
    assert "there is no layout 'Nonsense'" in hands.notices[-1]


def test_the_operator_changes_nothing(fed, hybrid_arrivals, tmp_path):
    from tests.gui.test_window_replay import drop

    hands = fed()
    hands.played.say(*hybrid_arrivals[:20])
    hands.until(lambda: len(hands.tile_texts) == 6)
    actions = hands.program.actions
    hands.key("N")
    hands.type("half a no")
    hands.key("F11")
    assert hands.window.isFullScreen()
    assert not hands.window.note_bar.isVisible()
    for command, action in actions:
        if command.modifies:
            assert not action.isEnabled(), command.key
    hands.key("N")
    assert not hands.window.note_bar.isVisible()
    # nor by a file that is let fall on it
    drop(hands.window, tmp_path)
    hands.ticks(3)
    assert hands.notices == []
    assert hands.program.sources.opener.processes == ()
    assert not hands.window.view_bar.isVisible()
    # the strip says how to leave, and nothing lies over the panels
    assert any("F11" in text for text in hands.window.health_strip.texts)
    hands.key("F11")
    assert not hands.window.isFullScreen()
    assert hands.window.view_bar.isVisible()
    assert not any("F11" in text for text in hands.window.health_strip.texts)
    assert actions["note.add"].isEnabled()
    assert not actions["replay.play"].isEnabled()


def test_operator_mode_goes_live_and_stays_live(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:60])
    hands.until(lambda: hands.history.end_x > 2.0)
    hands.key("Space")
    hands.view.pin(1.0)
    assert not hands.view.following
    hands.key("F11")
    assert hands.view.following and hands.view.pinned is None
    stack = hands.window.dock_area.panels["histories"].stack
    middle = stack.viewport().rect().center()
    for act in (
        lambda: hands.key("Space"),
        lambda: hands.key("Left"),
        lambda: hands.drag(stack.viewport(), 120),
        lambda: hands.click(stack.viewport(), middle),
        lambda: hands.view.zoom(0.5, 1.0),
    ):
        act()
        assert hands.view.following and hands.view.pinned is None
        assert not hands.program.actions["view.pause"].isChecked()
    hands.view.set_span(1.0)
    before = hands.view.right
    hands.played.say(*hybrid_arrivals[60:120])
    hands.until(lambda: hands.view.right > before)
    hands.key("F11")
    hands.program.actions["view.pause"].trigger()
    assert not hands.view.following


def test_controls_that_come_later_are_hidden_from_the_operator_too(begin, warm_kernels):
    hands = begin(simulation="case-i", operator=True)
    assert hands.window.isFullScreen()
    hands.until(lambda: hands.program.sessions.player is not None)
    hands.ticks()
    assert not hands.window.replay_bar.isVisible()
    assert not hands.window.view_bar.isVisible()
    hands.key("Esc")
    assert not hands.window.isFullScreen()
    assert hands.window.replay_bar.isVisible()
    assert hands.window.view_bar.isVisible()


def test_the_operator_s_first_page_opens_nothing(begin):
    hands = begin(operator=True)
    assert hands.first_page
    assert not hands.window.start_page.demonstration.isEnabled()
    hands.key("F11")
    assert hands.window.start_page.demonstration.isEnabled()


def test_the_palette_runs_a_command_and_finds_an_instant(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:250])
    hands.until(lambda: hands.history.end_x > 9.9)
    hands.key("Ctrl+K")
    hands.type("show 5 s")
    hands.key("Return")
    assert hands.view.span == 5.0
    hands.key("Ctrl+K")
    hands.type("6 s")
    hands.key("Return")
    # in the middle of the span
    assert 0.5 * (hands.view.left + hands.view.right) == pytest.approx(hands.history.timeline.x_of(6.0))
    hands.key("Ctrl+K")
    hands.key("Esc")
    assert QApplication.activePopupWidget() is None


def test_where_nothing_is_watched_no_instant_is_offered(begin):
    hands = begin()
    hands.key("Ctrl+K")
    hands.type("6 s")
    palette = QApplication.activePopupWidget()
    texts = [palette.list.topLevelItem(i).text(1) for i in range(palette.list.topLevelItemCount())]
    assert not [text for text in texts if "6 s" in text]
    hands.key("Esc")


def test_f1_lists_every_key(begin):
    hands = begin()
    hands.key("F1")
    keys = hands.program._shortcuts
    assert keys.isVisible()
    assert hands.modal is None
    tree = keys.tree
    lines = [
        tree.topLevelItem(i).child(j).text(1)
        for i in range(tree.topLevelItemCount())
        for j in range(tree.topLevelItem(i).childCount())
    ]
    for command, action in hands.program.actions:
        if action.shortcuts() and action.isVisible() and not command.key.startswith("layout."):
            assert command.plain_text in lines
    hands.until(keys.isActiveWindow)
    hands.type("pause")
    hands.key("Esc")
    assert not keys.isVisible()


def test_help_leads_to_the_documentation(begin):
    hands = begin()
    hands.program.actions["help.documentation"].trigger()
    pages = hands.window.findChild(QTextBrowser)
    hands.until(pages.isVisible)
    assert pages.source().fileName() == "README.md"
    pages.setSource(QUrl("docs/guide.md"))
    assert "sliding window" in pages.toPlainText()
    pages.window().close()


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

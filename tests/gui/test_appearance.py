"""How the window looks and what it remembers: settings, layouts, the operator's mode, palette and keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QApplication, QInputDialog, QTextBrowser

from gui.widgets.theme import DARK, LIGHT


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

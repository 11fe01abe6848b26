"""Keys belong to the plots, whatever was done before with the mouse: Space, N, P and Home do what the list says."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QComboBox, QLineEdit

from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.limit_lines import LimitSubject
from gui.panels.tiles import TilesPanel
from gui.settings.dialog import SettingsDialog
from gui.sources.processes.player import PlayHead
from gui.window.panel_docks import BUILT_IN
from tests.gui.hands import PlayedReplay


@pytest.fixture
def replayed(fed, hybrid_arrivals):
    """A replay of four seconds, with the bar of faults, in front of everything else."""
    hands = fed(layout="Operator")
    hands.replay = PlayedReplay(hands.program)
    hands.program.sources.open(hands.replay)
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.history.end_x > 3.9 and hands.window.replay_bar.isVisible())
    hands.program.actions["replay.faults"].trigger()
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    hands.ticks(2)
    return hands


def check_keys(hands):
    """Press the keys, where the focus is; each must do what the list of keys says."""
    view, replay = hands.view, hands.replay
    view.live()
    for key, following in (("Space", False), ("Space", True), ("Space", False), ("Home", True)):
        hands.key(key)
        assert view.following == following, (key, hands.focus)
    sent = len(replay.sent)
    hands.key("P")
    assert len(replay.sent) == sent + 1, hands.focus
    note = hands.window.note_bar
    assert note.isHidden()
    hands.key("N")
    assert note.isVisible(), hands.focus
    hands.key("Esc")
    assert note.isHidden()
    assert not isinstance(hands.focus, QLineEdit)


def test_after_a_source_is_opened(replayed):
    check_keys(replayed)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_after_a_layout_is_applied(replayed, name):
    replayed.window.dock_area.panel(EventsPanel).events._text.setFocus()
    replayed.program.actions[f"layout.{list(BUILT_IN).index(name) + 1}"].trigger()
    replayed.ticks(1)
    check_keys(replayed)


def test_after_any_button_is_clicked(replayed):
    window = replayed.window
    clicked = 0
    for button in window.findChildren(QAbstractButton):
        # not what opens a menu or a dialog, nor what closes a dock
        if not button.isVisible() or button.window() is not window or not button.isEnabled() or clicked > 40:
            continue
        name = f"{button.objectName()} {button.text()} {button.accessibleName()}"
        if getattr(button, "menu", lambda: None)() is not None or "qt_" in name or "Note" in name or "note" in name:
            continue
        replayed.click(button)
        clicked += 1
        assert QApplication.focusWidget() is not button, name
        if not window.note_bar.isHidden():
            replayed.key("Esc")
    assert clicked > 8
    replayed.view.live()
    check_keys(replayed)


def test_after_a_tile_or_the_timeline_is_clicked(replayed):
    tiles = replayed.window.dock_area.panel(TilesPanel)._grid.tiles
    replayed.click(tiles[1])
    assert replayed.view.actuator == tiles[1].content.name
    check_keys(replayed)
    replayed.click(replayed.window.replay_bar.timeline)
    check_keys(replayed)


@pytest.mark.parametrize("way", ["typed", "chosen"])
def test_after_the_speed_is_set(replayed, way):
    speed = replayed.window.replay_bar.speed
    replayed.click(speed.lineEdit(), QPoint(5, 5))
    assert speed.hasFocus()
    if way == "typed":
        speed.lineEdit().selectAll()
        replayed.type("4x")
        # what is wrong is not left
        replayed.type("y")
        replayed.key("Return")
        assert speed.hasFocus()
        replayed.key("Backspace")
        replayed.key("Return")
    else:
        speed.showPopup()
        view = speed.view()
        QTest.keyClick(view, Qt.Key.Key_Down)
        QTest.keyClick(view, Qt.Key.Key_Return)
    assert not speed.hasFocus()
    assert replayed.replay.sent
    check_keys(replayed)


def test_esc_in_any_field_gives_the_focus_back(replayed):
    window = replayed.window
    kinds = QLineEdit, QAbstractSpinBox, QComboBox
    fields = [
        each
        for kind in kinds
        for each in window.findChildren(kind)
        if each.isVisible() and each.window() is window and each.focusPolicy() & Qt.FocusPolicy.ClickFocus
        if each.focusProxy() is None
    ]
    assert len(fields) >= 7
    for field in fields:
        field.setFocus()
        replayed.until(field.hasFocus)
        replayed.key("Esc")
        assert replayed.focus is replayed.stack, field
    check_keys(replayed)


def test_esc_takes_a_number_back_and_enter_uses_it(replayed):
    switch = replayed.window.fault_bar.switches["drop"]
    switch.box.click()
    sent = len(replayed.replay.sent)
    for key, value, more in (("Esc", 1.0, 0), ("Return", 7.0, 1)):
        switch.number.setFocus()
        switch.number.selectAll()
        replayed.type("7")
        replayed.key(key)
        assert replayed.focus is replayed.stack
        assert switch.number.value() == value
        assert len(replayed.replay.sent) == sent + more
    check_keys(replayed)


def test_tab_reaches_the_buttons_and_space_presses_them(replayed):
    """Whoever uses no mouse is not locked out."""
    loop = replayed.window.replay_bar.loop
    for _ in range(200):
        replayed.key("Tab")
        if replayed.focus is loop:
            break
    assert replayed.focus is loop
    checked = loop.isChecked()
    replayed.key("Space")
    assert loop.isChecked() != checked


def test_after_a_file_is_opened(begin, warm_kernels, tmp_path):
    time = np.arange(600) / 100.0
    path = tmp_path / "table.csv"
    columns = np.column_stack((time, 10.0 * np.sin(20.0 * time), 9.0 * np.sin(20.0 * (time - 0.02))))
    np.savetxt(path, columns, delimiter=",", header="t [s],cmd [mm],meas [mm]", comments="", fmt="%.10g")
    hands = begin()
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    # the focus is where somebody has typed an endpoint
    hands.window.start_page.watch.endpoint.box.setFocus()
    hands.key("Ctrl+O")
    hands.name_file(path)
    hands.until(lambda: isinstance(hands.program.sessions.player, PlayHead))
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    hands.ticks(2)
    assert hands.focus is hands.stack
    player = hands.program.sessions.player
    for key in ("Space", "P"):
        playing = player.playing
        hands.key(key)
        assert player.playing != playing, key
        hands.key(key)
    hands.key("N")
    assert hands.window.note_bar.isVisible()
    hands.key("Esc")


def open_menu(hands, stack, row=0):
    at = stack.plot_of(row).center().toPoint()
    at.setX(round(stack.scale().begin + 3.0 / hands.view.span * stack.scale().width))
    QTest.mouseClick(stack.viewport(), Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, at)
    menu = QApplication.activePopupWidget()
    return menu, {action.text().replace("&", ""): action for action in menu.actions()}


def test_a_plot_offers_a_note_and_the_exports_of_its_panel(shown):
    menu, actions = open_menu(shown, shown.stack)
    assert {"Copy figure", "Export figure…", "Export span as CSV…", "Note at this instant…"} <= set(actions)
    actions["Note at this instant…"].trigger()
    menu.close()
    bar = shown.window.note_bar
    assert bar.isVisible()
    assert bar._instant == pytest.approx(shown.view.left + 3.0, abs=0.1)
    bar.cancel()
    shown.ticks()
    menu, actions = open_menu(shown, shown.stack)
    actions["Copy figure"].trigger()
    menu.close()
    assert "Time histories: copied to the clipboard" in shown.notices[-1]
    shown.ticks()


def test_without_alarms_the_limits_of_a_row_are_the_display_limits(shown):
    panel = shown.window.dock_area.panel(IndicatorsPanel)
    panel.limits_requested.emit(panel.limit_subject("delay", panel.stack.rows[0].curves[0].label))
    dialog = shown.window.findChild(SettingsDialog)
    assert dialog.isVisible()
    assert dialog.list.currentItem().text() == "Limits"
    shown.until(lambda: dialog.pages["limits"].rows["delay_warn"].editor.isAncestorOf(dialog.focusWidget()))
    dialog.close()


def test_a_curve_without_limits_is_refused_in_words(shown):
    histories = shown.window.dock_area.panels["histories"]
    row = histories.stack.rows[0]
    histories.stack.limits_requested.emit(row.key, row.curves[0].label)
    assert "there are no limits for" in shown.notices[-1]
    assert shown.window.findChild(SettingsDialog) is None


def test_in_operator_mode_no_note_is_offered_and_limits_are_refused(shown):
    shown.program.actions["window.operator"].trigger()
    shown.ticks()
    menu, actions = open_menu(shown, shown.stack)
    menu.close()
    assert not any("Note" in text or "Pin" in text for text in actions)
    shown.program._limits.present(LimitSubject("north delay", (), "delay"))
    assert "limits are not changed in operator mode" in shown.notices[-1]
    assert shown.window.findChild(SettingsDialog) is None

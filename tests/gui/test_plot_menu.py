"""The context menu of a plot in the window: notes, exports, limits, operator mode."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.panels.indicators import IndicatorsPanel
from gui.panels.limit_lines import LimitSubject
from gui.settings.dialog import SettingsDialog


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

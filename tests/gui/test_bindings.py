"""The table of commands: every one does something, and no key is meant twice."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import SIGNAL, QObject
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu

from gui.panels.catalogue import PANELS
from gui.window.action_table import ACTIONS, MENUS


def test_no_key_is_meant_twice(begin):
    hands = begin()
    used = Counter(
        key.toString() for _, action in hands.program.actions for key in action.shortcuts() if not key.isEmpty()
    )
    assert [key for key, n in used.items() if n > 1] == []
    # what is written in the table is what Qt understood
    for command in ACTIONS:
        for text in command.shortcuts:
            assert QKeySequence(text).toString(), f"{command.key}: {text}"


def test_every_command_is_connected_to_something(begin):
    hands = begin()
    idle = []
    for command, action in hands.program.actions:
        heard = sum(QObject.receivers(action, SIGNAL(name)) for name in ("triggered(bool)", "toggled(bool)"))
        # a group of choices hears a click, and does nothing but take the mark from the others
        if heard <= bool(action.actionGroup()):
            idle.append(command.key)
    assert idle == []


def test_every_panel_has_a_command_and_every_command_a_menu(begin):
    hands = begin()
    assert {panel.key for panel in PANELS} == set(hands.window.dock_area.panels)
    listed = [action for menu in hands.window.menuBar().findChildren(QMenu) for action in menu.actions()]
    for command, action in hands.program.actions:
        assert command.menu in MENUS
        assert listed.count(action) == 1


@pytest.mark.parametrize("n", range(min(10, len(PANELS))))
def test_a_panel_is_hidden_and_shown_by_its_key(fed, n):
    hands = fed()
    key = PANELS[n].key
    dock, action = hands.window.dock_area.docks[key], hands.program.actions[f"panel.{key}"]
    shown = not dock.isHidden()
    assert action.isChecked() == shown
    hands.key(f"Alt+{(n + 1) % 10}")
    assert dock.isHidden() == shown
    assert action.isChecked() != shown
    hands.key(f"Alt+{(n + 1) % 10}")
    assert dock.isHidden() != shown


def test_f6_goes_through_the_panels_that_are_seen(fed, hybrid_arrivals):
    hands = fed(layout="Operator")
    hands.played.say(*hybrid_arrivals[:20])
    hands.ticks(3)
    seen = [panel.key for panel in hands.window.dock_area.visible_panels]
    assert set(seen) == {"histories", "indicators", "tiles", "events"}
    went = []
    for _ in seen:
        hands.key("F6")
        went.append(
            next(
                p.key
                for p in hands.window.dock_area.visible_panels
                if p.isAncestorOf(hands.focus) or p is hands.focus
            )
        )
    # round, from where the keys were
    at = seen.index(went[0])
    assert went == seen[at:] + seen[:at]
    hands.key("Shift+F6")
    panel = hands.window.dock_area.panels[went[-2]]
    assert hands.focus is panel or panel.isAncestorOf(hands.focus)


def test_the_keys_choose_the_actuator(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:20])
    hands.until(lambda: hands.tile_texts)
    names = [name for name in hands.tile_texts if not name.endswith("specimen")]
    assert len(names) == 3
    assert hands.view.actuator == names[0]
    hands.key("Ctrl+Down")
    assert hands.view.actuator == names[1]
    hands.key("Ctrl+Up")
    hands.key("Ctrl+Up")
    assert hands.view.actuator == names[2]
    assert hands.window.view_bar._actuators.currentText() == names[2]

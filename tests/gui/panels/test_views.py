"""Panels of several views: one is shown and drawn, and a signal that is dropped shows the one that takes it."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox

from gui.panels.catalogue import XYGroup
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.subspace import SubspacePanel
from gui.plots.figure import TWO_COLUMNS, Page
from gui.widgets.menus import MenuPlace
from gui.widgets.theme import DARK
from tests.gui.shown import show_panel


def shown(qtbot, kind, history):
    return show_panel(qtbot, kind, history, (600, 500), span=4.0, actuator="north", window=1.5)


def chooser(panel):
    return next(box for box in panel.shown.findChildren(QComboBox) if box.accessibleName().startswith("view of"))


def test_the_view_is_chosen_in_its_heading(qtbot, watched):
    panel = shown(qtbot, XYGroup, watched)
    assert isinstance(panel.shown, SubspacePanel) and panel.shown.trail.parts[0].getData()[0] is not None
    box = chooser(panel)
    assert [box.itemText(i) for i in range(box.count())] == ["Synchronization subspace", "Hysteresis", "Any signals"]
    with qtbot.waitSignal(panel.view.range_changed):
        box.activated.emit(1)
    panel.refresh(watched)
    assert isinstance(panel.shown, HysteresisPanel) and panel.shown.isVisible()
    assert panel.shown.window_seconds == 1.5
    assert panel.shown.plot.annotation.startswith("loop: ")
    assert chooser(panel).currentText() == "Hysteresis"
    panel.apply_theme(DARK)
    assert all(part.theme is DARK for part in panel.parts)


def test_figure_and_menu_are_those_of_the_view(qtbot, watched):
    panel = shown(qtbot, XYGroup, watched)
    panel.show_part(HysteresisPanel)
    panel.refresh(watched)
    assert panel.figure(Page(TWO_COLUMNS, 96.0, 1.0), watched).title == "Hysteresis"
    texts = [entry.text for group in panel.menu_entries(MenuPlace(QPoint())) for entry in group]
    assert texts == ["Fit scales", "Keep these scales"]
    # what others add to the menu of the panel is in that of every view
    panel.menu_sources.append(lambda place: ())
    assert all(part.menu_sources is panel.menu_sources for part in panel.parts)

"""The palette finds the rows of plots too, before simulations, and shows the one that is chosen."""

from __future__ import annotations

from gui.panels.histories import HistoriesPanel
from gui.panels.indicators import IndicatorsPanel


def entries(hands, text):
    palette = hands.program._palette
    palette.present()
    palette.line.setText(text)
    return [(entry.menu, entry.text) for entry in palette._entries]


def test_error_finds_the_tracking_error_and_simulations_come_last(fed, hybrid_arrivals):
    hands = fed(layout="Operator")
    hands.played.say(*hybrid_arrivals[:80])
    hands.until(lambda: hands.history.results is not None)
    hands.ticks()
    found = entries(hands, "error")
    assert ("Time histories", "north tracking error") in found
    assert ("Tracking indicators", "energy error") in found
    simulated = [menu == "Source" for menu, _ in found]
    assert simulated == sorted(simulated)
    # "err" within a word is none
    assert entries(hands, "rror") == []
    hands.program._palette.close()


def test_a_row_that_is_chosen_is_shown(fed, hybrid_arrivals):
    hands = fed(layout="Operator")
    hands.played.say(*hybrid_arrivals[:80])
    hands.until(lambda: hands.history.results is not None)
    hands.ticks()
    area = hands.window.dock_area
    histories, indicators = area.panel(HistoriesPanel), area.panel(IndicatorsPanel)
    area.docks["indicators"].hide()
    assert indicators.shown == ("delay", "ratio")
    for text, panel, key in (
        ("tracking error north", histories, "error:north"),
        ("energy error", indicators, "hsem"),
    ):
        assert key not in panel.shown
        assert entries(hands, text)
        hands.program._palette._run()
        assert key in panel.shown and panel in area.visible_panels

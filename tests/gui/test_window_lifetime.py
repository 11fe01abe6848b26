"""What a program leaves behind when it is closed: nothing; and what it takes while it runs: no more and more."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from gui.model.history import History
from gui.panels.catalogue import PANELS
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from tests.gui.hands import left_over

_TICKS = 200


def delivered():
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    gc.collect()


def test_nothing_outlives_a_program(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.history.end_x > 3.9)
    # everything that opens something
    for keys in ("Ctrl+,", "F1", "Ctrl+L", "Ctrl+O", "Ctrl+E"):
        hands.window.activateWindow()
        hands.until(hands.window.isActiveWindow)
        hands.key(keys)
        hands.ticks(1)
        for widget in QApplication.topLevelWidgets():
            if widget.isVisible() and widget is not hands.window:
                widget.close()
    for n in range(1, 6):
        hands.key(f"Ctrl+{n}")
        hands.ticks(1)
    program = hands.program
    parts = {
        "program": program,
        "window": program.window,
        "view": program.view,
        "watch": program.connection,
        "history": program.connection.history,
        "actions": program.actions,
        "preferences": program.preferences,
        "sessions": program.sessions,
        "exports": program.exports,
        "opener": program.sources.opener,
        **program.window.dock_area.panels,
    }
    held = {name: weakref.ref(part) for name, part in parts.items()}
    del program, parts
    widget = None
    hands.leave()
    assert widget is None
    assert left_over() == []
    assert [name for name, part in held.items() if part() is not None] == []


def test_it_can_begin_again_and_again(begin):
    for _ in range(5):
        begin().leave()
        assert left_over() == []


def growth(act, times):
    """Return how many references to None there are more after each `act`, which has been done before."""
    act()
    act()
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(times):
        act()
    gc.collect()
    return (sys.getrefcount(None) - before) / times


@pytest.mark.slow
def test_references_to_none_are_stable_tick_by_tick(fed, hybrid_arrivals):
    """One that is lost with each tick ends the process one day."""
    hands = fed(layout="Operator")
    hands.window._timer.stop()
    arrivals = iter(hybrid_arrivals)

    def tick():
        end = hands.history.end_x
        hands.played.say(next(arrivals))
        while hands.history.end_x == end:
            hands.window.tick()
        QApplication.processEvents()

    for _ in range(60):
        tick()
    assert abs(growth(tick, _TICKS)) < 0.5


@pytest.mark.parametrize("kind", PANELS)
def test_a_panel_goes_when_nobody_needs_it(qtbot, kind):
    history = History(1 << 20)

    def make():
        view = View()
        panel = kind(view, LIGHT)
        panel.resize(400, 300)
        panel.configure(history)
        panel.refresh(history)
        panel.show()
        QApplication.processEvents()
        panel.close()
        panel.deleteLater()
        gone = weakref.ref(panel)
        del panel
        delivered()
        assert gone() is None

    # pyqtgraph keeps some with every plot, less than for one picture a tick; none may be lost
    assert 0 <= growth(make, 5) < 25
    assert left_over() == []

"""The list of what happened: it grows without losing its place, and finds the instant of an event."""

from collections import deque
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLineEdit, QTableView, QToolButton

from gui.model.history import History, PlacedEvent
from gui.panels.events import EventFilter, EventsPanel, EventTable
from gui.plots.view import View
from gui.widgets.theme import DARK, LIGHT
from monitor.messages.blocks import Event, EventKind

KINDS = tuple(EventKind)


def placed(number, kind=EventKind.GAP, detail=""):
    return PlacedEvent(float(number), Event(kind, 10.0 + number, number, number, detail))


def happened(*events):
    history = History()
    return SimpleNamespace(
        events=deque(events, 10_000), alarms=None, summary=history.summary, state=history.state, requested_limits={}
    )


def panel_of(qtbot, history=None):
    view = View()
    view.span = 10.0
    panel = EventsPanel(view, LIGHT)
    qtbot.addWidget(panel)
    panel.resize(500, 260)
    panel.show()
    qtbot.waitExposed(panel)
    if history is not None:
        panel.refresh(history)
    return panel, view


def lines(panel):
    model = panel.findChild(QTableView).model()
    return [tuple(model.index(row, c).data() for c in range(3)) for row in range(model.rowCount())]


def test_each_line_says_when_what_kind_and_what(qtbot):
    history = happened(
        placed(1, EventKind.STARTED),
        placed(128, EventKind.GAP),
        placed(2, EventKind.REJECTED, "no header"),
        placed(3, EventKind.NOTE, "pump 2 switched off"),
        PlacedEvent(4.0, Event(EventKind.CLOCK_JUMP, 0.5, 4)),
        placed(1, EventKind.GAP),
    )
    panel, _ = panel_of(qtbot, history)
    assert lines(panel) == [
        ("11.000 s", "● started", ""),
        ("138.000 s", "▲ gap", "128 samples lost"),
        ("12.000 s", "▼ rejected", "2 messages rejected: no header"),
        ("13.000 s", "✎ note", "pump 2 switched off"),
        ("0.500 s", "▲ clock jump", ""),
        ("11.000 s", "▲ gap", "1 sample lost"),
    ]
    model = panel.findChild(QTableView).model()
    styles = [model.index(row, 1).data(Qt.ItemDataRole.ForegroundRole) for row in range(5)]
    assert styles[0] is None
    assert styles[1].color().name() == LIGHT.warn
    assert model.index(3, 2).data(Qt.ItemDataRole.FontRole).italic()
    panel.apply_theme(DARK)
    assert model.index(1, 1).data(Qt.ItemDataRole.ForegroundRole).color().name() == DARK.warn


def test_the_events_of_a_real_run_are_all_there(qtbot, judged):
    panel, _ = panel_of(qtbot, judged)
    told = lines(panel)
    assert len(told) == len(judged.events)
    assert told[0][1] == "● started"
    assert any(kind == "◆ decision" and "reject" in what for _, kind, what in told)


def test_the_newest_stays_in_sight_and_a_place_further_up_is_kept(qtbot):
    history = happened(*(placed(i) for i in range(200)))
    panel, _ = panel_of(qtbot, history)
    table = panel.findChild(QTableView)
    bar = table.verticalScrollBar()
    assert bar.maximum() > 0
    assert bar.value() == bar.maximum()
    history.events.append(placed(200))
    panel.refresh(history)
    assert bar.value() == bar.maximum()
    assert table.indexAt(table.viewport().rect().bottomLeft()).row() in (-1, 200)
    bar.setValue(50)
    top = table.indexAt(table.viewport().rect().topLeft()).data()
    for i in range(201, 300):
        history.events.append(placed(i))
        panel.refresh(history)
    assert table.indexAt(table.viewport().rect().topLeft()).data() == top


def test_a_place_is_kept_where_the_oldest_are_forgotten(qtbot):
    panel, _ = panel_of(qtbot)
    history = happened(*(placed(i) for i in range(10_000)))
    panel.refresh(history)
    table = panel.findChild(QTableView)
    table.verticalScrollBar().setValue(5000)
    top = table.indexAt(table.viewport().rect().topLeft()).data()
    history.events.extend(placed(10_000 + i) for i in range(700))
    panel.refresh(history)
    assert table.model().rowCount() == 10_000
    assert table.indexAt(table.viewport().rect().topLeft()).data() == top


def test_kinds_and_text_filter(qtbot):
    history = happened(
        placed(1), placed(2, EventKind.NOTE, "Pump off"), placed(3, EventKind.DECISION, "roof: watch"), placed(4)
    )
    panel, _ = panel_of(qtbot, history)
    text = panel.findChild(QLineEdit)
    qtbot.keyClicks(text, "pump")
    assert [what for *_, what in lines(panel)] == ["Pump off"]
    history.events.append(placed(5, EventKind.NOTE, "pump on"))
    history.events.append(placed(6))
    panel.refresh(history)
    assert [what for *_, what in lines(panel)] == ["Pump off", "pump on"]
    text.clear()
    assert len(lines(panel)) == 6
    kinds = panel.findChild(QToolButton, options=Qt.FindChildOption.FindChildrenRecursively)
    menu = next(button.menu() for button in panel.findChildren(QToolButton) if button.menu())
    assert kinds is not None
    next(action for action in menu.actions() if action.data() == "gap").setChecked(False)
    assert [what for *_, what in lines(panel)] == ["Pump off", "roof: watch", "pump on"]


@pytest.mark.parametrize("how", ["click", "enter"])
def test_an_event_is_looked_at_in_the_middle(qtbot, how):
    history = happened(*(placed(i) for i in range(60)))
    panel, view = panel_of(qtbot, history)
    view.extend(0.0, 100.0)
    table = panel.findChild(QTableView)
    index = table.model().index(45, 2)
    table.scrollTo(index)
    if how == "click":
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualRect(index).center())
    else:
        table.setCurrentIndex(index)
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert (view.left, view.right) == (40.0, 50.0)
    assert not view.following


def test_an_event_of_just_now_makes_the_view_stand_still(qtbot):
    history = happened(*(placed(i) for i in range(60)))
    panel, view = panel_of(qtbot, history)
    view.extend(0.0, 60.0)
    table = panel.findChild(QTableView)
    table.setCurrentIndex(table.model().index(59, 0))
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert not view.following
    assert view.left <= 59.0 <= view.right
    view.extend(0.0, 61.0)
    assert view.right == 60.0


wanted = st.builds(
    EventFilter, st.frozensets(st.sampled_from(KINDS), max_size=3), st.sampled_from(["", "lost", "LOST", "note", "1"])
)
steps = st.lists(
    st.one_of(st.lists(st.sampled_from(KINDS), max_size=9), wanted, st.just("other history")), max_size=25
)


@given(steps)
@settings(max_examples=60)
def test_any_growth_and_any_filter_shows_what_is_wanted_of_the_last(qapp, taken):
    most = 20
    table = EventTable(LIGHT, most)
    tester = QAbstractItemModelTester(table, QAbstractItemModelTester.FailureReportingMode.Fatal)
    events, number, shown = deque(maxlen=most), 0, EventFilter()
    for step in taken:
        if isinstance(step, EventFilter):
            shown = step
            table.show_only(step)
        elif isinstance(step, str):
            events = deque(maxlen=most)
        else:
            for kind in step:
                events.append(placed(number, kind, f"detail {number}"))
                number += 1
        table.set_events(events)
        expected = []
        for p in events:
            words = f"{p.event.kind.value.replace('_', ' ')} "
            if p.event.kind is EventKind.GAP:
                words += f"{p.event.count} sample{'s' * (p.event.count != 1)} lost: "
            elif p.event.kind in (EventKind.DUPLICATE, EventKind.REORDERED, EventKind.REJECTED):
                words += "came twice" if p.event.kind is EventKind.DUPLICATE else ""
                words += f" {p.event.count} "
            words += p.event.detail
            if p.event.kind not in shown.hidden and shown.text.lower() in words.lower():
                expected.append(p)
        assert [table.rows[row] for row in range(table.rowCount())] == expected
        assert table.known == len(events)
    assert isinstance(tester.model(), QAbstractItemModel)


def test_an_empty_history_takes_the_old_events_away(qtbot):
    panel, _ = panel_of(qtbot, happened(placed(1), placed(2)))
    panel.refresh(happened())
    assert lines(panel) == []

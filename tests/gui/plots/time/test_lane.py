"""Events below the rows: a line only in the row that it is about, labels that are merged, states of alarms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor

from gui.model.alarms import AlarmSpan, alarm_spans
from gui.model.history import PlacedEvent
from gui.model.timeline import ClockSegment
from gui.plots.time.picture import group_label, mark_groups
from gui.plots.time.rows import CurveStyle, Frame, PlotRow, RowData, Trace
from gui.widgets.theme import LIGHT
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from tests.gui.shown import show_stack

ROWS = tuple(
    PlotRow(name, name, "", "ms", (CurveStyle(name, "command"),), watched=frozenset({("north", name)}))
    for name in ("delay", "ratio")
)


def step(x, action=AlarmAction.OCCUR, quantity="delay", severity=Severity.TRIP):
    return Transition(
        0, f"north.{quantity}.{severity.value}", severity, action, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED, x, 0,
        actuator="north", quantity=quantity,
    )  # fmt: skip


def note(x):
    return PlacedEvent(x, Event(EventKind.NOTE, x, 0, detail=f"note at {x:g}"))


@pytest.fixture
def stack(qtbot):
    return show_stack(qtbot, ROWS)


def draw(stack, marks=(), states=()):
    x = np.arange(0.0, 10.0, 0.01)
    trace = Trace(np.append(x, 10.0), x, np.sin(x), np.sin(x), exact=True)
    rows = tuple(RowData((trace,)) for _ in stack.rows)
    stack.draw(Frame(0.0, 10.0, rows, (ClockSegment(0.0, 10.0, 0.0, 1),), marks, states))


def seen(stack, x, top, bottom):
    """Return the colours of a column of pixels."""
    image = stack.viewport().grab().toImage()
    column = round(stack.scale().pixel(x))
    return {image.pixelColor(column, y).name() for y in range(round(top), round(bottom))}


def of_row(stack, x, row):
    place = stack.places.rows[row]
    return seen(stack, x, place.plot_top + 8, place.bottom - 1)


def in_lane(stack, x):
    return seen(stack, x, stack.scene.bottom + 5, stack.scene.bottom + stack.places.lane)


def test_a_note_crosses_no_row(stack):
    draw(stack, (note(5.3),))
    info = QColor(LIGHT.info).name()
    assert info in in_lane(stack, 5.3)
    assert info not in of_row(stack, 5.3, 0) | of_row(stack, 5.3, 1)


def test_an_alarm_is_a_line_in_its_row_only(stack):
    draw(stack, (PlacedEvent(5.3, Event.of_alarm(step(5.3, quantity="ratio"))),))
    bad = QColor(LIGHT.bad).name()
    assert bad in in_lane(stack, 5.3)
    assert bad in of_row(stack, 5.3, 1)
    assert bad not in of_row(stack, 5.3, 0)


def test_a_decision_is_a_line_in_the_row_of_its_site(stack):
    stack.set_rows([replace(ROWS[0], watched=frozenset({("tip", "reliability_accumulated")})), ROWS[1]])
    draw(stack, (PlacedEvent(5.3, Event(EventKind.DECISION, 5.3, 0, site="tip", verdict="reject")),))
    bad = QColor(LIGHT.bad).name()
    assert bad in of_row(stack, 5.3, 0)
    assert bad not in of_row(stack, 5.3, 1)


def test_while_an_alarm_is_active_there_is_a_bar_in_its_row_and_in_the_lane(stack):
    draw(
        stack,
        states=(
            AlarmSpan("north", "delay", Severity.WARN, 2.0, 8.0),
            AlarmSpan("north", "delay", Severity.TRIP, 6.0),
        ),
    )
    warn, bad = QColor(LIGHT.warn).name(), QColor(LIGHT.bad).name()
    places = stack.places.rows

    def bars(top, x):
        return seen(stack, x, top, top + 4)

    for top in (places[0].plot_top, stack.scene.bottom):
        assert warn not in bars(top, 1.0)
        assert warn in bars(top, 4.0)
        # the trip over the warning, and until now: its end is not known
        assert bars(top, 7.0) == {bad} == bars(top, 9.5)
    assert not {warn, bad} & bars(places[1].plot_top, 4.0)


def test_the_tip_tells_the_events_of_a_label(stack):
    draw(stack, tuple(note(x) for x in (5.0, 5.1, 5.2)), (AlarmSpan("north", "delay", Severity.WARN, 2.0, 8.0),))
    at = QPoint(round(stack.scale().pixel(5.0)) + 12, stack.scene.bottom + 8)
    told = stack.tip(at).splitlines()
    assert [line.partition("  ")[2] for line in told[:3]] == [f"note  note at {x}" for x in ("5", "5.1", "5.2")]
    assert told[3:] == ["WARN north delay is active"]
    # over the curves there is nothing of it
    assert stack.tip(QPoint(at.x(), stack.places.rows[1].plot_top + 10)) == ""


KINDS = st.sampled_from(list(EventKind))


@given(st.lists(st.tuples(st.floats(0.0, 10.0), KINDS), max_size=60))
def test_no_label_is_over_another_and_every_event_is_in_one(found):
    class Scale:
        begin, width = 50.0, 600.0

        @staticmethod
        def pixel(x):
            return 50.0 + 60.0 * x

    class Shown:
        scale = Scale
        frame = Frame(marks=tuple(PlacedEvent(x, Event(kind, x, 0)) for x, kind in found))

    groups = mark_groups(Shown, lambda text: 7.0 * len(text))
    assert sum(len(group.marks) for group in groups) == len(found)
    assert all(one.end <= other.begin for one, other in pairwise(groups))
    assert all(group.end <= 650.0 + 1e-9 for group in groups)


@pytest.mark.parametrize(
    ("kinds", "label"),
    [
        ("note", "note"),
        ("note note note note note", "5 notes"),
        ("alarm note note", "alarm, 2 notes"),
        ("clock_jump clock_jump", "2 clock jumps"),
        ("restart started started", "restart, 2 started"),
        ("limits limits", "2 limits"),
        ("note alarm gap gap", "4 events"),
    ],
)
def test_labels_count(kinds, label):
    assert group_label([EventKind(kind) for kind in kinds.split()]) == label


def test_an_alarm_is_active_from_its_occurrence_until_it_returns():
    steps = [
        (1.0, step(1.0)),
        (2.0, step(2.0, AlarmAction.ACKNOWLEDGE)),
        (3.0, step(3.0, quantity="ratio")),
        (4.0, step(4.0, AlarmAction.LOSE_VALUE)),
        (5.0, step(5.0, AlarmAction.RETURN_TO_NORMAL)),
        (6.0, step(6.0, AlarmAction.RESET)),
        (7.0, step(7.0, AlarmAction.RETURN_TO_NORMAL, quantity="other")),
        (8.0, step(8.0)),
    ]
    assert alarm_spans(steps) == (
        AlarmSpan("north", "delay", Severity.TRIP, 1.0, 5.0),
        AlarmSpan("north", "ratio", Severity.TRIP, 3.0),
        AlarmSpan("north", "delay", Severity.TRIP, 8.0),
    )

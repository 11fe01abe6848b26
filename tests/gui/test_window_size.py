"""The window fits a small screen: every layout, with all bars, many actuators, and text at twice the size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRect, QSize
from PySide6.QtGui import QFontInfo, QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel

from gui.model.receiver import ReceivedMessages
from gui.panels.catalogue import GroupPanel, XYGroup
from gui.panels.events import EventsPanel
from gui.panels.histories import HistoriesPanel
from gui.panels.over_time import TimePanel
from gui.panels.tiles import TilesPanel
from gui.plots.time.cache import TextMetrics
from gui.plots.time.scene import MARGIN
from gui.window.panel_docks import BUILT_IN
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.messages.health import Health
from tests.gui.hands import PlayedReplay

SCREEN = QSize(1280, 720)
RATE = 100.0


def arrivals(n):
    """Return a second of `n` actuators and their results."""
    names = [f"actuator {i:02d}" for i in range(n)]
    channels = tuple(
        Channel(f"{name}.{role.value}", role, "mm", name) for name in names for role in (Role.COMMAND, Role.MEASURED)
    )
    columns = tuple(
        Column(column, unit, name)
        for name in names
        for column, unit in (("broadband_delay", "s"), ("broadband_ratio", ""), ("fdb_phase", "rad"))
    )
    samples = np.tile(np.sin(np.arange(100) / 10.0)[:, None], (1, len(channels)))
    values = np.tile([0.0123, 1.05, -0.2], (100, n))
    return ReceivedMessages(
        health=Health("rig", "receiving", sample_rate=RATE, measured_rate=RATE),
        signals=(SignalBlock(Stream("rig", 1, RATE, channels), 0, 0.0, samples),),
        results=(ResultBlock(ResultStream("rig", 1, RATE, 1, columns), 0, 0.0, values),),
    )


@pytest.fixture
def shown(fed):
    def show(n=3, scale=1.0, **opening):
        hands = fed(**opening)
        settings = hands.program.preferences
        hands.window.resize(SCREEN)
        settings.themes.choose("light", scale)
        hands.played.say(arrivals(n))
        hands.until(lambda: hands.history.results is not None and hands.history.end_x > 0.9)
        hands.ticks(2)
        return hands

    yield show
    # the font is that of the whole process
    for widget in QApplication.topLevelWidgets():
        if widget.objectName() == "synchroscope":
            widget.close()


def settle(hands):
    hands.ticks(2)
    QApplication.processEvents()


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("n", [3, 8, 64])
def test_every_layout_fits_a_small_screen(shown, n, scale):
    hands = shown(n, scale)
    try:
        for name in BUILT_IN:
            hands.program.layouts._apply(name)
            settle(hands)
            assert hands.window.size() == SCREEN, name
            needed = hands.window.minimumSizeHint()
            assert needed.width() <= SCREEN.width() and needed.height() <= SCREEN.height(), (name, needed)
            area = hands.window.dock_area
            for panel in area.visible_panels:
                dock = area.docks[panel.key]
                # whole, and not merely squeezed into the window
                assert QRect(area.rect()).contains(dock.geometry()), (name, panel.key)
                assert dock.height() >= dock.minimumSizeHint().height(), (name, panel.key)
                assert dock.width() >= dock.minimumSizeHint().width(), (name, panel.key)
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("layout", ["Operator", "Tracking", "Replay"])
def test_the_bar_of_faults_adds_one_row(shown, layout, scale):
    hands = shown(3, scale, layout=layout)
    try:
        hands.program.sources.open(PlayedReplay(hands.program))
        hands.played.say(arrivals(3))
        hands.until(lambda: hands.window.replay_bar.isVisible())
        settle(hands)
        before = hands.window.minimumSizeHint().height()
        hands.program.actions["replay.faults"].trigger()
        settle(hands)
        bar = hands.window.fault_bar
        assert bar.isVisible()
        row = max(widget.sizeHint().height() for widget in (bar.gap, *bar.switches.values()))
        # one row, with its margins and at most a scroll bar
        assert row <= bar.height() <= 2 * row
        assert hands.window.minimumSizeHint().height() - before <= 2 * row
        tops = {switch.geometry().center().y() for switch in bar.switches.values()}
        assert max(tops) - min(tops) <= 1
        assert hands.window.size() == SCREEN
        # all of it can be reached with the keys, also where it is scrolled
        for switch in bar.switches.values():
            switch.box.click()
        settle(hands)
        assert bar.height() <= 2 * row
        bar.off.setFocus()
        settle(hands)
        area = bar.off.mapTo(bar, bar.off.rect().center())
        assert bar.rect().contains(area)
        # messages and notes too
        for n in range(3):
            hands.window.notify("error", f"a message that is long: {'word ' * 60} {n}")
        hands.program.actions["note.add"].trigger()
        settle(hands)
        assert hands.window.size() == SCREEN
        hands.window.close_now()
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


def margins_are_blank(widget):
    """Whether no text reaches the upper or the lower edge of a widget."""
    image = widget.grab().toImage()
    ground = image.pixel(2, 2)
    rows = (1, 2, image.height() - 3, image.height() - 2)
    return all(image.pixel(x, y) == ground for y in rows for x in range(2, image.width() - 2))


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_texts_are_whole_in_every_layout(shown, scale):
    """Messages of empty panels, headers of rows, and labels of axes."""
    hands = shown(3, scale)
    try:
        for name in BUILT_IN:
            hands.program.layouts._apply(name)
            settle(hands)
            for panel in hands.window.dock_area.visible_panels:
                if isinstance(panel, TimePanel) and not panel.stack.rows:
                    assert margins_are_blank(panel.stack.viewport()), (name, panel.key)
                if isinstance(panel, TimePanel) and panel.stack.rows:
                    places, metrics = panel.stack.places, TextMetrics(panel.stack.font())
                    for place in places.rows[:2]:
                        if (header := panel.stack._header_at(QPointF(0.0, place.top + 2.0))) is None:
                            continue
                        row, found = header
                        counted = metrics.width(f"…+{found.omitted}") if found.omitted else 0.0
                        end = places.plot_left + places.plot_width - MARGIN - counted
                        begin = found.entries[0][0] if found.entries else end
                        assert found.name_end <= begin + 1.0, (name, panel.key, row)
                if isinstance(panel, GroupPanel):
                    canvas = panel.shown.pane.viewport().rect()
                    for plot in panel.shown.plots:
                        for side in ("bottom", "left"):
                            label = plot.getAxis(side).label
                            place = label.mapRectToScene(label.boundingRect())
                            blank = not label.isVisible() or not label.toPlainText().strip()
                            assert blank or canvas.adjusted(-2, -2, 2, 2).contains(place.toAlignedRect()), (
                                name, panel.key, side, place,
                            )  # fmt: skip
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


def sizes(hands):
    """Return what larger text is to enlarge, and the frame around it, px."""
    window = hands.window
    area = window.dock_area
    tiles = area.panel(TilesPanel)._grid.tiles
    stack = area.panel(HistoriesPanel).stack
    return {
        "figure": tiles[0].font_size(tiles[0].width(), tiles[0].height()),
        "letters of plots": QFontInfo(stack.font()).pixelSize(),
        "frame": window.height() - area.height(),
        "menu": QFontMetrics(window.menuBar().font()).height(),
        "state": QFontMetrics(window.view_bar._state.font()).height(),
    }


def test_text_at_twice_the_size_enlarges_figures_and_plots(shown):
    hands = shown(3, 1.0, layout="Operator")
    try:
        settle(hands)
        usual = sizes(hands)
        hands.program.preferences.themes.choose("light", 2.0)
        hands.program.layouts._apply("Operator")
        settle(hands)
        large = sizes(hands)
        assert large["figure"] >= 1.2 * usual["figure"]
        assert large["letters of plots"] == pytest.approx(2.0 * usual["letters of plots"], abs=1.0)
        assert large["frame"] <= 1.35 * usual["frame"]
        assert large["menu"] <= 1.3 * usual["menu"]
        assert large["state"] <= 1.3 * usual["state"]
        # rows of plots are high enough for two labels of their axis
        stack = hands.stack
        line = QFontMetrics(stack.font()).height()
        for place in stack.places.rows:
            assert place.plot_height >= 2.5 * line
        # the strip is not cut off
        strip = hands.window.health_strip
        for label in strip.findChildren(QLabel):
            assert label.isHidden() or label.height() >= QFontMetrics(label.font()).height()
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


def test_plots_of_one_quantity_over_another_have_larger_text_too(shown):
    hands = shown(3, 1.0, layout="Tracking")
    try:
        settle(hands)
        panel = hands.window.dock_area.panel(XYGroup)
        before = QFontInfo(panel.font()).pixelSize()
        hands.program.preferences.themes.choose("light", 2.0)
        settle(hands)
        assert QFontInfo(panel.font()).pixelSize() == pytest.approx(2 * before, abs=1)
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


def test_a_window_does_not_grow_with_panels_that_are_added(shown):
    """The user shows one panel after the other, in whatever layout."""
    hands = shown(8)
    for panel in hands.window.dock_area.panels:
        action = hands.program.actions[f"panel.{panel}"]
        if not action.isChecked():
            action.trigger()
        settle(hands)
        assert hands.window.size() == SCREEN
    hands.played.say(replace(arrivals(8)))
    settle(hands)
    assert hands.window.size() == SCREEN


def test_seven_alarms_are_seen_on_a_small_screen(shown):
    hands = shown(3, layout="Operator")
    hands.program.sources.open(PlayedReplay(hands.program))
    alarms = tuple(
        Alarm(
            f"a{n}.warn",
            "fdb_delay",
            "actuator 00",
            "s",
            Severity.WARN,
            high=0.02,
            state=AlarmState.UNACKNOWLEDGED,
            active=True,
        )
        for n in range(7)
    )
    hands.played.say(replace(arrivals(3), alarms=AlarmReport(alarms)))
    panel = hands.window.dock_area.panel(EventsPanel)
    hands.until(lambda: len(panel.alarms.table.rows) == 7 and hands.window.replay_bar.isVisible())
    settle(hands)
    assert hands.window.size() == SCREEN
    view = panel.alarms.view
    last = view.visualRect(view.model().index(6, 0))
    assert view.viewport().rect().contains(last), (view.viewport().rect(), last)
    # and some events below them
    events = panel.events.view
    assert events.viewport().height() >= 2 * events.verticalHeader().defaultSectionSize()
    hands.window.close_now()


def test_events_follow_the_newest_after_a_change_of_layout(shown):
    hands = shown(3, layout="Operator")
    events = tuple(Event(EventKind.NOTE, 0.01 * n, n, 0, f"note {n}") for n in range(90))
    hands.played.say(ReceivedMessages(events=events))
    view = hands.window.dock_area.panel(EventsPanel).events.view
    table = view.model()
    hands.until(lambda: table.rowCount() >= 90)
    settle(hands)

    def newest_is_visible():
        return view.viewport().rect().intersects(view.visualRect(table.index(table.rowCount() - 1, 0)))

    assert newest_is_visible()
    for name in ("Reliability", "Tracking", "Operator", "Replay", "Wall", "Operator"):
        hands.program.layouts._apply(name)
        settle(hands)
        assert newest_is_visible() or name == "Wall", name
        hands.played.say(ReceivedMessages(events=(Event(EventKind.NOTE, 0.95, 95, 0, f"in {name}"),)))
        settle(hands)
        assert newest_is_visible() or name == "Wall", name
    # also where the window itself is made lower
    hands.window.resize(1280, 560)
    settle(hands)
    assert newest_is_visible()
    hands.window.resize(SCREEN)
    # who reads older ones is not disturbed
    view.scrollToTop()
    hands.played.say(ReceivedMessages(events=(Event(EventKind.NOTE, 0.96, 96, 0, "one more"),)))
    settle(hands)
    assert not newest_is_visible()


def test_rows_of_events_are_as_high_as_larger_text(shown):
    hands = shown(3, layout="Operator")
    try:
        hands.program.preferences.themes.choose("light", 2.0)
        hands.played.say(ReceivedMessages(events=(Event(EventKind.NOTE, 0.95, 95, 0, "a note"),)))
        view = hands.window.dock_area.panel(EventsPanel).events.view
        hands.until(lambda: view.model().rowCount() > 0)
        assert view.rowHeight(0) >= QFontMetrics(view.font()).height()
    finally:
        hands.program.preferences.themes.choose("light", 1.0)


def test_the_banner_is_large_for_a_wall_in_front_only(shown):
    hands = shown(3, layout="Operator")
    usual = hands.window.alarm_banner.height()
    hands.program.layouts._apply("Replay")
    settle(hands)
    assert hands.window.alarm_banner.height() == usual
    hands.program.layouts._apply("Wall")
    settle(hands)
    assert hands.window.alarm_banner.height() > usual

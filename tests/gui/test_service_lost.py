"""What a window says when its service dies, is too slow or cannot write: all of it, and not the strip alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from gui.model.receiver import ReceivedMessages
from gui.panels.wall import WallPanel
from gui.window.action_table import ACTIONS

PROMISES = re.compile(r"\b(live|receiving|recording|received)\b", re.IGNORECASE)
T0 = 1_790_000_000.0  # s since 1970


def said(hands):
    """Return all that the window shows in words: its title, labels, bars, banner and tiles."""
    covered = set(hands.window.dock_area.panels.values()) - set(hands.window.dock_area.visible_panels)
    seen = [
        each
        for each in hands.window.findChildren(QWidget)
        if each.isVisible() and not any(panel.isAncestorOf(each) for panel in covered)
    ]
    labels = [each.text() for each in seen if isinstance(each, QLabel)]
    buttons = [each.text() for each in seen if isinstance(each, QAbstractButton)]
    commands = {spec.plain_text for spec in ACTIONS}
    buttons = [text for text in buttons if text not in commands]
    texts = [hands.window.windowTitle(), hands.strip, hands.window.alarm_banner.text, *labels, *buttons]
    return [*texts, *hands.tile_texts.values()]


def health_of(hands, arrivals, **changes):
    return replace(arrivals[-1].health, recording="/data/run.h5", disk_free=1 << 40, **changes)


@pytest.fixture
def followed(fed, hybrid_arrivals):
    """Four seconds of a rig that is recorded have been received."""
    hands = fed(layout="Operator")
    hands.connection.clock = lambda: T0 + hands.played.now
    *before, last = hybrid_arrivals[:100]
    hands.played.say(*before, replace(last, health=health_of(hands, [last], recorded=1000)))
    hands.until(lambda: hands.history.end_x > 3.9 and hands.history.health.recorded == 1000)
    hands.ticks(2)
    return hands


def test_a_note_of_the_window_itself_waits_for_samples(fed, hybrid_arrivals, monkeypatch):
    hands, sent = fed(), []
    monkeypatch.setattr(hands.program._notes._requests, "send", lambda request, _: sent.append(request))
    hands.program._notes.record("12 ms are injected", 0.0)
    hands.played.say(ReceivedMessages(health=hybrid_arrivals[-1].health))
    hands.until(lambda: hands.history.health is not None)
    hands.ticks(2)
    assert sent == []
    hands.played.say(*hybrid_arrivals[:3])
    hands.until(lambda: [(note.text, note.index) for note in sent] == [("12 ms are injected", 0)])


@pytest.mark.parametrize("layout", ["Operator", "Tracking", "Reliability", "Replay", "Wall"])
def test_after_the_service_has_died_nothing_says_live(followed, layout):
    hands = followed
    hands.program.layouts._apply(layout)
    hands.ticks(2)
    assert any(PROMISES.search(text) for text in said(hands))
    hands.silence(2.5)
    hands.until(lambda: hands.history.state.key == "silent")
    hands.ticks(1)
    assert [text for text in said(hands) if PROMISES.search(text)] == []
    assert hands.window.windowTitle().startswith("(no data) ")
    assert "no data from the service" in hands.strip
    assert "run.h5: last known" in hands.strip
    assert "no data" in hands.window.view_bar._state.text()
    assert "no data from the service" in hands.window.alarm_banner.text
    # and when it is back, all is well
    hands.played.say(ReceivedMessages(health=hands.history.health))
    hands.until(lambda: hands.history.state.key != "silent")
    hands.ticks(1)
    assert "(no data)" not in hands.window.windowTitle()


def test_cells_of_the_wall_have_no_values_then(followed):
    hands = followed
    hands.program.layouts._apply("Wall")
    hands.silence(2.5)
    hands.until(lambda: hands.history.state.key == "silent")
    hands.ticks(2)
    wall = hands.window.dock_area.panel(WallPanel)
    assert wall.isVisible()
    texts = [tile.content.text for tile in wall._grid.tiles]
    assert texts and all("no data" in text for text in texts)


def report(hands, arrivals, **changes):
    """Let the service report its health; a fifth of a second later than the last time."""
    before = hands.connection.history.health
    hands.played.now += 0.2
    hands.played.say(ReceivedMessages(health=replace(before, **changes)))
    hands.until(lambda: all(getattr(hands.history.health, name) == value for name, value in changes.items()))


def strip_label(hands, word):
    labels = hands.window.health_strip.findChildren(QLabel)
    return next(label for label in labels if not label.isHidden() and word in label.text())


def test_a_disk_that_is_full_is_told_in_red(followed, hybrid_arrivals):
    hands = followed
    rate = round(hands.history.health.sample_rate)
    received = hands.history.health.counts.received
    assert "● recording run.h5" in hands.strip
    stopped = T0 + hands.played.now
    # nothing is written from now on: samples wait for thirty seconds, and are lost then
    for n in range(1, 20):
        counts = replace(hands.history.health.counts, received=received + n * rate // 5)
        report(hands, hybrid_arrivals, counts=counts, unwritten_age=0.2 * n, disk_free=0)
        green = "● recording" in hands.strip
        # a flush may take a second or two
        assert n > 8 or green
    hands.ticks(2)
    assert not green or "recording stopped" in hands.strip
    assert hands.history.progress.stopped_since == pytest.approx(stopped, abs=0.01)
    label = strip_label(hands, "recording stopped")
    assert re.match(r"■ recording stopped \d\d:\d\d:\d\d, 0 samples lost", label.text())
    background = label.palette().color(QPalette.ColorRole.Window).name()
    assert background == hands.window.theme.bad
    report(hands, hybrid_arrivals, unrecorded=1234)
    hands.ticks(2)
    label = strip_label(hands, "recording stopped")
    assert "1,234 samples lost" in label.text()
    assert "● recording" not in hands.strip
    # also where there is little room
    hands.window.resize(700, 600)
    hands.ticks(2)
    assert "recording stopped" in hands.strip
    hands.window.resize(1280, 800)
    # there is space again: what waited is written, what is lost stays lost
    report(hands, hybrid_arrivals, recorded=5000, unwritten_age=0.1, disk_free=1 << 30)
    hands.ticks(2)
    assert "● recording" in hands.strip
    assert "■ not recorded 1,234" in hands.strip


def test_a_recorder_that_is_dead_stops_too(followed, hybrid_arrivals):
    """Its samples are dropped at once: none waits."""
    hands = followed
    for n in range(1, 14):
        report(hands, hybrid_arrivals, unrecorded=40 * n)
    hands.ticks(2)
    assert "recording stopped" in hands.strip


def test_a_disk_that_is_slow_has_not_stopped(followed, hybrid_arrivals):
    hands = followed
    for n in range(1, 20):
        report(hands, hybrid_arrivals, unwritten_age=4.0 + 0.001 * n, recorded=1000 + 100 * (n // 5))
        hands.ticks(1)
        assert "recording stopped" not in hands.strip
    assert "▲ disk 4 s behind" in hands.strip


def test_an_overload_is_no_dead_stream(followed, hybrid_arrivals):
    hands = followed
    busy = {"lag": 1.4, "load": 1.0, "shed": ("viewers", "results")}
    report(hands, hybrid_arrivals, **busy)
    hands.ticks(2)
    assert hands.history.state.key == "overloaded"
    assert "▲ overloaded, 1.4 s behind" in hands.strip
    state = hands.window.view_bar._state
    assert "overloaded" in state.text()
    image = state.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert hands.window.theme.warn in colours
    assert "overloaded" in hands.window.alarm_banner.text
    # values are shown: they are late, and not wrong
    assert all("overloaded" not in text for text in hands.tile_texts.values())
    # it gives no results for a while
    for _ in range(20):
        report(hands, hybrid_arrivals, **busy)
    hands.until(lambda: all("overloaded" in text for text in hands.tile_texts.values()))
    assert "stale" not in " ".join(said(hands))
    assert "▲ overloaded" in hands.strip
    assert "overloaded" in hands.window.windowTitle()
    # the rig has ended: an idle service waits for nothing but samples
    for _ in range(3):
        report(hands, hybrid_arrivals, lag=0.0, load=0.02, state="stale")
    hands.ticks(2)
    assert "▲ stale" in hands.strip

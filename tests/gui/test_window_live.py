"""The window on a live service, driven by keys and mouse."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QLineEdit

from gui.widgets.menus import MenuPlace
from gui.window import service_connection
from monitor.messages.blocks import EventKind
from monitor.recording import RunReader
from monitor.transport.zeromq.requests import RequestClient
from tests.gui.live_service import DELAY, RATE


@pytest.fixture
def live(begin, service, rig):
    """A window that has watched the rig for eight seconds of its time, and looks at five of them."""
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(8.0)
    hands.until(lambda: hands.history.end_x > 7.9 and "phase" in hands.tile_texts.get("south", ""))
    hands.key("1")
    return hands


def test_values_appear(live):
    for name, delay in DELAY.items():
        live.until(lambda name=name, delay=delay: f"delay {1e3 * delay:.1f} ms" in live.tile_texts[name])
    assert not live.first_page
    assert "● receiving" in live.strip
    assert live.window.view_bar._state.text() == "● live"
    assert live.view.span == 5.0
    assert live.modal is None


def test_space_pauses_the_picture_and_nothing_is_lost(live, rig):
    live.key("Space")
    live.ticks()
    right, end, picture = live.view.right, live.history.end_x, live.stack.grab().toImage()
    rig.move(2.5)
    live.until(lambda: live.history.end_x > end + 2.4)
    live.ticks(3)
    assert live.view.right == right
    assert live.stack.grab().toImage() == picture
    assert "paused, 2 s behind" in live.window.view_bar._state.text()
    live.key("Space")
    live.ticks()
    assert live.view.right == live.history.end_x
    assert live.stack.grab().toImage() != picture
    assert live.history.signals.samples(0.0, 20.0)[0].size == rig.sent


def test_the_keys_scrub(live):
    end = live.history.end_x
    live.key("Left")
    assert live.view.right == pytest.approx(end - 0.5)
    live.key("Shift+Left")
    # no further back than to the first sample
    assert live.view.right == pytest.approx(live.history.begin_x + 5.0)
    live.key("Right")
    assert live.view.right == pytest.approx(live.history.begin_x + 5.5)
    assert not live.view.following
    live.key("Home")
    assert live.view.following
    assert live.view.right == end


def test_the_mouse_scrubs_zooms_and_pins(live):
    end, viewport = live.history.end_x, live.stack.viewport()
    # the middle of the viewport is in a legend, by which a signal is dragged
    live.drag(viewport, 100, live.stack.plot_of(0).center().toPoint())
    scrubbed = 100.0 * live.view.span / live.stack.scale().width
    assert live.view.right == pytest.approx(end - scrubbed, abs=0.02)
    live.wheel(viewport, 1)
    assert live.view.span == pytest.approx(5.0 / 1.25)
    live.wheel(viewport, -1)
    assert live.view.span == pytest.approx(5.0)
    live.ticks()
    place = live.stack.plot_of(0).center().toPoint() + QPoint(50, 0)
    live.click(viewport, place)
    assert live.view.pinned == pytest.approx(live.stack.scale().x(place.x()))
    live.until(lambda: "at " in live.tile_texts["north"])
    # what stands there is of that instant, and the rig was as late then
    assert "delay 10.0 ms" in live.tile_texts["north"]
    live.key("Home")
    assert live.view.pinned is None
    # a click on a live view pins, and does not pause
    live.click(viewport, place)
    assert live.view.pinned is not None
    assert live.view.following
    live.key("Home")
    assert live.view.pinned is None
    assert live.view.following


def test_a_note_is_in_the_events_and_in_the_run_file(live, service, rig):
    live.key("Left")
    instant = live.view.right
    live.key("N")
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit)
    # each of these letters is a key of the window, and so is the space
    live.type("p n 1.0, +-")
    live.key("Home")
    live.key("Left")
    assert field.text() == "p n 1.0, +-"
    assert live.view.right == instant
    assert live.view.span == 5.0
    live.key("Return")
    assert not live.window.note_bar.isVisible()
    live.until(lambda: any("p n 1.0, +-" in text for text in live.events))
    live.until(lambda: "● info: note saved with the run" in live.notices)
    # the keys are the window's again
    live.key("Space")
    assert live.view.following
    live.leave()
    service.die()
    with RunReader(service.record) as run:
        (note,) = (event for event in run.events() if event.kind is EventKind.NOTE)
    assert note.detail == "p n 1.0, +-"
    assert (note.time, note.index) == (pytest.approx(instant), round(instant * RATE))


def test_a_note_on_the_span_between_two_cursors_says_where_it_ends(live, service):
    live.view.set_marks((1.0, 1.5))
    (entry,) = (e for e in live.program._notes._entries(MenuPlace(QPoint(), x=1.2)) if "span" in e.text)
    entry.act()
    live.type("slips")
    live.key("Return")
    live.until(lambda: "● info: note saved with the run" in live.notices)
    live.leave()
    service.die()
    with RunReader(service.record) as run:
        notes = [(event.detail, event.time) for event in run.events() if "slips" in event.detail]
    assert notes == [("slips (1 s to 1.5 s)", pytest.approx(1.0))]


def test_esc_forgets_a_note_and_gives_the_keys_back(live):
    stack = live.stack
    live.click(stack.viewport())
    assert stack.hasFocus()
    live.key("Home")
    live.key("N")
    live.type("nothing")
    live.key("Esc")
    assert not live.window.note_bar.isVisible()
    assert stack.hasFocus()
    live.key("Space")
    assert not live.view.following
    assert live.events == [text for text in live.events if "nothing" not in text]


def test_a_span_chosen_by_mouse_leaves_the_keys_where_they_are(live):
    box = live.window.view_bar._spans
    live.click(box)
    popup = QApplication.activePopupWidget()
    assert popup is not None
    live.key("Home")
    live.key("Return")
    assert live.view.span == 1.0
    live.key("Space")
    assert not live.view.following
    assert QApplication.activePopupWidget() is None


@pytest.fixture
def impatient(monkeypatch):
    """Half a second is enough for an answer."""
    monkeypatch.setattr(service_connection, "RequestClient", partial(RequestClient, timeout=0.5))


def write_note(hands, text):
    hands.key("N")
    hands.type(text)
    hands.key("Return")


def test_a_service_that_takes_no_notes_any_more_says_so_and_the_text_is_offered_again(impatient, live, service):
    service.die()
    write_note(live, "valve opened")
    live.until(lambda: any("no answer" in line for line in live.notices))
    assert "note not saved" in live.notices[-1]
    live.key("N")
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit)
    assert field.text() == "valve opened"
    # once: it was looked at, and forgotten
    live.key("Esc")
    live.key("N")
    assert field.text() == ""


def test_a_note_written_as_the_window_is_closed_is_kept(live, service):
    write_note(live, "the last word")
    live.leave()
    service.die()
    with RunReader(service.record) as run:
        assert [event.detail for event in run.events() if event.kind is EventKind.NOTE] == ["the last word"]


def test_no_note_is_kept_under_the_wrong_start_of_the_rig(live, service, rig):
    live.key("Left")
    live.key("N")
    live.type("too late")
    rig.restart(("north", "south"), epoch=2)
    rig.move(3.0)
    history = live.history
    live.until(lambda: history.timeline.epoch == 2 and history.timeline.time_at(history.end_x) > 2.9)
    # the rig has started again while it was written
    live.key("Return")
    assert "the rig has restarted since; notes are possible from 0 s on" in live.notices[-1]
    # nor can one be begun there; the text waits for an instant where it can
    live.key("N")
    assert not live.window.note_bar.isVisible()
    assert "no note is possible at this instant" in live.notices[-1]
    live.key("Home")
    live.key("N")
    live.key("Return")
    live.until(lambda: any("too late" in text for text in live.events))
    live.leave()
    service.die()
    with RunReader(service.record) as run:
        (note,) = (event for event in run.events() if event.kind is EventKind.NOTE)
    assert note.detail == "too late"
    assert note.time == pytest.approx(3.0, abs=0.1)

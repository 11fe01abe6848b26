"""Clock time of a rig whose time is since its own start: an option of the time axis."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from gui.model.history import History, WallClock
from gui.model.receiver import ReceivedMessages
from gui.model.timeline import ClockSegment
from gui.panels.histories import HistoriesPanel
from gui.settings.dialog import SettingsDialog
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from tests.gui.shown import show_panel

NOW, RATE = 1.8e9, 100.0
CHANNELS = Channel("a.command", Role.COMMAND, "m", "a"), Channel("a.measured", Role.MEASURED, "m", "a")


def arrive(history, index, time, now, n=100, epoch=1):
    block = SignalBlock(Stream("rig", epoch, RATE, CHANNELS), index, time, np.zeros((n, 2)))
    history.update(ReceivedMessages(signals=(block,)), now=now)


@pytest.fixture
def panel(qtbot):
    history = History(memory=4 << 20)
    for k in range(5):
        # the third block is the fastest, 0.2 s after its last sample
        arrive(history, 100 * k, float(k), NOW + k + 0.99 + (0.2 if k == 2 else 0.5))
    panel = show_panel(qtbot, HistoriesPanel, history, (900, 300), span=5.0)
    panel.history = history
    return panel


def time_of_day(time):
    return f"{datetime.fromtimestamp(time):%H:%M:%S}"


def test_the_axis_and_the_cursor_have_the_time_of_arrival(panel):
    assert panel.stack.instant(2.0) == "2.000 s"
    panel.set_clock_time(True)
    panel.refresh(panel.history)
    assert panel.stack.instant(2.0).startswith(time_of_day(NOW + 2.2))
    panel.set_clock_time(False)
    panel.refresh(panel.history)
    assert panel.stack.instant(2.0) == "2.000 s"


def test_after_a_restart_it_is_measured_again(panel):
    panel.set_clock_time(True)
    arrive(panel.history, 0, 0.0, NOW + 3600.99, epoch=2)
    panel.view.extend(panel.history.begin_x, panel.history.end_x)
    panel.refresh(panel.history)
    first, second = panel.history.timeline.segments
    assert panel.stack.instant(first.x_begin + 2.0).startswith(time_of_day(NOW + 2.2))
    assert panel.stack.instant(second.x_begin + 0.5).startswith(time_of_day(NOW + 3600.5))


def test_a_rig_that_sends_dates_keeps_them_and_a_recording_its_own_time():
    clock, dated = WallClock(), ClockSegment(0.0, 10.0, NOW - 100.0, 1)
    clock.observe(0.0, 10.0, NOW)
    assert clock.applied([dated]) == (dated,)
    undated = ClockSegment(0.0, 10.0, 0.0, 1)
    assert WallClock().applied([undated]) == (undated,)
    # a part that follows without an interruption has the clock of the one before
    follows = ClockSegment(10.0, 20.0, 0.1, 1, follows=True)
    assert [segment.offset for segment in clock.applied([undated, follows])] == pytest.approx([NOW - 10.0] * 2)


def test_it_is_chosen_in_the_settings(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:60])
    hands.until(lambda: hands.history.end_x > 2.0)
    hands.ticks()
    assert hands.stack.instant(1.0).endswith(" s")
    hands.program.actions["window.settings"].trigger()
    (dialog,) = hands.window.findChildren(SettingsDialog)
    page = next(page for page in dialog.pages.values() if "clock_time" in page.rows)
    box = page.rows["clock_time"].editor.box
    box.click()
    assert box.isChecked()
    hands.click(dialog.ok)
    hands.until(lambda: ":" in hands.stack.instant(1.0))
    assert hands.program.preferences.settings.clock_time

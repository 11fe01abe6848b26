"""Faults by hand: what is switched is what the player is told, and what it says is what is shown."""

import math
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from gui.sources.replay_bar.fault_bar import FAULT_KINDS, FaultBar, ManualFaults, faults_from_text
from gui.widgets.theme import LIGHT
from replay.faults import Faults, parse_faults

STATE = {"duration": 10.0, "playing": True}


@pytest.fixture
def bar(qtbot, control):
    bar = FaultBar(LIGHT)
    qtbot.addWidget(bar)
    bar.set_player(control.player(bar))
    return bar


def told(control):
    """Return the faults that the player would make of the last line."""
    return parse_faults(control.told[-1]["text"])


def test_it_is_hidden_until_asked_for(bar):
    assert bar.isHidden()


def test_switches_add_up(bar, control):
    bar.switches["drop"].box.click()
    assert told(control) == Faults(drop=0.01)
    bar.switches["nan"].box.click()
    bar.switches["jitter"].box.click()
    assert told(control) == Faults(drop=0.01, nan=0.001, jitter=0.002)
    bar.switches["drop"].number.setValue(25.0)
    assert told(control) == Faults(drop=0.25, nan=0.001, jitter=0.002)
    assert bar.on.text() == "▲ on: drop 25 %, NaN 0.1 %, jitter 2 ms"
    bar.switches["drop"].box.click()
    assert told(control) == Faults(nan=0.001, jitter=0.002)
    bar.off.click()
    assert told(control) == Faults()
    assert bar.on.text() == "○ nothing is on"
    assert not any(switch.box.isChecked() for switch in bar.switches.values())


def test_every_change_is_announced_for_the_recording(bar, qtbot):
    texts = []
    bar.injected.connect(texts.append)
    for button in (bar.delay, bar.delay, bar.gap, bar.restart, bar.off):
        button.click()
    lag = "faults injected: measured 10 ms later"
    assert texts == [
        "faults injected: measured 5 ms later",
        lag,
        f"{lag}, gap 0.5 s",
        f"{lag}, restart",
        "faults injected: none",
    ]


def test_a_number_of_what_is_off_tells_nothing(bar, control):
    bar.switches["reorder"].number.setValue(7.0)
    assert control.told == []
    bar.switches["reorder"].box.click()
    assert told(control) == Faults(reorder=0.07)


def test_numbers_stay_within_sense(bar, qtbot):
    number = bar.switches["drop"].number
    number.setValue(1000.0)
    assert number.value() == 100.0
    number.setValue(-3.0)
    assert number.value() > 0.0


def test_what_happens_once_is_told_once(bar, control):
    bar.switches["drop"].box.click()
    bar.gap.click()
    assert told(control) == Faults(drop=0.01, gap=(0.0, 0.5))
    bar.restart.click()
    assert told(control) == Faults(drop=0.01, restart=0.0)
    bar.switches["drop"].box.click()
    assert told(control) == Faults()


def test_delays_add_up_and_stay(bar, control):
    bar.delay.click()
    bar.delay.click()
    bar.switches["duplicate"].box.click()
    assert told(control) == Faults(duplicate=0.01, delay_step=(0.0, 0.01))
    assert "measured 10 ms later" in bar.on.text()


def test_what_the_player_says_counts(bar, control):
    control.say(STATE | {"faults": "reorder=0.05,delay_step=3:0.02,gap=1:2"})
    assert bar.switches["reorder"].box.isChecked()
    assert bar.switches["reorder"].number.value() == 5.0
    assert bar.faults.delay == 0.02
    assert control.told == []


def test_a_state_from_before_a_change_does_not_undo_it(bar, control):
    before = control.newest
    bar.switches["drop"].box.click()
    control.say(STATE | {"faults": ""}, number=before)
    assert bar.switches["drop"].box.isChecked()
    control.say(STATE | {"faults": "drop=0.01"})
    control.say(STATE | {"faults": ""})
    assert not bar.switches["drop"].box.isChecked()


def test_what_is_refused_is_taken_back(bar, control):
    bar.delay.click()
    control.refuse("no")
    assert bar.faults == ManualFaults()


def test_another_player_begins_with_what_it_has(bar, control):
    bar.switches["drop"].box.click()
    bar.set_player(None)
    assert not bar.isEnabled()
    bar.set_player(control.player(bar))
    assert bar.isEnabled()
    assert bar.on.text() == "○ nothing is on"


def test_space_switches(bar, control, qtbot):
    bar.show()
    qtbot.keyClick(bar.switches["drop"].box, Qt.Key.Key_Space)
    assert told(control) == Faults(drop=0.01)


values = st.dictionaries(st.sampled_from([kind.key for kind in FAULT_KINDS]), st.floats(1e-6, 1.0))


@given(values, st.floats(0.0, 1.0), st.lists(st.sampled_from(["gap=0:0.5", "restart=0"]), max_size=1))
def test_the_text_is_read_back_and_understood(active, delay, once):
    faults = ManualFaults(active, delay if delay > 1e-9 else 0.0)
    text = faults.text(*once)
    again = faults_from_text(text)
    assert again.active == pytest.approx(faults.active)
    assert again.delay == pytest.approx(faults.delay)
    understood = parse_faults(text)
    for key, value in active.items():
        assert getattr(understood, key) == pytest.approx(value)


@given(st.text() | st.from_regex(r"(drop|nan|jitter|delay_step)=[-0-9:.einfa]{0,9}", fullmatch=True))
def test_of_any_text_no_fault_is_made_up(text):
    found = faults_from_text(text)
    assert set(found.active) <= {field.name for field in fields(Faults)}
    assert all(0.0 <= value < math.inf for value in (*found.active.values(), found.delay))

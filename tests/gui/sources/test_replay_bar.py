"""The replay bar as a person uses it: buttons, keys, the mouse on the timeline, and what stands there."""

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from gui.sources.replay_bar.overview import RunPicture
from gui.sources.replay_bar.replay_bar import ReplayBar, read_speed, speed_text
from gui.widgets.theme import DARK, LIGHT
from monitor.messages.recordings import read_description

STATE = {
    "position": 4.0, "duration": 10.0, "playing": True, "ended": False, "speed": 1.0, "loop": False,
    "faults": "", "epoch": 1, "sent": 400, "subscribed": True,
}  # fmt: skip


@pytest.fixture
def bar(qtbot, control, described):
    bar = ReplayBar(LIGHT)
    qtbot.addWidget(bar)
    bar.resize(1000, 60)
    bar.set_player(control.player(bar, read_description(described)))
    control.say(STATE)
    bar.show()
    qtbot.waitExposed(bar)
    control.told.clear()
    return bar


def at(bar, seconds):
    return QPoint(round(bar.timeline.picture.x_of(seconds)), bar.timeline.height() // 2)


def test_without_a_player_it_is_not_there(qtbot):
    bar = ReplayBar(LIGHT)
    qtbot.addWidget(bar)
    assert bar.isHidden()
    for button in (bar.play, bar.step, bar.restart, bar.loop):
        button.click()
        assert button.accessibleName()
        assert button.toolTip()
        assert not button.icon().isNull()


def test_it_says_where_it_is(bar, control):
    assert bar.place.text() == "\u20074.0 of 10.0 s  playing"
    assert bar.play.accessibleName() == "Pause"
    control.say(STATE | {"playing": False, "position": 10.0, "ended": True})
    assert bar.place.text() == "10.0 of 10.0 s  ended"
    assert (bar.play.accessibleName(), bar.play.toolTip()) == ("Play", "Play")


def test_buttons_steer(bar, control, qtbot):
    for button in (bar.play, bar.step, bar.restart, bar.loop):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert control.told == [
        {"request": "pause"}, {"request": "step", "seconds": 0.1}, {"request": "seek", "seconds": 0.0},
        {"request": "resume"}, {"request": "loop", "loop": True},
    ]  # fmt: skip
    # the state says what is so, and nobody is told again
    control.told.clear()
    control.say(STATE | {"loop": True})
    assert bar.loop.isChecked()
    control.say(STATE)
    assert not bar.loop.isChecked()
    assert control.told == []


def test_a_click_seeks_and_shows_full_windows_while_it_stands(bar, control, qtbot):
    qtbot.mouseClick(bar.timeline, Qt.MouseButton.LeftButton, pos=at(bar, 7.5))
    (seek,) = control.told
    assert seek["request"] == "seek"
    assert seek["seconds"] == pytest.approx(7.5, abs=0.02)
    assert "lead" not in seek
    control.say(STATE | {"playing": False})
    control.told.clear()
    bar.timeline._seeking.go_on()
    qtbot.mouseClick(bar.timeline, Qt.MouseButton.LeftButton, pos=at(bar, 2.5))
    assert control.told[0]["lead"] == bar.lead


def test_while_one_drags_only_the_newest_place_is_sought(bar, control, qtbot):
    qtbot.mousePress(bar.timeline, Qt.MouseButton.LeftButton, pos=at(bar, 1.0))
    for seconds in (2.0, 3.0, 4.0, 5.0):
        qtbot.mouseMove(bar.timeline, at(bar, seconds))
    assert len(control.told) == 1
    bar.timeline._seeking.go_on()  # the pause between two seeks is over
    assert [round(told["seconds"]) for told in control.told] == [1, 5]
    qtbot.mouseMove(bar.timeline, at(bar, 6.0))
    qtbot.mouseRelease(bar.timeline, Qt.MouseButton.LeftButton, pos=at(bar, 8.0))
    assert [round(told["seconds"]) for told in control.told] == [1, 5, 8]
    # the place that is wanted is shown until the player is there
    assert bar.timeline.wanted == pytest.approx(8.0, abs=0.02)
    bar.timeline._seeking.go_on()
    assert bar.timeline.wanted is None


def test_the_timeline_is_steered_by_keys(bar, control, qtbot):
    keys = {
        Qt.Key.Key_Right: 5.0, Qt.Key.Key_Left: 3.0, Qt.Key.Key_PageDown: 9.99, Qt.Key.Key_PageUp: 0.0,
        Qt.Key.Key_Home: 0.0, Qt.Key.Key_End: 9.99,
    }  # fmt: skip
    bar.timeline.setFocus()
    for key, place in keys.items():
        control.told.clear()
        bar.timeline._seeking.rest()
        qtbot.keyClick(bar.timeline, key)
        assert control.told == [{"request": "seek", "seconds": pytest.approx(place)}]


def test_a_key_that_repeats_adds_up(bar, control, qtbot):
    for _ in range(3):
        qtbot.keyClick(bar.timeline, Qt.Key.Key_Right)
    assert [told["seconds"] for told in control.told] == [5.0]
    bar.timeline._seeking.go_on()
    assert [told["seconds"] for told in control.told] == [5.0, 7.0]


def test_the_curve_is_the_first_measured_and_another_can_be_chosen(bar, qtbot):
    assert bar.timeline.channel == "a.measured"
    qtbot.keyClick(bar.timeline, Qt.Key.Key_Down)
    assert bar.timeline.channel == "a.command"
    qtbot.keyClick(bar.timeline, Qt.Key.Key_Up)
    assert bar.timeline.channel == "a.measured"
    menu = bar.timeline.channel_menu()
    assert [(action.text(), action.isChecked()) for action in menu.actions()] == [
        ("a.command", False),
        ("a.measured", True),
    ]
    menu.actions()[0].trigger()
    assert bar.timeline.channel == "a.command"
    menu.close()


def test_what_is_under_the_mouse_is_said(bar):
    picture = bar.timeline.picture
    assert picture.tip(picture.x_of(7.0)).splitlines() == [
        "7.000 s", "7.000 s  note: hello", "curve: a.measured [m]"
    ]  # fmt: skip
    assert "gap" in picture.tip(picture.x_of(2.0))
    assert len(picture.tip(picture.x_of(4.5)).splitlines()) == 2


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_curve_is_drawn_where_it_is_and_not_in_the_gap(qtbot, described, theme):
    width, height = 800, 60
    picture = RunPicture(read_description(described), "a.measured", 10.0, width, height)
    image = picture.draw(theme, 1.0).toImage()
    curve = QColor(theme.measured).rgb()
    drawn = np.array([[image.pixel(x, y) == curve for x in range(width)] for y in range(height - 8)])
    there = np.delete(np.sin(0.1 * np.arange(100)), np.s_[40:60])
    for seconds in np.arange(0.5, 9.5, 0.25):
        rows = np.flatnonzero(drawn[:, round(picture.x_of(seconds))])
        if 4.1 < seconds < 5.9:
            assert not len(rows)
        elif not 3.8 < seconds < 6.2:
            # all of it between 8 % and 92 % of the height
            share = (math.sin(seconds) - there.min()) / np.ptp(there)
            assert abs(rows.mean() - (height - 3.0 - (height - 6.0) * (0.08 + 0.84 * share))) < 3.0


def test_without_an_overview_there_is_still_a_line(qtbot, control, bar, described):
    bare = read_description(described | {"overview": None, "events": []})
    bar.set_player(control.player(bar, bare))
    control.say(STATE)
    assert bar.timeline.channel == ""
    assert bar.timeline.channels == ()
    bar.grab()
    qtbot.mouseClick(bar.timeline, Qt.MouseButton.LeftButton, pos=at(bar, 5.0))
    assert control.told[-1]["seconds"] == pytest.approx(5.0, abs=0.02)
    bar.set_player(None)
    assert bar.isHidden()


@pytest.mark.parametrize(
    ("text", "speed"),
    [("2", 2.0), (" 0.25 x", 0.25), ("10×", 10.0), ("0,5", 0.5), ("MAX", math.inf), ("maximum", math.inf)],
)
def test_speeds_are_read_as_people_write_them(text, speed):
    assert read_speed(text) == speed
    assert read_speed(speed_text(speed)) == speed


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf", "1e9", "x"])
def test_what_is_no_speed_is_none(text):
    assert read_speed(text) is None


def typed(qtbot, box, text):
    field = box.lineEdit()
    box.setFocus()
    field.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


def test_a_speed_is_typed_and_told_once(bar, control, qtbot):
    typed(qtbot, bar.speed, "0.2")
    typed(qtbot, bar.speed, "5×")
    typed(qtbot, bar.speed, "max")
    assert [told["speed"] for told in control.told] == [0.2, 5.0, "max"]


def test_a_wrong_speed_is_marked_and_not_told(bar, control, qtbot):
    typed(qtbot, bar.speed, "quick")
    assert control.told == []
    assert "number" in bar.speed.toolTip()
    assert bar.speed.lineEdit().palette().text().color() == QColor(LIGHT.bad)
    # a state that comes meanwhile does not take the text away
    control.say(STATE)
    assert bar.speed.currentText() == "quick"
    typed(qtbot, bar.speed, "3")
    assert control.told == [{"request": "speed", "speed": 3.0}]
    assert "number" not in bar.speed.toolTip()


def test_faster_and_slower_go_through_the_usual_speeds(bar, control):
    bar.speed.faster()
    bar.speed.faster()
    bar.speed.faster(-1)
    assert [told["speed"] for told in control.told] == [2.0, 5.0, 2.0]
    control.say(STATE | {"speed": "max"})
    assert bar.speed.currentText() == "max"
    control.told.clear()
    bar.speed.faster()
    assert control.told == []


def test_other_colours_are_taken(bar):
    bar.apply_theme(DARK)
    assert bar.timeline.grab().toImage().pixelColor(2, 2) == QColor(DARK.base)

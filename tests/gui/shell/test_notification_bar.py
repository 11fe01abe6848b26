"""The quiet line: it says what should be known, counts what is said again, and is never in the way."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLineEdit, QListWidget, QPushButton, QVBoxLayout, QWidget

from gui.widgets.painting import ElidedLabel
from gui.widgets.theme import DARK, LIGHT
from gui.window.notification_bar import INFO_TIMEOUT, MAX_LOGGED, NotificationBar, NotificationLog
from gui.wording.level import Level

NOW = 1_700_000_000.0


@pytest.fixture
def shown(qtbot):
    """A bar below a field that has the focus."""
    window = QWidget()
    field, bar = QLineEdit(), NotificationBar(LIGHT)
    layout = QVBoxLayout(window)
    layout.addWidget(field)
    layout.addWidget(bar)
    qtbot.addWidget(window)
    window.resize(500, 120)
    window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    # the window lives as long as this does
    yield bar, field
    window.close()


def line(bar):
    return bar.findChild(ElidedLabel).text()


def button(bar, text):
    return next(found for found in bar.findChildren(QPushButton) if found.text() == text)


def test_it_is_there_only_while_there_is_something_to_say(shown):
    bar, _ = shown
    assert not bar.isVisible()
    bar.show_message("warning", "the clock of the rig\njumped", NOW)
    assert bar.isVisible()
    assert line(bar) == "▲ warning: the clock of the rig jumped"
    bar.dismiss()
    assert not bar.isVisible()


def test_the_gravest_stands_first_and_the_others_are_counted(shown, qtbot):
    bar, _ = shown
    bar.show_message("error", "the disk is full", NOW)
    bar.show_message("warning", "samples are lost", NOW + 1)
    bar.show_message("info", "the service runs again", NOW + 2)
    assert line(bar) == "■ error: the disk is full"
    assert bar.palette().color(QPalette.ColorRole.WindowText).name() == LIGHT.bad
    qtbot.mouseClick(button(bar, "Dismiss"), Qt.MouseButton.LeftButton)
    assert line(bar) == "▲ warning: samples are lost"
    bar.apply_theme(DARK)
    assert bar.palette().color(QPalette.ColorRole.WindowText).name() == DARK.warn
    assert bar.dismiss()
    assert bar.dismiss()
    assert not bar.dismiss()


def test_what_is_said_again_is_counted(shown):
    bar, _ = shown
    for i in range(3):
        bar.show_message("error", "no such file", NOW + i)
    assert line(bar) == "■ error: no such file (×3)"
    assert len(bar.log.active) == 1


def test_information_goes_by_itself_and_errors_stay(shown):
    bar, _ = shown
    bar.show_message("info", "saved", NOW)
    bar.show_message("error", "not saved", NOW)
    bar.tick(NOW + INFO_TIMEOUT + 0.1)
    assert [notice.text for notice in bar.log.active] == ["not saved"]
    bar.tick(NOW + 1e6)
    assert bar.isVisible()
    bar.dismiss()
    bar.show_message("info", "saved", NOW)
    bar.tick(NOW + INFO_TIMEOUT - 0.1)
    assert bar.isVisible()
    bar.tick(NOW + INFO_TIMEOUT + 0.1)
    assert not bar.isVisible()


def test_it_never_takes_the_focus(shown, qtbot):
    bar, field = shown
    bar.show_message("error", "one", NOW)
    assert field.hasFocus()
    qtbot.keyClicks(field, "typing")
    bar.show_message("error", "two", NOW)
    qtbot.mouseClick(button(bar, "Dismiss"), Qt.MouseButton.LeftButton)
    bar.dismiss()
    assert field.hasFocus()
    assert field.text() == "typing"


def test_tab_reaches_its_buttons_and_escape_dismisses(shown, qtbot):
    bar, field = shown
    bar.show_message("error", "one", NOW)
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    assert bar.isAncestorOf(QApplication.focusWidget())
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert not bar.isVisible()


def test_all_shows_the_last_messages_with_their_times(shown, qtbot):
    bar, _ = shown
    bar.show_message("info", "first", NOW)
    bar.show_message("error", "second", NOW + 61)
    bar.dismiss()
    bar.tick(NOW + 100)
    bar.show_message("warning", "third", NOW + 122)
    qtbot.mouseClick(button(bar, "All…"), Qt.MouseButton.LeftButton)
    messages = bar.findChild(QListWidget)
    assert messages.isVisible()
    clock = [time.strftime("%H:%M:%S", time.localtime(NOW + later)) for later in (0, 61, 122)]
    assert [messages.item(row).text() for row in range(messages.count())] == [
        f"{clock[2]}  ▲ warning: third",
        f"{clock[1]}  ■ error: second",
        f"{clock[0]}  ● info: first",
    ]
    assert not messages.window().isModal()
    qtbot.keyClick(messages, Qt.Key.Key_Escape)
    assert not messages.isVisible()


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["info", "warning", "error", "other"]), st.sampled_from("abcdef")),
        st.just("dismiss"),
        st.just("tick"),
    ),
    max_size=40,
)
LEVELS = {"info": Level.INFO, "warning": Level.WARN}
GRAVITY = [Level.BAD, Level.WARN, Level.INFO]


@given(steps)
def test_any_course_of_messages(taken):
    notices, now = NotificationLog(most=5), NOW
    log, standing = [], []  # of (level, text), as the last of each was told
    times = {}
    for step in taken:
        now += 3.0
        if step == "dismiss":
            notices.dismiss()
            for level in GRAVITY:
                of_level = [key for key in standing if key[0] is level]
                if of_level:
                    standing.remove(of_level[-1])
                    break
        elif step == "tick":
            notices.tick(now)
            standing = [key for key in standing if key[0] is not Level.INFO or now - times[key] < INFO_TIMEOUT]
        else:
            key = LEVELS.get(step[0], Level.BAD), step[1]
            notices.add(*step, now)
            log = [*(k for k in log if k != key), key][-5:]
            standing = [k for k in [*(k for k in standing if k != key), key] if k in log]
            times[key] = now
        assert [(notice.level, notice.text) for notice in notices.entries] == log
        expected = [key for level in GRAVITY for key in reversed(standing) if key[0] is level]
        assert [(notice.level, notice.text) for notice in notices.active] == expected


def test_a_hundred_messages_are_kept():
    notices = NotificationLog()
    for i in range(250):
        notices.add("error", f"number {i}", NOW + i)
    assert MAX_LOGGED == 100
    assert [notice.text for notice in notices.entries] == [f"number {i}" for i in range(150, 250)]
    assert len(notices.active) == 100


def test_what_has_ended_is_no_longer_told(shown):
    bar, _ = shown
    bar.show_message("error", "the service died (ended by signal 9); it is started again in 1 s", NOW)
    bar.show_message("error", "the disk is full", NOW)
    bar.show_message("info", "the service runs again", NOW + 3, ends="the service died")
    assert [notice.text for notice in bar.log.active] == ["the disk is full", "the service runs again"]
    assert len(bar.log.entries) == 3

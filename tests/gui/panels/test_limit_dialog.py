"""The dialog for the limits of an alarm: what it shows, what it refuses, what it asks for."""

import pytest
from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox

from gui.window.limit_requests import LimitDialog, limit_pair
from monitor.messages.alarms import Alarm, AlarmState, Severity

WARN = Alarm("n.fdb_delay.warn", "fdb_delay", "n", "s", Severity.WARN, high=0.02, last=0.0312, changeable=True)
TRIP = structs.replace(WARN, name="n.fdb_delay.trip", severity=Severity.TRIP, high=0.05)
OTHERS = (structs.replace(WARN, name="s.fdb_delay.warn"), structs.replace(WARN, name="n.warn"))
BAND = Alarm("n.r.warn", "fdb_ratio", "n", "", Severity.WARN, low=0.9, high=1.1, changeable=True)


def shown(qtbot, *alarms):
    dialog = LimitDialog(alarms)
    qtbot.addWidget(dialog)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    dialog.asked = []
    dialog.requested.connect(dialog.asked.append)
    dialog.show()
    qtbot.waitExposed(dialog)
    return dialog


def write(dialog, name, side, text):
    field = dialog.fields[name, side]
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


def test_warning_and_trip_of_one_value_belong_together():
    every = (*OTHERS, TRIP, WARN)
    assert limit_pair(every, TRIP.name) == limit_pair(every, WARN.name) == (TRIP, WARN)
    assert limit_pair((structs.replace(WARN, changeable=False), TRIP), WARN.name) == (TRIP,)
    assert limit_pair(every, "n.other.warn") == ()


def test_it_shows_the_limits_in_the_units_of_the_display(qtbot):
    dialog = shown(qtbot, WARN, TRIP)
    texts = {key: field.text() for key, field in dialog.fields.items()}
    assert texts == {
        (WARN.name, "low"): "",
        (WARN.name, "high"): "20",
        (TRIP.name, "low"): "",
        (TRIP.name, "high"): "50",
    }
    assert dialog.windowTitle() == "Limits of n delay (FDB)"
    assert not dialog.apply.isEnabled() and not dialog.restore.isEnabled()


def test_only_what_was_changed_is_asked_for_and_nothing_is_rounded(qtbot):
    odd = structs.replace(WARN, high=0.0200000000003)
    dialog = shown(qtbot, odd, TRIP)
    write(dialog, TRIP.name, "high", "60,5")
    dialog.fields[TRIP.name, "low"].setText("−1e1")
    write(dialog, odd.name, "low", "-10")
    QTest.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert dialog.asked == [{odd.name: (-0.01, 0.0200000000003), TRIP.name: (-0.01, 0.0605)}]
    assert not dialog.isVisible()


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ({(WARN.name, "high"): "abc"}, "WARN: "),
        ({(WARN.name, "high"): "inf"}, "WARN: inf is not a number"),
        ({(WARN.name, "high"): ""}, "WARN: one limit is needed at least"),
        ({(WARN.name, "low"): "30"}, "WARN: the lowest is above the highest"),
        ({(WARN.name, "high"): "60"}, "the trip limits must not be inside"),
        ({(TRIP.name, "low"): "-5"}, "the trip limits must not be inside"),
    ],
)
def test_what_cannot_be_is_said_and_not_sent(qtbot, edits, problem):
    dialog = shown(qtbot, WARN, TRIP)
    for (name, side), text in edits.items():
        write(dialog, name, side, text)
    assert dialog.problem.text().startswith(problem)
    assert not dialog.apply.isEnabled()
    QTest.keyClick(dialog.fields[WARN.name, "high"], Qt.Key.Key_Return)
    assert dialog.asked == [] and dialog.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_the_limits_of_the_settings_can_be_had_back(qtbot):
    dialog = shown(qtbot, structs.replace(BAND, high=1.3, configured=(0.9, 1.1)))
    texts = [label.text() for label in dialog.findChildren(type(dialog.problem))]
    assert "settings: 0.9 … 1.1" in texts
    assert dialog.findChild(QDialogButtonBox) is not None
    QTest.mouseClick(dialog.restore, Qt.MouseButton.LeftButton)
    QTest.keyClick(dialog.fields[BAND.name, "high"], Qt.Key.Key_Return)
    assert dialog.asked == [{BAND.name: (0.9, 1.1)}]


def test_an_active_alarm_has_its_value_beside_the_fields(qtbot):
    dialog = shown(qtbot, structs.replace(WARN, state=AlarmState.UNACKNOWLEDGED, active=True))
    assert "n delay (FDB) is now 31.2 ms" in [label.text() for label in dialog.findChildren(type(dialog.problem))]


@pytest.mark.parametrize("text", ["11a", "1e", "--3", "inf"])
def test_what_is_no_number_is_told_in_plain_words(qtbot, text):
    dialog = shown(qtbot, WARN, TRIP)
    write(dialog, TRIP.name, "high", text)
    assert dialog.problem.text() == f"TRIP: {text} is not a number"
    assert not dialog.apply.isEnabled()


def test_now_is_the_newest_value(qtbot):
    dialog = shown(qtbot, structs.replace(WARN, last=0.012))
    assert dialog._now.text() == "n delay (FDB) is now 12 ms"
    dialog.show_now([TRIP, structs.replace(WARN, last=0.025)])
    assert dialog._now.text() == "n delay (FDB) is now 25 ms"

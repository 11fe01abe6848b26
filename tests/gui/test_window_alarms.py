"""Alarms of a live service in the window: they occur, are seen, acknowledged, shelved, and return."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMessageBox

from gui.model.receiver import ReceivedMessages
from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.settings.dialog import SettingsDialog
from gui.settings.storage import WindowSettings
from gui.window.limit_requests import LimitDialog, requests_of
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.health import Health
from monitor.messages.requests import decode_request, encode
from monitor.recording import RunReader
from tests.gui.live_service import LiveService, Rig

S = AlarmState
DELAY_LIMIT = LimitSettings(value="fdb_delay", warn=0.020, deadband=0.001, advice="Slow the test down.")
ALARMS = AlarmSettings(limit=(DELAY_LIMIT,))
SOUTH, NORTH = "south.fdb_delay.warn", "north.fdb_delay.warn"


@pytest.fixture
def rig():
    """Two actuators that are 5 ms late, until a test has them later."""
    rig = Rig()
    rig.delay.update(north=0.005, south=0.005)
    yield rig
    rig.close()


@pytest.fixture
def service(warm_kernels, rig, tmp_path):
    service = LiveService(rig, tmp_path / "run.h5", alarms=ALARMS)
    yield service
    service.die()


@pytest.fixture
def live(begin, service, rig):
    """A window that watches them, and nothing is wrong."""
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(2.0)
    hands.until(lambda: hands.history.end_x > 1.9 and state_of(hands, SOUTH) is S.NORMAL)
    return hands


def state_of(hands, name):
    return next((alarm.state for alarm in hands.history.alarms or () if alarm.name == name), None)


def listed(hands):
    alarms = hands.window.dock_area.panel(EventsPanel).alarms
    return [alarm.name for alarm in alarms.table.rows]


def be_late(hands, rig, name, seconds):
    rig.delay[name] = seconds
    rig.move(2.5)


def test_an_alarm_is_seen_acknowledged_by_a_key_and_returns(live, rig):
    banner = live.window.alarm_banner
    top = live.window.dock_area.mapTo(live.window, live.window.dock_area.rect().topLeft())
    assert "● no active alarms" in banner.text and banner.isVisible()
    be_late(live, rig, "south", 0.030)
    live.until(lambda: banner.text.startswith("▲ WARN 1   south delay (FDB) 30 ms, limit 20 ms, unacknowledged"))
    live.ticks()
    assert live.window.windowTitle().startswith("(WARN 1) ")
    assert "▲ WARN 1" in live.strip
    live.until(lambda: "▲ WARN: delay (FDB) 30 ms" in live.tile_texts["south"])
    assert any("▲ WARN south delay (FDB)" in text and text.endswith("unacknowledged") for text in live.events)
    # nothing has moved to make room for it
    assert live.window.dock_area.mapTo(live.window, live.window.dock_area.rect().topLeft()) == top
    live.key("Ctrl+Shift+A")
    assert listed(live) == [SOUTH]
    table = live.window.dock_area.panel(EventsPanel).alarms.table
    assert "Slow the test down." in table.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    live.key("A")
    live.until(lambda: state_of(live, SOUTH) is S.ACKNOWLEDGED)
    live.until(lambda: any("acknowledged by" in text for text in live.events))
    live.ticks()
    assert "acknowledged" in banner.text and banner.filled
    be_late(live, rig, "south", 0.005)
    live.until(lambda: state_of(live, SOUTH) is S.NORMAL)
    live.ticks()
    assert "● no active alarms" in banner.text and listed(live) == []
    assert not live.window.windowTitle().startswith("(")


def test_one_is_shelved_for_a_while_and_taken_back(live, rig):
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    live.key("Ctrl+Shift+A")
    live.key("Shift+S")
    live.key("2")
    live.until(lambda: state_of(live, SOUTH) is S.SHELVED)
    live.ticks()
    assert "● no active alarms" in live.window.alarm_banner.text and "1 shelved" in live.window.alarm_banner.text
    assert listed(live) == [SOUTH] and live.modal is None
    live.key("Shift+S")
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)


def test_all_are_acknowledged_from_anywhere_and_by_name(live, rig):
    live.program.preferences.settings = WindowSettings(operator="Anna")
    live.program.preferences._apply()
    rig.delay["north"] = 0.030
    be_late(live, rig, "south", 0.030)
    live.until(lambda: {state_of(live, SOUTH), state_of(live, NORTH)} == {S.UNACKNOWLEDGED})
    live.ticks()
    live.stack.setFocus()
    live.key("Shift+A")
    live.until(lambda: {state_of(live, SOUTH), state_of(live, NORTH)} == {S.ACKNOWLEDGED})
    live.until(lambda: sum("acknowledged by Anna" in text for text in live.events) == 2)


def test_a_letter_that_is_typed_acknowledges_nothing(live, rig):
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    live.ticks()
    live.key("N")
    field = live.focus
    assert isinstance(field, QLineEdit)
    live.key("Shift+A")
    live.key("A")
    assert field.text().casefold() == "aa"
    live.ticks(20)
    assert state_of(live, SOUTH) is S.UNACKNOWLEDGED


def test_nothing_is_asked_in_operator_mode(live, rig):
    height = live.window.alarm_banner.height()
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    live.key("F11")
    live.ticks()
    assert live.window.alarm_banner.height() > 1.5 * height
    asked = []
    alarms = live.window.dock_area.panel(EventsPanel).alarms
    alarms.requested.connect(asked.append)
    live.key("Ctrl+Shift+A")
    for keys in ("A", "Return", "Shift+A", "Shift+S", "R"):
        live.key(keys)
    live.click(alarms.acknowledge_all)
    assert asked == []
    live.key("Esc")
    live.ticks()
    assert live.window.alarm_banner.height() == height
    assert alarms.acknowledge_all.isEnabled()


def test_a_refusal_is_told(live, rig):
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    live.ticks()
    # two windows at once: one of them comes too late
    alarms = live.window.dock_area.panel(EventsPanel).alarms
    live.key("Ctrl+Shift+A")
    alarms.acknowledge.trigger()
    alarms.acknowledge.trigger()
    live.until(lambda: any(f"not acknowledged, {SOUTH}: " in line for line in live.notices))
    assert state_of(live, SOUTH) is S.ACKNOWLEDGED


def test_a_service_that_comes_back_with_other_alarms_is_shown_as_it_is(live, service, rig):
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    service.die()
    service.alarms = AlarmSettings(
        limit=(LimitSettings(value="fdb_delay", trip=0.1),), lost_data=False, overload=False
    )
    service.start()
    live.until(lambda: state_of(live, "south.fdb_delay.trip") is None and state_of(live, SOUTH) is None)
    rig.move(2.0)
    live.until(lambda: state_of(live, "south.fdb_delay.trip") is S.NORMAL)
    live.ticks()
    assert "● no active alarms" in live.window.alarm_banner.text and listed(live) == []


def test_an_older_service_says_nothing_of_alarms(fed):
    hands = fed()
    health = Health("lab", "receiving", sample_rate=200.0)
    hands.played.say(ReceivedMessages(health=health))
    hands.until(lambda: hands.history.health is not None)
    hands.ticks()
    assert hands.history.alarms is None
    assert hands.window.alarm_banner.text == "○ this service has no alarms"
    assert hands.window.dock_area.panel(EventsPanel).alarms.isHidden()
    hands.key("Ctrl+Shift+A")
    assert hands.notices[-1].endswith("this service has no alarms")
    assert "alarm" not in hands.strip


def test_a_service_that_takes_no_requests_is_told_of(fed):
    hands = fed()
    alarm = Alarm("d.trip", "health.age", "", "s", Severity.TRIP, high=5.0, state=S.UNACKNOWLEDGED, active=True)
    hands.played.say(ReceivedMessages(health=Health("lab", "receiving"), alarms=AlarmReport((alarm,))))
    hands.until(lambda: hands.history.alarms)
    hands.ticks()
    hands.key("Shift+A")
    hands.until(lambda: any("accepts no requests" in line for line in hands.notices))
    # the banner leads to the list as well
    hands.click(hands.window.alarm_banner)
    assert hands.focus is hands.window.dock_area.panel(EventsPanel).alarms.view


def test_another_service_begins_without_the_alarms_of_the_last(live):
    live.program.connection.reset()
    assert live.history.alarms is None
    live.ticks()
    assert live.window.alarm_banner.text.startswith("○ connecting   alarms unknown")
    assert live.window.dock_area.panel(EventsPanel).alarms.isHidden()


@pytest.fixture
def limits_of(live):
    """The window with the list of all alarms, and what the service says of the limits of one."""
    live.window.dock_area.panel(EventsPanel).alarms.normal.setChecked(True)
    live.ticks()
    return lambda name: next((a.low, a.high) for a in live.history.alarms if a.name == name)


def menu_of(live, name):
    """Open the context menu of an alarm with the mouse; None where nothing can be done."""
    view = live.window.dock_area.panel(EventsPanel).alarms.view
    row = view.model().row_of(name)
    place = view.visualRect(view.model().index(row, 1)).center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, view.viewport().mapToGlobal(place))
    QApplication.sendEvent(view.viewport(), event)
    return QApplication.activePopupWidget()


def dialog_of(live, name):
    menu = menu_of(live, name)
    (limits,) = [action for action in menu.actions() if action.text() == "Limits…"]
    limits.trigger()
    menu.close()
    live.until(lambda: live.window.findChild(LimitDialog) is not None)
    return live.window.findChild(LimitDialog)


def range_text(live, name):
    table = live.window.dock_area.panel(EventsPanel).alarms.table
    return table.index(table.row_of(name), 3).data()


def test_a_limit_is_edited_from_the_list_evaluated_and_recorded(live, rig, service, limits_of):
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    dialog = dialog_of(live, SOUTH)
    field = dialog.fields[SOUTH, "high"]
    field.selectAll()
    QTest.keyClicks(field, "40")
    QTest.keyClick(field, Qt.Key.Key_Return)
    # before the service has answered
    assert live.history.requested_limits == {SOUTH: (None, 0.04)}
    live.until(lambda: not live.history.requested_limits)
    assert limits_of(SOUTH) == (None, 0.04) and limits_of(NORTH) == (None, 0.02)
    live.until(lambda: any("south delay (FDB): limit ≤ 40 ms, was ≤ 20 ms, by" in text for text in live.events))
    assert live.modal is None
    rig.move(2.5)
    live.until(lambda: state_of(live, SOUTH) is S.RETURNED)
    live.ticks()
    assert range_text(live, SOUTH) == "≤ 40 ms"
    # it is in the run file
    service.die()
    with RunReader(service.record) as run:
        (change,) = [event.limits for event in run.events() if event.limits is not None]
    assert (change.name, change.previous_high, change.high) == (SOUTH, 0.02, 0.04)


def test_a_refused_limit_is_pending_then_goes_back_with_a_message(live, limits_of):
    dialog = dialog_of(live, SOUTH)
    # what the dialog cannot know
    dialog.requested.emit({SOUTH: (0.0195, 0.02)})
    live.window.dock_area.panel(EventsPanel).alarms.refresh(live.history)
    assert range_text(live, SOUTH) == "19.5 … 20 ms …"
    pending = [limit for limit in live.history.limits if limit.pending]
    assert [(limit.actuator, limit.low) for limit in pending] == [("south", 0.0195)]
    live.until(lambda: any("limits not changed: south.fdb_delay.warn: deadband" in text for text in live.notices))
    live.ticks()
    assert range_text(live, SOUTH) == "≤ 20 ms" and limits_of(SOUTH) == (None, 0.02)
    assert not any(limit.pending for limit in live.history.limits)


def test_it_asks_first_where_the_settings_want_it(live, limits_of):
    settings = live.program.preferences.settings.model_copy(update={"confirm_limits": True})
    live.program.preferences.settings = settings
    live.program.preferences._apply()
    for answer in ("Cancel", "Change"):
        dialog_of(live, SOUTH).requested.emit({SOUTH: (None, 0.03)})
        live.until(lambda: live.window.findChild(QMessageBox) is not None)
        box = live.window.findChild(QMessageBox)
        assert box.text() == "south delay (FDB): limit ≤ 30 ms, was ≤ 20 ms"
        assert live.history.requested_limits == {} and live.modal is None
        live.click(next(button for button in box.buttons() if button.text().replace("&", "") == answer))
        live.until(lambda box=box: live.window.findChild(QMessageBox) is not box)
        live.until(lambda: not live.history.requested_limits)
        assert limits_of(SOUTH) == (None, 0.02 if answer == "Cancel" else 0.03)


def delay_plot(live, actuator):
    """Show the delay of an actuator, and return its plot, row and viewport."""
    live.view.select_actuator(actuator)
    live.view.set_span(1.0)
    live.ticks()
    panel = live.window.dock_area.panel(IndicatorsPanel)
    stack = panel.stack
    row = next(i for i, row in enumerate(stack.rows) if row.key == "delay")
    # from -10 to 60 ms
    low, high = stack.limits("delay")
    factor = 70.0 / (high - low)
    live.until(lambda: any(line.handle for line in stack.rows[row].limits))
    stack.zoom_values(row, factor, (-10.0 - low * factor) / (1.0 - factor))
    stack.verticalScrollBar().setValue(max(0, stack.places.rows[row].top - 10))
    return panel, row


def pixel_of(panel, row, value):
    """Return the place of a value in the middle of the plot."""
    stack = panel.stack
    place = stack.places.rows[row]
    ys = range(place.plot_top - stack.scrolled, place.bottom - stack.scrolled)
    y = min(ys, key=lambda y: abs(stack.value_at(row, y) - value))
    return QPoint(stack.places.plot_left + stack.places.plot_width // 2, y)


def test_a_line_is_dragged_with_its_value_beside_the_mouse(live, limits_of):
    panel, row = delay_plot(live, "south")
    viewport, drag = panel.stack.viewport(), panel.limit_drag
    begin, end = pixel_of(panel, row, 20.0), pixel_of(panel, row, 40.0)
    assert abs(end.y() - begin.y()) > 10
    following, pinned = live.view.following, live.view.pinned
    QTest.mouseMove(viewport, begin)
    assert viewport.cursor().shape() is Qt.CursorShape.SizeVerCursor
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=begin)
    assert not drag.isVisible()
    QTest.mouseMove(viewport, end)
    live.until(drag.isVisible)
    value = drag._value
    assert value == pytest.approx(panel.stack.value_at(row, end.y()), rel=0.1)
    assert drag.tip == f"warn FDB {value:g} ms (was 20)"
    assert live.history.requested_limits == {}
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
    assert not drag.isVisible()
    assert live.history.requested_limits == {SOUTH: (None, pytest.approx(value / 1e3))}
    assert [limit.actuator for limit in live.history.limits if limit.pending] == ["south"]
    assert limits_of(NORTH) == (None, 0.02)
    live.until(lambda: not live.history.requested_limits)
    assert limits_of(SOUTH) == (None, pytest.approx(value / 1e3))
    # neither a click nor a pan
    assert (live.view.following, live.view.pinned) == (following, pinned)


def test_a_line_is_moved_by_keys(live, limits_of):
    panel, row = delay_plot(live, "south")
    stack, drag = panel.stack, panel.limit_drag
    stack.setFocus()
    y = pixel_of(panel, row, 20.0).y()
    live.key("L")
    while SOUTH not in drag._grabbed[1].handle.alarms:
        live.key("L")
    assert drag.isVisible() and drag._value == pytest.approx(20.0)
    live.key("Shift+Up")
    for keys in ("Up", "Up", "Down", "Up"):
        live.key(keys)
    # twelve pixels higher
    value = drag._value
    assert value == pytest.approx(stack.value_at(row, y - 12), rel=0.1) and value > 20.0
    assert drag.tip == f"warn FDB {value:g} ms (was 20)"
    live.key("Return")
    assert not drag.isVisible() and live.view.pinned is None
    assert live.history.requested_limits == {SOUTH: (None, pytest.approx(value / 1e3))}
    live.until(lambda: not live.history.requested_limits)
    assert limits_of(SOUTH) == (None, pytest.approx(value / 1e3))
    live.key("L")
    live.key("Up")
    live.key("Escape")
    assert not drag.isVisible() and live.history.requested_limits == {}


@pytest.mark.parametrize("way", ["escape", "click", "sideways", "shift", "operator"])
def test_nothing_is_sent_where_a_line_was_not_dragged(live, limits_of, way):
    panel, row = delay_plot(live, "south")
    viewport, drag = panel.stack.viewport(), panel.limit_drag
    begin, end = pixel_of(panel, row, 20.0), pixel_of(panel, row, 40.0)
    if way == "operator":
        live.program.actions["window.operator"].trigger()
        live.ticks()
        begin, end = pixel_of(panel, row, 20.0), pixel_of(panel, row, 40.0)
    modifier = Qt.KeyboardModifier.ShiftModifier if way == "shift" else Qt.KeyboardModifier.NoModifier
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, modifier, begin)
    if way == "sideways":
        end = begin + QPoint(40, 0)
    if way != "click":
        QTest.mouseMove(viewport, end)
    if way == "escape":
        live.until(drag.isVisible)
        QTest.keyClick(panel.stack, Qt.Key.Key_Escape)
    assert not drag.isVisible()
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, modifier, begin if way == "click" else end)
    assert live.history.requested_limits == {} and limits_of(SOUTH) == (None, 0.02)
    # a click pins the second cursor, and sideways the view is panned, as anywhere else
    if way in ("escape", "click", "sideways"):
        assert (live.view.pinned is not None) == (way == "click")
    assert live.view.following == (way != "sideways")
    if way == "operator":
        live.program.actions["window.operator"].trigger()


def test_a_refused_line_goes_back(live, limits_of, service):
    service.die()
    panel, row = delay_plot(live, "south")
    viewport = panel.stack.viewport()
    service.alarms = ALARMS.model_copy(update={"limits_changeable": "never"})
    begin, end = pixel_of(panel, row, 20.0), pixel_of(panel, row, 40.0)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=begin)
    QTest.mouseMove(viewport, end)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
    live.until(lambda: any(line.pending for line in panel.stack.rows[row].limits))
    # nobody answers any more
    live.until(lambda: any("limits not changed: no answer from" in text for text in live.notices))
    live.until(lambda: [line.value for line in panel.stack.rows[row].limits] == [20.0])
    assert not live.history.requested_limits
    service.start()
    live.until(lambda: not any(alarm.changeable for alarm in live.history.alarms))
    live.ticks()
    assert not any(line.handle for line in panel.stack.rows[row].limits)


def test_operator_mode_sends_no_limits(live, limits_of):
    dialog = dialog_of(live, SOUTH)
    live.program.actions["window.operator"].trigger()
    live.until(lambda: live.window.findChild(LimitDialog) is not dialog)
    live.program._limits.change({SOUTH: (None, 0.03)})
    assert live.history.requested_limits == {}
    assert menu_of(live, SOUTH) is None
    # what cannot be done has no button, not even a grey one
    assert not live.window.dock_area.panel(EventsPanel).alarms.acknowledge_all.isVisible()
    live.program.actions["window.operator"].trigger()
    assert limits_of(SOUTH) == (None, 0.02)


def test_the_sound_is_off_until_the_settings_have_it_and_ends_with_the_acknowledgement(live, rig, monkeypatch):
    sounded = []
    monkeypatch.setattr("gui.window.status_bars.QApplication.beep", lambda: sounded.append(1))
    be_late(live, rig, "south", 0.030)
    live.until(lambda: state_of(live, SOUTH) is S.UNACKNOWLEDGED)
    live.ticks(5)
    assert not sounded
    live.key("Ctrl+,")
    dialog = live.window.findChild(SettingsDialog)
    live.until(dialog.isVisible)
    dialog.pages["window"].rows["sound"].editor.box.setChecked(True)
    dialog.ok.click()
    live.until(lambda: sounded)
    live.click(live.window.dock_area.panel(EventsPanel).alarms.acknowledge_all)
    live.until(lambda: state_of(live, SOUTH) is S.ACKNOWLEDGED)
    live.ticks(3)
    assert live.window.alarm_banner._sounded is None


@pytest.mark.parametrize("name", ["a{:03d}.fdb_delay.warn", "ä" * 300 + "{:03d}.warn", "x" * 316 + "{:03d}"])
def test_a_line_of_all_actuators_fits_into_requests(name):
    ranges = {name.format(n): (-1.0 / 3.0, 1.0 / 3.0) for n in range(300)}
    requests = requests_of(ranges, "kim")
    assert {each.alarm: (each.low, each.high) for request in requests for each in request.limits} == ranges
    assert [decode_request(encode(request)) for request in requests] == requests

"""An endpoint that is wrong is reported with what to do, and is forgotten; an error goes with its source."""

from __future__ import annotations

import socket

import pytest
from msgspec.structs import replace

from gui.model.receiver import (
    PROBE_INTERVAL,
    PROBE_TIME,
    PROBE_TIMEOUT,
    ReceivedMessages,
    RigProbe,
    ServiceSubscription,
)
from gui.panels.events import EventsPanel
from gui.sources.opening.connect_dialog import RIGS, SERVICES, ConnectDialog, RecentList
from gui.sources.processes.session import ConnectToService, SourceSession
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.transport.zeromq.signals import SignalPublisher
from tests.gui.live_service import ANY_PORT, LiveService, Rig


def errors(hands):
    return [notice.text for notice in hands.window.notification_bar.log.active if notice.line.startswith("■ error")]


def type_endpoint(hands, url, form="watch"):
    """Connect as a user does: the dialog, the endpoint, Enter."""
    hands.window.activateWindow()
    hands.program.actions["source.connect" if form == "watch" else "source.serve"].trigger()
    dialog = hands.window.findChild(ConnectDialog)
    hands.until(dialog.isActiveWindow)
    field = getattr(dialog, form).endpoint.box
    field.setFocus()
    field.lineEdit().selectAll()
    hands.type(url)
    hands.key("Return")
    return dialog


def test_it_is_reported_within_five_seconds():
    assert PROBE_TIME + 2 * PROBE_TIMEOUT < 5.0 <= PROBE_INTERVAL


@pytest.fixture
def unused():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_where_nothing_listens(begin, unused, store):
    hands = begin()
    type_endpoint(hands, unused)
    hands.until(lambda: errors(hands))
    assert errors(hands) == [
        f"{unused}: nothing listens there: start the service, or correct the endpoint; still trying"
    ]
    assert unused not in RecentList(store, SERVICES).texts
    # the next dialog and the start page do not offer it
    hands.program.actions["source.disconnect"].trigger()
    assert hands.window.start_page.watch.endpoint.url != unused


def test_the_port_of_a_rig(begin, rig, store):
    hands = begin()
    type_endpoint(hands, rig.publisher.endpoint)
    rig.move(0.5)
    hands.until(lambda: errors(hands))
    (error,) = errors(hands)
    assert error.startswith(
        f"{rig.publisher.endpoint} is the endpoint of a rig: connect to that of its service's results"
    )
    assert rig.publisher.endpoint not in RecentList(store, SERVICES).texts


def test_the_port_of_a_rig_that_sends_nothing(begin):
    silent = SignalPublisher(ANY_PORT)
    try:
        hands = begin(connect=silent.endpoint)
        hands.until(lambda: errors(hands))
        assert "sends no results, like a rig: connect to the endpoint of a service's results" in errors(hands)[0]
    finally:
        silent.close(linger=0.0)


def test_a_program_of_another_kind(begin):
    with socket.create_server(("127.0.0.1", 0)) as server:
        hands = begin(connect=f"tcp://127.0.0.1:{server.getsockname()[1]}")
        hands.until(lambda: errors(hands))
        assert "the program that listens there is not a service: correct the endpoint" in errors(hands)[0]


@pytest.mark.parametrize("url", ["127.0.0.1:5556", "localhost:5556"])
def test_without_a_transport(begin, url):
    hands = begin()
    dialog = type_endpoint(hands, url)
    assert dialog.isVisible()
    assert dialog.watch.endpoint.fault.isVisible()
    assert dialog.watch.endpoint.fault.text() == f"write tcp://{url}"
    dialog.reject()
    # on the command line too
    hands.program.sources.open(ConnectToService(url))
    hands.until(lambda: errors(hands))
    assert "tcp://HOST:PORT" in errors(hands)[0]


def test_one_that_works_is_remembered_and_the_error_is_gone(begin, unused, store, warm_kernels, rig, tmp_path):
    hands = begin()
    type_endpoint(hands, unused)
    hands.until(lambda: errors(hands))
    # the service is started where it was looked for
    service = LiveService(rig, None, publish=unused)
    try:
        hands.until(lambda: hands.history.health is not None)
        hands.ticks(2)
        assert errors(hands) == []
        assert RecentList(store, SERVICES).texts == (unused,)
    finally:
        service.die()


def test_a_service_for_a_rig_where_nothing_listens(begin, unused, store, warm_kernels):
    hands = begin()
    type_endpoint(hands, unused, "serve")
    # told while the service starts, whether or not it is ready
    hands.until(lambda: errors(hands))
    assert errors(hands) == [f"{unused}: nothing listens there: start the rig, or correct the endpoint; still trying"]
    hands.until(lambda: hands.history.health is not None)
    assert hands.history.state.key == "waiting"
    assert RecentList(store, RIGS).texts == ()
    # the rig is started where it was looked for
    rig = Rig()
    rig.publisher.close(linger=0.0)
    rig.publisher = SignalPublisher(unused)
    try:
        hands.until(lambda: rig.publisher.subscribed)
        rig.move(1.0)
        hands.until(lambda: hands.history.health.rig and not errors(hands))
        hands.ticks(2)
        assert RecentList(store, RIGS).texts == (unused,)
    finally:
        rig.close()


def test_a_service_for_a_rig_at_the_port_of_another_program(begin, store, warm_kernels):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        hands = begin()
        type_endpoint(hands, url, "serve")
        hands.until(lambda: errors(hands))
        assert "the program that listens there is not a rig: correct the endpoint" in errors(hands)[0]
        assert RecentList(store, RIGS).texts == ()


def test_a_rig_is_probed_until_it_sends_and_never_after(unused):
    now = [0.0]
    probe = RigProbe(unused, lambda: now[0])

    def look(seconds, *, received=False):
        now[0] = seconds
        probe.update(received=received)
        if probe._thread is not None:
            probe._thread.join()
        return probe.problem

    assert look(PROBE_TIME - 0.1) == ""
    assert "nothing listens there" in look(PROBE_TIME)
    silent = SignalPublisher(unused)
    try:
        # a rig that listens may begin to send later
        assert look(PROBE_TIME + PROBE_INTERVAL) == ""
    finally:
        silent.close(linger=0.0)
    assert "nothing listens there" in look(PROBE_TIME + 2 * PROBE_INTERVAL)
    assert look(PROBE_TIME + 2 * PROBE_INTERVAL, received=True) == ""
    assert look(PROBE_TIME + 9 * PROBE_INTERVAL) == ""


class _Failing(SourceSession):
    def start(self):
        self.failed.emit(f"{self.title} cannot be opened")
        self.ended.emit()

    def stop(self):
        self.ended.emit()


class _Source:
    def __init__(self, title):
        self._title = title

    def session(self, parent=None, **_):
        return _Failing(self._title, parent)


def test_an_error_is_gone_with_the_next_source(begin):
    hands = begin()
    hands.window.notify("error", "the disk of the settings is full")
    hands.program.sources.open(_Source("first"))
    assert sorted(errors(hands)) == ["first cannot be opened", "the disk of the settings is full"]
    hands.program.sources.open(_Source("second"))
    # what is not about a source stays
    assert sorted(errors(hands)) == ["second cannot be opened", "the disk of the settings is full"]
    # nothing is lost: the list has all of them
    assert any("first cannot be opened" in line for line in hands.notices)


def test_counts_of_alarms_agree(fed, hybrid_arrivals):
    hands = fed(layout="Operator")
    alarms = tuple(
        Alarm(f"north.{n}", "broadband_delay", "north", "s", Severity.WARN, high=0.01 * (n + 1)) for n in range(14)
    )
    hands.played.say(*hybrid_arrivals[:50], ReceivedMessages(alarms=AlarmReport(alarms)))
    hands.until(lambda: hands.history.alarms)
    hands.ticks(2)
    panel = hands.window.dock_area.panel(EventsPanel)
    assert "14 configured" in hands.window.alarm_banner.text
    assert "14 configured" in panel.alarms.view.empty_text
    panel.alarms.normal.setChecked(True)
    assert panel.alarms.table.rowCount() == 14
    # the service has fewer now
    hands.played.say(ReceivedMessages(alarms=AlarmReport(alarms[:5])))
    hands.until(lambda: len(hands.history.alarms) == 5)
    hands.ticks(2)
    assert "5 configured" in hands.window.alarm_banner.text
    assert "5 configured" in panel.alarms.view.empty_text
    assert panel.alarms.table.rowCount() == 5
    # one that is active is in all of them
    active = replace(alarms[0], state=AlarmState.UNACKNOWLEDGED, active=True)
    hands.played.say(ReceivedMessages(alarms=AlarmReport((active, *alarms[1:5]))))
    hands.until(lambda: hands.history.summary.any_active)
    hands.ticks(2)
    assert hands.history.summary.warns == 1
    assert "WARN 1" in hands.window.alarm_banner.text
    assert "WARN 1" in hands.strip
    assert panel.alarms.acknowledge_all.text() == "Acknowledge all (1)"


def test_signals_of_a_service_before_its_health_are_no_error(hybrid_arrivals):
    clock = [0.0]
    messages = [[hybrid_arrivals[0].signals[0]], [hybrid_arrivals[0].health]]

    class Subscription:
        def receive(self, timeout):
            return messages.pop(0) if messages else []

    subscription = ServiceSubscription(Subscription(), lambda: clock[0], "tcp://127.0.0.1:1")
    subscription.receive(0.0)
    assert subscription.problem == ""
    subscription.receive(0.0)
    clock[0] = 60.0
    subscription.receive(0.0)
    assert subscription.problem == ""


def test_restarted_rig_is_not_a_wrong_endpoint(begin, service, rig):
    """A service that has answered once is not probed any more."""
    hands = begin(connect=service.url)
    rig.move(0.5)
    hands.until(lambda: hands.history.health is not None)
    service.die()
    hands.until(lambda: hands.history.state.key in ("silent", "ended"))
    assert hands.connection.problem == ""

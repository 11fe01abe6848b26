"""Topics, payloads, waits, the command line and the requests of clients, each against its definition."""

from __future__ import annotations

import argparse
import errno
import json
import math
import re
import socket
from dataclasses import asdict, replace
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import structs

from monitor.commands.sinks import add_broker_option, broker_overrides
from monitor.config import SettingsError, load_settings
from monitor.messages.alarms import AlarmAction, AlarmState
from monitor.messages.blocks import Column, Event, EventKind
from monitor.messages.health import Health
from monitor.messages.requests import MAX_REQUEST, AcknowledgeRequest, NoteRequest, Request, decode_answer, encode
from monitor.transport.mqtt import connection, outbox, payloads
from monitor.transport.mqtt.discovery import Discovery
from monitor.transport.mqtt.outbox import MAX_WAITING_ANSWERS, Message, Outbox, RigTopics
from monitor.transport.mqtt.payloads import RecordingResult, Summary
from monitor.transport.mqtt.sink import MqttCommandHandler
from monitor.transport.rate_limit import Backoff, FixedInterval
from tests.monitor.mqtt.conftest import ALARM, STREAM, rows, transition

ANY = st.text(st.characters(exclude_categories=()), max_size=20)


@given(ANY, ANY)
@example("", "-")
@example("-", "%2D")
@example("a/b", "a%2Fb")
@example("\ud800", "%ED%A0%80")
def test_names_become_levels_and_back(one: str, other: str) -> None:
    level = outbox.topic_level(one)
    assert ("" if level == "-" else unquote(level, errors="surrogatepass")) == one
    assert level
    assert not re.search("[/+#\x00-\x1f\x7f]", level)
    level.encode()
    assert (level == outbox.topic_level(other)) == (one == other)


def test_a_place_has_five_levels_whatever_its_names() -> None:
    place = RigTopics("lab/1", "+")
    assert place.topic("status") == "synchroscope/v1/lab%2F1/%2B/status"
    assert RigTopics("lab").topic("status") == "synchroscope/v1/lab/-/status"
    assert place.topic(place.alarm("a/b")) == "synchroscope/v1/lab%2F1/%2B/alarm/a%2Fb"


def test_two_rigs_never_share_a_topic_however_long_their_names() -> None:
    assert RigTopics("lab", "/" * 500 + "a").prefix != RigTopics("lab", "/" * 500 + "b").prefix
    assert load_settings(None, {"stream": {"rig": "/" * 128}}).stream.rig == "/" * 128
    with pytest.raises(SettingsError, match="at most 128"):
        load_settings(None, {"stream": {"rig": "/" * 129}})


@given(st.lists(st.lists(st.floats() | st.none(), min_size=6, max_size=6), max_size=5), st.integers(0, 10**9))
def test_a_row_is_the_last_and_what_is_not_finite_is_null(values, first) -> None:
    matrix = [[math.nan if v is None else v for v in row] for row in values]
    block = rows(first, matrix) if matrix else replace(rows(first, [[0.0] * 6]), values=np.empty((0, 6)))
    for reliability in (False, True):
        told = payloads.TelemetryEncoder(STREAM, reliability=reliability).message(block, "now")
        if not matrix:
            assert told is None
            continue
        found = json.loads(told)
        assert found["index"] == first + 2 * (len(matrix) - 1)
        assert found["time"] == pytest.approx(found["index"] / 100.0)
        wanted: dict[str, dict[str, float | None]] = {}
        for column, value in zip(STREAM.columns, matrix[-1], strict=True):
            if column.name.startswith(("model", "reliability")) is reliability:
                wanted.setdefault(column.actuator, {})[column.name] = value if math.isfinite(value) else None
        assert found["values"] == wanted


@pytest.mark.parametrize(
    ("event", "detail"),
    [
        (Event(EventKind.STARTED, 0.0, 0), "the stream starts"),
        (Event(EventKind.RESTART, 0.0, 0), "the rig has restarted"),
        (Event(EventKind.GAP, 12.345, 12641, 10), "10 samples lost"),
        (Event(EventKind.GAP, 12.345, 12641, 1), "1 sample lost"),
        (Event(EventKind.DUPLICATE, 0.0, 0, 1), "1 duplicate sample ignored"),
        (Event(EventKind.REORDERED, 0.0, 0, 2), "2 late samples ignored"),
        (Event(EventKind.REJECTED, 0.0, 0, 1), "1 message rejected"),
        (Event(EventKind.REJECTED, 0.0, 0), "messages rejected"),
        (Event(EventKind.GAP, 12.345, 12641, 10, "too slow"), "too slow"),
    ],
)
def test_an_event_has_a_detail(event: Event, detail: str) -> None:
    assert json.loads(payloads.event(event))["detail"] == detail


def test_an_event_without_a_finite_time_has_none() -> None:
    found = json.loads(payloads.event(Event(EventKind.NOTE, math.nan, 3, 0, "ä")))
    assert (found["kind"], found["time"], found["detail"]) == ("note", None, "ä")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["utc"])


def test_of_several_transitions_each_has_its_own_state() -> None:
    after = structs.replace(ALARM, state=AlarmState.NORMAL, active=False, time=0.2, index=20)
    first, second = (json.loads(payloads.alarm(after, transition(number))) for number in (1, 2))
    assert (first["state"], first["active"], first["standing"], first["time"]) == ("unacknowledged", True, True, 0.1)
    assert (second["state"], second["active"], second["standing"], second["time"]) == ("normal", False, False, 0.2)
    assert first["transition"]["action"] == AlarmAction.OCCUR
    assert not first["refresh"]
    again = json.loads(payloads.as_refresh(payloads.alarm(after, transition(1))))
    assert again | {"utc": first["utc"]} == first | {"refresh": True}
    assert json.loads(payloads.alarm(after))["refresh"]


@given(st.lists(st.lists(st.floats(-1e9, 1e9) | st.just(math.nan), min_size=6, max_size=6), max_size=12), st.data())
def test_the_worst_of_every_value_however_it_is_cut(values, data) -> None:
    cut = data.draw(st.integers(0, len(values)))
    summary = Summary()
    for first, part in ((0, values[:cut]), (2 * cut, values[cut:])):
        if part:
            summary.update(rows(first, part))
    found = json.loads(summary.message(Health(), (ALARM,)))
    wanted = []
    for place, column in enumerate(STREAM.columns[:4]):
        known = [(abs(row[place]), -i) for i, row in enumerate(values) if not math.isnan(row[place])]
        if known:
            size, i = max(known)
            wanted.append({**asdict(column), "value": size, "time": pytest.approx(-i * 0.02)})
    assert found["worst"] == wanted
    assert found["alarms"] == {"all": 1, "standing": 0, "unacknowledged": 0, "shelved": 0, "not_judged": 0}
    assert found["recording"] is None


def test_the_summary_has_the_recording_s_word_at_the_end() -> None:
    health = Health(recording="/runs/a.h5", recorded=5)
    assert json.loads(Summary().message(health, ()))["recording"]["outcome"] == ""
    ended = json.loads(Summary().message(health, (), RecordingResult("lossy", 9, 1)))["recording"]
    assert ended == {"path": "/runs/a.h5", "outcome": "lossy", "recorded": 9, "unrecorded": 1}


@given(st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=12, max_size=12))
def test_waits_are_jittered_doubled_bounded_and_begin_anew(draws) -> None:
    backoff = Backoff(0.5, 60.0, iter(draws).__next__)
    assert [backoff.wait() for _ in range(9)] == [d * min(0.5 * 2**i, 60.0) for i, d in enumerate(draws[:9])]
    backoff.disconnected(5.0)
    assert backoff.wait() == draws[9] * 60.0
    assert 30.0 <= backoff.long_wait() <= 60.0
    backoff.disconnected(31.0)
    assert backoff.wait() == draws[11] * 0.5


def test_an_even_pace_leaves_out_what_it_missed() -> None:
    now = 10.0
    interval = FixedInterval(0.2, lambda: now)
    assert interval.remaining() == pytest.approx(0.2)
    now = 10.25
    assert interval.remaining() == pytest.approx(0.15)
    now = 20.0
    assert interval.remaining() == 0.0
    assert interval.remaining() == pytest.approx(0.2)


def option(text: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    add_broker_option(parser)
    return broker_overrides(parser.parse_args(["--mqtt", text]))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("hall", {"host": "hall"}),
        ("hall:1884", {"host": "hall", "port": 1884}),
        ("mqtt://hall", {"host": "hall", "tls": False}),
        ("mqtts://hall:99/", {"host": "hall", "port": 99, "tls": True}),
        ("[::1]:1883", {"host": "::1", "port": 1883}),
    ],
)
def test_a_broker_on_the_command_line(text, given) -> None:
    assert option(text) == given


@pytest.mark.parametrize("text", ["", "http://hall", "mqtt://", "hall/topic", "mqtt://h?x=1"])
def test_what_is_no_broker_is_told(text) -> None:
    with pytest.raises(ValueError, match="write HOST, HOST:PORT"):
        option(text)


@pytest.mark.parametrize("text", ["hall:x", "localhost:99999", "hall:0", "mqtts://hall:65536", "[::1]:99999"])
def test_a_port_that_is_none_is_told(text) -> None:
    with pytest.raises(ValueError, match=r"--mqtt .*: the port must be a number from 1 to 65535"):
        option(text)


@pytest.mark.parametrize("text", ["mqtt://me:hunter2@hall", "me@hall", "mqtts://:hunter2@hall:1"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(text) -> None:
    with pytest.raises(ValueError, match="does not belong on a command line") as told:
        option(text)
    assert "hunter2" not in str(told.value)


def test_commands_over_an_unknown_connection_are_refused() -> None:
    with pytest.raises(SettingsError, match="commands need username or certificate"):
        load_settings(None, {"mqtt": {"host": "hall", "commands": True}})


class Asked:
    """A request server with its answers and what was carried out."""

    def __init__(self) -> None:
        self.now = 0.0
        self.answers: list[bytes] = []
        self.done: list[Request] = []
        self.handler = MqttCommandHandler(self.answers.append, lambda: self.now)

    def ask(self, *given: bytes, retained: bool = False) -> list[tuple[bool, int, str]]:
        self.answers.clear()
        for payload in given:
            self.handler.put(payload, retained)
        self.handler.serve(self.done.append)
        return [(a.ok, a.id, a.reason) for a in map(decode_answer, self.answers)]


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@example(b"[" * 10_000)
@example(b'{"request":"note","text":"' + b"x" * MAX_REQUEST + b'"}')
@example(b'{"request":"exec","id":3}')
@example(b'{"request":"acknowledge","alarm":"a\\u0000"}')
def test_hostile_bytes_are_refused_and_answered(payload: bytes) -> None:
    asked = Asked()
    ((ok, _, reason),) = asked.ask(payload)
    assert not ok
    assert reason
    assert "\n" not in reason
    assert asked.handler.refused == 1
    assert not asked.done


def test_a_request_is_carried_out_and_a_refusal_has_its_reason() -> None:
    asked = Asked()
    request = AcknowledgeRequest(alarm="a", by="desk", id=4)
    assert asked.ask(encode(request)) == [(True, 4, "")]
    assert asked.done == [request]
    assert asked.ask(encode(request), retained=True)[0][0] is False

    def refuse(_: Request) -> None:
        raise ValueError("there is no alarm 'a'")

    asked.answers.clear()
    asked.handler.put(encode(request), False)
    asked.handler.serve(refuse)
    assert decode_answer(asked.answers[0]).reason == "there is no alarm 'a'"
    assert asked.handler.refused == 2


def test_a_flood_is_bounded_and_limited() -> None:
    asked = Asked()
    note = encode(NoteRequest(text="again"))
    oks = [ok for ok, _, _ in asked.ask(*[note] * 1000)]
    assert oks == [True] * 50 + [False] * 14
    assert asked.handler.refused == 1000 - 50
    asked.now = 1.01
    assert sum(ok for ok, _, _ in asked.ask(*[note] * 64)) == 20


@given(st.lists(ANY, max_size=40))
def test_what_is_said_of_the_connection_becomes_notes(texts) -> None:
    asked = Asked()
    for text in texts:
        asked.handler.note(f"broker: {text}")
    asked.handler.serve(asked.done.append)
    assert len(asked.done) == min(len(texts), 16)
    assert not asked.answers


@given(st.text(max_size=15), st.text(max_size=15))
@example("\U0001f600", "\\][")
@example("a'b\"c", "}}{{ x }}{% y %}")
def test_a_template_finds_its_value_whatever_the_names(actuator: str, name: str) -> None:
    stream = replace(STREAM, columns=(Column(name, "1", actuator),))
    for message in Discovery("homeassistant", RigTopics("lab", "r"), all_values=True).sensors(stream):
        template = json.loads(message.payload)["value_template"]
        inner = template.removeprefix("{{ value_json['values'][").removesuffix("] }}")
        assert not re.search("[{}%#']", inner)
        first, end = json.JSONDecoder().raw_decode(inner)
        assert inner[end : end + 2] == "]["
        literals = inner[:end], inner[end + 2 :]
        # what Jinja makes of the text between two quotation marks
        found = [text[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape") for text in literals]
        assert (first, found) == (actuator, [actuator, name])
        assert re.fullmatch(r"homeassistant/sensor/[\w-]+/[\w-]+/config", message.topic, re.ASCII)


def test_two_names_never_become_one_identifier() -> None:
    columns = tuple(Column("x", "1", actuator) for actuator in ("a b", "a/b", "a_b", "ä"))
    sensors = Discovery("ha", RigTopics("lab", "r"), all_values=True).sensors(replace(STREAM, columns=columns))
    assert len({message.topic for message in sensors}) == 4


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (
            OSError(errno.EHOSTUNREACH, "No route to host"),
            "host unreachable: is its machine on, and the address right?",
        ),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "host name not found"),
        (OSError(errno.ENOBUFS, "No buffer space available"), "No buffer space available"),
        (TimeoutError("timed out"), "no answer from the broker"),
        (ValueError("[x] is odd"), "[x] is odd"),
    ],
)
def test_trouble_is_told_in_words(problem, words) -> None:
    assert str(connection.connection_error(str(problem))) == words


MAX_WAITING_ALARMS, MAX_WAITING_EVENTS = 6, 4
NAMES = st.sampled_from(["alarm/a", "alarm/b"])


def told(number: int, refresh: bool = False) -> bytes:
    return b'{"number":%d,"refresh":%s}' % (number, b"true" if refresh else b"false")


class Waiting(RuleBasedStateMachine):
    """A broker that comes and goes, and what it must have heard."""

    def __init__(self) -> None:
        super().__init__()
        self.box = Outbox(MAX_WAITING_ALARMS, MAX_WAITING_EVENTS)
        self.number = 0
        self.alarms: list[tuple[str, int]] = []
        self.events: list[int] = []
        self.lost = 0
        self.heard_alarms: list[tuple[str, int]] = []
        self.wanted_alarms: list[tuple[str, int]] = []
        self.broker: dict[str, bytes] = {}
        self.newest: dict[str, bytes] = {}
        self.held: Message | None = None

    @rule(topic=NAMES)
    def transition(self, topic: str) -> None:
        self.number += 1
        if len(self.alarms) == MAX_WAITING_ALARMS:
            self.alarms.pop(0)
            self.lost += 1
        self.alarms.append((topic, self.number))
        self.newest[topic] = told(self.number)
        self.box.add_transition(Message(topic, told(self.number), retain=True))

    @rule()
    def event(self) -> None:
        self.number += 1
        if len(self.events) == MAX_WAITING_EVENTS:
            self.events.pop(0)
            self.lost += 1
        self.events.append(self.number)
        self.box.add_event(str(self.number).encode())

    @rule(topic=st.sampled_from(["status", "meta"]) | NAMES, what=st.sampled_from(["new", "same", "nothing"]))
    def set_retained(self, topic: str, what: str) -> None:
        self.number += what == "new"
        payload = {"new": told(self.number, True), "same": b'{"refresh":true}', "nothing": b""}[what]
        self.newest[topic] = payload
        self.box.set_retained(Message(topic, payload, retain=True))

    @precondition(lambda self: self.held is None)
    @rule()
    def send(self) -> None:
        """Publish the next; the broker's word that it has it is still to come."""
        self.held = self.box.next()

    @precondition(lambda self: self.held is not None)
    @rule()
    def acknowledged(self) -> None:
        held, self.held = self.held, None
        if held.retain:
            self.broker[held.topic] = held.payload
        number = int("".join(c for c in held.payload.decode() if c.isdigit()) or 0)
        if held.topic.startswith("alarm/") and held.payload.endswith(b"false}"):
            self.heard_alarms.append((held.topic, number))
            if self.alarms and self.alarms[0] == (held.topic, number):
                self.alarms.pop(0)
        elif held.topic == "event" and self.events and self.events[0] == number:
            self.events.pop(0)
        self.box.confirm(held)

    @rule(kept=st.booleans())
    def reconnect(self, kept: bool) -> None:
        self.held = None
        if not kept:
            self.broker.clear()
        self.box.republish_retained()

    @invariant()
    def bounded_and_counted(self) -> None:
        assert len(self.alarms) + len(self.events) <= self.box.waiting <= MAX_WAITING_ALARMS + MAX_WAITING_EVENTS + 4
        assert self.box.dropped == self.lost

    @invariant()
    def in_order(self) -> None:
        numbers = [number for _, number in self.heard_alarms]
        assert numbers == sorted(set(numbers))

    def teardown(self) -> None:
        self.held = None
        while self.box.next() is not None:
            self.send()
            self.acknowledged()
        assert not self.alarms
        assert not self.events
        assert self.box.waiting == 0
        # the broker has the last word on everything, told as news or again
        for topic, payload in self.newest.items():
            assert self.broker.get(topic, b"") in (payload, payload.replace(b"false", b"true"))
        self.reconnect(kept=False)
        while self.box.next() is not None:
            self.send()
            self.acknowledged()
        assert self.broker == {topic: p.replace(b"false", b"true") for topic, p in self.newest.items() if p}


TestWaiting = Waiting.TestCase
TestWaiting.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_the_status_goes_first_and_at_the_end_last() -> None:
    for closing in (False, True):
        box = Outbox()
        box.add_event(b"1")
        box.add_transition(Message("alarm/a", told(1), retain=True))
        box.add_answer(b"{}")
        box.set_retained(Message("status", b"x", retain=True))
        box.set_retained(Message("meta", b"y", retain=True))
        box.closing = closing
        order = []
        while (message := box.next()) is not None:
            order.append(message.topic)
            box.confirm(message)
        rest = ["alarm/a", "meta", "answer", "event"]
        assert order == ([*rest, "status"] if closing else ["status", *rest])


def test_the_same_again_is_not_told_again() -> None:
    box = Outbox()
    for _ in range(3):
        box.set_retained(Message("meta", b"x", retain=True))
        while (message := box.next()) is not None:
            box.confirm(message)
            assert message.payload == b"x"
    assert box.waiting == 0


def test_an_alarm_that_goes_is_taken_away_after_its_last_transition() -> None:
    box = Outbox()
    box.add_transition(Message("alarm/a", told(1), retain=True))
    box.set_retained(Message("alarm/a", b"", retain=True))
    first = box.next()
    assert first is not None
    assert first.payload == told(1)
    box.confirm(first)
    second = box.next()
    assert second is not None
    assert second.payload == b""
    box.confirm(second)
    box.republish_retained()
    assert box.next() is None


@given(st.integers(0, 300))
def test_answers_are_bounded_and_end_with_the_connection(number: int) -> None:
    box = Outbox()
    for _ in range(number):
        box.add_answer(b"{}")
    assert box.waiting == min(number, MAX_WAITING_ANSWERS)
    box.republish_retained()
    assert box.waiting == 0


def test_an_hour_without_a_broker_grows_no_further() -> None:
    box = Outbox()
    messages = [Message(f"alarm/{number}", told(number), retain=True) for number in range(512)]
    for number in range(120_000):
        box.add_transition(messages[number % 512])
    for _ in range(15_000):
        box.add_event(b"{}")
    assert box.waiting <= 100_000 + 10_000 + 512
    assert box.dropped == 25_000
    assert box.next() is messages[20_000 % 512]


def test_what_is_told_after_a_transition_is_the_last_word() -> None:
    # the same as stood before it, too
    for payload in (b"", b'{"refresh":true}'):
        box = Outbox()
        box.set_retained(Message("alarm/a", payload, retain=True))
        while (message := box.next()) is not None:
            box.confirm(message)
        box.add_transition(Message("alarm/a", told(1), retain=True))
        box.set_retained(Message("alarm/a", payload, retain=True))
        heard = []
        while (message := box.next()) is not None:
            heard.append(message.payload)
            box.confirm(message)
        assert heard == [told(1), payload]

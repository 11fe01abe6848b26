"""What waits for a broker: bounded, in order, nothing told twice or left out; against plain lists."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from monitor.transport.mqtt.outbox import MAX_WAITING_ANSWERS, Message, Outbox

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

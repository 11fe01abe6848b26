"""What waits for a broker: bounded, in order, nothing told twice or left out; against plain lists."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from monitor.transport.mqtt.outbox import MOST_ANSWERS, Message, Outbox

MOST_ALARMS, MOST_EVENTS = 6, 4
NAMES = st.sampled_from(["alarm/a", "alarm/b"])


def told(number: int, refresh: bool = False) -> bytes:
    return b'{"number":%d,"refresh":%s}' % (number, b"true" if refresh else b"false")


class Waiting(RuleBasedStateMachine):
    """A broker that comes and goes, and what it must have heard."""

    def __init__(self) -> None:
        super().__init__()
        self.box = Outbox(MOST_ALARMS, MOST_EVENTS)
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
        if len(self.alarms) == MOST_ALARMS:
            self.alarms.pop(0)
            self.lost += 1
        self.alarms.append((topic, self.number))
        self.newest[topic] = told(self.number)
        self.box.transition(Message(topic, told(self.number), retain=True))

    @rule()
    def event(self) -> None:
        self.number += 1
        if len(self.events) == MOST_EVENTS:
            self.events.pop(0)
            self.lost += 1
        self.events.append(self.number)
        self.box.event(str(self.number).encode())

    @rule(topic=st.sampled_from(["status", "meta"]))
    def stand(self, topic: str) -> None:
        self.number += 1
        self.newest[topic] = told(self.number)
        self.box.stand(Message(topic, told(self.number), retain=True))

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
        number = int("".join(c for c in held.payload.decode() if c.isdigit()))
        if held.topic.startswith("alarm/") and not held.payload.endswith(b"true}"):
            self.heard_alarms.append((held.topic, number))
            if self.alarms and self.alarms[0] == (held.topic, number):
                self.alarms.pop(0)
        elif held.topic == "event" and self.events and self.events[0] == number:
            self.events.pop(0)
        self.box.done(held)

    @rule(kept=st.booleans())
    def reconnect(self, kept: bool) -> None:
        self.held = None
        if not kept:
            self.broker.clear()
        self.box.renew()

    @invariant()
    def bounded_and_counted(self) -> None:
        assert len(self.alarms) + len(self.events) <= self.box.waiting <= MOST_ALARMS + MOST_EVENTS + 4
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
        again = {topic: told(int("".join(filter(str.isdigit, p.decode()))), True) for topic, p in self.newest.items()}
        for topic, payload in self.newest.items():
            assert self.broker[topic] in (payload, again[topic])


TestWaiting = Waiting.TestCase
TestWaiting.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_status_goes_first_and_at_the_end_last() -> None:
    for closing in (False, True):
        box = Outbox()
        box.event(b"1")
        box.transition(Message("alarm/a", told(1), retain=True))
        box.answer(b"{}")
        box.stand(Message("status", b"x", retain=True))
        box.stand(Message("meta", b"y", retain=True))
        box.closing = closing
        order = []
        while (message := box.next()) is not None:
            order.append(message.topic)
            box.done(message)
        rest = ["alarm/a", "meta", "answer", "event"]
        assert order == ([*rest, "status"] if closing else ["status", *rest])


def test_the_same_again_is_not_told_again() -> None:
    box = Outbox()
    for _ in range(3):
        box.stand(Message("meta", b"x", retain=True))
        while (message := box.next()) is not None:
            box.done(message)
            assert message.payload == b"x"
    assert box.waiting == 0


def test_an_alarm_that_goes_is_taken_away_after_its_last_transition() -> None:
    box = Outbox()
    box.transition(Message("alarm/a", told(1), retain=True))
    box.stand(Message("alarm/a", b"", retain=True))
    first = box.next()
    assert first is not None
    assert first.payload == told(1)
    box.done(first)
    second = box.next()
    assert second is not None
    assert second.payload == b""
    box.done(second)
    box.renew()
    assert box.next() is None


@given(st.integers(0, 300))
def test_answers_are_bounded_and_end_with_the_connection(number: int) -> None:
    box = Outbox()
    for _ in range(number):
        box.answer(b"{}")
    assert box.waiting == min(number, MOST_ANSWERS)
    box.renew()
    assert box.waiting == 0


def test_an_hour_without_a_broker_grows_no_further() -> None:
    box = Outbox()
    for number in range(120_000):
        box.transition(Message(f"alarm/{number % 512}", told(number), retain=True))
    for _ in range(15_000):
        box.event(b"{}")
    assert box.waiting <= 100_000 + 10_000 + 512
    assert box.dropped == 25_000
    first = box.next()
    assert first is not None
    assert first.payload == told(20_000)

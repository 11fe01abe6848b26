"""Topics at the broker, and the queue of messages to it: bounded, in order, removed when acknowledged."""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto

from monitor.messages.alarms import MAX_ALARMS
from monitor.messages.blocks import ResultBlock
from monitor.transport.mqtt.payloads import as_refresh

ROOT = "synchroscope/v1"
NO_NAME = "-"
"""The level of an empty name."""

STATUS, META, SUMMARY = "status", "meta", "summary"
INDICATORS, RELIABILITY = "indicators", "reliability"
ALARMS = "alarm/+"
EVENT, COMMAND, ANSWER = "event", "command", "answer"
DISCOVERED = "homeassistant"
"""Topic of the values of Home Assistant's sensors."""
CHECK = "check"
"""Topic of test messages, which are not retained."""

# level separator, wildcards, escape character, control characters, and what UTF-8 forbids
_FORBIDDEN = "/+#%\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_UNSAFE = re.compile(f"[{_FORBIDDEN}]")
NATS_FORBIDDEN = " .*>"
"""Separator and wildcards of NATS's subjects, and a space: it closes the connection at topics that have them."""
_NOT_PLAIN = re.compile(f"[{_FORBIDDEN}{NATS_FORBIDDEN}]")


def topic_level(name: str, *, plain: bool = False) -> str:
    """Return a name as one level of a topic: forbidden characters percent-encoded, an empty name as ``-``.

    With `plain` so are those that NATS does not accept: dots, spaces, ``*`` and ``>``.
    """
    if name in ("", NO_NAME):
        return NO_NAME if not name else "%2D"
    return (_NOT_PLAIN if plain else _UNSAFE).sub(_percent, name)


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class RigTopics:
    """The topics of one rig.

    Parameters
    ----------
    lab, rig : names, not encoded; the rig is empty while it is unknown.
    plain : encode what NATS does not accept, too.
    """

    lab: str
    rig: str = ""
    plain: bool = False

    @property
    def prefix(self) -> str:
        """First levels of all its topics."""
        return f"{ROOT}/{topic_level(self.lab, plain=self.plain)}/{topic_level(self.rig, plain=self.plain)}"

    def topic(self, name: str) -> str:
        """Return the full topic of one of its topics, such as ``status``."""
        return f"{self.prefix}/{name}"

    def alarm(self, name: str) -> str:
        """Return the topic of an alarm, within those of the rig."""
        return f"alarm/{topic_level(name, plain=self.plain)}"


MAX_WAITING_ALARMS, MAX_WAITING_EVENTS, MAX_WAITING_ANSWERS = 100_000, 10_000, 64
_MAX_DUE = 4 * MAX_ALARMS


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One publication with QoS 1.

    Parameters
    ----------
    topic : within those of the rig; the full topic where `absolute`.
    payload : an empty one clears a retained message.
    retain : the broker stores it for later subscribers.
    """

    topic: str
    payload: bytes
    retain: bool = False
    absolute: bool = False


class DiscoveryState(Enum):
    """Whether the broker lets us write discovery messages, which are the absolute ones."""

    ALLOWED = auto()
    UNKNOWN = auto()
    DENIED = auto()


class Outbox:
    """Queue of messages to publish; thread-safe, and never blocks.

    Transitions of alarms and events are queued in order, and the newest retained message of each topic is stored.
    Where a queue is full its oldest message is dropped and counted.

    Parameters
    ----------
    max_alarms, max_events : sizes of the queues.
    """

    def __init__(self, max_alarms: int = MAX_WAITING_ALARMS, max_events: int = MAX_WAITING_EVENTS) -> None:
        self._lock = threading.Lock()
        self._max_alarms, self._max_events = max_alarms, max_events
        self._alarms: deque[Message] = deque()
        self._pending: Counter[str] = Counter()  # number of queued transitions, by topic
        self._newer: set[str] = set()  # topics with a state set after their queued transitions
        self._events: deque[Message] = deque()
        self._answers: deque[Message] = deque(maxlen=MAX_WAITING_ANSWERS)
        self._retained: dict[str, Message] = {}  # by topic
        self._due: dict[str, None] = {}  # topics of retained messages not published yet
        self._row: ResultBlock | None = None
        self.dropped = 0
        self.discovery = DiscoveryState.ALLOWED
        self.closing = False

    @property
    def waiting(self) -> int:
        """Number of queued messages, without telemetry and those that are denied."""
        with self._lock:
            return len(self._alarms) + len(self._events) + len(self._due) + len(self._answers) - self._denied()

    @property
    def denied(self) -> int:
        """Number of discovery messages that the broker does not let us write."""
        with self._lock:
            return self._denied()

    def _denied(self) -> int:
        if self.discovery is not DiscoveryState.DENIED:
            return 0
        return sum(self._retained[topic].absolute for topic in self._due)

    def set_retained(self, message: Message) -> None:
        """Replace the retained message of a topic; a message with the same payload is not published again."""
        with self._lock:
            held = self._retained.get(message.topic)
            if message.topic in self._pending:
                # the state before the queued transitions is not the state after them
                self._newer.add(message.topic)
            elif held is not None and held.payload == message.payload:
                return
            self._retained[message.topic] = message
            self._due[message.topic] = None

    def is_retained(self, topic: str) -> bool:
        """Return whether the topic has a retained message."""
        with self._lock:
            return topic in self._retained

    def clear_retained(self, topic: str, *, absolute: bool = False) -> None:
        """Clear a retained message of another session; ignored for our own topics, and if too many are pending."""
        with self._lock:
            if topic not in self._retained and topic not in self._pending and len(self._due) < _MAX_DUE:
                self._retained[topic] = Message(topic, b"", retain=True, absolute=absolute)
                self._due[topic] = None

    def add_transition(self, message: Message) -> None:
        """Queue an alarm's transition."""
        with self._lock:
            if len(self._alarms) >= self._max_alarms:
                lost = self._alarms.popleft()
                self._settle(lost)
                # the state is published even if no other transition of this alarm is queued
                self._due[lost.topic] = None
                self.dropped += 1
            self._alarms.append(message)
            self._pending[message.topic] += 1
            self._newer.discard(message.topic)

    def add_event(self, payload: bytes) -> None:
        """Queue an event."""
        with self._lock:
            if len(self._events) >= self._max_events:
                self._events.popleft()
                self.dropped += 1
            self._events.append(Message(EVENT, payload))

    def add_answer(self, payload: bytes) -> None:
        """Queue the answer to a request."""
        with self._lock:
            self._answers.append(Message(ANSWER, payload))

    def set_row(self, block: ResultBlock) -> None:
        """Set the block whose last row is published next."""
        with self._lock:
            self._row = block

    def pop_row(self) -> ResultBlock | None:
        """Return the block set last and remove it; None if there is no new one."""
        with self._lock:
            block, self._row = self._row, None
            return block

    def next(self) -> Message | None:
        """Return the next message to publish; it stays queued until `confirm`. Status last when closing."""
        with self._lock:
            if STATUS in self._due and not self.closing:
                return self._retained[STATUS]
            if self._alarms:
                return self._alarms[0]
            if (due := self._first_due(lambda topic: topic != STATUS)) is not None:
                return due
            for queue in (self._answers, self._events):
                if queue:
                    return queue[0]
            return self._first_due(lambda _: True)

    def confirm(self, message: Message) -> None:
        """Remove a message that the broker has acknowledged."""
        with self._lock:
            for queue in (self._alarms, self._answers, self._events):
                if queue and queue[0] is message:
                    queue.popleft()
                    if queue is self._alarms:
                        self._settle(message)
                    return
            if self._retained.get(message.topic) is message:
                self._due.pop(message.topic, None)
                if not message.payload:
                    del self._retained[message.topic]

    def republish_retained(self) -> None:
        """Publish all retained messages again: the broker may have lost them, or be another one."""
        with self._lock:
            self._due = dict.fromkeys(self._retained)
            # answers belong to requests of the connection that was lost
            self._answers.clear()

    def retained(self) -> tuple[Message, ...]:
        """All retained messages."""
        with self._lock:
            return tuple(self._retained.values())

    def _settle(self, message: Message) -> None:
        """Make a published transition the retained state of its alarm, unless a later state was set."""
        self._pending[message.topic] -= 1
        later = message.topic in self._newer
        if not self._pending[message.topic]:
            del self._pending[message.topic]
            self._newer.discard(message.topic)
        if not later:
            self._retained[message.topic] = replace(message, payload=as_refresh(message.payload))
            self._due.pop(message.topic, None)

    def _first_due(self, accepts: Callable[[str], bool]) -> Message | None:
        # queued transitions of an alarm are published before its state
        allowed = self.discovery is DiscoveryState.ALLOWED
        for topic in self._due:
            if accepts(topic) and topic not in self._pending and (allowed or not self._retained[topic].absolute):
                return self._retained[topic]
        return None

"""Topics at the broker, and the queue of messages to it: bounded, in order, removed when acknowledged."""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

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

# the wildcards and what separates levels, the sign that escapes, controls, and what UTF-8 forbids
_UNSAFE = re.compile("[/+#%\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def topic_level(name: str) -> str:
    """Return a name as one level of a topic: what may not stand there is percent-encoded, an empty name is ``-``."""
    if name in ("", NO_NAME):
        return NO_NAME if not name else "%2D"
    return _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), name)


def name_from_level(level: str) -> str:
    """Return the name that `level` was given."""
    return "" if level == NO_NAME else unquote(level, errors="surrogatepass")


def alarm_topic(name: str) -> str:
    """Return the topic of an alarm, under that of its rig."""
    return f"alarm/{topic_level(name)}"


@dataclass(frozen=True, slots=True)
class Place:
    """The topics of one rig.

    Parameters
    ----------
    lab, rig : their names as they are; an empty rig is one that nobody knows yet.
    """

    lab: str
    rig: str = ""

    @property
    def prefix(self) -> str:
        """What all its topics begin with."""
        return f"{ROOT}/{topic_level(self.lab)}/{topic_level(self.rig)}"

    def topic(self, under: str) -> str:
        """Return the whole topic of ``status`` and the like."""
        return f"{self.prefix}/{under}"


MAX_WAITING_ALARMS, MAX_WAITING_EVENTS, MAX_WAITING_ANSWERS = 100_000, 10_000, 64
_MAX_DUE = 4 * MAX_ALARMS


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One publication with QoS 1.

    Parameters
    ----------
    topic : under that of the rig; from the root where `absolute`.
    payload : an empty one takes a retained message away.
    retain : the broker keeps it for whoever comes later.
    """

    topic: str
    payload: bytes
    retain: bool = False
    absolute: bool = False


class Outbox:
    """Everything that is to be published; any thread may call anything, and nothing waits.

    Transitions of alarms are kept in order, events in order, and of what is retained the newest of each topic. Where
    there is no room left the oldest goes, and is counted.

    Parameters
    ----------
    max_alarms, max_events : how many of them may wait.
    """

    def __init__(self, max_alarms: int = MAX_WAITING_ALARMS, max_events: int = MAX_WAITING_EVENTS) -> None:
        self._lock = threading.Lock()
        self._most_alarms, self._most_events = max_alarms, max_events
        self._alarms: deque[Message] = deque()
        self._pending: Counter[str] = Counter()  # transitions that wait, by topic
        self._newer: set[str] = set()  # topics of which something stands that came after those transitions
        self._events: deque[Message] = deque()
        self._answers: deque[Message] = deque(maxlen=MAX_WAITING_ANSWERS)
        self._retained: dict[str, Message] = {}  # what the broker is to keep
        self._due: dict[str, None] = {}  # of that, what it has not got yet
        self._row: ResultBlock | None = None
        self.dropped = 0
        self.closing = False

    @property
    def waiting(self) -> int:
        """Messages that must not be lost."""
        with self._lock:
            return len(self._alarms) + len(self._events) + len(self._due) + len(self._answers)

    def set_retained(self, message: Message) -> None:
        """Let the broker keep this in place of what it has; the same again is not told again."""
        with self._lock:
            held = self._retained.get(message.topic)
            if message.topic in self._pending:
                # the same as stood before them is not what they leave behind
                self._newer.add(message.topic)
            elif held is not None and held.payload == message.payload:
                return
            self._retained[message.topic] = message
            self._due[message.topic] = None

    def is_retained(self, topic: str) -> bool:
        """Whether there is something that the broker is to keep there."""
        with self._lock:
            return topic in self._retained

    def clear_retained(self, topic: str, *, absolute: bool = False) -> None:
        """Take away what the broker keeps there, unless it is ours; so many at a time and no more."""
        with self._lock:
            if topic not in self._retained and topic not in self._pending and len(self._due) < _MAX_DUE:
                self._retained[topic] = Message(topic, b"", retain=True, absolute=absolute)
                self._due[topic] = None

    def transition(self, message: Message) -> None:
        """Tell an alarm's transition, after all that came before."""
        with self._lock:
            if len(self._alarms) >= self._most_alarms:
                lost = self._alarms.popleft()
                self._settle(lost)
                # where that was the last word on this alarm, its state is told all the same
                self._due[lost.topic] = None
                self.dropped += 1
            self._alarms.append(message)
            self._pending[message.topic] += 1
            self._newer.discard(message.topic)

    def event(self, payload: bytes) -> None:
        """Tell an event, after those that came before."""
        with self._lock:
            if len(self._events) >= self._most_events:
                self._events.popleft()
                self.dropped += 1
            self._events.append(Message(EVENT, payload))

    def answer(self, payload: bytes) -> None:
        """Answer a request."""
        with self._lock:
            self._answers.append(Message(ANSWER, payload))

    def row(self, block: ResultBlock) -> None:
        """Tell the last row, unless another comes before."""
        with self._lock:
            self._row = block

    def take_row(self) -> ResultBlock | None:
        """Return the block whose last row is to be told now; None if that was done."""
        with self._lock:
            block, self._row = self._row, None
            return block

    def next(self) -> Message | None:
        """Return what is to be published next; it stays until `done`. At the end the status goes last."""
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

    def done(self, message: Message) -> None:
        """Forget a message that the broker has."""
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
        """Tell again whatever the broker is to keep: it may have lost it, or be another one."""
        with self._lock:
            self._due = dict.fromkeys(self._retained)
            # answers are for clients that asked on a connection that is no more
            self._answers.clear()

    def retained(self) -> tuple[Message, ...]:
        """What the broker is to keep."""
        with self._lock:
            return tuple(self._retained.values())

    def _settle(self, message: Message) -> None:
        """What was told last of an alarm is what the broker is to keep, unless there is later word of it."""
        self._pending[message.topic] -= 1
        later = message.topic in self._newer
        if not self._pending[message.topic]:
            del self._pending[message.topic]
            self._newer.discard(message.topic)
        if not later:
            self._retained[message.topic] = replace(message, payload=as_refresh(message.payload))
            self._due.pop(message.topic, None)

    def _first_due(self, wanted: Callable[[str], bool]) -> Message | None:
        # an alarm's transitions that wait say more than its state before them
        for topic in self._due:
            if wanted(topic) and topic not in self._pending:
                return self._retained[topic]
        return None

"""ZeroMQ subscription of the window, probes of an endpoint that is silent, and the thread that receives messages."""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Event as Signal
from threading import Lock, Thread
from typing import TYPE_CHECKING, Self

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock, TransferBlock
from monitor.messages.health import Health
from monitor.system.running_clock import REAL_TIME, RunningClock

if TYPE_CHECKING:
    from monitor.transport.zeromq.results import ResultSubscriber

PROBE_TIME, PROBE_INTERVAL = 2.5, 5.0  # s before an endpoint is probed, and probed again
PROBE_TIMEOUT = 1.0  # s for an answer


def probe_endpoint(url: str) -> str:
    """Return why no service answers at an endpoint, and what to do, in one line."""
    from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism

    if host_and_port(url) is None:
        return f"{url}: no service answers: start it, or correct the endpoint; still trying"
    if problem := _unreachable(url, "service"):
        return problem
    mechanism = server_mechanism(url, PROBE_TIMEOUT)
    if not mechanism:
        return f"{url}: the program that listens there is not a service: correct the endpoint"
    if mechanism == "CURVE":
        return f"{url}: the service does not accept this connection: it requires keys, give their folder"
    return f"{url}: what listens there sends no results, like a rig: connect to the endpoint of a service's results"


def probe_rig(url: str) -> str:
    """Return why a service cannot receive from the rig at an endpoint, and what to do; empty where a rig can be."""
    from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism

    if host_and_port(url) is None:
        return ""
    if problem := _unreachable(url, "rig"):
        return problem
    if not server_mechanism(url, PROBE_TIMEOUT):
        return f"{url}: the program that listens there is not a rig: correct the endpoint"
    return ""


def _unreachable(url: str, sender: str) -> str:
    """Return why nothing can be reached at a TCP endpoint; empty where it can."""
    from monitor.transport.zeromq.endpoint import host_and_port

    address = host_and_port(url)
    assert address is not None
    try:
        socket.create_connection(address, timeout=PROBE_TIMEOUT).close()
    except (socket.gaierror, UnicodeError):
        return f"{url}: there is no computer of this name: correct the endpoint"
    except ConnectionRefusedError:
        return f"{url}: nothing listens there: start the {sender}, or correct the endpoint; still trying"
    except OSError:
        return (
            f"{url}: this computer does not answer: correct the endpoint, or allow it in the firewall; still trying"
        )
    return ""


class RigProbe:
    """Probes the endpoint of a rig until its service receives from it; in a thread, as name servers may be slow.

    Parameters
    ----------
    url : to which the service connects.
    clock : s, monotonic.

    Attributes
    ----------
    problem : why nothing is received, in one line; empty: something is, or it is not known yet.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url, self._clock = url, clock
        self._probe_time = clock() + PROBE_TIME
        self._thread: Thread | None = None
        self._received = False
        self.problem = ""

    def update(self, *, received: bool) -> None:
        """Probe when it is due; `received`: the service has received from the rig, which then is not probed again."""
        self._received |= received
        if self._received:
            self.problem = ""
        elif self._clock() >= self._probe_time and (self._thread is None or not self._thread.is_alive()):
            self._probe_time = self._clock() + PROBE_INTERVAL
            self._thread = Thread(target=self._probe, name="endpoint-probe", daemon=True)
            self._thread.start()

    def _probe(self) -> None:
        problem = probe_rig(self._url)
        if not self._received:
            self.problem = problem


Streamed = SignalBlock | ResultBlock | Event
"""Messages whose order matters."""
Message = Streamed | TransferBlock | AlarmReport | Health


@dataclass(frozen=True, slots=True)
class ReceivedMessages:
    """Messages by kind: the newest health, alarms and transfer functions (None: none received), all others.

    `order` has events, results and signals in the order of arrival: the event of a restart follows the block that
    started the new epoch. Where it is empty, signals come first and events last.
    """

    health: Health | None = None
    events: tuple[Event, ...] = ()
    results: tuple[ResultBlock, ...] = ()
    transfer: TransferBlock | None = None
    signals: tuple[SignalBlock, ...] = ()
    alarms: AlarmReport | None = None
    order: tuple[Streamed, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def sort(cls, messages: Iterable[Message]) -> Self:
        """Sort messages by kind; `messages` are in the order of arrival."""
        health: Health | None = None
        transfer: TransferBlock | None = None
        alarms: AlarmReport | None = None
        order: list[Streamed] = []
        for message in messages:
            match message:
                case Health():
                    health = message
                case TransferBlock():
                    transfer = message
                case AlarmReport():
                    alarms = message
                case _:
                    order.append(message)
        return cls(
            health,
            tuple(item for item in order if isinstance(item, Event)),
            tuple(item for item in order if isinstance(item, ResultBlock)),
            transfer,
            tuple(item for item in order if isinstance(item, SignalBlock)),
            alarms,
            tuple(order),
        )

    @property
    def in_order(self) -> tuple[Streamed, ...]:
        """Signals, results and events in the order in which they are processed."""
        return self.order or (*self.signals, *self.results, *self.events)

    def __bool__(self) -> bool:
        newest = (self.health, self.transfer, self.alarms)
        return any(item is not None for item in newest) or bool(self.in_order)


class ServiceSubscription:
    """A subscription that measures how long ago health and results were received.

    Parameters
    ----------
    subscription : source of the messages; closed with the connection.
    clock : s, monotonic.
    url : probed where no service answers; empty: not.
    """

    def __init__(self, subscription: ResultSubscriber, clock: Callable[[], float] = REAL_TIME, url: str = "") -> None:
        self._subscription = subscription
        self._clock = clock
        self._url = url
        self._running = RunningClock(clock=clock)
        self._health_time, self._results_time = self._running(), clock()
        self._probe_time = self._results_time + PROBE_TIME
        self._answered = self._sends_signals = False
        self.problem = ""
        """Why no service has answered so far, in one line; empty: one has, or it is not known yet."""

    @classmethod
    def connect(cls, url: str, rig: str = "", signals: bool = False, keys: str = "") -> Self:
        """Subscribe to the service at `url`, and with `signals` to the signals that it forwards.

        With `keys`, a folder of keys, the connection is encrypted.

        Raises
        ------
        TransportError : the endpoint is malformed.
        KeyFileError : the keys are missing or not safe.
        """
        from monitor.transport.zeromq.key_files import keys_of
        from monitor.transport.zeromq.results import ResultSubscriber

        kinds = ("results", "transfer", "alarms", "health", "event", *(("signals",) if signals else ()))
        return cls(ResultSubscriber(url, rig=rig, kinds=kinds, security=keys_of(keys)), url=url)

    @property
    def silence(self) -> float:
        """Seconds, in which this program could run, since the last health message or the connection was made."""
        return self._running() - self._health_time

    @property
    def age(self) -> float:
        """Seconds since the last results, or since the connection was made; a pause of this program counts too."""
        return self._clock() - self._results_time

    def receive(self, timeout: float) -> Sequence[Message]:
        """Return the messages that have arrived; wait up to `timeout` s for the first."""
        self._running()
        messages = self._subscription.receive(timeout)
        if any(isinstance(message, Health) for message in messages):
            self._health_time = self._running()
            self._answered, self.problem = True, ""
        elif not self._answered and self._url:
            self._find_problem(messages)
        if any(isinstance(message, ResultBlock) for message in messages):
            self._results_time = self._clock()
        return messages

    def _find_problem(self, messages: Sequence[Message]) -> None:
        self._sends_signals |= any(isinstance(message, SignalBlock) for message in messages)
        if self._clock() < self._probe_time:
            # the signals of a service may come before its first health
            return
        if self._sends_signals:
            self.problem = (
                f"{self._url} is the endpoint of a rig: connect to that of its service's results, or start a service"
                " for this rig"
            )
            self._probe_time = math.inf
        else:
            self._probe_time = self._clock() + PROBE_INTERVAL
            # a name server may take long to answer
            Thread(target=self._probe, name="endpoint-probe", daemon=True).start()

    def _probe(self) -> None:
        problem = getattr(self._subscription, "rejection", "") or probe_endpoint(self._url)
        if not self._answered and self._probe_time < math.inf:
            self.problem = problem

    def close(self) -> None:
        """Close the subscription; a second call does nothing."""
        self._subscription.close()


_POLL_INTERVAL = 0.05  # s
_MAX_EVENTS = 10_000
_BLOCK_OVERHEAD_BYTES = 512


class ReceiverThread:
    """Receive in a thread, and queue the messages until they are drained.

    The queue is bounded: the oldest signals and results are dropped and their rows counted; of events the newest
    10 000 remain. An exception ends the thread; its message is in `failed`, one line.

    Parameters
    ----------
    connect : makes the connection; called in the thread, which also closes it.
    max_bytes : of queued signals and results.
    """

    def __init__(self, connect: Callable[[], ServiceSubscription], max_bytes: int = 256 << 20) -> None:
        self._connect = connect
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._stop = Signal()
        self._connection: ServiceSubscription | None = None
        self._newest: dict[type, Message] = {}
        self._queue: deque[Streamed] = deque()
        self._bytes = self._n_events = 0
        self.dropped = 0
        self.failed = ""
        self._thread = Thread(target=self._run, name="receiver", daemon=True)
        self._thread.start()

    @property
    def silence(self) -> float:
        """Seconds since the last health message, or since the connection was made; 0 before that."""
        return 0.0 if self._connection is None else self._connection.silence

    @property
    def age(self) -> float:
        """Seconds since the last results, or since the connection was made; infinite before that."""
        return math.inf if self._connection is None else self._connection.age

    @property
    def problem(self) -> str:
        """Why no service has answered so far, in one line; empty: one has, or it is not known yet."""
        return "" if self._connection is None else self._connection.problem

    def drain(self) -> ReceivedMessages:
        """Return the messages received since the last call, without waiting."""
        with self._lock:
            queue, self._queue = self._queue, deque()
            newest, self._newest = self._newest, {}
            self._bytes = self._n_events = 0
        return ReceivedMessages.sort((*newest.values(), *queue))

    def close(self) -> None:
        """End the thread and close the connection; a second call does nothing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            connection = self._connection = self._connect()
            try:
                while not self._stop.is_set():
                    self._enqueue(connection.receive(_POLL_INTERVAL))
            finally:
                connection.close()
        except Exception as problem:  # noqa: BLE001  any failure must reach the window
            self.failed = " ".join(f"{problem}".split()) or type(problem).__name__

    def _enqueue(self, messages: Sequence[Message]) -> None:
        with self._lock:
            for message in messages:
                if isinstance(message, Streamed):
                    self._queue.append(message)
                    self._bytes += _size(message)
                    self._n_events += isinstance(message, Event)
                else:
                    self._newest[type(message)] = message
            if self._bytes > self._max_bytes or self._n_events > _MAX_EVENTS:
                self._drop()

    def _drop(self) -> None:
        """Drop the oldest blocks until the bytes fit, and the oldest events until their number does."""
        kept: list[Streamed] = []
        while self._queue and (self._bytes > self._max_bytes or self._n_events > _MAX_EVENTS):
            item = self._queue.popleft()
            event = isinstance(item, Event)
            if (self._n_events <= _MAX_EVENTS) if event else (self._bytes <= self._max_bytes):
                kept.append(item)
                continue
            self._n_events -= event
            self._bytes -= _size(item)
            self.dropped += 0 if isinstance(item, Event) else len(item)
        self._queue.extendleft(reversed(kept))


def _size(item: Streamed) -> int:
    match item:
        case SignalBlock():
            return item.samples.nbytes + _BLOCK_OVERHEAD_BYTES
        case ResultBlock():
            return item.values.nbytes + _BLOCK_OVERHEAD_BYTES
        case Event():
            return 0

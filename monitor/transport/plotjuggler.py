"""Feed for PlotJuggler 3.10 and later, for its ZeroMQ subscriber with the JSON protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec
import zmq

from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity, alarm_counts
from monitor.messages.blocks import ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.system.default_endpoints import PLOTJUGGLER
from monitor.system.worker_process import POSSIBLE
from monitor.transport.wall_time import WallTime
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.queued_publisher import PublisherSink, QueuedPublisher


class NumberTree:
    """The keys of a message, the same in every one of a topic.

    Viewers treat a slash as a level of the tree, so that ``a/b`` of ``c`` and ``b`` of ``c/a`` would be one curve. In
    groups and names it is replaced by an underscore, and duplicates get a number.

    Parameters
    ----------
    names : group and name of each value.
    """

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        groups: dict[str, list[tuple[int, str]]] = {}
        for position, (group, name) in enumerate(names):
            groups.setdefault(group, []).append((position, name))
        self._groups: list[tuple[str, list[int], list[str]]] = []
        for group, key in zip(groups, unique_keys(groups), strict=True):
            positions = [position for position, _ in groups[group]]
            self._groups.append((key, positions, unique_keys(name for _, name in groups[group])))

    @property
    def groups(self) -> tuple[tuple[str, list[int], list[str]], ...]:
        """Key of each group, and positions and keys of its values."""
        return tuple(self._groups)

    def encode(self, values: Sequence[float]) -> bytes:
        """Return JSON with a float for each name; null where it is not finite."""
        # JSON has no NaN: msgspec writes null for it and for infinities
        return msgspec.json.encode(
            {
                group: {name: float(values[position]) for position, name in zip(positions, names, strict=True)}
                for group, positions, names in self._groups
            }
        )


def unique_keys(texts: Iterable[str]) -> list[str]:
    """Return the key of each text in a message."""
    found: dict[str, None] = {}
    for text in texts:
        # no surrogates, which UTF-8 cannot encode, and no levels
        plain = text.encode(errors="replace").decode().replace("/", "_") or "_"
        key, number = plain, 2
        while key in found:
            key, number = f"{plain}_{number}", number + 1
        found[key] = None
    return list(found)


MAX_RATE = 100.0
"""Messages a second, of all topics."""

ALARM_CODES = {state: float(code) for code, state in enumerate(AlarmState)}
"""Number of each state: their order in the standard, normal being 0; 8 is not judged."""

_SHARES = {"signals": 0.44, "results": 0.44, "alarms": 0.09}  # of the rate; the rest is a margin
_QUEUE = 0.25  # s at 2000 messages/s, by which queues are sized: 500 messages, or some seconds of this feed
_LINGER = 0.5
_COUNTED = ("standing", "unacknowledged", "not_judged")
_SEVERITIES = {Severity.WARN: 1.0, Severity.TRIP: 2.0}


class PlotJugglerSink(PublisherSink):
    """Sink that publishes the newest sample, row of results and alarms some tens of times a second, without blocking.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    rate : messages a second, of all topics together, however fast the rig is.
    insecure : may bind where other machines can reach it.
    context : of the caller, who then terminates it; by default its own.
    clock : s since 1970.
    monotonic : s.
    own_process : publish in a process of its own, which a hostile subscriber can crash or fill instead of this one.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used.
    ValueError : the rate is not positive, or above 100.
    """

    def __init__(
        self,
        bind: str = PLOTJUGGLER,
        rate: float = 50.0,
        *,
        insecure: bool = False,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        own_process: bool = False,
    ) -> None:
        if not 0.0 < rate <= MAX_RATE:
            raise ValueError(f"{rate:g} messages a second for PlotJuggler: the limit is {MAX_RATE:g}")
        self._publisher = QueuedPublisher(
            PublisherProcess(bind, queue_seconds=_QUEUE, linger=_LINGER, insecure=insecure)
            if own_process and POSSIBLE
            else PublisherSocket(bind, queue_seconds=_QUEUE, insecure=insecure, context=context)
        )
        self._monotonic = monotonic
        self._wall = WallTime(clock, monotonic)
        self._signals, self._results, self._alarms = (
            _Topic(name, 1.0 / (share * rate), self._publisher) for name, share in _SHARES.items()
        )
        self._channels: tuple[Stream, NumberTree] | None = None
        self._columns: tuple[ResultStream, NumberTree] | None = None
        self._names: tuple[tuple[str, ...], NumberTree] | None = None

    def signals(self, block: SignalBlock) -> None:
        """Publish the newest sample."""
        self._wall.update(block)
        if not len(block):
            return
        if self._channels is None or self._channels[0] is not block.stream:
            self._channels = block.stream, channel_tree(block.stream)
        newest = block.tail(len(block) - 1)
        self._publish(self._signals, self._wall.convert(newest.time), self._channels[1], newest.samples[0])

    def results(self, block: ResultBlock) -> None:
        """Publish the newest row."""
        if not len(block):
            return
        stream = block.stream
        if self._columns is None or self._columns[0] is not stream:
            self._columns = stream, NumberTree((column.actuator, column.name) for column in stream.columns)
        t = block.time + (len(block) - 1) * stream.every / stream.sample_rate
        self._publish(self._results, self._wall.convert(t), self._columns[1], block.values[-1])

    def alarms(self, report: AlarmReport) -> None:
        """Publish the state of every alarm, and the highest severity."""
        names = tuple(alarm.name for alarm in report.alarms)
        if self._names is None or self._names[0] != names:
            self._names = names, _alarm_tree(names)
        self._publish(
            self._alarms, self._alarms.after(self._wall.now()), self._names[1], _alarm_values(report.alarms)
        )

    def _publish(self, topic: _Topic, when: float, tree: NumberTree, values: Sequence[float]) -> None:
        topic.put(when, tree, values)
        topic.send(self._monotonic())

    def health(self, _health: Health) -> None:
        """Publish values held back by the rate limit; the health itself is not published."""
        for topic in self._topics:
            topic.send(self._monotonic())

    @property
    def _topics(self) -> tuple[_Topic, ...]:
        return self._signals, self._results, self._alarms

    def close(self) -> None:
        """Publish the newest values and close; a second call does nothing."""
        for topic in self._topics:
            topic.send()
        self._publisher.close(_LINGER)


class _Topic:
    """One topic: its newest values, sent once a period."""

    def __init__(self, name: str, period: float, publisher: QueuedPublisher) -> None:
        self._name = f"synchroscope/{name}".encode()
        self._period = period
        self._publisher = publisher
        self._waiting: tuple[float, NumberTree, Sequence[float]] | None = None
        self._last_period: int | None = None
        self._newest = float("-inf")

    def put(self, when: float, tree: NumberTree, values: Sequence[float]) -> None:
        """Replace the values to send, of the time `when` [s since 1970]."""
        self._waiting = when, tree, values

    def after(self, when: float) -> float:
        """Return `when`, or the next instant if a message with this time was sent."""
        return max(when, self._newest + 1e-6)

    def send(self, now: float | None = None) -> None:
        """Send once a period, or at once without `now`; values not later than the last message are dropped."""
        period = None if now is None else int(now / self._period)
        if self._waiting is None or (period is not None and period == self._last_period):
            return
        (when, tree, values), self._waiting = self._waiting, None
        # rounded as in the message, where two instants must not become equal
        when = round(when, 6)
        if not when > self._newest:
            return
        self._newest, self._last_period = when, period
        self._publisher.send([self._name, tree.encode(values), b"%.6f" % when])


def channel_tree(stream: Stream) -> NumberTree:
    """Return the keys of a sample: role in actuator, or the name in ``auxiliary``."""
    return NumberTree(
        (Role.AUXILIARY, channel.name) if channel.role is Role.AUXILIARY else (channel.actuator, channel.role)
        for channel in stream.channels
    )


def _alarm_tree(names: Sequence[str]) -> NumberTree:
    totals = [("all", name) for name in ("severity", *_COUNTED)]
    return NumberTree([*totals, *((name, field) for name in names for field in ("state", "active"))])


def _alarm_values(alarms: Sequence[Alarm]) -> list[float]:
    worst = max((_SEVERITIES[alarm.severity] for alarm in alarms if alarm.is_annunciated), default=0.0)
    counts = alarm_counts(alarms)
    each = [number for alarm in alarms for number in (ALARM_CODES[alarm.state], float(alarm.active))]
    return [worst, *(float(counts[name]) for name in _COUNTED), *each]

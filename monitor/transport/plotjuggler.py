"""A feed for PlotJuggler 3 and 4: its ZeroMQ subscriber with the JSON protocol."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec
import zmq

from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import Event, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.system.default_endpoints import PLOTJUGGLER
from monitor.system.worker_process import POSSIBLE
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.queued_publisher import QueuedPublisher


class NumberTree:
    """The shape of a message: the same keys in every one of them.

    Viewers take a slash for a level of the tree, so that ``a/b`` of ``c`` and ``b`` of ``c/a`` would be one curve. In
    groups and names it becomes an underscore, and what is then doubled gets a number.

    Parameters
    ----------
    places : group and name of each value.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        groups: dict[str, list[tuple[int, str]]] = {}
        for position, (group, name) in enumerate(places):
            groups.setdefault(group, []).append((position, name))
        self._groups: list[tuple[str, list[int], list[str]]] = []
        for group, key in zip(groups, _unique(groups), strict=True):
            positions = [position for position, _ in groups[group]]
            self._groups.append((key, positions, _unique(name for _, name in groups[group])))

    def encode(self, values: Sequence[float]) -> bytes:
        """Return JSON with one number a place, written as a float; what is not finite is null."""
        # a NaN in JSON is no JSON: msgspec writes null for it and for infinities
        return msgspec.json.encode(
            {
                group: {name: float(values[position]) for position, name in zip(positions, names, strict=True)}
                for group, positions, names in self._groups
            }
        )


def _unique(texts: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        # what UTF-8 cannot write, and levels, do not belong in a key
        plain = text.encode(errors="replace").decode().replace("/", "_") or "_"
        key, number = plain, 2
        while key in found:
            key, number = f"{plain}_{number}", number + 1
        found[key] = None
    return list(found)


MAX_RATE = 100.0
"""Messages a second, of all topics."""

ALARM_CODES = {state: float(code) for code, state in enumerate(AlarmState)}
"""The number that stands for each state: their order in the standard, normal being 0."""

_SHARES = {"signals": 0.44, "results": 0.44, "alarms": 0.09}  # of the rate; the rest is for the edges of a second
_QUEUE = 0.25  # s of the 2000 messages for which queues are sized: 500, or some seconds of ours
_LINGER = 0.5
_SEVERITIES = {Severity.WARN: 1.0, Severity.TRIP: 2.0}


class PlotJugglerSink:
    """Publish the newest sample, the newest row of results and all alarms, some tens of times a second; never wait.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    rate : messages a second, of all topics together, however fast the rig is.
    insecure : may bind where other machines can reach it.
    context : of the caller, who then terminates it; by default an own one.
    clock : s since 1970.
    monotonic : s.
    own_process : in a process of its own, which subscribers may end or fill, and not this one.

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
            raise ValueError(f"{rate:g} messages a second for PlotJuggler: it follows at most {MAX_RATE:g}")
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

    @property
    def endpoint(self) -> str:
        """What is bound, with its port."""
        return self._publisher.url

    @property
    def dropped(self) -> int:
        """Messages that ZeroMQ would not take."""
        return self._publisher.dropped

    @property
    def fault(self) -> str:
        """What subscribers have done, in one line; empty: nothing."""
        return self._publisher.fault

    def signals(self, block: SignalBlock) -> None:
        """Show the newest sample."""
        self._wall.follow(block)
        if not len(block):
            return
        if self._channels is None or self._channels[0] is not block.stream:
            self._channels = block.stream, _tree_of_channels(block.stream)
        newest = block.tail(len(block) - 1)
        self._show(self._signals, self._wall.of(newest.time), self._channels[1], newest.samples[0])

    def results(self, block: ResultBlock) -> None:
        """Show the newest row."""
        if not len(block):
            return
        stream = block.stream
        if self._columns is None or self._columns[0] is not stream:
            self._columns = stream, NumberTree((column.actuator, column.name) for column in stream.columns)
        t = block.time + (len(block) - 1) * stream.every / stream.sample_rate
        self._show(self._results, self._wall.of(t), self._columns[1], block.values[-1])

    def alarms(self, report: AlarmReport) -> None:
        """Show the state of every alarm, and the worst of them."""
        names = tuple(alarm.name for alarm in report.alarms)
        if self._names is None or self._names[0] != names:
            self._names = names, _tree_of_alarms(names)
        self._show(self._alarms, self._alarms.after(self._wall.now()), self._names[1], _numbers(report.alarms))

    def _show(self, topic: _Topic, when: float, tree: NumberTree, values: Sequence[float]) -> None:
        topic.put(when, tree, values)
        topic.send(self._monotonic())

    def transfer(self, block: TransferBlock) -> None:
        """Show nothing: a transfer function is no curve over time."""

    def event(self, event: Event) -> None:
        """Show nothing: PlotJuggler has no words."""

    def health(self, _health: Health) -> None:
        """Send what still waits for its turn; of the service itself show nothing."""
        for topic in self._topics:
            topic.send(self._monotonic())

    @property
    def _topics(self) -> tuple[_Topic, ...]:
        return self._signals, self._results, self._alarms

    def close(self) -> None:
        """Send the newest values and leave; a second call does nothing."""
        for topic in self._topics:
            topic.send()
        self._publisher.close(_LINGER)


class _Topic:
    """One topic: the newest values that wait, and when they may go."""

    def __init__(self, name: str, period: float, publisher: QueuedPublisher) -> None:
        self._name = f"synchroscope/{name}".encode()
        self._period = period
        self._publisher = publisher
        self._waiting: tuple[float, NumberTree, Sequence[float]] | None = None
        self._turn: int | None = None
        self._when = b""
        self._newest = float("-inf")

    def put(self, when: float, tree: NumberTree, values: Sequence[float]) -> None:
        """Let these values, of `when` in s since 1970, take the place of those that wait."""
        self._waiting = when, tree, values

    def after(self, when: float) -> float:
        """Return `when`, or if that has been told already the next instant."""
        return max(when, self._newest + 1e-6)

    def send(self, now: float | None = None) -> None:
        """Send what waits if it is its turn at `now`, or at once; what is not later than the last is forgotten."""
        turn = None if now is None else int(now / self._period)
        if self._waiting is None or (turn is not None and turn == self._turn):
            return
        (when, tree, values), self._waiting = self._waiting, None
        # as it is written, or two instants could become one
        when = round(when, 6)
        if not when > self._newest:
            return
        self._newest, self._turn = when, turn
        self._publisher.send([self._name, tree.encode(values), b"%.6f" % when])


def _tree_of_channels(stream: Stream) -> NumberTree:
    return NumberTree(
        (Role.AUXILIARY, channel.name) if channel.role is Role.AUXILIARY else (channel.actuator, channel.role)
        for channel in stream.channels
    )


def _tree_of_alarms(names: Sequence[str]) -> NumberTree:
    places = [("all", name) for name in ("severity", "standing", "unacknowledged")]
    return NumberTree([*places, *((name, what) for name in names for what in ("state", "active"))])


def _numbers(alarms: Sequence[Alarm]) -> list[float]:
    standing = [alarm for alarm in alarms if alarm.standing]
    worst = max((_SEVERITIES[alarm.severity] for alarm in standing), default=0.0)
    waiting = sum(alarm.needs_acknowledgement for alarm in alarms)
    each = [number for alarm in alarms for number in (ALARM_CODES[alarm.state], float(alarm.active))]
    return [worst, float(len(standing)), float(waiting), *each]


_JUMP = 1.0  # s by which a time may differ from what the index says
_SLEW = 1e-3  # of the time that passes: far more than clocks differ, far less than the eye sees


class WallTime:
    """Follow a rig's clock; what is returned for the samples of successive blocks always grows.

    The first block stands at the moment when it came, and from then on the rig's clock counts. It is held to the wall
    clock by one part in a thousand, so that a day ends at the right hour. After a restart, or where the rig's clock
    jumps, the block stands at its moment again, or right after the block before, whichever is later.

    Parameters
    ----------
    clock : s since 1970; may jump.
    monotonic : s; never jumps.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock, self._monotonic = clock, monotonic
        self._epoch: int | None = None
        self._wall = self._rig = 0.0  # the same instant on both clocks
        self._next_index, self._next_time = 0, 0.0  # of the sample after the newest
        self._newest = -math.inf  # s since 1970, of the newest sample
        self._heard = 0.0

    def follow(self, block: SignalBlock) -> None:
        """Take note of a block's times; one without samples, or without a time, says nothing."""
        if not len(block) or not math.isfinite(block.time):
            return
        dt, now = block.stream.dt, self._clock()
        newest = block.time + (len(block) - 1) * dt
        if self._is_new(block):
            # the newest sample is taken now, but none before the newest of the run before
            self._wall = max(now - (newest - block.time), self._newest + dt)
            self._rig = block.time
        else:
            most = _SLEW * (newest + dt - self._next_time)
            self._wall += min(max(now - self.of(newest), -most), most)
        self._epoch, self._next_index, self._next_time = block.stream.epoch, block.index + len(block), newest + dt
        self._newest = max(self._newest, self.of(newest))
        self._heard = self._monotonic()

    def _is_new(self, block: SignalBlock) -> bool:
        if self._epoch != block.stream.epoch or block.index < self._next_index:
            return True
        # a time so large that a sample changes nothing in it tells nothing
        if math.ulp(block.time) > block.stream.dt / 2:
            return True
        expected = self._next_time + (block.index - self._next_index) * block.stream.dt
        return abs(block.time - expected) > _JUMP or block.time < self._next_time - block.stream.dt / 2

    def of(self, t: float) -> float:
        """Return when `t`, s on the rig's clock, was."""
        return self._wall + (t - self._rig)

    def now(self) -> float:
        """Return this moment, as far after the newest sample as it has come later."""
        if self._epoch is None:
            return self._clock()
        return self._newest + (self._monotonic() - self._heard)

"""Subscription to several endpoints: sockets read into one bounded queue, messages decoded, losses counted."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

import zmq

from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.system.running_clock import RunningClock
from monitor.transport.base import TransportError
from monitor.transport.zeromq.endpoint import MESSAGES_PER_SECOND
from monitor.transport.zeromq.message_queue import Message, MessageQueue, Origin, UnusedSamples
from monitor.transport.zeromq.subscriber_socket import ConnectionEvent, SubscriberSettings, SubscriberSocket
from monitor.wire.native import Frames, OtherSenderError

_READ_BATCH, _MAX_BATCHES = 256, 40  # messages per socket, and batches of one read
_DECODE_BATCH, _DECODE_BYTES = 256, 1 << 23  # messages and bytes of one `receive`
_POLL_INTERVAL, _QUIET_INTERVAL = 0.01, 0.1  # s, of the thread, and where no message came for `_QUIET_TIME`
_QUIET_TIME = 1.0  # s
_CHECK_INTERVAL = 0.1  # s between checks of the connections
_REPORT_INTERVAL = 0.25  # s between events that count rejected messages
_FLOOD_LIMIT = 3.0  # s of reading in which a socket was never read empty
_FLOODED = (
    "messages come faster than they can be read, {:,} in {:.1f} s of reading{}: all senders here were disconnected"
    " and may reconnect; what was not read is lost"
)
_PAUSED = "this program was paused for {:.1f} s: what its senders kept meanwhile is read now"
_OVERRUN = "messages came faster than they were processed: those beyond a queue of {} MB were dropped"
_NUMBERED = SignalBlock, ResultBlock
_END_DELAY = 1.0  # s without a message until an unused one is known to be its stream's last

Item = TypeVar("Item")
Produced = TypeVar("Produced", covariant=True)


class Unused(Protocol[Item]):
    """Counts the samples of messages that are not used; see `UnusedMessages`."""

    def __len__(self) -> int: ...

    def use(self, item: Item, /) -> Item | None:
        """Note an item that is used; return one to insert before it."""

    def add(self, frames: Frames, rows: int | None = None) -> UnusedSamples:
        """Count the samples of a message that is not used."""

    def take_ends(self) -> list[Item]:
        """Return items for streams that end with unused messages."""


class Held(Protocol[Produced]):
    """What a decoder holds back until it is clear what it is."""

    def __bool__(self) -> bool: ...

    def flush(self) -> Sequence[Produced | Event]:
        """Return it: no more comes for now."""


@dataclass(slots=True)
class _UnusedCount:
    """Messages that were not used since the last event, their samples, and why the first was not."""

    messages: int = 0
    shown: int = 0
    unshown: int = 0
    reason: str = ""

    def add(self, samples: UnusedSamples) -> None:
        self.shown += samples.shown
        self.unshown += samples.unshown

    def text(self) -> str:
        several = "" if self.shown == 1 else "s"
        return self.reason + (f" ({self.shown:,} sample{several}, counted as lost)" if self.shown else "")


class _Flood:
    """Messages of a socket since it was last read empty, and the time spent reading them.

    A backlog from a pause of this process may take as long to read as the pause took.
    """

    def __init__(self) -> None:
        self._paused, self._seconds, self._messages = 0.0, 0.0, 0

    def reset(self, paused: float) -> None:
        """Begin again: the socket was read empty; `paused`: all pauses so far, s."""
        self._paused, self._seconds, self._messages = paused, 0.0, 0

    def add(self, messages: int, seconds: float) -> None:
        """Count a full batch."""
        self._messages += messages
        self._seconds += seconds

    def excessive(self, paused: float) -> bool:
        """Whether the senders must be disconnected; `paused`: all pauses so far, s."""
        return self._seconds > _FLOOD_LIMIT + paused - self._paused

    def text(self, peer: str) -> str:
        """Return what has happened; `peer` is the address of the newest sender, empty if unknown."""
        return _FLOODED.format(self._messages, self._seconds, peer and f", the newest from {peer}")


class Subscriber(Generic[Item]):
    """Receive and decode messages of several endpoints; those that cannot be decoded are counted.

    `receive` reads the sockets in the thread of its caller, so that no switch between threads delays a message. While
    the caller is busy, a thread reads them a hundred times a second, ten times after a second without messages.

    While more than `queue_seconds` of messages wait, senders are asked to hold (`HOLD`); a message beyond
    `queue_bytes` is dropped and counted. Senders that are faster than the reader for seconds of reading are
    disconnected; a pause of this process is no fault of theirs.

    Parameters
    ----------
    decode : returns the items in the frames of a message, and events, given its origin; raises ValueError, as a rule
        `WireError`, to reject the message.
    held : what `decode` holds back of messages until others come.
    connect, bind : endpoints; at least one.
    settings : how to subscribe.
    context : of the caller, who then terminates it; by default its own.
    listening : from the start, or from `listen` on.
    unused : counts the samples of messages that are rejected or dropped; by default only messages are counted.
    running : time in which this process can run.
    reports_pauses : a time in which it could not is an event.

    Raises
    ------
    TransportError : there is no endpoint, or one that cannot be used.
    """

    def __init__(
        self,
        decode: Callable[[Frames, Origin], Iterable[Item | Event]],
        connect: Sequence[str],
        bind: Sequence[str],
        settings: SubscriberSettings,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        *,
        listening: bool = True,
        unused: Unused[Item] | None = None,
        held: Held[Item] | None = None,
        running: RunningClock | None = None,
        reports_pauses: bool = False,
    ) -> None:
        if not connect and not bind:
            raise TransportError("nothing to listen to: give an endpoint to connect to or to bind")
        self._decode = decode
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._poller = zmq.Poller()
        self._sockets: list[SubscriberSocket] = []
        self._hold_at = max(1, int(settings.queue_seconds * MESSAGES_PER_SECOND))
        self._queue = MessageQueue(settings.queue_bytes)
        self._unused, self._unused_at = unused, 0.0
        self._held = held
        self._holding = self._asked_to_hold = False
        self._last_check = -_CHECK_INTERVAL
        self._empty_at = self._came_at = monotonic()  # when the sockets were last found empty, and a message came
        self._running = running or RunningClock()
        self._reports_pauses = reports_pauses
        self._turn = 0.0  # by that clock, when it was read last
        self._floods: dict[SubscriberSocket, _Flood] = defaultdict(_Flood)
        # held by the thread that reads the sockets: ZeroMQ allows one thread at a time
        self._reading = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="subscriber", daemon=True)

        self._dropped_reported, self._rejections = (0, 0), _UnusedCount()
        self._drops = _UnusedCount(reason=_OVERRUN.format(settings.queue_bytes >> 20))
        self._last_report = -_REPORT_INTERVAL
        self._time, self._index = 0.0, 0
        self.waited: list[float] = []
        """How long each item of the last `receive` was queued after it was read from its socket, s."""
        try:
            for url, binds in [*((u, True) for u in bind), *((u, False) for u in connect)]:
                socket = SubscriberSocket(self._context, self._poller, url, settings, bind=binds, listening=listening)
                self._sockets.append(socket)
        except BaseException:
            self.close()
            raise
        if listening:
            self._thread.start()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where it is bound, with ports, and then connected."""
        return tuple(socket.url for socket in self._sockets)

    @property
    def rejection(self) -> str:
        """Why a server rejects the connection for good, with its endpoint; empty: none does."""
        return next((f"{socket.url}: {socket.rejection}" for socket in self._sockets if socket.rejection), "")

    @property
    def waiting(self) -> int:
        """Messages that have arrived and are not received yet, and ends of streams that are not reported yet."""
        ends = len(self._unused) if self._unused is not None else 0
        return len(self._queue) + self._queue.heads + ends + (1 if self._held else 0)

    @property
    def dropped(self) -> int:
        """Messages dropped because the queue was full."""
        return self._queue.dropped

    @property
    def dropped_at_end(self) -> int:
        """Messages dropped after the last one that was queued, of which no number shows the gap."""
        return self._queue.dropped_at_end

    def hold(self, *, on: bool) -> None:
        """Ask senders that can wait to hold, from the next read on, however little waits here; or to go on."""
        self._asked_to_hold = on

    def listen(self) -> None:
        """Subscribe: from now on messages arrive and are queued. A second call does nothing."""
        if not self._started:
            for socket in self._sockets:
                socket.listen()
            self._thread.start()

    def receive(self, timeout: float) -> list[Item | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Never raises for what a sender does: messages rejected make one REJECTED event that counts them, at most four
        times a second; a connection that was lost and is back makes one RECONNECTED.

        Raises
        ------
        BaseException : the error that ended the reading thread, at every call.
        """
        now = monotonic()
        deadline = now + timeout
        found: list[tuple[Item | Event, float]] = []  # and when it arrived
        while self._sockets:
            self._collect(max(0.0, min(deadline - now, _REPORT_INTERVAL)), found)
            now = monotonic()
            if not found and self._unused and now - self._unused_at >= _END_DELAY:
                found += ((end, now) for end in self._unused.take_ends())
            if not found and self._held and now - self._came_at >= _END_DELAY:
                for item in self._held.flush():
                    self._find(item, self._came_at, found)
            self._report(now, found)
            if found or now >= deadline:
                break
        self.waited = [now - arrived for _, arrived in found]
        return [item for item, _ in found]

    def receive_newest(self, topic: bytes) -> list[Item | Event]:
        """Return what has arrived, without waiting; of the messages of each topic with this prefix only the newest.

        The others are not decoded. Raises as `receive`.
        """
        found: list[tuple[Item | Event, float]] = []
        if self._sockets:
            self._collect(0.0, found, topic)
            self._report(monotonic(), found)
        return [item for item, _ in found]

    def _collect(self, timeout: float, found: list[tuple[Item | Event, float]], topic: bytes | None = None) -> None:
        number = size = 0
        newest: dict[bytes, Message] = {}
        # without a topic the sockets are read once: messages that come meanwhile are for the next call
        while topic is not None or not number or self._queue:
            item = self._next_item(timeout)
            if item is None:
                break
            number += 1
            if not isinstance(item, Message):
                found.append((self._event(item[0], 0, item[1]), monotonic()))
            elif topic is not None and item.frames[0].startswith(topic):
                newest[item.frames[0]] = item
            else:
                self._accept(item, found)
                size += item.size
            if topic is None and (number == _DECODE_BATCH or size >= _DECODE_BYTES):
                break
        for item in newest.values():
            self._accept(item, found)

    def _accept(self, arrival: Message, found: list[tuple[Item | Event, float]]) -> None:
        if arrival.dropped is not None:
            self._add_unused(arrival, self._drops)
            return
        try:
            items = self._decode(arrival.frames, arrival.origin)
        except ValueError as problem:
            self._rejections.messages += 1
            self._rejections.reason = self._rejections.reason or str(problem)
            self._add_unused(arrival, self._rejections, shown=not isinstance(problem, OtherSenderError))
            return
        arrival.socket.reset_backoff()
        for item in items:
            self._find(item, arrival.time, found)

    def _find(self, item: Item | Event, arrived: float, found: list[tuple[Item | Event, float]]) -> None:
        """Add an item to those that were found."""
        if isinstance(item, _NUMBERED):
            self._time, self._index = item.time, item.index
        if not isinstance(item, Event) and self._unused is not None and (end := self._unused.use(item)) is not None:
            found.append((end, arrived))
        found.append((item, arrived))

    def _add_unused(self, message: Message, count: _UnusedCount, *, shown: bool = True) -> None:
        if self._unused is not None:
            samples = self._unused.add(message.frames, message.dropped)
            count.add(samples if shown else UnusedSamples(0, sum(samples)))
            self._unused_at = message.time

    def _report(self, now: float, found: list[tuple[Item | Event, float]]) -> None:
        if now - self._last_report < _REPORT_INTERVAL:
            return
        drops, self._dropped_reported = self._dropped_reported, (self._queue.dropped, self._queue.dropped_rows)
        self._drops.messages = self._dropped_reported[0] - drops[0]
        self._drops.shown = max(0, self._dropped_reported[1] - drops[1] - self._drops.unshown)
        for count in (self._rejections, self._drops):
            if count.messages or count.unshown:
                kind = EventKind.REJECTED
                found.append((self._event(kind, count.messages, count.text(), count.unshown), now))
                self._last_report = now
        self._rejections, self._drops = _UnusedCount(), _UnusedCount(reason=self._drops.reason)

    def _event(self, kind: EventKind, count: int, detail: str, samples: int = 0) -> Event:
        """Return an event at the newest sample: only the sender's clock is recorded."""
        return Event(kind, self._time, self._index, count, detail, samples=samples)

    @property
    def _started(self) -> bool:
        return self._thread.ident is not None

    def _next_item(self, timeout: float) -> Message | ConnectionEvent | None:
        """Return the next item of the queue; wait up to `timeout` s for it; None if nothing came."""
        if not self._queue and self._started:
            with self._reading:
                if not self._queue and not self._stop.is_set():
                    self._read(timeout)
                    if not self._queue:
                        self._queue.put_heads()
        return self._queue.get()

    def _run(self) -> None:
        try:
            pause = _POLL_INTERVAL
            while not self._stop.wait(pause):
                if self._reading.acquire(blocking=False):
                    try:
                        self._read_batches(None)
                    finally:
                        self._reading.release()
                pause = _QUIET_INTERVAL if monotonic() - self._came_at > _QUIET_TIME else _POLL_INTERVAL
        except BaseException as problem:  # noqa: BLE001  raised by `receive`
            self._queue.put_event(problem)

    def _read(self, timeout: float) -> None:
        """Queue the messages that have arrived; if there are none, wait up to `timeout` s for one."""
        queued = len(self._queue)
        # they may have arrived just after the last read
        self._read_batches(self._empty_at)
        if timeout > 0.0 and len(self._queue) == queued:
            if len(self._sockets) == 1:
                # the usual case; cheaper than a poll
                frames = self._sockets[0].wait(round(1000.0 * timeout))
                if frames is not None:
                    self._came_at = monotonic()
                    self._queue.put(frames, self._sockets[0], self._came_at)
            else:
                self._poller.poll(round(1000.0 * timeout))
                self._read_batches(None)

    def _read_batches(self, arrived: float | None) -> None:
        """Queue messages with the time `arrived`, or that of reading; check the connections."""
        self._turn = self._running()
        if (pause := self._running.take_pause()) and self._reports_pauses:
            self._queue.put_event((EventKind.NOTE, _PAUSED.format(pause)))
        for _ in range(_MAX_BATCHES):
            if not self._read_batch(arrived):
                break
        self._update_hold()
        now = monotonic()
        if now - self._last_check >= _CHECK_INTERVAL:
            self._last_check = now
            for socket in self._sockets:
                for event in socket.check_connection():
                    self._queue.put_event(event)

    def _read_batch(self, arrived: float | None) -> bool:
        """Queue a batch from every socket; return whether there may be more."""
        now, more = monotonic(), False
        for socket in self._sockets:
            count = 0
            for frames in socket.messages(_READ_BATCH):
                self._queue.put(frames, socket, now if arrived is None else arrived)
                count += 1
            self._came_at = now if count else self._came_at
            flood = self._floods[socket]
            if count < _READ_BATCH:
                flood.reset(self._running.paused)
                continue
            more = True
            began, self._turn = self._turn, self._running()
            flood.add(count, self._turn - began)
            if flood.excessive(self._running.paused):
                # the receive queue of libzmq has no other limit, and does not say how many messages it has
                peer = socket.disconnect()
                self._queue.put_event((EventKind.REJECTED, f"{socket.url}: {flood.text(peer)}"))
                flood.reset(self._running.paused)
        if not more:
            self._empty_at = now
        return more

    def _update_hold(self) -> None:
        # hysteresis: it ends at half of the limits
        share = 0.5 if self._holding else 1.0
        many = len(self._queue) > share * self._hold_at
        much = self._queue.n_bytes > share * self._queue.max_bytes / 4
        if (many or much or self._asked_to_hold) is not self._holding:
            self._holding = not self._holding
            for socket in self._sockets:
                socket.hold(on=self._holding)

    def close(self) -> None:
        """Close the sockets, and the context unless it is the caller's; a second call does nothing."""
        self._stop.set()
        if self._started:
            self._thread.join()
        with self._reading:
            pass  # wait for a `receive` in another thread
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()
        if self._own_context:
            self._context.destroy(linger=0)

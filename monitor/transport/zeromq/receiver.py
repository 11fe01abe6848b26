"""Several watched subscriptions read as one, with what cannot be read counted instead of raised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Generic, TypeVar

import zmq

from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.transport.base import TransportError
from monitor.transport.zeromq.reading import Arrival, Reading
from monitor.transport.zeromq.subscriber_socket import LinkSettings, SubscriberSocket
from monitor.wire.native import Frames

_BATCH, _BATCH_BYTES = 256, 1 << 23  # taken in one go
_REPORT_EVERY = 0.25
_OVERRUN = "more came than this program could take: what was over {} MB was dropped"

Item = TypeVar("Item")
Found = tuple[Item | Event, float]  # and when it arrived, s on the monotonic clock


class Receiver(Generic[Item]):
    """Read messages from any number of endpoints.

    Parameters
    ----------
    read : gives what is in a message that came from the endpoint named second; raises ValueError, as a
        rule `WireError`, for a message that is refused.
    connect, bind : endpoints; at least one.
    settings : how to subscribe.
    context : of the caller, who then terminates it; by default an own one.
    listening : from the start, or from `listen` on.

    Raises
    ------
    TransportError : there is no endpoint, or one that cannot be used.
    """

    def __init__(
        self,
        read: Callable[[Frames, str], Iterable[Item]],
        connect: Sequence[str],
        bind: Sequence[str],
        settings: LinkSettings,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        *,
        listening: bool = True,
    ) -> None:
        if not connect and not bind:
            raise TransportError("nothing to listen to: give an endpoint to connect to or to bind")
        self._read = read
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._poller = zmq.Poller()
        self._links: list[SubscriberSocket] = []
        self._reading = Reading(self._links, self._poller, settings)
        self._refused, self._reason, self._reported = 0, "", -_REPORT_EVERY
        self._dropped = 0
        self._settings = settings
        self._time, self._index = 0.0, 0
        self._arrivals: list[float] = []
        self._received = 0.0
        try:
            for url, binds in [*((u, True) for u in bind), *((u, False) for u in connect)]:
                link = SubscriberSocket(self._context, self._poller, url, settings, bind=binds, listening=listening)
                self._links.append(link)
        except BaseException:
            self.close()
            raise
        if listening:
            self._reading.start()

    @property
    def endpoints(self) -> tuple[str, ...]:
        """What is bound, with the ports that were found, and then what is connected to."""
        return tuple(link.url for link in self._links)

    @property
    def waiting(self) -> int:
        """How many messages have come and were not received yet."""
        return self._reading.waiting

    @property
    def dropped_last(self) -> int:
        """How many messages were dropped for want of room since the last that was kept."""
        return self._reading.dropped_last

    @property
    def waited(self) -> list[float]:
        """For how long each item of the last `receive` had waited for it, s, since it came out of its socket."""
        return [self._received - arrival for arrival in self._arrivals]

    def listen(self) -> None:
        """Ask for messages: from now on they come, or wait to be received."""
        if not self._reading.started:
            for link in self._links:
                link.listen()
            self._reading.start()

    def receive(self, timeout: float) -> list[Item | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Messages refused make one event at most four times a second, however many there are.
        """
        now = monotonic()
        deadline = now + timeout
        found: list[Found[Item]] = []
        while self._links:
            self._collect(max(0.0, min(deadline - now, _REPORT_EVERY)), found)
            now = monotonic()
            if now - self._reported >= _REPORT_EVERY:
                self._report(now, found)
            if found or now >= deadline:
                break
        self._received, self._arrivals = now, [arrival for _, arrival in found]
        return [item for item, _ in found]

    def _collect(self, timeout: float, found: list[Found[Item]]) -> None:
        size = 0
        for number in range(_BATCH):
            # the sockets are looked at once: what comes meanwhile is for the next time
            item = self._reading.take(timeout) if not number or self._reading.waiting else None
            if item is None:
                return
            if isinstance(item, Arrival):
                self._accept(item, found)
                size += sum(map(len, item.frames))
                if size >= _BATCH_BYTES:
                    return
            else:
                found.append((self._event(item[0], 0, item[1]), monotonic()))

    def _report(self, now: float, found: list[Found[Item]]) -> None:
        if self._refused:
            found.append((self._event(EventKind.REJECTED, self._refused, self._reason), now))
            self._refused, self._reason, self._reported = 0, "", now
        if dropped := self._reading.dropped - self._dropped:
            text = _OVERRUN.format(self._settings.queue_bytes >> 20)
            found.append((self._event(EventKind.REJECTED, dropped, text), now))
            self._dropped, self._reported = self._dropped + dropped, now

    def _accept(self, arrival: Arrival, found: list[Found[Item]]) -> None:
        try:
            items = self._read(arrival.frames, arrival.link.url)
        except ValueError as problem:
            self._refused += 1
            self._reason = self._reason or str(problem)
            return
        arrival.link.praise()
        for item in items:
            if isinstance(item, SignalBlock | ResultBlock):
                self._time, self._index = item.time, item.index
            found.append((item, arrival.time))

    def _event(self, kind: EventKind, count: int, detail: str) -> Event:
        """Stamp an event with where the stream is; the sender's clock is the only one that is recorded."""
        return Event(kind, self._time, self._index, count, detail)

    def close(self) -> None:
        """Leave no socket behind, and no context unless it is the caller's; a second call does nothing."""
        self._reading.close()
        for link in self._links:
            link.close()
        self._links.clear()
        if self._own_context:
            self._context.term()

"""Several watched subscriptions read as one, with what cannot be read counted instead of raised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from time import monotonic
from typing import Generic, TypeVar

import zmq

from monitor.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.transport.endpoint import TransportError
from monitor.transport.link import Link, LinkSettings
from monitor.wire import Frames

_BATCH, _BATCH_BYTES = 256, 1 << 23  # taken in one go from an endpoint
_TICK = 0.1
_REPORT_EVERY = 0.25

Item = TypeVar("Item")


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

    Attributes
    ----------
    more : more was waiting than the last `receive` has returned.

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
        self._links: list[Link] = []
        self._refused, self._reason, self._reported = 0, "", -_REPORT_EVERY
        self._looked = -_TICK
        self._time, self._index = 0.0, 0
        self.more = False
        try:
            for url, binds in [*((u, True) for u in bind), *((u, False) for u in connect)]:
                link = Link(self._context, self._poller, url, settings, bind=binds, listening=listening)
                self._links.append(link)
        except BaseException:
            self.close()
            raise

    @property
    def endpoints(self) -> tuple[str, ...]:
        """What is bound, with the ports that were found, and then what is connected to."""
        return tuple(link.url for link in self._links)

    def listen(self) -> None:
        """Ask for messages: from now on they come, or wait to be received."""
        for link in self._links:
            link.listen()

    def receive(self, timeout: float) -> list[Item | Event]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Messages refused make one event at most four times a second, however many there are.
        """
        now = monotonic()
        deadline = now + timeout
        while self._links:
            found = self._collect(now)
            if found or now >= deadline:
                return found
            self._wait(ceil(1000 * min(deadline - now, _TICK)), found)
            if found:
                return found
            now = monotonic()
        return []

    def _wait(self, milliseconds: int, found: list[Item | Event]) -> None:
        if len(self._links) > 1:
            self._poller.poll(milliseconds)
            return
        # one link, as a rule: what comes is handed on at once, without a look for more
        frames = self._links[0].wait(milliseconds)
        if frames is not None:
            self._accept(self._links[0], frames, found)

    def _collect(self, now: float) -> list[Item | Event]:
        found: list[Item | Event] = []
        look = now >= self._looked + _TICK
        self.more = False
        for link in self._links:
            if look:
                found += [self._event(kind, 0, detail) for kind, detail in link.notices()]
            taken = size = 0
            for frames in link.messages(_BATCH):
                self._accept(link, frames, found)
                taken, size = taken + 1, size + sum(map(len, frames))
                if size >= _BATCH_BYTES:
                    break
            self.more |= taken == _BATCH or size >= _BATCH_BYTES
        if look:
            self._looked = now
        if self._refused and now - self._reported >= _REPORT_EVERY:
            found.append(self._event(EventKind.REJECTED, self._refused, self._reason))
            self._refused, self._reason, self._reported = 0, "", now
        return found

    def _accept(self, link: Link, frames: Frames, found: list[Item | Event]) -> None:
        try:
            items = self._read(frames, link.url)
        except ValueError as problem:
            self._refused += 1
            self._reason = self._reason or str(problem)
            return
        link.praise()
        for item in items:
            if isinstance(item, SignalBlock | ResultBlock):
                self._time, self._index = item.time, item.index
            found.append(item)

    def _event(self, kind: EventKind, count: int, detail: str) -> Event:
        """Stamp an event with where the stream is; the sender's clock is the only one that is recorded."""
        return Event(kind, self._time, self._index, count, detail)

    def close(self) -> None:
        """Leave no socket behind, and no context unless it is the caller's; a second call does nothing."""
        for link in self._links:
            link.close()
        self._links.clear()
        if self._own_context:
            self._context.term()

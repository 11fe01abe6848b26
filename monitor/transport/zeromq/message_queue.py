"""Queue of messages that were read from their sockets, bounded in bytes."""

from __future__ import annotations

import math
from queue import Empty, SimpleQueue
from typing import NamedTuple

from monitor.transport.zeromq.subscriber_socket import ConnectionEvent, SubscriberSocket
from monitor.wire.native import Frames, claimed_rows

_OVERHEAD = 200  # bytes of a message in addition to its frames
_MAX_HEADS = 64


class Origin(NamedTuple):
    """Where a message comes from: its endpoint, the number of the connection, and when it arrived, s, monotonic."""

    url: str
    peer: int = 0
    arrived: float = math.nan


class Message(NamedTuple):
    """Frames, the socket that received them, the time of arrival within 10 ms (s, monotonic), and bytes in memory.

    A dropped one has no payload, and stands for those dropped before it with the same header: `dropped` rows.
    """

    frames: Frames
    socket: SubscriberSocket
    time: float
    size: int
    dropped: int | None = None
    peer: int = 0

    @property
    def origin(self) -> Origin:
        """Where it comes from."""
        return Origin(self.socket.url, self.peer, self.time)


class MessageQueue:
    """Messages, and events of connections, between the thread that reads sockets and the one that receives.

    A message beyond `max_bytes` is dropped. Of numbered ones the newest header and position are queued before the
    next message that is not dropped, or by `put_heads`: they show where a stream ended.

    Parameters
    ----------
    max_bytes : of all messages together.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.dropped = self.dropped_rows = 0
        """Messages that were dropped, and rows of those that are numbered."""
        self.dropped_at_end = 0
        """Messages without numbers that were dropped after the last one that was queued."""
        self._queue: SimpleQueue[Message | ConnectionEvent | BaseException] = SimpleQueue()
        self._heads: dict[bytes, Message] = {}  # of dropped messages, by topic
        self._bytes_in = self._bytes_out = 0

    def __len__(self) -> int:
        return self._queue.qsize()

    @property
    def heads(self) -> int:
        """Streams of which the newest message was dropped."""
        return len(self._heads)

    @property
    def n_bytes(self) -> int:
        """Of the messages that are queued."""
        return self._bytes_in - self._bytes_out

    def put(self, frames: Frames, socket: SubscriberSocket, arrived: float) -> None:
        """Queue a message, or drop it."""
        message = Message(frames, socket, arrived, _size(frames), None, socket.peer)
        if self.n_bytes + message.size <= self.max_bytes:
            if self._heads:
                self.put_heads()
            self.dropped_at_end = 0
            self._put(message)
            return
        self.dropped += 1
        if (rows := claimed_rows(frames)) is None:
            self.dropped_at_end += 1
        else:
            self.dropped_rows += rows
            self._store_head(Message(frames[:3], socket, arrived, _size(frames[:3]), rows), rows)

    def _store_head(self, head: Message, rows: int) -> None:
        former = self._heads.get(head.frames[0])
        if former is not None and former.frames[1] != head.frames[1]:
            self.put_heads()
        elif former is not None:
            head = head._replace(dropped=rows + (former.dropped or 0))
        if former is not None or len(self._heads) < _MAX_HEADS:
            self._heads[head.frames[0]] = head

    def put_heads(self) -> None:
        """Queue what shows where the streams of dropped messages end."""
        for message in self._heads.values():
            self._put(message)
        self._heads.clear()

    def put_event(self, event: ConnectionEvent | BaseException) -> None:
        """Queue an event, or the error that ends reading."""
        self._queue.put(event)

    def _put(self, message: Message) -> None:
        self._bytes_in += message.size
        self._queue.put(message)

    def get(self) -> Message | ConnectionEvent | None:
        """Return the next one, None if there is none; raises an error that ended reading, at every call."""
        try:
            item = self._queue.get_nowait()
        except Empty:
            return None
        if isinstance(item, BaseException):
            # for the next call too
            self._queue.put(item)
            raise item
        if isinstance(item, Message):
            self._bytes_out += item.size
        return item


def _size(frames: Frames) -> int:
    return _OVERHEAD + sum(map(len, frames))

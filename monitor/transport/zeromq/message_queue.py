"""Messages that were read from their sockets: a queue bounded in bytes, and what unused ones say of their samples."""

from __future__ import annotations

import math
from queue import Empty, SimpleQueue
from typing import NamedTuple

from monitor.messages.blocks import SignalBlock
from monitor.transport.zeromq.subscriber_socket import ConnectionEvent, SubscriberSocket
from monitor.wire.native import Decoder, Frames, WireError, claimed_rows
from monitor.wire.plain import decode_frames

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


MAX_RIGS = 64
_CLOCK_TOLERANCE = 0.1  # s between time and number of a message, beyond which neither is believed


class UnusedSamples(NamedTuple):
    """Samples that a gap in the numbers shows, and those that none will show."""

    shown: int = 0
    unshown: int = 0


class UnusedMessages:
    """Count the samples of unused messages, and find where native streams end.

    A native sender numbers its samples: what an unused message had is a gap before the next used one, and is counted
    as lost there. Where no other follows, an empty block with the next number, like a heartbeat, shows the gap. A
    message is believed if its header is that of the stream, and its time agrees with its number.
    Plain samples without number and time are shown by nothing, nor are those before a stream's first used message.

    Parameters
    ----------
    rig : the only one that counts; empty for all.
    """

    def __init__(self, rig: str = "") -> None:
        self._rig = rig
        self._decoder = Decoder()
        self._newest: dict[str, SignalBlock] = {}  # used block of each rig
        self._ends: dict[str, SignalBlock] = {}  # those that are beyond it

    def __len__(self) -> int:
        return len(self._ends)

    def use(self, block: SignalBlock) -> SignalBlock | None:
        """Note a block that is used; return the end of the stream before it, where it begins another one."""
        rig = block.stream.rig
        if rig in self._newest or len(self._newest) < MAX_RIGS:
            self._newest[rig] = block
        end = self._ends.pop(rig, None) if self._ends else None
        return end if end is not None and end.stream != block.stream else None

    def add(self, frames: Frames, rows: int | None = None) -> UnusedSamples:
        """Count the samples of a message that is not used, as far as it can be read.

        Parameters
        ----------
        frames : of the message; the payload may be absent.
        rows : of this message and those before it for which it stands; by default its own.
        """
        try:
            block = self._decoder.outline(frames)
        except WireError:
            return _plain_samples(frames)
        rig, rows = block.stream.rig, len(block) if rows is None else rows
        if self._rig not in ("", rig):
            return UnusedSamples()
        newest = self._newest.get(rig)
        if newest is None or newest.stream != block.stream:
            return UnusedSamples(0, rows)
        # the later one is right: numbers only increase
        if _is_believed(block, newest) or _is_believed(block, self._ends.get(rig, newest)):
            self._ends[rig] = block.tail(len(block))
        return UnusedSamples(rows)

    def take_ends(self) -> list[SignalBlock]:
        """Return an empty block for each stream that ends with unused messages, once."""
        ends, self._ends = list(self._ends.values()), {}
        return ends


def _plain_samples(frames: Frames) -> UnusedSamples:
    try:
        messages = decode_frames(frames)
    except WireError:
        return UnusedSamples()
    shown = sum(len(each) for each in messages if each.index is not None or each.times)
    return UnusedSamples(shown, sum(map(len, messages)) - shown)


def _is_believed(block: SignalBlock, before: SignalBlock) -> bool:
    """Whether an unused block is what follows `before` in its stream."""
    ahead, dt = block.index - before.index - len(before), before.stream.dt
    off = block.time - before.time - (block.index - before.index) * dt
    return ahead == 0 or (ahead > 0 and abs(off) <= max(_CLOCK_TOLERANCE, 2.5 * dt, 0.05 * ahead * dt))

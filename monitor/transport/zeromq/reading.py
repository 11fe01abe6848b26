"""Reading sockets so that what waits is ours to count, to bound and to announce: as it comes, or now and then."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import NamedTuple

import zmq

from monitor.messages.blocks import EventKind
from monitor.transport.zeromq.endpoint import MESSAGES_PER_SECOND
from monitor.transport.zeromq.subscriber_socket import LinkSettings, Notice, SubscriberSocket
from monitor.wire.native import Frames

_BATCH = 256
_MOST_BATCHES = 40  # in one go
_TURN = 0.01  # s between looks of the thread
_LOOK = 0.1  # s between looks at the connections
_OVERWHELMED = 3.0  # s without a pause in what comes
_FLOOD = "messages come faster than they can be read: whoever sends here was cut off, and may come again"
_OVERHEAD = 200  # bytes of a message beside its frames


class Arrival(NamedTuple):
    """A message: its frames, the link that it came by, and when within 10 ms, s on the monotonic clock."""

    frames: Frames
    link: SubscriberSocket
    time: float


class Reading:
    """Read links from `start` on.

    Whoever takes reads the sockets himself, so that a message has no thread between it and him; while he is busy
    with something else, a thread empties them a hundred times a second.

    While more than `queue_seconds` of messages wait, senders that heed it are asked to hold (`HOLD`); a message that
    would make it more than `queue_bytes` is dropped and counted. Whoever sends faster than can be read, for seconds,
    is cut off.

    Parameters
    ----------
    links : none of their methods is called by anybody else between `start` and `close`.
    poller : which they are registered with.
    settings : theirs.
    """

    def __init__(self, links: Sequence[SubscriberSocket], poller: zmq.Poller, settings: LinkSettings) -> None:
        self._links, self._poller = links, poller
        self._hold_at = max(1, int(settings.queue_seconds * MESSAGES_PER_SECOND))
        self._most = settings.queue_bytes
        self._queue: SimpleQueue[Arrival | Notice | BaseException] = SimpleQueue()
        self._came = self._went = 0  # bytes
        self.dropped = 0
        self.dropped_last = 0
        """Messages dropped since the last that was kept: none after them shows that they are missing."""
        self._holding = False
        self._looked = -_LOOK
        self._empty_at = monotonic()  # when the sockets were last found empty
        self._caught_up: dict[int, float] = defaultdict(monotonic)
        # held by the one of the two threads that reads the sockets, which makes it safe to do so in turn
        self._sockets = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reading", daemon=True)

    @property
    def started(self) -> bool:
        """It reads, or has read."""
        return self._thread.ident is not None

    @property
    def waiting(self) -> int:
        """How many messages have been read and were not taken yet."""
        return self._queue.qsize()

    def start(self) -> None:
        """Read from now on."""
        self._thread.start()

    def take(self, timeout: float) -> Arrival | Notice | None:
        """Return the next of what has come; wait up to `timeout` s for it; None if nothing came.

        Raises
        ------
        BaseException : whatever ended the thread, every time.
        """
        if not self._queue.qsize() and self.started:
            with self._sockets:
                if not self._queue.qsize() and not self._stop.is_set():
                    self._read(timeout)
        try:
            item = self._queue.get_nowait()
        except Empty:
            return None
        if isinstance(item, BaseException):
            # for whoever takes next, too
            self._queue.put(item)
            raise item
        if isinstance(item, Arrival):
            self._went += _size(item.frames)
        return item

    def _run(self) -> None:
        try:
            while not self._stop.wait(_TURN):
                if self._sockets.acquire(blocking=False):
                    try:
                        self._read_batches(None)
                    finally:
                        self._sockets.release()
        except BaseException as problem:  # noqa: BLE001  raised where messages are taken, instead of a silence
            self._queue.put(problem)

    def _read(self, timeout: float) -> None:
        """Queue what has come; where nothing has, wait up to `timeout` s for the next."""
        queued = self._queue.qsize()
        # what has come may have come just after the last look
        self._read_batches(self._empty_at)
        if timeout > 0.0 and self._queue.qsize() == queued:
            if len(self._links) == 1:
                # as a rule; cheaper than a poll
                frames = self._links[0].wait(round(1000.0 * timeout))
                if frames is not None:
                    self._put(frames, self._links[0], monotonic())
            else:
                self._poller.poll(round(1000.0 * timeout))
                self._read_batches(None)

    def _read_batches(self, arrived: float | None) -> None:
        """Queue what has come, at `arrived` or when it is read; tend to the links."""
        for _ in range(_MOST_BATCHES):
            if not self._read_batch(arrived):
                break
        self._hold()
        now = monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            for link in self._links:
                for notice in link.notices():
                    self._queue.put(notice)

    def _read_batch(self, arrived: float | None) -> bool:
        """Queue a batch from every link; return whether there may be more."""
        now, more = monotonic(), False
        for number, link in enumerate(self._links):
            batch = list(link.messages(_BATCH))
            for frames in batch:
                self._put(frames, link, now if arrived is None else arrived)
            if len(batch) < _BATCH:
                self._caught_up[number] = now
                continue
            more = True
            if now - self._caught_up[number] > _OVERWHELMED:
                # what waits within libzmq has no other limit
                link.cut()
                self._caught_up[number] = now
                self._queue.put((EventKind.NOTE, f"{link.url}: {_FLOOD}"))
        if not more:
            self._empty_at = now
        return more

    def _put(self, frames: Frames, link: SubscriberSocket, arrived: float) -> None:
        size = _size(frames)
        if self._came + size - self._went > self._most:
            self.dropped += 1
            self.dropped_last += 1
            return
        self.dropped_last = 0
        self._came += size
        self._queue.put(Arrival(frames, link, arrived))

    def _hold(self) -> None:
        # half of what it was asked for ends it again
        share = 0.5 if self._holding else 1.0
        many = self._queue.qsize() > share * self._hold_at
        much = self._came - self._went > share * self._most / 4
        if (many or much) is not self._holding:
            self._holding = not self._holding
            for link in self._links:
                link.hold(on=self._holding)

    def close(self) -> None:
        """Read no more; what waits is forgotten. A second call does nothing."""
        self._stop.set()
        if self.started:
            self._thread.join()
        with self._sockets:
            pass  # whoever reads has ended


def _size(frames: Frames) -> int:
    return _OVERHEAD + sum(map(len, frames))

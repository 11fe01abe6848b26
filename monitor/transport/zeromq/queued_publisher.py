"""Publish without blocking: at once where possible, else by a thread with a queue."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Protocol

from monitor.messages import Sink
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.wire.native import Frames

_MAX_WAITING = 2000  # messages; they wait only while libzmq is busy with subscriptions
_JOIN_TIMEOUT = 1.0  # s


class Publisher(Protocol):
    """What sinks publish by."""

    @property
    def url(self) -> str:
        """Where it is bound, with its port, or the address of a stream."""

    @property
    def dropped(self) -> int:
        """Messages that were dropped before any subscriber got them."""

    @property
    def fault(self) -> str:
        """What is wrong, in one line; empty: nothing."""

    def send(self, frames: Frames) -> None:
        """Send without blocking."""

    def close(self, linger: float = 0.0) -> None:
        """Close, after up to `linger` s for what is queued."""


class PublisherSink(Sink):
    """Base class of sinks with one publisher, whose address, losses and faults are theirs."""

    _publisher: Publisher

    @property
    def endpoint(self) -> str:
        """Where it publishes: bound with its port, or the address of a stream."""
        return self._publisher.url

    @property
    def dropped(self) -> int:
        """Messages that were dropped before any subscriber got them."""
        return self._publisher.dropped

    @property
    def fault(self) -> str:
        """What is wrong with the publisher, in one line; empty: nothing."""
        return self._publisher.fault


class QueuedPublisher:
    """Publish by `publisher` without blocking.

    Parameters
    ----------
    publisher : used by this object alone, and closed with it.
    """

    def __init__(self, publisher: PublisherSocket | PublisherProcess) -> None:
        self._publisher = publisher
        self._queue: SimpleQueue[Frames] = SimpleQueue()
        self._rejected = self._unsent = 0
        self._linger = 0.0
        self._closed = False
        self._error = ""  # why the thread has failed
        # held while sending, which keeps the order of the messages
        self._sending = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is bound, with its port."""
        return self._publisher.url

    @property
    def dropped(self) -> int:
        """Messages that were dropped before any subscriber got them."""
        return self._rejected + self._unsent + self._publisher.lost

    @property
    def fault(self) -> str:
        """Failures of the thread and of the publisher, and dropped messages, in one line; empty: nothing."""
        lost = f"some messages to be published at {self.url} were dropped" if self.dropped else ""
        return "; ".join(filter(None, (self._error, self._publisher.fault, lost)))

    def send(self, frames: Frames) -> None:
        """Send now if that does not block, else queue; if the queue is full the message is dropped."""
        if self._closed or self._error:
            self._rejected += 1
        elif not self._send_now(frames):
            if self._queue.qsize() >= _MAX_WAITING:
                self._rejected += 1
            else:
                self._queue.put(frames)
                self._wake.set()
        elif self._publisher.busy:
            self._wake.set()

    def _send_now(self, frames: Frames) -> bool:
        if self._queue.qsize() or not self._sending.acquire(blocking=False):
            return False
        try:
            return not self._queue.qsize() and self._publisher.try_send(frames)
        finally:
            self._sending.release()

    def _run(self) -> None:
        try:
            pause = 0.0
            while not (self._closed and not self._queue.qsize()):
                self._wake.wait(pause)
                self._wake.clear()
                with self._sending:
                    pause = self._publisher.maintain()
                    while self._queue.qsize():
                        if not self._publisher.send(self._queue.get_nowait()):
                            self._unsent += 1
        except Exception as problem:  # noqa: BLE001  reported by `fault`
            why = f"{type(problem).__name__}: {problem}"
            self._error = f"nothing is published at {self.url} any more: {why}; restart the service"
            self._unsent += 1 + self._queue.qsize()
        self._publisher.close(self._linger)

    def close(self, linger: float = 0.0) -> None:
        """Send what is queued and close; wait at most `linger` s for the queues of subscribers.

        A second call does nothing.
        """
        if not self._closed:
            self._closed, self._linger = True, linger
            self._wake.set()
            self._thread.join(linger + _JOIN_TIMEOUT)
            if self._thread.is_alive():
                # it is blocked, perhaps for good
                self._publisher.kill()

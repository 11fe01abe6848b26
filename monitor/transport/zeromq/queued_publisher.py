"""Publishing without waiting: at once where that is possible, else by a thread with a queue."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import BUSY_INTERVAL, PublisherSocket
from monitor.wire.native import Frames

_MAX_WAITING = 2000  # messages; only while libzmq is busy with what subscribers ask for do any wait
_IDLE_INTERVAL = 0.05  # s between looks at subscriptions
_JOIN_TIMEOUT = 1.0  # s


class QueuedPublisher:
    """Publish by `publisher`, which is nobody else's from now on.

    Parameters
    ----------
    publisher : closed with this.
    """

    def __init__(self, publisher: PublisherSocket | PublisherProcess) -> None:
        self._publisher = publisher
        self._queue: SimpleQueue[Frames] = SimpleQueue()
        self._refused = self._unsent = 0
        self._linger = 0.0
        self._closed = False
        self._error = ""  # why the thread has ended before it was to
        # held by whoever offers to the publisher, in the order of the messages
        self._free = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What is bound, with its port."""
        return self._publisher.url

    @property
    def dropped(self) -> int:
        """Messages that were sent to nobody."""
        return self._refused + self._unsent

    @property
    def fault(self) -> str:
        """What subscribers have done, what ended it and whether all was sent, in one line; empty: nothing."""
        lost = f"some of what was to be published at {self.url} was dropped" if self.dropped else ""
        return "; ".join(filter(None, (self._error, self._publisher.fault, lost)))

    def send(self, frames: Frames) -> None:
        """Send now where that does not wait, else soon; where too much waits already it is dropped and counted."""
        if self._closed or self._error:
            self._refused += 1
        elif not self._sent_now(frames):
            if self._queue.qsize() >= _MAX_WAITING:
                self._refused += 1
            else:
                self._queue.put(frames)
                self._wake.set()

    def _sent_now(self, frames: Frames) -> bool:
        if self._queue.qsize() or not self._free.acquire(blocking=False):
            return False
        try:
            return not self._queue.qsize() and self._publisher.try_send(frames)
        finally:
            self._free.release()

    def _run(self) -> None:
        try:
            changed = False
            while not (self._closed and not self._queue.qsize()):
                self._wake.wait(BUSY_INTERVAL if changed else _IDLE_INTERVAL)
                self._wake.clear()
                with self._free:
                    changed = self._publisher.maintain()
                    while self._queue.qsize():
                        if not self._publisher.send(self._queue.get_nowait()):
                            self._unsent += 1
        except Exception as problem:  # noqa: BLE001  told to who asks, instead of a silence
            why = f"{type(problem).__name__}: {problem}"
            self._error = f"nothing is published at {self.url} any more: {why}; start the service again"
            self._unsent += 1 + self._queue.qsize()
        self._publisher.close(self._linger)

    def close(self, linger: float = 0.0) -> None:
        """Send what waits and close; wait at most `linger` s for what subscribers have not taken.

        A second call does nothing.
        """
        if not self._closed:
            self._closed, self._linger = True, linger
            self._wake.set()
            self._thread.join(linger + _JOIN_TIMEOUT)
            if self._thread.is_alive():
                # it is held up, for good perhaps
                self._publisher.kill()

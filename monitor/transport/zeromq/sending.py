"""Publishing from the thread that has something to say, or where that would wait, from one of its own."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import AT_ONCE, PublisherSocket
from monitor.wire.native import Frames

_WAITING = 2000  # messages; only while libzmq is busy with what subscribers ask for do any wait
_TURN = 0.05  # s between looks at what is asked for
_GRACE = 1.0  # s


class Sending:
    """Publish by `outlet`, which is nobody else's from now on.

    Parameters
    ----------
    outlet : closed with this.
    """

    def __init__(self, outlet: PublisherSocket | PublisherProcess) -> None:
        self._outlet = outlet
        self._queue: SimpleQueue[Frames] = SimpleQueue()
        self._refused = self._unsent = 0
        self._linger = 0.0
        self._closed = False
        self._end = ""  # why the thread has ended before it was to
        # held by whoever offers to the outlet, in the order of the messages
        self._outlet_free = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sending", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What is bound, with its port."""
        return self._outlet.url

    @property
    def dropped(self) -> int:
        """Messages that were sent to nobody."""
        return self._refused + self._unsent

    @property
    def trouble(self) -> str:
        """What subscribers have done, what ended it and whether all was sent, in one line; empty: nothing."""
        lost = f"some of what was to be published at {self.url} was dropped" if self.dropped else ""
        return "; ".join(filter(None, (self._end, self._outlet.trouble, lost)))

    def offer(self, frames: Frames) -> None:
        """Send now where that does not wait, else soon; where too much waits already it is dropped and counted."""
        if self._closed or self._end:
            self._refused += 1
        elif not self._sent_at_once(frames):
            if self._queue.qsize() >= _WAITING:
                self._refused += 1
            else:
                self._queue.put(frames)
                self._wake.set()

    def _sent_at_once(self, frames: Frames) -> bool:
        if self._queue.qsize() or not self._outlet_free.acquire(blocking=False):
            return False
        try:
            return not self._queue.qsize() and self._outlet.offer_at_once(frames)
        finally:
            self._outlet_free.release()

    def _run(self) -> None:
        try:
            asked = False
            while not (self._closed and not self._queue.qsize()):
                self._wake.wait(AT_ONCE if asked else _TURN)
                self._wake.clear()
                with self._outlet_free:
                    asked = self._outlet.tend()
                    while self._queue.qsize():
                        if not self._outlet.offer(self._queue.get_nowait()):
                            self._unsent += 1
        except Exception as problem:  # noqa: BLE001  told to who asks, instead of a silence
            why = f"{type(problem).__name__}: {problem}"
            self._end = f"nothing is published at {self.url} any more: {why}; start the service again"
            self._unsent += 1 + self._queue.qsize()
        self._outlet.close(self._linger)

    def close(self, linger: float = 0.0) -> None:
        """Send what waits and close; wait at most `linger` s for what subscribers have not taken.

        A second call does nothing.
        """
        if not self._closed:
            self._closed, self._linger = True, linger
            self._wake.set()
            self._thread.join(linger + _GRACE)
            if self._thread.is_alive():
                # it is held up, for good perhaps
                self._outlet.kill()

"""A publishing socket in a process of its own, so that nothing a subscriber does to libzmq ends or fills this one.

What subscribers ask for goes into memory of libzmq that has no limit of its own, unless its input is stopped; and
where the input is stopped, a peer that pings and resets the connection makes libzmq abort. Signals and requests are
read as they come, so that theirs is never stopped. Here it must be, and so it is done elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import msgspec

from monitor.system.worker_process import WorkerProcess, one_piece
from monitor.transport.base import TransportError
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq.publisher_program import BLOCK_FRAMES, SAME, Opened, Settings
from monitor.wire.native import Frames

_PROGRAM = "monitor.transport.zeromq.publisher_program"
_PATIENCE = 5.0  # s in which the process must take what it is given
_STARTED_WITHIN = 20.0  # s, where the disk is slow and nothing is loaded yet
_PAUSE = 1.0  # s between starts


class PublisherProcess:
    """Bind a `PublisherSocket` in another process; where that dies or hangs it is started again.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    queue_seconds : how much may wait for a subscriber that lags.
    linger : s that the last messages have to leave.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    clients : folder of the public keys of who is let in, where there are keys.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used.
    """

    def __init__(
        self,
        bind: str,
        *,
        queue_seconds: float,
        linger: float = 1.0,
        insecure: bool = False,
        security: Keys | None = None,
        clients: Path | None = None,
    ) -> None:
        self._settings = Settings(bind, queue_seconds, insecure, linger)
        if security is not None:
            keys = {"public": security.public, "secret": security.secret, "clients": str(clients or "")}
            self._settings = msgspec.structs.replace(self._settings, **keys)
        self.url = bind
        self._restarts, self._floods, self._refusal = 0, "", ""
        self._closed = False
        self._process = self._start()

    def _start(self) -> WorkerProcess:
        self._started = monotonic()
        self._headers: dict[bytes, bytes] = {}  # by topic, as it was told last
        # the port stays what it was
        settings = msgspec.json.encode(msgspec.structs.replace(self._settings, bind=self.url))
        try:
            process = WorkerProcess(_PROGRAM, settings)
            try:
                opened = msgspec.json.decode(process.answer(_STARTED_WITHIN), type=Opened)
            except BaseException:
                process.close()
                raise
        except (OSError, msgspec.DecodeError) as problem:
            raise TransportError(f"{self.url}: the process that publishes did not start: {problem}") from problem
        if opened.problem:
            process.close()
            raise TransportError(opened.problem)
        self.url = opened.url
        return process

    @property
    def trouble(self) -> str:
        """What became of it, or what subscribers have done, in one line; empty: nothing."""
        again = f"the process that publishes at {self.url} had to be started again ({self._restarts} times)"
        return "; ".join(filter(None, (again if self._restarts else "", self._refusal, self._floods)))

    def tend(self) -> bool:
        """Hear what it has to say, start it anew if it has died, and hand on what was left of a message.

        What is asked for it hears itself: False.
        """
        if said := self._process.lines():
            self._floods = said[-1].decode()
        if self._process.ended and not self._closed and monotonic() - self._started >= _PAUSE:
            self._process.close()
            try:
                self._process = self._start()
            except TransportError as problem:
                self._refusal = str(problem)
            else:
                self._restarts += 1
                self._refusal = ""
        if self._process.busy and not self._process.ended:
            self._process.write(b"", _PATIENCE)
        return False

    def offer_at_once(self, frames: Frames) -> bool:
        """Hand on, at least in part, without waiting; return False if nothing of it was taken."""
        return not self._process.busy and self._told(frames, self._process.offer(self._message(frames)))

    def offer(self, frames: Frames) -> bool:
        """Hand on; wait some seconds where it is busy, and end it if it hangs; return False if it was not taken."""
        self.tend()
        if self._process.ended:
            return False
        return self._told(frames, self._process.write(self._message(frames), _PATIENCE))

    def _message(self, frames: Frames) -> bytes:
        if len(frames) == BLOCK_FRAMES and self._headers.get(frames[0]) is frames[1]:
            # more than half of the results of 64 actuators, and the same every time
            frames = [frames[0], SAME, *frames[2:]]
        return one_piece(frames)

    def _told(self, frames: Frames, taken: bool) -> bool:
        if taken and len(frames) == BLOCK_FRAMES:
            self._headers[frames[0]] = frames[1]
        return taken

    def kill(self) -> None:
        """End it at once."""
        self._closed = True
        self._process.kill()

    def close(self, linger: float = 0.0) -> None:
        """Let the last messages leave for at most so many seconds as it was told, and end it."""
        self._closed = True
        self._process.hang_up()
        self._process.wait(linger + 0.5)
        self._process.close()

"""A publishing socket in a process of its own, so that nothing a subscriber does to libzmq ends or fills this one.

What subscribers ask for goes into memory of libzmq that has no limit of its own, unless its input is stopped; and
where the input is stopped, a peer that pings and resets the connection makes libzmq abort. Signals and requests are
read as they come, so that theirs is never stopped. Here it must be, and so it is done elsewhere.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO

import msgspec

from monitor.transport.curve import Keys
from monitor.transport.endpoint import TransportError
from monitor.transport.outlet_program import LENGTH, Opened, Settings
from monitor.wire import Frames

if sys.platform == "linux":
    import fcntl

POSSIBLE = os.name == "posix"
"""Elsewhere pipes cannot be written to without waiting."""

_PATIENCE = 5.0  # s in which the process must take what it is given
_STARTED_WITHIN = 20.0  # s, where the disk is slow and nothing is loaded yet
_PAUSE = 1.0  # s between starts
_CHUNK = _ROOM = 1 << 20


class OutletProcess:
    """Bind an `Outlet` elsewhere; where it dies or hangs it is started anew, and who is connected comes again.

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
        self._start()

    def _start(self) -> None:
        self._started = monotonic()
        self._left = b""  # of a message that has begun to be handed on
        try:
            # away from the terminal's Ctrl-C: it ends when its input does
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from monitor.transport.outlet_program import main; main()"],
                env=_environment(),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise TransportError(f"{self.url}: the process that publishes did not start: {problem}") from problem
        assert self._process.stdin is not None and self._process.stdout is not None
        self._way, self._back = self._process.stdin, self._process.stdout
        try:
            # the port stays what it was
            self._way.write(msgspec.json.encode(msgspec.structs.replace(self._settings, bind=self.url)) + b"\n")
            if not _ready(self._back, select.POLLIN, _STARTED_WITHIN):
                raise TimeoutError(f"it has not answered for {_STARTED_WITHIN:g} s")
            said = self._back.readline()
            opened = msgspec.json.decode(said, type=Opened)
        except (OSError, msgspec.DecodeError) as problem:
            self._end()
            raise TransportError(f"{self.url}: the process that publishes did not start: {problem}") from problem
        except BaseException:
            self._end()
            raise
        if opened.problem:
            self._end()
            raise TransportError(opened.problem)
        self.url = opened.url
        for each in (self._way, self._back):
            os.set_blocking(each.fileno(), False)
        if sys.platform == "linux":
            # room for the results of 64 actuators; a user may be out of what all pipes may have together
            with suppress(OSError):
                fcntl.fcntl(self._way, fcntl.F_SETPIPE_SZ, _ROOM)

    @property
    def trouble(self) -> str:
        """What became of it, or what subscribers have done, in one line; empty: nothing."""
        again = f"the process that publishes at {self.url} had to be started again ({self._restarts} times)"
        return "; ".join(filter(None, (again if self._restarts else "", self._refusal, self._floods)))

    def tend(self) -> None:
        """Hear what it has to say, start it anew if it has died, and hand on what was left of a message."""
        said = None if self._back.closed else self._back.read(_CHUNK)
        if said:
            self._floods = said.decode().splitlines()[-1]
        if self._process.poll() is not None and not self._closed and monotonic() - self._started >= _PAUSE:
            self._end()
            try:
                self._start()
            except TransportError as problem:
                self._refusal = str(problem)
            else:
                self._restarts += 1
                self._refusal = ""
        if self._left and self._process.poll() is None:
            self._write(self._left)

    def offer_at_once(self, frames: Frames) -> bool:
        """Hand on, at least in part, without waiting; return False if nothing of it was taken."""
        if self._left:
            return False
        message = _one_piece(frames)
        try:
            written = self._way.write(message) or 0
        except (OSError, ValueError):
            return False
        if 0 < written < len(message):
            self._left = message[written:]
        return written > 0

    def offer(self, frames: Frames) -> bool:
        """Hand on; wait some seconds where it is busy, and end it if it hangs; return False if it was not taken."""
        self.tend()
        return self._process.poll() is None and self._write(self._left + _one_piece(frames))

    def _write(self, message: bytes) -> bool:
        self._left, left = b"", memoryview(message)
        try:
            while left:
                if not _ready(self._way, select.POLLOUT, _PATIENCE):
                    self._process.kill()
                    return False
                left = left[self._way.write(left) or 0 :]
        except BrokenPipeError:
            return False
        return True

    def kill(self) -> None:
        """End it at once."""
        self._closed = True
        self._process.kill()

    def close(self, linger: float = 0.0) -> None:
        """Let the last messages leave for at most so many seconds as it was told, and end it."""
        self._closed = True
        with suppress(OSError):
            self._way.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(linger + 0.5)
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for each in (self._way, self._back):
            with suppress(OSError):
                each.close()


def _one_piece(frames: Frames) -> bytes:
    message = b"".join(LENGTH.pack(len(frame)) + frame for frame in frames)
    return LENGTH.pack(len(message)) + message


def _ready(pipe: IO[bytes], what: int, patience: float) -> bool:
    poller = select.poll()
    poller.register(pipe, what)
    return bool(poller.poll(1000.0 * patience))


def _environment() -> dict[str, str]:
    """Return ours, in which the process finds the same package as this one, whatever the current folder holds."""
    found = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}

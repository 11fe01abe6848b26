"""A worker process of ours, and the messages through the pipe to its standard input."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

if sys.platform == "linux":
    import fcntl

POSSIBLE = os.name == "posix"
"""Elsewhere pipes cannot be written to without waiting."""

_LENGTH = struct.Struct("<I")
_CHUNK = _PIPE_SIZE = 1 << 20
_MAX_LINE = 1 << 16


class WorkerProcess:
    """Start ``main`` of `program`, whose standard input is ours to write; what it prints are lines for us.

    First it is given one line, then messages: the length of all, then each frame after its own length.
    It is away from the terminal's Ctrl-C: it ends when its input does.

    Raises
    ------
    OSError : no process could be started.
    """

    def __init__(self, program: str, first: bytes) -> None:
        self._unwritten = b""  # of a message that was written in part
        self._partial_line = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {program} import main; main()"],
            env=_environment(),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        for each in (self._stdin, self._stdout):
            os.set_blocking(each.fileno(), False)
        if sys.platform == "linux":
            # room for the results of 64 actuators; a user may be out of what all pipes may have together
            with suppress(OSError):
                fcntl.fcntl(self._stdin, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        self._unwritten = first + b"\n"

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """It runs no more."""
        return self._process.poll() is not None

    @property
    def end(self) -> str:
        """How it ended, in a word or two."""
        code = self._process.poll() or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    @property
    def busy(self) -> bool:
        """A part of what it was told has still to be written."""
        return bool(self._unwritten)

    def offer(self, message: bytes) -> bool:
        """Write a message, at least in part, without waiting; return False if nothing of it was taken."""
        if not self.flush():
            return False
        try:
            written = self._stdin.write(message) or 0
        except (OSError, ValueError):
            return False
        if 0 < written < len(message):
            self._unwritten = message[written:]
        return written > 0

    def flush(self, timeout: float = 0.0) -> bool:
        """Write what is left of a message; return False if it was not all taken in so many seconds a piece."""
        while self._unwritten:
            try:
                if timeout and not _ready(self._stdin, select.POLLOUT, timeout):
                    return False
                written = self._stdin.write(self._unwritten) or 0
            except (OSError, ValueError):
                return False
            self._unwritten = self._unwritten[written:]
            if self._unwritten and not timeout:
                return False
        return True

    def write(self, message: bytes, timeout: float) -> bool:
        """Write a message, and return whether it was taken; a process that takes nothing for so long is killed."""
        self._unwritten += message
        taken = self.flush(timeout)
        if not taken:
            self._unwritten = b""
            self.kill()
        return taken

    def answer(self, timeout: float) -> bytes:
        """Wait for the first line that it prints.

        Raises
        ------
        OSError : it did not print one in so many seconds, or ended before.
        """
        if not self.flush(timeout) or not _ready(self._stdout, select.POLLIN, timeout):
            raise TimeoutError(f"it has not answered for {timeout:g} s")
        return next(iter(self.lines()), b"")

    def listen(self, seconds: float) -> None:
        """Wait until it prints something, or ends."""
        _ready(self._stdout, select.POLLIN, seconds)

    def lines(self) -> list[bytes]:
        """Return the lines that it has printed since the last call."""
        said = b"" if self._stdout.closed else self._stdout.read(_CHUNK)
        if not said:
            return []
        *whole, self._partial_line = (self._partial_line + said).split(b"\n")
        self._partial_line = self._partial_line[-_MAX_LINE:]
        return whole

    def close_input(self) -> None:
        """End its input; what it was told before, it takes."""
        with suppress(OSError):
            self._stdin.close()

    def wait(self, timeout: float) -> bool:
        """Wait for its end; return whether it came."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self.ended

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """End it at once, and release the pipes."""
        self._process.kill()
        self._process.wait()
        for each in (self._stdin, self._stdout):
            with suppress(OSError):
                each.close()


def pack_message(frames: Iterable[bytes]) -> bytes:
    """Return a message as it goes through the pipe."""
    message = b"".join(part for frame in frames for part in (_LENGTH.pack(len(frame)), frame))
    return _LENGTH.pack(len(message)) + message


class MessageReader:
    """For the program: what was read and not taken yet, in one piece of memory that is used again and again.

    Parameters
    ----------
    initial : what was read already.
    capacity : bytes at the beginning; it grows with the messages.
    """

    def __init__(self, initial: bytes = b"", capacity: int = 2 * _CHUNK) -> None:
        self._memory = bytearray(max(capacity, len(initial)))
        self._memory[: len(initial)] = initial
        self._start, self._end = 0, len(initial)

    def read(self, descriptor: int) -> int:
        """Read what is there, or wait for it; return how many bytes came, 0 at the end."""
        if self._start == self._end:
            self._start = self._end = 0
        elif 2 * self._end > len(self._memory):
            left = self._memory[self._start : self._end]
            self._start, self._end = 0, len(left)
            if 2 * self._end > len(self._memory):
                self._memory = bytearray(2 * len(self._memory))
            self._memory[: self._end] = left
        with memoryview(self._memory) as memory, memory[self._end :] as free:
            received = os.readv(descriptor, [free])
        self._end += received
        return received

    def messages(self) -> Iterator[list[bytes]]:
        """Take the whole messages out."""
        memory = memoryview(self._memory)
        while self._end - self._start >= _LENGTH.size:
            at = self._start + _LENGTH.size
            end = at + _LENGTH.unpack_from(memory, self._start)[0]
            if self._end < end:
                return
            frames = []
            while at < end:
                stop = at + _LENGTH.size + _LENGTH.unpack_from(memory, at)[0]
                frames.append(bytes(memory[at + _LENGTH.size : stop]))
                at = stop
            self._start = end
            yield frames


def read_first_line() -> tuple[bytes, bytes]:
    """For the program: read the line that comes first; return it and what came behind it."""
    said = b""
    while b"\n" not in said:
        part = os.read(0, _CHUNK)
        if not part:
            raise SystemExit
        said += part
    line, _, rest = said.partition(b"\n")
    return line, rest


def _ready(pipe: IO[bytes], what: int, timeout: float) -> bool:
    poller = select.poll()
    poller.register(pipe, what)
    return bool(poller.poll(1000.0 * timeout))


def _environment() -> dict[str, str]:
    """Return ours, in which the process finds the same package as this one, whatever the current folder holds."""
    found = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}

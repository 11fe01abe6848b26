"""Worker processes: Python programs as child processes, and messages through a pipe to their input."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

if sys.platform == "linux":
    import fcntl

POSSIBLE = os.name == "posix"
"""Other systems have no non-blocking pipes."""

_LENGTH = struct.Struct("<I")
_CHUNK = _PIPE_SIZE = 1 << 20
_MAX_LINE = 1 << 16
_STOP_TIMEOUT = 15.0  # s for closing a recording


def start_python(arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start the Python interpreter with this package, in its own session: Ctrl-C in the terminal does not reach it.

    Parameters
    ----------
    arguments : of the interpreter.
    options : more keyword arguments of `subprocess.Popen`.

    Raises
    ------
    OSError : the process could not be started.
    """
    # -P, and the path of this package first: modules in the current folder are not imported in its place
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", *arguments],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
        **options,
    )


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """Terminate a process, and kill it if it does not end, or if this call is interrupted."""
    try:
        if process.poll() is None:
            process.terminate()
            process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()


class WorkerProcess:
    """Run ``main()`` of the module `program` as a child process; it receives messages and prints lines.

    Its standard input gets one line, then messages: the total length, then each frame with its length. It ends when
    its standard input is closed.

    Raises
    ------
    OSError : the process could not be started.
    """

    def __init__(self, program: str, first: bytes) -> None:
        self._partial_line = b""
        code = f"from {program} import main; main()"
        self._process = start_python(("-c", code), bufsize=0, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        for each in (self._stdin, self._stdout):
            os.set_blocking(each.fileno(), False)
        if sys.platform == "linux":
            # large enough for the results of 64 actuators; may fail when the user's pipes reach their total limit
            with suppress(OSError):
                fcntl.fcntl(self._stdin, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        self._unwritten = first + b"\n"  # rest of a partly written message
        self.flush()

    @property
    def pid(self) -> int:
        """Process ID."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    @property
    def end(self) -> str:
        """How it ended: its signal or exit code."""
        code = self._process.poll() or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    @property
    def busy(self) -> bool:
        """Whether a message is only partly written."""
        return bool(self._unwritten)

    def offer(self, message: bytes, timeout: float = 0.0) -> bool:
        """Start writing a message; return False if none of it was accepted. Each write may wait `timeout` s."""
        if not self.flush(timeout):
            return False
        try:
            if timeout and not _ready(self._stdin, select.POLLOUT, timeout):
                return False
            written = self._stdin.write(message) or 0
        except (OSError, ValueError):
            return False
        if 0 < written < len(message):
            self._unwritten = message[written:]
        return written > 0

    def flush(self, timeout: float = 0.0) -> bool:
        """Write the rest of a message; return False if some is left. Each write may wait `timeout` s."""
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

    def answer(self, timeout: float) -> bytes:
        """Wait for its first line.

        Raises
        ------
        OSError : it printed none within `timeout` s, or ended.
        """
        if not self.flush(timeout) or not _ready(self._stdout, select.POLLIN, timeout):
            raise TimeoutError(f"no answer within {timeout:g} s")
        return next(iter(self.lines()), b"")

    def listen(self, seconds: float) -> None:
        """Wait up to `seconds` for output or its end."""
        _ready(self._stdout, select.POLLIN, seconds)

    def lines(self) -> list[bytes]:
        """Return the complete lines it has printed since the last call."""
        new = b"" if self._stdout.closed else self._stdout.read(_CHUNK)
        if not new:
            return []
        *complete, self._partial_line = (self._partial_line + new).split(b"\n")
        self._partial_line = self._partial_line[-_MAX_LINE:]
        return complete

    def close_input(self) -> None:
        """Close its standard input; messages already written are still received."""
        with suppress(OSError):
            self._stdin.close()

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` s for its end; return whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self.ended

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def close(self) -> None:
        """Kill it, and close the pipes."""
        self._process.kill()
        self._process.wait()
        for each in (self._stdin, self._stdout):
            with suppress(OSError):
                each.close()


def pack_message(frames: Iterable[bytes]) -> bytes:
    """Return the bytes of a message for the pipe."""
    parts = [part for frame in frames for part in (_LENGTH.pack(len(frame)), frame)]
    return b"".join((_LENGTH.pack(sum(map(len, parts))), *parts))


def read_message(stream: IO[bytes]) -> list[bytes] | None:
    """Return the frames of the next message of a buffered pipe; None where it ends before or within one."""
    head = stream.read(_LENGTH.size)
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    message = stream.read(length)
    if not length or len(message) < length:
        return None
    frames, at = [], 0
    while at < length:
        begin = at + _LENGTH.size
        at = begin + _LENGTH.unpack_from(message, at)[0]
        frames.append(message[begin:at])
    return frames


class MessageReader:
    """Decoder of messages for the worker program, with a reused buffer.

    Parameters
    ----------
    initial : bytes that were read before.
    """

    def __init__(self, initial: bytes = b"") -> None:
        # grows with the messages
        self._memory = bytearray(max(2 * _CHUNK, len(initial)))
        self._memory[: len(initial)] = initial
        self._start, self._end = 0, len(initial)

    def read(self, descriptor: int) -> int:
        """Read the available bytes, or wait for some; return their number, 0 at the end of the input."""
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
        """Yield the complete messages, and remove them."""
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
    """Read the first line of standard input, for the worker program; return it and the bytes after it."""
    received = b""
    while b"\n" not in received:
        part = os.read(0, _CHUNK)
        if not part:
            raise SystemExit
        received += part
    line, _, rest = received.partition(b"\n")
    return line, rest


def _ready(pipe: IO[bytes], what: int, timeout: float) -> bool:
    poller = select.poll()
    poller.register(pipe, what)
    return bool(poller.poll(1000.0 * timeout))

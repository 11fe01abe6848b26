"""Lines from and to another program through pipes, by threads: neither a reader nor a writer holds us up."""

from __future__ import annotations

import os
import queue
import threading

_PIECE = 1 << 16
_LINES = 256


class LineReader:
    """Lines as they come from a file descriptor.

    It reads past Python's buffers, whose lock a thread that waits would still hold at the program's end.

    Parameters
    ----------
    descriptor : to read from.
    longest : bytes; of a longer line only so many, and one more, are kept.
    """

    def __init__(self, descriptor: int, longest: int) -> None:
        self._descriptor, self._longest = descriptor, longest
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES)
        self.closed = False  # the other side has closed, and all its lines are taken
        threading.Thread(target=self._read, name="lines in", daemon=True).start()

    def take(self, timeout: float) -> bytes | None:
        """Return the next line without its end; None if none comes within `timeout` s, or ever."""
        if self.closed:
            return None
        try:
            line = self._lines.get(timeout=timeout) if timeout > 0.0 else self._lines.get_nowait()
        except queue.Empty:
            return None
        self.closed = line is None
        return line

    def _read(self) -> None:
        rest = b""
        while piece := self._piece():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._lines.put(line[: self._longest + 1])
            rest = rest[: self._longest + 1]
        if rest:
            self._lines.put(rest)
        self._lines.put(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            return b""


class LineWriter:
    """Lines to a file descriptor; when nobody reads them for long, the oldest are lost."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES)
        self._thread = threading.Thread(target=self._write, name="lines out", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Write a line, which has its end; never waits."""
        self._put(line)

    def close(self, patience: float = 1.0) -> None:
        """Wait at most `patience` s until all is written."""
        self._put(None)
        self._thread.join(patience)

    def _put(self, line: bytes | None) -> None:
        while True:
            try:
                return self._lines.put_nowait(line)
            except queue.Full:
                try:
                    self._lines.get_nowait()
                except queue.Empty:
                    continue

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                while line:
                    line = line[os.write(self._descriptor, line) :]
        except OSError:
            return  # nobody reads any more

"""Child process: another `synchroscope` command, started, heard and ended without ever waiting for it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic

import msgspec
from PySide6.QtCore import QObject, QProcess, QTimer, Signal

_LONGEST = 64 << 20  # bytes; what is longer is no line of ours


class LineBuffer:
    """Keep what has no end of line yet; forget a line that never ends."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that `piece` completes, without their ends; empty ones are left out."""
        if b"\n" not in piece:
            # not searched again: a long line comes in thousands of pieces
            self._held += piece
            if len(self._held) > _LONGEST:
                self._held.clear()
            return []
        *whole, rest = (bytes(self._held) + piece).split(b"\n")
        self._held = bytearray(rest)
        return [line for line in whole if line.strip()]

    def rest(self) -> list[bytes]:
        """Return what is left when nothing more comes."""
        left, self._held = bytes(self._held), bytearray()
        return [left] if left.strip() else []


class ProcessLog:
    """A file that is written by the process and read from here."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="synchroscope-", suffix=".log")
        os.close(handle)
        self.path = Path(name)
        self._read = 0

    def read(self) -> bytes:
        """Return what is new."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError:
            return b""
        self._read += len(new)
        return new

    def remove(self) -> None:
        """Delete it, where the system lets us."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return


_LOOK = 100  # ms between two looks at what an outliving process has said
_ASKED = 2.0  # s that a process has to heed the end of its standard input, before it is told by a signal
_PATIENCE = 15.0  # s to close a recording, before it is killed
_NOT_STARTED = 127  # exit code, as a shell has it
_AT_EXIT = 1.0  # s for the system to take a killed process away


class ChildProcess(QObject):
    """Run ``synchroscope`` with `words`, away from the terminal's Ctrl-C.

    Parameters
    ----------
    words : subcommand and options.
    outlives : it goes on when this process crashes: it is not heard by pipes, which would break, and has no input.
    exits_on_stdin_close : it ends by itself, in good order, when its standard input is closed.

    Signals
    -------
    line : a line that it has said to people.
    answer : a JSON object that it has written, as a dictionary.
    ended : exit code, negative where a signal ended it, and the last line that it has said.
    """

    line = Signal(str)
    answer = Signal(object)
    ended = Signal(int, str)

    def __init__(
        self,
        words: Sequence[str],
        parent: QObject | None = None,
        *,
        outlives: bool = False,
        exits_on_stdin_close: bool = False,
    ) -> None:
        super().__init__(parent)
        self.words = tuple(words)
        self._heeds_input = exits_on_stdin_close
        self._said, self._written = LineBuffer(), LineBuffer()
        self._last = ""
        self._over = False
        self._log: ProcessLog | None = None
        self._process = QProcess(self)
        self._process.setProgram(sys.executable)
        # -P: what lies in the current folder is not taken for a module of ours
        self._process.setArguments(["-P", "-m", "monitor", *words])
        if os.name == "posix":
            self._process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        self._process.readyReadStandardError.connect(self._hear)
        self._process.readyReadStandardOutput.connect(self._take)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._fail)
        self._patience = QTimer(self, singleShot=True)
        self._patience.timeout.connect(self._insist)
        self._steps: list[tuple[float, Callable[[], None]]] = []
        if outlives:
            self._log = ProcessLog()
            self._process.setStandardInputFile(QProcess.nullDevice())
            self._process.setStandardOutputFile(QProcess.nullDevice())
            self._process.setStandardErrorFile(str(self._log.path))
            self._look = QTimer(self, interval=_LOOK)
            self._look.timeout.connect(self._hear)

    def start(self) -> None:
        """Start it; `ended` says when that is not possible."""
        self._process.start()
        if self._log is not None:
            self._look.start()

    @property
    def running(self) -> bool:
        """It has been started and has not ended."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def process_id(self) -> int:
        """Of the running process; 0 where there is none."""
        return int(self._process.processId())

    def stop(self) -> None:
        """Let it end: asked first, told next, killed at last. Returns at once; `ended` follows."""
        if not self.running or self._steps:
            return
        self._steps = [(_PATIENCE, self.terminate), (0.0, self.kill)]
        if self._heeds_input:
            self._steps.insert(0, (_ASKED, self._process.closeWriteChannel))
        self._insist()

    def terminate(self) -> None:
        """Tell it to end; where the system has no such word it is not heard."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def abandon(self) -> None:
        """End it at once, at the exit of the program; one that outlives us is left to end by itself, unheard."""
        if self._log is None:
            self.kill()
            return
        self._over, self._steps = True, []
        self._patience.stop()
        self._look.stop()
        self._log.remove()
        # Qt kills what it believes to run when its QProcess goes
        self._process.setProcessState(QProcess.ProcessState.NotRunning)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, for the exit of the program only; return whether it has ended."""
        return not self.running or self._process.waitForFinished(max(1, round(1000 * seconds)))

    def _insist(self) -> None:
        if self._steps and self.running:
            patience, step = self._steps.pop(0)
            step()
            if self._steps:
                self._patience.start(round(1000 * patience))

    def _hear(self) -> None:
        new = self._log.read() if self._log is not None else bytes(self._process.readAllStandardError().data())
        self._say(self._said.feed(new))

    def _say(self, lines: Iterable[bytes]) -> None:
        for raw in lines:
            self._last = raw.decode(errors="replace").strip() or self._last
            self.line.emit(raw.decode(errors="replace").rstrip())

    def _take(self) -> None:
        for raw in self._written.feed(bytes(self._process.readAllStandardOutput().data())):
            try:
                self.answer.emit(msgspec.json.decode(raw, type=dict[str, object]))
            except msgspec.DecodeError:
                self._say([raw])

    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        if self._over:
            return
        self._over = True
        self._patience.stop()
        self._hear()
        if self._log is None:
            self._take()
        self._say(self._said.rest())
        if self._log is not None:
            self._look.stop()
            self._log.remove()
        crashed = status is QProcess.ExitStatus.CrashExit
        self.ended.emit(-abs(code) or -1 if crashed else code, self._last)

    def _fail(self, error: QProcess.ProcessError) -> None:
        # what goes wrong later is told by `finished`
        if error is QProcess.ProcessError.FailedToStart:
            self._last = f"{sys.executable} cannot be started: {self._process.errorString()}"
            self._finish(_NOT_STARTED, QProcess.ExitStatus.NormalExit)


def finish_all(processes: Sequence[ChildProcess], seconds: float) -> None:
    """Let all of them end at the exit of the program; those that have not within `seconds` are abandoned."""
    asked, told = monotonic() + 0.5 * seconds, monotonic() + seconds
    for process in processes:
        process.stop()
    late = [process for process in processes if not process.wait(asked - monotonic())]
    for process in late:
        process.terminate()
    late = [process for process in late if not process.wait(told - monotonic())]
    for process in late:
        process.abandon()
    for process in late:
        process.wait(_AT_EXIT)

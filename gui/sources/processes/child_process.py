"""Child processes: other `synchroscope` commands; starting, reading and stopping one never blocks."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic

import msgspec
from PySide6.QtCore import QObject, QProcess, QTimer, Signal

_LONGEST = 64 << 20  # bytes; longer lines are not from our programs


class LineBuffer:
    """Split output into lines; a line that is too long is dropped."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines completed by `piece`, without line ends and empty lines."""
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
        """Return the last line, which has no line end."""
        left, self._held = bytes(self._held), bytearray()
        return [left] if left.strip() else []


class ProcessLog:
    """Log file written by the process."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="synchroscope-", suffix=".log")
        os.close(handle)
        self.path = Path(name)
        self._read = 0

    def read(self) -> bytes:
        """Return the text appended since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError:
            return b""
        self._read += len(new)
        return new

    def remove(self) -> None:
        """Delete the file, if possible."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return


_POLL_INTERVAL = 100  # ms between reads of the log of an outliving process
_ASKED = 2.0  # s to exit after its standard input was closed, before SIGTERM
_TERMINATE_TIMEOUT = 15.0  # s to close a recording after SIGTERM, before SIGKILL
_NOT_STARTED = 127  # exit code, as in a shell
_AT_EXIT = 1.0  # s for a killed process to be reaped
_PREFIX = re.compile(r"^synchroscope( \w+)?: ")


class ChildProcess(QObject):
    """Process that runs ``synchroscope`` with `words`, in a process group of its own: Ctrl-C does not reach it.

    Parameters
    ----------
    words : subcommand and options.
    outlives : continues if this process crashes: it writes to a file, not to pipes, and has no standard input.
    exits_on_stdin_close : exits normally when its standard input is closed.

    Signals
    -------
    line : a line of text.
    answer : a JSON object as a dictionary: a line, or the lines from a brace alone to a brace alone.
    ended : exit code (negative: number of the signal), and the last line of text.
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
        self._exits_on_stdin_close = exits_on_stdin_close
        self._lines, self._output_lines = LineBuffer(), LineBuffer()
        self._last = ""
        self._objects: dict[LineBuffer, list[bytes]] = {self._lines: [], self._output_lines: []}
        self._over = False
        self._log: ProcessLog | None = None
        self._process = QProcess(self)
        self._process.setProgram(sys.executable)
        # -P: the current folder is not a source of modules
        self._process.setArguments(["-P", "-m", "monitor", *words])
        if os.name == "posix":
            self._process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        self._process.readyReadStandardError.connect(self._read_messages)
        self._process.readyReadStandardOutput.connect(self._read_answers)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._fail)
        self._escalation_timer = QTimer(self, singleShot=True)
        self._escalation_timer.timeout.connect(self._escalate)
        self._steps: list[tuple[float, Callable[[], None]]] = []
        if outlives:
            self._log = ProcessLog()
            self._process.setStandardInputFile(QProcess.nullDevice())
            self._process.setStandardOutputFile(QProcess.nullDevice())
            self._process.setStandardErrorFile(str(self._log.path))
            self._log_timer = QTimer(self, interval=_POLL_INTERVAL)
            self._log_timer.timeout.connect(self._read_messages)

    def start(self) -> None:
        """Start; if that fails `ended` is emitted."""
        self._process.start()
        if self._log is not None:
            self._log_timer.start()

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def process_id(self) -> int:
        """Of the running process; 0 where there is none."""
        return int(self._process.processId())

    def stop(self) -> None:
        """Stop: close its standard input, then SIGTERM, then SIGKILL. Does not wait; `ended` follows."""
        if not self.running or self._steps:
            return
        self._steps = [(_TERMINATE_TIMEOUT, self.terminate), (0.0, self.kill)]
        if self._exits_on_stdin_close:
            self._steps.insert(0, (_ASKED, self._process.closeWriteChannel))
        self._escalate()

    def terminate(self) -> None:
        """Send SIGTERM; without effect on Windows."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()

    def abandon(self) -> None:
        """Kill it at the exit of the program; an outliving process is left to end by itself."""
        if self._log is None:
            self.kill()
            return
        self._over, self._steps = True, []
        self._escalation_timer.stop()
        self._log_timer.stop()
        self._log.remove()
        # a QProcess kills its running process when it is deleted
        self._process.setProcessState(QProcess.ProcessState.NotRunning)

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process, at the exit of the program only; return whether it has ended."""
        return not self.running or self._process.waitForFinished(max(1, round(1000 * seconds)))

    def _escalate(self) -> None:
        if self._steps and self.running:
            timeout, step = self._steps.pop(0)
            step()
            if self._steps:
                self._escalation_timer.start(round(1000 * timeout))

    def _read_messages(self) -> None:
        new = self._log.read() if self._log is not None else bytes(self._process.readAllStandardError().data())
        self._emit_lines(self._lines, self._lines.feed(new))

    def _emit_lines(self, buffer: LineBuffer, lines: Iterable[bytes]) -> None:
        for text in lines:
            raw, held = text, self._objects[buffer]
            if held or raw == b"{":
                held.append(raw)
                if raw != b"}":
                    continue
                raw = b"".join(held)
                held.clear()
            if raw.startswith(b"{") and self._emit_answer(raw):
                continue
            self._last = raw.decode(errors="replace").strip() or self._last
            self.line.emit(raw.decode(errors="replace").rstrip())

    def _read_answers(self) -> None:
        self._emit_lines(
            self._output_lines, self._output_lines.feed(bytes(self._process.readAllStandardOutput().data()))
        )

    def _emit_answer(self, raw: bytes) -> bool:
        """Emit a line as an object, if it is one."""
        try:
            answer = msgspec.json.decode(raw, type=dict[str, object])
        except msgspec.DecodeError:
            # names of files that are no text are surrogates, which msgspec refuses
            try:
                answer = json.loads(raw)
            except (ValueError, RecursionError):
                return False
        self.answer.emit(answer)
        return True

    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        if self._over:
            return
        self._over = True
        self._escalation_timer.stop()
        self._read_messages()
        if self._log is None:
            self._read_answers()
        self._emit_lines(self._lines, self._lines.rest())
        if self._log is not None:
            self._log_timer.stop()
            self._log.remove()
        crashed = status is QProcess.ExitStatus.CrashExit
        self.ended.emit(-abs(code) or -1 if crashed else code, self._last)

    def _fail(self, error: QProcess.ProcessError) -> None:
        # later errors are reported by `finished`
        if error is QProcess.ProcessError.FailedToStart:
            self._last = f"{sys.executable} cannot be started: {self._process.errorString()}"
            self._finish(_NOT_STARTED, QProcess.ExitStatus.NormalExit)


ProcessFactory = Callable[..., ChildProcess]
"""Creates a process, as the constructor of `ChildProcess` does."""


def exit_reason(code: int, last: str) -> str:
    """Return why a process ended: its last line, unless a signal ended it."""
    if code < 0:
        return f"ended by signal {-code}"
    return _PREFIX.sub("", last) or f"ended with exit code {code}"


class CommandJob(QObject):
    """One run of a command to its end; deleted when it has ended.

    Parameters
    ----------
    words : subcommand and options.
    read : returns the result of the JSON object that it prints, or raises ValueError; None: it prints none.
    launch : creates the process.

    Signals
    -------
    done : what `read` has returned; without it the last line of a command that ended well.
    progress : a line of text.
    failed : why there is no result.
    finished : it has ended, or was stopped; emitted last.
    """

    done = Signal(object)
    progress = Signal(str)
    failed = Signal(str)
    finished = Signal()

    def __init__(
        self,
        words: Sequence[str],
        read: Callable[[Mapping[str, object]], object] | None = None,
        parent: QObject | None = None,
        *,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(parent)
        self._read, self._over = read, False
        self.process: ChildProcess | None = launch(words, self)
        self.process.line.connect(self._on_line)
        self.process.answer.connect(self._on_answer)
        self.process.ended.connect(self._on_ended)

    def start(self) -> None:
        """Start; does not wait."""
        assert self.process is not None
        self.process.start()

    def stop(self) -> None:
        """Stop the process: only `finished` follows."""
        self._over = True
        if self.process is not None:
            self.process.stop()

    def _on_line(self, line: str) -> None:
        # an error is reported when the process has ended
        if not self._over and not line.startswith("synchroscope"):
            self.progress.emit(line)

    def _on_answer(self, answer: Mapping[str, object]) -> None:
        if self._over or self._read is None:
            return
        self._over = True
        try:
            result = self._read(answer)
        except ValueError as problem:
            self.failed.emit(str(problem))
            return
        self.done.emit(result)

    def _on_ended(self, code: int, last: str) -> None:
        self.process = None
        if not self._over:
            self._over = True
            if code or self._read is not None:
                self.failed.emit(exit_reason(code, last))
            else:
                self.done.emit(last)
        self.finished.emit()
        self.deleteLater()


def finish_all(processes: Sequence[ChildProcess], seconds: float) -> None:
    """Stop all processes at the exit of the program; those that run after `seconds` are abandoned."""
    terminate_at, abandon_at = monotonic() + 0.5 * seconds, monotonic() + seconds
    for process in processes:
        process.stop()
    late = [process for process in processes if not process.wait(terminate_at - monotonic())]
    for process in late:
        process.terminate()
    late = [process for process in late if not process.wait(abandon_at - monotonic())]
    for process in late:
        process.abandon()
    for process in late:
        process.wait(_AT_EXIT)

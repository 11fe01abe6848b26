"""Loader of a recording: a process that computes it, and a thread that stores what it sends in a history."""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

import msgspec

from gui.model.history import RESULTS_SHARE, History
from gui.model.loaded_recording import LoadedRecording
from gui.model.receiver import Message, ReceivedMessages
from gui.sources.processes.child_process import exit_reason
from monitor.messages.recordings import RunHeader, RunProgress
from monitor.messages.transfer import TransferBlock
from monitor.system.worker_process import read_message, start_python

_BATCH = 1 << 22  # bytes that are stored at once
_RESULTS = 0.75  # of the memory for results; a part of the rest is for coarser levels


JOIN = "--join"  # option after the further parts of a run, in front of all others
_NAMED = 2


def parts_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the further parts of a run in front of options, and `JOIN`; nothing of a run in one file."""
    return tuple(words[: words.index(JOIN) + 1]) if JOIN in words else ()


def run_title(path: Path, words: Sequence[str]) -> str:
    """Return the name of a file, or those of the parts of a run."""
    names = [path.name, *(Path(part).name for part in parts_of(words)[:-1])]
    return " + ".join(names) if len(names) <= _NAMED else f"{names[0]} and {len(names) - 1} more"


class RunLoader:
    """Computes a recording in a process, and loads it into a history in a thread.

    Parameters
    ----------
    path : of the file.
    words : further options of `assess`.
    memory : of the history, bytes.
    start : starts a process; by default `start_python`.

    Attributes
    ----------
    history : complete, once `done`; None before, and where it has failed.
    failed : the reason, one line.
    """

    def __init__(
        self,
        path: Path,
        words: Sequence[str],
        memory: int,
        start: Callable[..., subprocess.Popen[bytes]] | None = None,
    ) -> None:
        self._title = run_title(path, words)
        self.path, self._memory, self._start = path, memory, start or start_python
        most = round(_RESULTS * memory / RESULTS_SHARE)
        self._words = ("-m", "monitor", "assess", str(path), *words, "--messages", "--result-bytes", str(most))
        self._task, self._loaded, self._total = "reading the file", 0, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self.history: History | None = None
        self.failed = ""
        self._thread = Thread(target=self._run, name="run-loader", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has finished or failed."""
        return not self._thread.is_alive()

    @property
    def failure(self) -> str:
        """Why it has failed, with the name of the file."""
        name = self.path.name
        return self.failed if name in self.failed else f"{name}: {self.failed}"

    @property
    def progress(self) -> tuple[str, float]:
        """What is being done, and the share that is done; NaN: unknown."""
        return self._task, self._loaded / self._total if self._total else math.nan

    def cancel(self) -> None:
        """End the process and the thread; a second call does nothing."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()
        self._thread.join()

    def _run(self) -> None:
        try:
            with tempfile.TemporaryFile() as errors:
                process = self._process = self._start(self._words, stdout=subprocess.PIPE, stderr=errors)
                try:
                    history = self._load(process)
                finally:
                    self._end(process)
                if process.returncode:
                    self.failed = exit_reason(process.returncode, _last_line(errors))
                elif history is None:
                    self.failed = "the process that computes it has sent nothing"
                elif not self._cancelled:
                    self.history = history
        except Exception as problem:  # noqa: BLE001  any failure must reach the window
            self.failed = " ".join(f"{problem}".split()) or type(problem).__name__

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the process, which has closed its output or is not needed any more."""
        if self._cancelled:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def _load(self, process: subprocess.Popen[bytes]) -> History | None:
        from monitor.transport.zeromq.results import ResultDecoder

        output, decoder = process.stdout, ResultDecoder()
        assert output is not None
        history: History | None = None
        batch: list[Message] = []
        size = 0
        while not self._cancelled and (frames := read_message(output)) is not None:
            if frames[0] == b"progress":
                step = msgspec.json.decode(frames[1], type=RunProgress)
                self._task, self._loaded, self._total = step.task, step.done, step.total
            elif frames[0] == b"run":
                header = msgspec.json.decode(frames[1], type=RunHeader)
                history = History(self._memory, recording=LoadedRecording(self._title, str(self.path), header))
            elif history is not None:
                batch += decoder.decode(frames)
                size += len(frames[-1])
                if size >= _BATCH:
                    self._store(history, batch)
                    size = 0
        if history is not None:
            self._store(history, batch)
        return history

    def _store(self, history: History, batch: list[Message]) -> None:
        history.update(ReceivedMessages.sort(batch))
        for block in batch:
            if isinstance(block, TransferBlock) and history.recording is not None:
                history.recording.states.add_transfer(history.timeline.x_of(block.time, block.stream.epoch), block)
        batch.clear()
        header = history.recording.header if history.recording is not None else None
        stored = 0 if history.signals is None else history.signals.end - history.signals.begin
        self._task, self._loaded, self._total = "computing", stored, 0 if header is None else header.n_samples


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""

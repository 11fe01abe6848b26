"""A recording that is shown as a whole: a process computes it, a thread stores its signals; its session."""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from time import monotonic
from typing import IO

import msgspec
from PySide6.QtCore import QObject, QTimer

from gui.model.history import RESULTS_SHARE, History
from gui.model.loaded_recording import LoadedRecording
from gui.model.receiver import Message, ReceivedMessages
from gui.sources.processes.child_process import ChildProcess, ProcessFactory, exit_reason
from gui.sources.processes.player import PlayHead
from gui.sources.processes.session import SourceSession
from monitor.messages.blocks import ResultBlock, TransferBlock
from monitor.messages.recordings import SIGNALS_COMPLETE, Description, Overview, RecordedEvent, RunHeader, RunProgress
from monitor.system.worker_process import read_message, start_python

_BATCH = 1 << 22  # bytes that are stored at once
_MOST_WAITING = 8  # batches
_SPELL = 0.015  # s of one call of `store`: the window draws in between
_PATIENCE = 0.1  # s after which a thread that waits looks whether it is cancelled
_RESULTS = 0.75  # of the memory for results; a part of the rest is for coarser levels


JOIN = "--join"  # option after the further parts of a run, in front of all others
_NAMED = 2


def parts_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the further parts of a run in front of options, and `JOIN`; nothing of a run in one file."""
    return tuple(words[: words.index(JOIN) + 1]) if JOIN in words else ()


def n_files(words: Sequence[str]) -> int:
    """Return how many words name the files of a run, which come before options: all parts of a joined one."""
    return words.index(JOIN) if JOIN in words else 1


def run_title(path: Path, words: Sequence[str]) -> str:
    """Return the name of a file, or those of the parts of a run."""
    names = [path.name, *(Path(part).name for part in parts_of(words)[:-1])]
    return " + ".join(names) if len(names) <= _NAMED else f"{names[0]} and {len(names) - 1} more"


class RunLoader:
    """Computes a recording in a process: a thread loads its signals into a history, then `store` adds the results.

    Parameters
    ----------
    path : of the file.
    words : further options of `assess`.
    memory : of the history, bytes.
    start : starts a process; by default `start_python`.

    Attributes
    ----------
    history : once its signals are there; complete, once `done`; None before, and where it has failed.
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
        self._task, self._done, self._total = "reading the file", 0, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self._waiting: Queue[RunHeader | list[Message]] = Queue(maxsize=_MOST_WAITING)
        self.history: History | None = None
        self.failed = ""
        self._thread = Thread(target=self._run, name="run-loader", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has finished, and all results are stored, or it has failed."""
        return not self._thread.is_alive() and (self.history is None or self._waiting.empty())

    @property
    def failure(self) -> str:
        """Why it has failed, with the name of the file."""
        name = self.path.name
        return self.failed if name in self.failed else f"{name}: {self.failed}"

    @property
    def progress(self) -> tuple[str, float]:
        """What is being done, and the share that is done; NaN: unknown."""
        return self._task, self._done / self._total if self._total else math.nan

    def store(self) -> None:
        """Store results that have come, for some milliseconds; to be called by the thread that reads the history."""
        # the thread forgets it where it fails
        history, until = self.history, monotonic() + _SPELL
        while history is not None and monotonic() < until:
            try:
                found = self._waiting.get_nowait()
            except Empty:
                return
            if isinstance(found, RunHeader):
                assert history.recording is not None
                history.recording = replace(history.recording, header=found)
                self._task, self._done, self._total = "computing", 0, found.n_samples
            else:
                _store(history, found)
                self._done += sum(len(each) * each.stream.every for each in found if isinstance(each, ResultBlock))

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
                    self._load(process)
                finally:
                    self._end(process)
                if process.returncode:
                    self.failed = exit_reason(process.returncode, _last_line(errors))
                elif self.history is None and not self._cancelled:
                    self.failed = "the process that computes it has sent nothing"
        except Exception as problem:  # noqa: BLE001  any failure must reach the window
            self.failed = " ".join(f"{problem}".split()) or type(problem).__name__
        if self.failed or self._cancelled:
            self.history = None

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the process, which has closed its output or is not needed any more."""
        if self._cancelled:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    def _load(self, process: subprocess.Popen[bytes]) -> None:
        from monitor.transport.zeromq.results import ResultDecoder

        output, decoder = process.stdout, ResultDecoder()
        assert output is not None
        history: History | None = None
        batch: list[Message] = []
        size = 0
        while not self._cancelled and (frames := read_message(output)) is not None:
            if frames[0] == b"progress":
                step = msgspec.json.decode(frames[1], type=RunProgress)
                self._task, self._done, self._total = step.task, step.done, step.total
            elif frames[0] == b"run":
                header = msgspec.json.decode(frames[1], type=RunHeader)
                if history is None:
                    history = History(self._memory, recording=LoadedRecording(self._title, str(self.path), header))
                    self._task, self._total = "reading the signals", header.n_samples
                else:
                    self._pass_on(header)
            elif history is not None and frames[0] != SIGNALS_COMPLETE:
                batch += decoder.decode(frames)
                size += len(frames[-1])
            if history is not None and batch and (size >= _BATCH or frames[0] == SIGNALS_COMPLETE):
                self._hand_over(history, batch)
                batch, size = [], 0
            if frames[0] == SIGNALS_COMPLETE:
                self.history = history
                self._task, self._total = "computing", 0
        if history is not None and batch:
            self._hand_over(history, batch)

    def _hand_over(self, history: History, batch: list[Message]) -> None:
        """Store a batch, or leave that to whoever reads the history by now."""
        if self.history is not None:
            self._pass_on(batch)
            return
        _store(history, batch)
        self._done = 0 if history.signals is None else history.signals.end - history.signals.begin

    def _pass_on(self, found: RunHeader | list[Message]) -> None:
        while not self._cancelled:
            with suppress(Full):
                self._waiting.put(found, timeout=_PATIENCE)
                return


def _store(history: History, batch: list[Message]) -> None:
    history.update(ReceivedMessages.sort(batch))
    for block in batch:
        if isinstance(block, TransferBlock) and history.recording is not None:
            history.recording.states.add_transfer(history.timeline.x_of(block.time, block.stream.epoch), block)


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


_POLL_INTERVAL = 40  # ms
_COLUMNS = 1000  # of the overview, at most


@dataclass(frozen=True, slots=True)
class OpenRecording:
    """Source: a recording that is shown as a whole.

    Parameters
    ----------
    path : of the file.
    words : options that choose columns; before them the further parts of a run, and `JOIN`.
    description : if it is known.
    config : file with settings of the indicators.
    memory : of the history, bytes.
    """

    path: Path
    words: tuple[str, ...] = ()
    description: Description | None = None
    config: Path | None = None
    memory: int = 512 << 20

    @property
    def options(self) -> tuple[str, ...]:
        """Options of `assess`."""
        return self.words if self.config is None else (*self.words, "--config", str(self.config))

    def session(self, parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess) -> SourceSession:  # noqa: ARG002
        """Return a new session."""
        return RecordingSession(self, parent)


class RecordingSession(SourceSession):
    """Session that shows a recording once its signals are loaded, and has a play head once its results are.

    Parameters
    ----------
    source : the recording.
    """

    def __init__(self, source: OpenRecording, parent: QObject | None = None) -> None:
        super().__init__(run_title(source.path, source.words), parent)
        self._source = source
        self._loader: RunLoader | None = None
        self._coarse: History | None = None
        self._shown: History | None = None
        self._timer = QTimer(self, interval=_POLL_INTERVAL)
        self._timer.timeout.connect(self._poll)

    @property
    def loading(self) -> tuple[str, float] | None:
        """What is being done, and the share that is done; None once the signals are loaded."""
        return None if self._loader is None or self._shown is not None else self._loader.progress

    def start(self) -> None:
        """Start; does not wait."""
        self._loader = RunLoader(self._source.path, self._source.options, self._source.memory)
        self._timer.start()
        known = self._source.description
        if known is not None and known.share < 1.0:
            header = RunHeader(known.n_samples or 0, known.duration or 0.0)
            recording = LoadedRecording(self.title, str(self._source.path), header, share=known.share)
            self._coarse = History.coarse(recording, known)
            self._coarse.computed = self._loader.progress
            self.loaded.emit(self._coarse)
        self.progress.emit(f"loading {self.title}")
        self.player_changed.emit()

    def stop(self) -> None:
        """End the process."""
        self._timer.stop()
        if self._loader is not None:
            self._loader.cancel()
            self._loader = None
        if self.player is not None:
            self.player.close()
        self.ended.emit()

    def _poll(self) -> None:
        loader = self._loader
        if loader is None:
            return
        loader.store()
        done = loader.done
        self._show(loader)
        if shown := self._shown or self._coarse:
            shown.computed = None if done else loader.progress
            self.progress.emit("")
        if not done:
            return
        self._timer.stop()
        self._loader = None
        history = self._shown
        if loader.history is None or history is None or history.recording is None:
            self.progress.emit("")
            self.failed.emit(loader.failure)
            return
        known, header = self._source.description, history.recording.header
        if header.doubts:
            self.notified.emit("warning", f"the file is damaged: {'; '.join(header.doubts)}")
        for note in header.notes:
            if known is None or note not in known.notes:
                self.notified.emit("info", f"{self._source.path.name}: {note}")
        self.player = PlayHead(history, None if known is None else _whole(known, history), self)
        self.player_changed.emit()

    def _show(self, loader: RunLoader) -> None:
        """Show the history, once there is one."""
        history = loader.history
        if history is not None and self._shown is None:
            self._shown, history.computed = history, loader.progress
            self.loaded.emit(history)
            self.player_changed.emit()


def _whole(known: Description, history: History) -> Description:
    """Return the description of a recording that was made by some samples, by all of them."""
    signals, recording = history.signals, history.recording
    if known.share == 1.0 or signals is None or recording is None:
        return known
    found = signals.envelope(history.begin_x, history.end_x, _COLUMNS, range(len(known.channels)))
    low, high = (
        {channel.name: tuple(side[:, k].tolist()) for k, channel in enumerate(known.channels)}
        for side in (found.low, found.high)
    )
    return msgspec.structs.replace(
        known,
        n_samples=recording.header.n_samples,
        duration=recording.header.duration,
        events=tuple(
            RecordedEvent(each.x - history.begin_x, each.event.kind.value, each.event.detail, each.event.alarm)
            for each in history.events
        ),
        overview=Overview(tuple((found.edges[:-1] - history.begin_x).tolist()), low, high),
        share=1.0,
    )

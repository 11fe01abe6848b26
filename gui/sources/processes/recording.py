"""Session of a recording that is shown as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer

from gui.model.history import History
from gui.model.loaded_recording import LoadedRecording
from gui.sources.processes.child_process import ChildProcess, ProcessFactory
from gui.sources.processes.play_head import PlayHead
from gui.sources.processes.run_loader import RunLoader, run_title
from gui.sources.processes.session import SourceSession
from monitor.messages.recordings import Description, Overview, RecordedEvent, RunHeader

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

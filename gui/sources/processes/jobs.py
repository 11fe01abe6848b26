"""Jobs that run once in a process of their own: describe a recording, simulate the ensemble of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal

from gui.sources.processes.catalogue import ModelUnderTest
from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.service import Launch, reason
from monitor.messages.recordings import Description, read_description


class DescribeJob(QObject):
    """Run ``synchroscope replay ... --describe`` once; gone when it has ended.

    Parameters
    ----------
    played : words of `replay` that say what.
    launch : makes workers.

    Signals
    -------
    described : what it is, a `Description`.
    failed : why it is no recording.
    """

    described = Signal(object)
    failed = Signal(str)

    def __init__(
        self, played: Sequence[str], parent: QObject | None = None, *, launch: Launch = ChildProcess
    ) -> None:
        super().__init__(parent)
        self.played = tuple(played)
        self._answered = False
        self._worker: ChildProcess | None = launch(["replay", *played, "--describe"], self)
        self._worker.answer.connect(self._take)
        self._worker.ended.connect(self._end)

    @property
    def worker(self) -> ChildProcess | None:
        """The process, until it has ended."""
        return self._worker

    def start(self) -> None:
        """Begin; returns at once."""
        assert self._worker is not None
        self._worker.start()

    def stop(self) -> None:
        """Ask no longer; nothing is told any more."""
        self._answered = True
        if self._worker is not None:
            self._worker.stop()

    def _take(self, answer: Mapping[str, object]) -> None:
        if self._answered:
            return
        self._answered = True
        try:
            description: Description = read_description(answer)
        except ValueError as problem:
            self.failed.emit(str(problem))
            return
        self.described.emit(description)

    def _end(self, code: int, last: str) -> None:
        self._worker = None
        if not self._answered:
            self._answered = True
            self.failed.emit(reason(code, last))
        self.deleteLater()


def cache_folder() -> Path:
    """Return where ensembles are kept: another version of the program makes its own."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation)
    return Path(place) / "synchroscope" / metadata.version("synchroscope") / "ensembles"


class EnsembleCache(QObject):
    """Find the ensemble of a model, or simulate it.

    Parameters
    ----------
    judged : the model.
    folder : where ensembles are kept.
    launch : makes workers.

    Signals
    -------
    ready : the file.
    progress : what is waited for.
    failed : why there is none.
    """

    ready = Signal(str)
    progress = Signal(str)
    failed = Signal(str)

    def __init__(
        self,
        judged: ModelUnderTest,
        parent: QObject | None = None,
        *,
        folder: Path | None = None,
        launch: Launch = ChildProcess,
    ) -> None:
        super().__init__(parent)
        self.judged, self._launch = judged, launch
        self._folder = cache_folder() if folder is None else folder
        self._path = self._folder / f"{judged.model}-{judged.realizations}.h5"
        self._worker: ChildProcess | None = None
        self._begun = 0.0
        self._tick = QTimer(self, interval=1000)
        self._tick.timeout.connect(self._tell)

    @property
    def worker(self) -> ChildProcess | None:
        """The process that simulates, while there is one."""
        return self._worker

    def start(self) -> None:
        """Begin; returns at once."""
        if self._path.exists():
            self.ready.emit(str(self._path))
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            self.failed.emit(f"{self._folder} cannot be made: {problem.strerror or problem}")
            return
        # a part that was broken off is gone on with
        words = ["simulate", self.judged.model, "--realizations", str(self.judged.realizations)]
        self._worker = self._launch([*words, "--out", str(self._path)], self)
        self._worker.ended.connect(self._end)
        self._begun = monotonic()
        self._tick.start()
        self._tell()
        self._worker.start()

    def _tell(self) -> None:
        what = f"{self.judged.realizations:,} realizations of the model {self.judged.model}"
        self.progress.emit(f"simulating {what}, once; they are kept: {monotonic() - self._begun:.0f} s")

    def _end(self, code: int, last: str) -> None:
        if self._worker is not None:
            self._worker.deleteLater()
        self._worker = None
        self._tick.stop()
        self.progress.emit("")
        if code:
            self.failed.emit(f"the model {self.judged.model} could not be simulated: {reason(code, last)}")
        else:
            self.ready.emit(str(self._path))

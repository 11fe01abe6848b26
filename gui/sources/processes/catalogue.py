"""Catalogue of what can be opened, and the jobs that describe a recording or simulate an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal

from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.service import ProcessFactory, exit_reason
from monitor.messages.recordings import Description, read_description


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of file: its name and how such files are called, ``*.csv``."""

    name: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A model that is judged by a simulation.

    Parameters
    ----------
    model : its name for `synchroscope simulate`.
    response : the channel that it speaks of.
    tolerance, policy, limits : as the options of `monitor` take them; an empty policy is the default.
    realizations : how many its ensemble has.
    """

    model: str
    response: str
    tolerance: str
    policy: str = ""
    limits: tuple[str, ...] = ()
    realizations: int = 10_000

    def words(self, ensemble: str) -> tuple[str, ...]:
        """Return the options of `monitor` that judge it by the ensemble in a file."""
        options = ["--ensemble", ensemble, "--response", self.response, "--tolerance", self.tolerance]
        if self.policy:
            options += ["--policy", self.policy]
        for limit in self.limits:
            options += ["--limit", limit]
        return tuple(options)


@dataclass(frozen=True, slots=True)
class SimulationEntry:
    """One simulation: its name, a line about it, the submenu it belongs to, and the model that it judges."""

    name: str
    summary: str
    group: str
    model_under_test: ModelUnderTest | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything there is."""

    files: tuple[FileKind, ...] = ()
    simulations: tuple[SimulationEntry, ...] = ()

    @property
    def filters(self) -> str:
        """Return the filters of a file dialog: all kinds together first, each alone, and any file."""
        patterns = " ".join(dict.fromkeys(pattern for kind in self.files for pattern in kind.patterns))
        each = [f"{kind.name} ({' '.join(kind.patterns)})" for kind in self.files if kind.patterns]
        return ";;".join([f"Recordings ({patterns})", *each, "All files (*)"] if patterns else ["All files (*)"])

    @property
    def groups(self) -> dict[str, tuple[SimulationEntry, ...]]:
        """Return the simulations by submenu, in their order."""
        names = dict.fromkeys(offer.group for offer in self.simulations)
        return {name: tuple(offer for offer in self.simulations if offer.group == name) for name in names}

    def simulation(self, name: str) -> SimulationEntry | None:
        """Return the simulation of that name, if there is one."""
        return next((offer for offer in self.simulations if offer.name == name), None)


class DescribeJob(QObject):
    """Run ``synchroscope replay ... --describe`` once; gone when it has ended.

    Parameters
    ----------
    played : words of `replay` that say what.
    launch : makes processes.

    Signals
    -------
    described : what it is, a `Description`.
    failed : why it is no recording.
    """

    described = Signal(object)
    failed = Signal(str)

    def __init__(
        self, played: Sequence[str], parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess
    ) -> None:
        super().__init__(parent)
        self.played = tuple(played)
        self._answered = False
        self._process: ChildProcess | None = launch(["replay", *played, "--describe"], self)
        self._process.answer.connect(self._take)
        self._process.ended.connect(self._end)

    @property
    def process(self) -> ChildProcess | None:
        """The process, until it has ended."""
        return self._process

    def start(self) -> None:
        """Begin; returns at once."""
        assert self._process is not None
        self._process.start()

    def stop(self) -> None:
        """Ask no longer; nothing is told any more."""
        self._answered = True
        if self._process is not None:
            self._process.stop()

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
        self._process = None
        if not self._answered:
            self._answered = True
            self.failed.emit(exit_reason(code, last))
        self.deleteLater()


def cache_folder() -> Path:
    """Return where ensembles are kept: another version of the program makes its own."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation)
    return Path(place) / "synchroscope" / metadata.version("synchroscope") / "ensembles"


class EnsembleCache(QObject):
    """Find the ensemble of a model, or simulate it.

    Parameters
    ----------
    model_under_test : the model.
    folder : where ensembles are kept.
    launch : makes processes.

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
        model_under_test: ModelUnderTest,
        parent: QObject | None = None,
        *,
        folder: Path | None = None,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(parent)
        self.model_under_test, self._launch = model_under_test, launch
        self._folder = cache_folder() if folder is None else folder
        self._path = self._folder / f"{model_under_test.model}-{model_under_test.realizations}.h5"
        self._process: ChildProcess | None = None
        self._begun = 0.0
        self._tick = QTimer(self, interval=1000)
        self._tick.timeout.connect(self._tell)

    @property
    def process(self) -> ChildProcess | None:
        """The process that simulates, while there is one."""
        return self._process

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
        words = ["simulate", self.model_under_test.model, "--realizations", str(self.model_under_test.realizations)]
        self._process = self._launch([*words, "--out", str(self._path)], self)
        self._process.ended.connect(self._end)
        self._begun = monotonic()
        self._tick.start()
        self._tell()
        self._process.start()

    def _tell(self) -> None:
        what = f"{self.model_under_test.realizations:,} realizations of the model {self.model_under_test.model}"
        self.progress.emit(f"simulating {what}, once; they are kept: {monotonic() - self._begun:.0f} s")

    def _end(self, code: int, last: str) -> None:
        if self._process is not None:
            self._process.deleteLater()
        self._process = None
        self._tick.stop()
        self.progress.emit("")
        if code:
            self.failed.emit(
                f"the model {self.model_under_test.model} could not be simulated: {exit_reason(code, last)}"
            )
        else:
            self.ready.emit(str(self._path))

"""Catalogue of what can be opened, and the jobs that describe a recording or simulate an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal

from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.service import ProcessFactory, exit_reason
from monitor import __version__
from monitor.messages.recordings import Description, read_description


@dataclass(frozen=True, slots=True)
class FileKind:
    """File format: its name and its patterns, such as ``*.csv``."""

    name: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """Model whose reliability is computed during a simulation.

    Parameters
    ----------
    model : its name for `synchroscope simulate`.
    response : channel that it predicts.
    tolerance, policy, limits : values of the options of `monitor`; an empty policy is the default.
    realizations : size of its ensemble.
    """

    model: str
    response: str
    tolerance: str
    policy: str = ""
    limits: tuple[str, ...] = ()
    realizations: int = 10_000

    def words(self, ensemble: str) -> tuple[str, ...]:
        """Return the options of `monitor` that compare the model with the ensemble in a file."""
        options = ["--ensemble", ensemble, "--response", self.response, "--tolerance", self.tolerance]
        if self.policy:
            options += ["--policy", self.policy]
        for limit in self.limits:
            options += ["--limit", limit]
        return tuple(options)


@dataclass(frozen=True, slots=True)
class SimulationEntry:
    """Simulation: its name, description, submenu, and the model under test."""

    name: str
    summary: str
    group: str
    model_under_test: ModelUnderTest | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """File formats and simulations that can be opened."""

    files: tuple[FileKind, ...] = ()
    simulations: tuple[SimulationEntry, ...] = ()

    @property
    def filters(self) -> str:
        """Return the filters of a file dialog: all formats, each format, any file."""
        patterns = " ".join(dict.fromkeys(pattern for kind in self.files for pattern in kind.patterns))
        each = [f"{kind.name} ({' '.join(kind.patterns)})" for kind in self.files if kind.patterns]
        return ";;".join([f"Recordings ({patterns})", *each, "All files (*)"] if patterns else ["All files (*)"])

    @property
    def groups(self) -> dict[str, tuple[SimulationEntry, ...]]:
        """Return the simulations by submenu."""
        names = dict.fromkeys(offer.group for offer in self.simulations)
        return {name: tuple(offer for offer in self.simulations if offer.group == name) for name in names}

    def simulation(self, name: str) -> SimulationEntry | None:
        """Return the simulation of that name; None where there is none."""
        return next((offer for offer in self.simulations if offer.name == name), None)


class DescribeJob(QObject):
    """Job that runs ``synchroscope replay ... --describe`` once; deleted when it has ended.

    Parameters
    ----------
    played : arguments of `replay`.
    launch : creates the process.

    Signals
    -------
    described : a `Description`.
    failed : why the recording cannot be read.
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
        self._process.answer.connect(self._on_answer)
        self._process.ended.connect(self._on_ended)

    @property
    def process(self) -> ChildProcess | None:
        """The running process."""
        return self._process

    def start(self) -> None:
        """Start; does not wait."""
        assert self._process is not None
        self._process.start()

    def stop(self) -> None:
        """Stop the process; no signal is emitted any more."""
        self._answered = True
        if self._process is not None:
            self._process.stop()

    def _on_answer(self, answer: Mapping[str, object]) -> None:
        if self._answered:
            return
        self._answered = True
        try:
            description: Description = read_description(answer)
        except ValueError as problem:
            self.failed.emit(str(problem))
            return
        self.described.emit(description)

    def _on_ended(self, code: int, last: str) -> None:
        self._process = None
        if not self._answered:
            self._answered = True
            self.failed.emit(exit_reason(code, last))
        self.deleteLater()


def cache_folder() -> Path:
    """Return the cache folder of the ensembles of this version."""
    place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation)
    return Path(place) / "synchroscope" / __version__ / "ensembles"


class EnsembleCache(QObject):
    """Job that finds the ensemble of a model in the cache, or simulates it.

    Parameters
    ----------
    model_under_test : the model.
    folder : cache of ensembles.
    launch : creates the process.

    Signals
    -------
    ready : path of the file.
    progress : status text.
    failed : why it failed.
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
        self._tick.timeout.connect(self._on_progress)

    @property
    def process(self) -> ChildProcess | None:
        """The running process."""
        return self._process

    def start(self) -> None:
        """Start; does not wait."""
        if self._path.exists():
            self.ready.emit(str(self._path))
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            self.failed.emit(f"{self._folder} cannot be created: {problem.strerror or problem}")
            return
        # an interrupted simulation is continued
        words = ["simulate", self.model_under_test.model, "--realizations", str(self.model_under_test.realizations)]
        self._process = self._launch([*words, "--out", str(self._path)], self)
        self._process.ended.connect(self._on_ended)
        self._begun = monotonic()
        self._tick.start()
        self._on_progress()
        self._process.start()

    def _on_progress(self) -> None:
        what = f"{self.model_under_test.realizations:,} realizations of the model {self.model_under_test.model}"
        self.progress.emit(f"simulating {what}, once; they are cached: {monotonic() - self._begun:.0f} s")

    def _on_ended(self, code: int, last: str) -> None:
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

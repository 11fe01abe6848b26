"""Catalogue of what can be opened, and the jobs that describe a recording or simulate an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Signal

from gui.sources.processes.child_process import ChildProcess, CommandJob, ProcessFactory
from monitor import __version__
from monitor.messages.recordings import read_description


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


def describe_job(
    played: Sequence[str], parent: QObject | None = None, *, launch: ProcessFactory = ChildProcess
) -> CommandJob:
    """Return a job that reads what a recording has, a `Description`; `played` are arguments of `replay`."""
    return CommandJob(["replay", *played, "--describe"], read_description, parent, launch=launch)


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
        self._job: CommandJob | None = None
        self._begun = 0.0
        self._tick = QTimer(self, interval=1000)
        self._tick.timeout.connect(self._on_progress)

    @property
    def process(self) -> ChildProcess | None:
        """The running process."""
        return None if self._job is None else self._job.process

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
        self._job = CommandJob([*words, "--out", str(self._path)], None, self, launch=self._launch)
        self._job.done.connect(self._on_done)
        self._job.failed.connect(self._on_failed)
        self._begun = monotonic()
        self._tick.start()
        self._on_progress()
        self._job.start()

    def _on_progress(self) -> None:
        what = f"{self.model_under_test.realizations:,} realizations of the model {self.model_under_test.model}"
        self.progress.emit(f"simulating {what}, once; they are cached: {monotonic() - self._begun:.0f} s")

    def _on_done(self) -> None:
        self._end_progress()
        self.ready.emit(str(self._path))

    def _on_failed(self, why: str) -> None:
        self._end_progress()
        self.failed.emit(f"the model {self.model_under_test.model} could not be simulated: {why}")

    def _end_progress(self) -> None:
        self._tick.stop()
        self.progress.emit("")

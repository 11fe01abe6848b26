"""Sessions of a service that runs already, and of a rig whose signals a service of our own takes and records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from gui.sources.processes.child_process import ChildProcess
from gui.sources.processes.service import Launch, Service
from gui.sources.processes.session import ANY, Session, usual_or_any
from monitor.system.default_endpoints import RESULTS


@dataclass(frozen=True, slots=True)
class ConnectToService:
    """Watch the service that publishes its results at `url`; `keys` is the folder handed over, empty: none."""

    url: str
    keys: str = ""

    def session(self, parent: QObject | None = None, *, launch: Launch = ChildProcess) -> Session:  # noqa: ARG002
        """Return the session."""
        return _Connection(self, parent)


class _Connection(Session):
    def __init__(self, source: ConnectToService, parent: QObject | None) -> None:
        super().__init__(source.url, parent)
        self._url = source.url

    def start(self) -> None:
        self.ready.emit(self._url)

    def stop(self) -> None:
        self.ended.emit()


@dataclass(frozen=True, slots=True)
class ServeRig:
    """Start a service for a rig.

    Parameters
    ----------
    connect : endpoint of a rig that publishes; or
    bind : endpoint that rigs connect to.
    config : its settings in TOML; None for the defaults.
    words : further options of `monitor`, which go before the file.
    record : folder (ending in a slash) or file that keeps the run; empty: as the settings say.
    """

    connect: str = ""
    bind: str = ""
    config: Path | None = None
    words: tuple[str, ...] = ()
    record: str = ""

    def session(self, parent: QObject | None = None, *, launch: Launch = ChildProcess) -> Session:
        """Return the session."""
        return _Rig(self, parent, launch)

    @property
    def options(self) -> tuple[str, ...]:
        """The words for `monitor`."""
        options = [] if self.config is None else [str(self.config)]
        options += ["--connect", self.connect] if self.connect else []
        options += ["--bind", self.bind] if self.bind else []
        options += ["--record", self.record] if self.record else []
        return (*options, *self.words)


class _Rig(Session):
    """The service goes on recording when this process crashes.

    Where processes cannot be told to end (Windows), one that outlives us could not close its recording either: there
    it ends, in good order, with us.
    """

    def __init__(self, source: ServeRig, parent: QObject | None, launch: Launch) -> None:
        super().__init__(source.connect or source.bind or "rig", parent)
        self._options, self._launch = source.options, launch
        self._serve(usual_or_any())

    def _serve(self, publish: str) -> None:
        self._elsewhere = publish == ANY
        service = Service(self._options, publish, self, outlives=os.name == "posix", launch=self._launch)
        service.ready.connect(self._begin)
        service.progress.connect(self.progress)
        service.told.connect(self.told)
        service.failed.connect(self._fail)
        service.ended.connect(self._end)
        self._service = service

    @property
    def workers(self) -> Sequence[ChildProcess]:
        worker = self._service.worker
        return () if worker is None else (worker,)

    def start(self) -> None:
        self._service.start()

    def stop(self) -> None:
        self._service.stop()

    def finish(self, seconds: float = 5.0) -> None:
        # the end of the old one must not start a new one
        self._service.stop()
        super().finish(seconds)

    def _begin(self, url: str) -> None:
        if self._elsewhere:
            self.told.emit("info", f"another program has {RESULTS}: this service publishes its results on {url}")
        self.ready.emit(url)

    def _fail(self, why: str) -> None:
        if self._elsewhere or usual_or_any() != ANY:
            self.failed.emit(why)
            return
        # another program was quicker to take the usual endpoint
        self._serve(ANY)
        self._service.start()

    def _end(self) -> None:
        # the one that was too late is of no interest any more
        if self.sender() is self._service:
            self.ended.emit()

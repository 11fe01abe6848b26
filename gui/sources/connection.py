"""A service that runs already: nothing is started, it is only listened to."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject

from gui.sources.child_process import ChildProcess
from gui.sources.service import Launch
from gui.sources.session import Session


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

"""Session: one source of data, the processes that it needs, and where its results are published."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from gui.sources.processes.child_process import ChildProcess, finish
from gui.sources.processes.player import Player
from gui.sources.processes.service import Launch
from monitor.system.default_endpoints import RESULTS

ANY = "tcp://127.0.0.1:*"
"""What a service binds to take a free port."""


def free_endpoint() -> str:
    """Return an endpoint that is free at this moment, for two processes that must know it beforehand."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def usual_or_any() -> str:
    """Return the usual endpoint of results where it is free, else one that takes any port."""
    port = int(RESULTS.rpartition(":")[2])
    try:
        with socket.create_server(("127.0.0.1", port)):
            return RESULTS
    except OSError:
        return ANY


class Session(QObject):
    """What the window watches; only one at a time.

    Signals
    -------
    ready : the endpoint of the results; once.
    progress : what is waited for, one line instead of the last; empty when nothing is.
    told : level (info, warning, error) and one line.
    failed : there will be nothing to watch, and why; `ended` follows.
    ended : there is no process any more, and will be none; once.
    player_changed : there is a player now, or another one, or none.
    """

    ready = Signal(str)
    progress = Signal(str)
    told = Signal(str, str)
    failed = Signal(str)
    ended = Signal()
    player_changed = Signal()

    def __init__(self, title: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.results_url = ""
        self.player: Player | None = None
        self.ready.connect(self._keep)

    @property
    def workers(self) -> Sequence[ChildProcess]:
        """The processes that run for it."""
        return ()

    def start(self) -> None:
        """Begin; returns at once."""
        raise NotImplementedError

    def watched(self) -> None:
        """Say that the results are listened to: a replay begins then."""

    def stop(self) -> None:
        """Let its processes end; returns at once, `ended` follows."""
        raise NotImplementedError

    def finish(self, seconds: float = 5.0) -> None:
        """Let its processes end at the exit of the program, waiting no longer than `seconds` and a little."""
        finish(self.workers, seconds)

    def _keep(self, url: str) -> None:
        self.results_url = url


class Source(Protocol):
    """A frozen description of a session."""

    def session(self, parent: QObject | None = None, *, launch: Launch = ChildProcess) -> Session:
        """Return the session, not yet started."""
        ...

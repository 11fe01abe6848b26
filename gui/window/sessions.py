"""The session that is watched, and those that are still ending: one at a time is heard."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from gui.sources.processes.player import Player
from gui.sources.processes.session import Session, Source


class Sessions(QObject):
    """Open one source after the other; what the one before says is no longer heard.

    Signals
    -------
    ready : the endpoint to watch.
    progress : what is waited for; empty when nothing is.
    told : level and one line.
    changed : another session, or none, or its player is another one.
    """

    ready = Signal(str)
    progress = Signal(str)
    told = Signal(str, str)
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current: Session | None = None
        self._leaving: list[Session] = []

    @property
    def player(self) -> Player | None:
        """What steers the replay; None where nothing is replayed."""
        return None if self.current is None else self.current.player

    def open(self, source: Source) -> None:
        """Leave what is watched, and begin with another."""
        self.close()
        session = source.session(self)
        self.current = session
        session.ready.connect(self.ready)
        session.progress.connect(self.progress)
        session.told.connect(self.told)
        session.failed.connect(self._fail)
        session.player_changed.connect(self.changed)
        session.ended.connect(self._drop)
        self.changed.emit()
        session.start()

    def close(self) -> None:
        """End what was started for the session that is watched; returns at once."""
        session, self.current = self.current, None
        if session is None:
            return
        # what it says on its way out is nobody's business any more, but that it has ended
        for signal in (session.ready, session.progress, session.told, session.failed, session.player_changed):
            signal.disconnect()
        self._leaving.append(session)
        self.progress.emit("")
        self.changed.emit()
        session.stop()

    def finish(self) -> None:
        """End everything at the exit of the program; waits some seconds at most."""
        self.close()
        for session in self._leaving:
            session.finish()

    def _fail(self, reason: str) -> None:
        self.told.emit("error", reason)
        self.close()

    def _drop(self) -> None:
        session = self.sender()
        if session is self.current:
            self.close()
        self._leaving = [other for other in self._leaving if other is not session]
        if isinstance(session, Session):
            session.deleteLater()

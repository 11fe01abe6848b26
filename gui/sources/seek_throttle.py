"""A place that somebody wants to be at, told no more often than a player can follow."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

_PAUSE = 200  # ms between two that are told


class SeekThrottle(QObject):
    """Keep the newest place that is wanted until the player is there.

    Signals
    -------
    sought : the place, s; at most five times a second, but for the last one of a drag.
    arrived : nothing is wanted any more.
    """

    sought = Signal(float)
    arrived = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.wanted: float | None = None
        self.dragging = False
        self._told: float | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self.go_on)

    def want(self, seconds: float) -> None:
        """Want to be at `seconds`: told now, or when enough time has passed since the last."""
        self.wanted = seconds
        if not self._pause.isActive():
            self._tell()

    def let_go(self, seconds: float) -> None:
        """End a drag at `seconds`: told now."""
        self.dragging = False
        self.wanted = seconds
        self._tell()

    def settle(self) -> None:
        """Take it that the player is where it was sent, unless it has only just been."""
        if not self.dragging and not self._pause.isActive():
            self.wanted = None

    def go_on(self) -> None:
        """Tell what came since; where nothing did, the player is there by now."""
        if self.dragging or self.wanted != self._told:
            self._tell()
        else:
            self.rest()

    def rest(self) -> None:
        """Want nothing, and tell whatever comes next."""
        self._pause.stop()
        self._told = self.wanted = None
        self.arrived.emit()

    def _tell(self) -> None:
        if self.wanted is not None and self.wanted != self._told:
            self._told = self.wanted
            self._pause.start()
            self.sought.emit(self.wanted)

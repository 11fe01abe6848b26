"""The steering of a controlled replay: what is wanted goes to the process, and comes true when it says so."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.sources.child_process import ChildProcess
from gui.sources.description import Description, PlayerState, read_description


class Player(QObject):
    """Steer a process of ``synchroscope replay --controlled``.

    Parameters
    ----------
    worker : the process.
    description : of what is played, where it is known already.

    Signals
    -------
    opened : the recording is open.
    changed : it stands elsewhere, or otherwise.
    described : there is a description, or a better one.
    refused : what it did not do, and why.
    """

    opened = Signal()
    changed = Signal()
    described = Signal()
    refused = Signal(str)

    def __init__(
        self, worker: ChildProcess, parent: QObject | None = None, description: Description | None = None
    ) -> None:
        super().__init__(parent)
        self._worker = worker
        self._state = PlayerState()
        self._description = description
        self._open = self._heard = False
        worker.answer.connect(self._take)

    @property
    def description(self) -> Description | None:
        """What is played."""
        return self._description

    @property
    def is_open(self) -> bool:
        """The recording could be opened."""
        return self._open

    @property
    def position(self) -> float:
        """Seconds since the recording's first sample."""
        return self._state.position

    @property
    def duration(self) -> float:
        """Of the recording, s; 0 while it is not known."""
        known = None if self._description is None else self._description.duration
        return self._state.duration or known or 0.0

    @property
    def playing(self) -> bool:
        """Time passes."""
        return self._state.playing

    @property
    def ended(self) -> bool:
        """The last sample is out."""
        return self._state.ended

    @property
    def speed(self) -> float:
        """Seconds of the recording in a second; infinite for as fast as possible."""
        return math.inf if self._state.speed == "max" else float(self._state.speed)

    @property
    def loop(self) -> bool:
        """It begins again at the end."""
        return self._state.loop

    @property
    def faults(self) -> str:
        """What is made to go wrong, as it was set."""
        return self._state.faults

    @property
    def subscribed(self) -> bool:
        """A service listens to it."""
        return self._state.subscribed

    def pause(self) -> None:
        """Let no time pass."""
        self._tell("pause")

    def resume(self) -> None:
        """Let time pass; after the end, from the beginning."""
        if self.ended:
            self.seek(0.0)
        self._tell("resume")

    def toggle(self) -> None:
        """Let time pass, or not."""
        self.pause() if self.playing else self.resume()

    def step(self, seconds: float = 0.1) -> None:
        """Send what lies in the next `seconds`, then stand."""
        self._tell("step", seconds=seconds)

    def seek(self, seconds: float, lead: float = 0.0) -> None:
        """Go on from `seconds`; the `lead` s before are sent at once, so that windows are full."""
        sought = max(0.0, min(seconds, self._last) if self.duration else seconds)
        self._tell("seek", seconds=sought, **({"lead": lead} if lead else {}))

    def restart(self) -> None:
        """Begin again, and play."""
        self.seek(0.0)
        self._tell("resume")

    def set_speed(self, speed: float) -> None:
        """Let time pass `speed` times as fast; infinite: as fast as possible."""
        self._tell("speed", speed="max" if math.isinf(speed) else speed)

    def set_faults(self, text: str) -> None:
        """Let this go wrong from now on; nothing where the text is empty."""
        self._tell("faults", text=text)

    def set_loop(self, loop: bool) -> None:
        """Begin again at the end, or stop there."""
        self._tell("loop", loop=loop)

    def describe(self, description: Description) -> None:
        """Take a description that says more."""
        self._description = description
        self.described.emit()

    @property
    def _last(self) -> float:
        """Where the last sample is: from the duration on there is none."""
        known = None if self._description is None else self._description.sample_rate
        return self.duration - 1.0 / known if known else self.duration

    def _tell(self, command: str, **values: object) -> None:
        self._worker.tell({"type": command, **values})

    def _take(self, answer: Mapping[str, object]) -> None:
        match answer.get("type"):
            case "opened":
                self._open = True
                # the player tells no overview: one that is there already is kept
                told = answer.get("description")
                if self._description is None and isinstance(told, dict):
                    self._describe(told)
                self.opened.emit()
            case "state":
                try:
                    self._state = msgspec.convert(answer, PlayerState)
                except msgspec.ValidationError as problem:
                    self.refused.emit(f"the player's state cannot be read: {problem}")
                    return
                self.changed.emit()
            case "refused":
                self.refused.emit(str(answer.get("reason", "")))
            case _:
                pass

    def _describe(self, told: Mapping[str, object]) -> None:
        try:
            self.describe(read_description(told))
        except ValueError as problem:
            self.refused.emit(str(problem))

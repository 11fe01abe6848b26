"""Players: what the replay bar controls, and the control of a replay process by requests."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from monitor.messages.recordings import Description
from monitor.messages.requests import (
    Answer,
    FaultsRequest,
    LoopRequest,
    PauseRequest,
    PlayerState,
    Request,
    ResumeRequest,
    SeekRequest,
    SpeedRequest,
    StateRequest,
    StepRequest,
)

_POLL_INTERVAL = 25  # ms between polls for answers
_STATE_INTERVAL = 0.1  # s between requests of the state


class RequestClientProtocol(Protocol):
    """Interface of `monitor.transport.zeromq.requests.RequestClient`."""

    def send(self, request: Request) -> int:
        """Send a request and return its number."""

    def answers(self, timeout: float = 0.0) -> Sequence[Answer]:
        """Return the answers received since the last call."""

    def close(self, linger: float = 0.0) -> None:
        """Close the socket."""


class Player(QObject):
    """What the replay bar controls: a position in a recording that moves.

    Parameters
    ----------
    description : of the recording, if it is known.

    Signals
    -------
    changed : of position or state.
    described : the description has changed.
    refused : a request was refused, and why.
    """

    changed = Signal()
    described = Signal()
    refused = Signal(str)

    def __init__(self, parent: QObject | None = None, description: Description | None = None) -> None:
        super().__init__(parent)
        self._description = description

    @property
    def description(self) -> Description | None:
        """Description of the recording."""
        return self._description

    @property
    def position(self) -> float:
        """Seconds since the recording's first sample."""
        raise NotImplementedError

    @property
    def duration(self) -> float:
        """Duration of the recording, s; 0 while unknown."""
        raise NotImplementedError

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        raise NotImplementedError

    @property
    def ended(self) -> bool:
        """Whether it is at the end."""
        raise NotImplementedError

    @property
    def speed(self) -> float:
        """Factor on real time; infinite: as fast as possible."""
        raise NotImplementedError

    @property
    def loop(self) -> bool:
        """Whether it starts again at the end."""
        raise NotImplementedError

    def pause(self) -> None:
        """Pause."""
        raise NotImplementedError

    def resume(self) -> None:
        """Play; after the end, from the beginning."""
        raise NotImplementedError

    def toggle(self) -> None:
        """Pause or play."""
        self.pause() if self.playing else self.resume()

    def step(self, seconds: float = 0.1) -> None:
        """Play `seconds`, then pause."""
        raise NotImplementedError

    def seek(self, seconds: float, lead: float = 0.0) -> None:
        """Seek to `seconds`; where results are computed, from `lead` s before it."""
        raise NotImplementedError

    def restart(self) -> None:
        """Play from the beginning."""
        self.seek(0.0)
        self.resume()

    def set_speed(self, speed: float) -> None:
        """Play `speed` times as fast as recorded; infinite: as fast as possible."""
        raise NotImplementedError

    def set_loop(self, loop: bool) -> None:
        """Start again at the end, or stop there."""
        raise NotImplementedError

    def describe(self, description: Description) -> None:
        """Replace the description by a more complete one."""
        self._description = description
        self.described.emit()

    def close(self) -> None:
        """Stop."""
        raise NotImplementedError


class ReplayControl(Player):
    """Controller of a process ``synchroscope replay --control``.

    Parameters
    ----------
    client : sends the requests; closed by `close`.
    description : of the recording, if it is known.
    """

    def __init__(
        self, client: RequestClientProtocol, parent: QObject | None = None, description: Description | None = None
    ) -> None:
        super().__init__(parent, description)
        self._client: RequestClientProtocol | None = client
        weakref.finalize(self, client.close)  # if it is deleted with its parent
        self._state = PlayerState()
        self._newest_command = 0
        self._state_request = 0  # request without an answer
        self._asked_at = -math.inf
        self._timer = QTimer(self, interval=_POLL_INTERVAL)
        self._timer.timeout.connect(self.poll)
        self._timer.start()

    @property
    def position(self) -> float:
        """Seconds since the recording's first sample."""
        return self._state.position

    @property
    def duration(self) -> float:
        """Duration of the recording, s; 0 while unknown."""
        known = None if self._description is None else self._description.duration
        return self._state.duration or known or 0.0

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._state.playing

    @property
    def ended(self) -> bool:
        """Whether the last sample was sent."""
        return self._state.ended

    @property
    def speed(self) -> float:
        """Factor on real time; infinite: as fast as possible."""
        return math.inf if self._state.speed == "max" else float(self._state.speed)

    @property
    def loop(self) -> bool:
        """Whether it starts again at the end."""
        return self._state.loop

    @property
    def faults(self) -> str:
        """Injected faults, in the syntax of ``--fault``."""
        return self._state.faults

    @property
    def subscribed(self) -> bool:
        """Whether a service is connected to the replay."""
        return self._state.subscribed

    def pause(self) -> None:
        """Pause the replay."""
        self._send(PauseRequest())

    def resume(self) -> None:
        """Resume the replay; after the end, from the beginning."""
        if self.ended:
            self.seek(0.0)
        self._send(ResumeRequest())

    def step(self, seconds: float = 0.1) -> None:
        """Send the samples of the next `seconds`, then pause."""
        self._send(StepRequest(seconds=seconds))

    def seek(self, seconds: float, lead: float = 0.0) -> None:
        """Seek to `seconds`; the `lead` s before it are sent at once, so that windows are full."""
        sought = max(0.0, min(seconds, self._last) if self.duration else seconds)
        self._send(SeekRequest(seconds=sought, lead=lead))

    def restart(self) -> None:
        """Play from the beginning."""
        self.seek(0.0)
        self._send(ResumeRequest())

    def set_speed(self, speed: float) -> None:
        """Play `speed` times as fast as recorded; infinite: as fast as possible."""
        self._send(SpeedRequest(speed="max" if math.isinf(speed) else speed))

    def set_faults(self, text: str) -> None:
        """Inject these faults from now on; empty: none."""
        self._send(FaultsRequest(text=text))

    def set_loop(self, loop: bool) -> None:
        """Start again at the end, or stop there."""
        self._send(LoopRequest(loop=loop))

    def poll(self) -> None:
        """Process the answers, and request the state at intervals."""
        for answer in () if self._client is None else self._client.answers():
            self._accept(answer)
        if self._client is not None and not self._state_request and monotonic() - self._asked_at >= _STATE_INTERVAL:
            self._asked_at = monotonic()
            self._state_request = self._client.send(StateRequest())

    def close(self) -> None:
        """Close; requests that are queued are still sent."""
        self._timer.stop()
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def _last(self) -> float:
        """Position of the last sample: one step before the duration."""
        rate = self._state.sample_rate or (self._description and self._description.sample_rate)
        return self.duration - 1.0 / rate if rate else self.duration

    def _send(self, request: Request) -> None:
        if self._client is not None:
            self._newest_command = self._client.send(request)

    def _accept(self, answer: Answer) -> None:
        if answer.id == self._state_request:
            self._state_request = 0
            if not answer.ok:
                return  # the end of a process is reported by its session; a busy one answers later
        elif not answer.ok:
            self.refused.emit(answer.reason)
        # a state from before the newest request would revert what is shown
        if answer.state is not None and answer.id >= self._newest_command and answer.state != self._state:
            self._state = answer.state
            self.changed.emit()

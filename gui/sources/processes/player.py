"""Players, which the replay bar controls: a replay process by requests, or a position on a recording."""

from __future__ import annotations

import math
import weakref
from bisect import bisect_right
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from gui.model.history import History
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

if TYPE_CHECKING:
    from monitor.transport.zeromq.requests import RequestClient

_POLL_INTERVAL = 25  # ms between polls for answers
_STATE_INTERVAL = 0.1  # s between requests of the state


class Player(QObject):
    """What the replay bar controls: a position in a recording that moves.

    Parameters
    ----------
    description : of the recording, if it is known; `describe` replaces it.

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
        self.description = description
        self._state = PlayerState()

    @property
    def position(self) -> float:
        """Seconds since the recording's first sample."""
        return self._state.position

    @property
    def duration(self) -> float:
        """Duration of the recording, s; 0 while unknown."""
        known = None if self.description is None else self.description.duration
        return self._state.duration or known or 0.0

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._state.playing

    @property
    def ended(self) -> bool:
        """Whether it is at the last sample."""
        return self._state.ended

    @property
    def speed(self) -> float:
        """Factor on real time; infinite: as fast as possible."""
        return math.inf if self._state.speed == "max" else float(self._state.speed)

    @property
    def loop(self) -> bool:
        """Whether it starts again at the end."""
        return self._state.loop

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
        self.description = description
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
        self, client: RequestClient, parent: QObject | None = None, description: Description | None = None
    ) -> None:
        super().__init__(parent, description)
        self._client: RequestClient | None = client
        weakref.finalize(self, client.close)  # if it is deleted with its parent
        self._newest_command = 0
        self._state_request = 0  # request without an answer
        self._asked_at = -math.inf
        self._timer = QTimer(self, interval=_POLL_INTERVAL)
        self._timer.timeout.connect(self.poll)
        self._timer.start()

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
        rate = self._state.sample_rate or (self.description and self.description.sample_rate)
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


_INTERVAL = 40  # ms between two positions while it plays


class RunPosition:
    """Seconds since a recording's first sample, through gaps and restarts, and x on the display's axis.

    A restart takes a pause on the axis, and none of the seconds.

    Parameters
    ----------
    history : of the recording.
    """

    def __init__(self, history: History) -> None:
        self._x: list[float] = []
        self._seconds: list[float] = []
        passed = 0.0
        previous = None
        for segment in history.timeline.segments:
            step = 1.0 / segment.sample_rate
            if previous is not None:
                missing = segment.index - previous.numbers.stop if segment.epoch == previous.epoch else 0
                passed += max(0, missing) * step
            self._x += [segment.x_begin, segment.x_end + step]
            self._seconds += [passed, passed + segment.x_end + step - segment.x_begin]
            passed, previous = self._seconds[-1], segment

    @property
    def duration(self) -> float:
        """Seconds to the sample that would follow the last."""
        return self._seconds[-1] if self._seconds else 0.0

    def x(self, seconds: float) -> float:
        """Return x of an instant; where it is missing, of the next sample."""
        at = min(2 * (bisect_right(self._seconds[::2], seconds) - 1), len(self._x) - 2)
        if at < 0:
            return 0.0
        if seconds >= self._seconds[at + 1] and at + 2 < len(self._x):
            return self._x[at + 2]
        return self._x[at] + min(max(seconds, 0.0), self._seconds[at + 1]) - self._seconds[at]

    def seconds(self, x: float) -> float:
        """Return the instant at x."""
        return float(np.interp(x, self._x, self._seconds)) if self._x else 0.0


class PlayHead(Player):
    """Position on a recording that is loaded: playing moves it, and computes nothing.

    Parameters
    ----------
    history : of the recording.
    description : for the timeline.
    clock : s, monotonic.
    """

    def __init__(
        self,
        history: History,
        description: Description | None = None,
        parent: QObject | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(parent, description)
        self._where = RunPosition(history)
        self._last = max(0.0, self._where.duration - _step(history))
        self._state = PlayerState(position=self._last, duration=self._where.duration, ended=True)
        self._clock, self._then = clock, 0.0
        self._timer = QTimer(self, interval=_INTERVAL)
        self._timer.timeout.connect(self.advance)

    @property
    def x(self) -> float:
        """The position on the display's axis."""
        return self._where.x(self.position)

    def pause(self) -> None:
        """Stop moving."""
        self._change(playing=False)

    def resume(self) -> None:
        """Move; from the end, from the beginning."""
        self._then = self._clock()
        self._change(0.0 if self.ended else self.position, playing=True)

    def step(self, seconds: float = 0.1) -> None:
        """Move by `seconds`, and stop."""
        self._change(self.position + seconds, playing=False)

    def seek(self, seconds: float, lead: float = 0.0) -> None:  # noqa: ARG002 - everything is there
        """Move to `seconds`."""
        self._then = self._clock()
        self._change(seconds)

    def seek_x(self, x: float) -> None:
        """Move to x on the display's axis."""
        self.seek(self._where.seconds(x))

    def set_speed(self, speed: float) -> None:
        """Move `speed` times as fast as recorded; infinite: straight to the end."""
        self.advance()
        self._change(speed="max" if math.isinf(speed) else speed)

    def set_loop(self, loop: bool) -> None:
        """Start again at the end, or stop there."""
        self._change(loop=loop)

    def advance(self) -> None:
        """Move by the time that has passed."""
        if not self.playing:
            return
        now = self._clock()
        target = self.position + (now - self._then) * self.speed if now > self._then else self.position
        self._then = now
        if target < self._last:
            self._change(target)
        elif self.loop and math.isfinite(self.speed):
            self._change(0.0)
        else:
            self._change(self._last, playing=False)

    def close(self) -> None:
        """Stop moving."""
        self._timer.stop()

    def _change(self, position: float | None = None, **changed: Any) -> None:
        """Change the state; the position is that of a sample."""
        if position is not None:
            place = min(max(position, 0.0), self._last)
            changed |= {"position": place, "ended": place >= self._last}
        self._state = msgspec.structs.replace(self._state, **changed)
        if self.playing is not self._timer.isActive():
            self._timer.start() if self.playing else self._timer.stop()
        self.changed.emit()


def _step(history: History) -> float:
    signals = history.signals
    return 0.0 if signals is None else 1.0 / signals.sample_rate

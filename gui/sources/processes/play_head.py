"""Play head: a position on a recording that is loaded, which playing moves."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from time import monotonic

import numpy as np
from PySide6.QtCore import QObject, QTimer

from gui.model.history import History
from gui.sources.processes.player import Player
from monitor.messages.recordings import Description

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
        self._position, self._speed, self._loop = self._last, 1.0, False
        self._clock, self._then = clock, 0.0
        self._timer = QTimer(self, interval=_INTERVAL)
        self._timer.timeout.connect(self.advance)

    @property
    def position(self) -> float:
        """Seconds since the recording's first sample."""
        return self._position

    @property
    def x(self) -> float:
        """The position on the display's axis."""
        return self._where.x(self._position)

    @property
    def duration(self) -> float:
        """Duration of the recording, s."""
        return self._where.duration

    @property
    def playing(self) -> bool:
        """Whether it moves."""
        return self._timer.isActive()

    @property
    def ended(self) -> bool:
        """Whether it is at the last sample."""
        return self._position >= self._last

    @property
    def speed(self) -> float:
        """Factor on real time; infinite: straight to the end."""
        return self._speed

    @property
    def loop(self) -> bool:
        """Whether it starts again at the end."""
        return self._loop

    def pause(self) -> None:
        """Stop moving."""
        self._timer.stop()
        self.changed.emit()

    def resume(self) -> None:
        """Move; from the end, from the beginning."""
        if self.ended:
            self._position = 0.0
        self._then = self._clock()
        self._timer.start()
        self.changed.emit()

    def step(self, seconds: float = 0.1) -> None:
        """Move by `seconds`, and stop."""
        self._timer.stop()
        self.seek(self._position + seconds)

    def seek(self, seconds: float, lead: float = 0.0) -> None:  # noqa: ARG002 - everything is there
        """Move to `seconds`."""
        self._position = min(max(seconds, 0.0), self._last)
        self._then = self._clock()
        self.changed.emit()

    def seek_x(self, x: float) -> None:
        """Move to x on the display's axis."""
        self.seek(self._where.seconds(x))

    def set_speed(self, speed: float) -> None:
        """Move `speed` times as fast as recorded; infinite: straight to the end."""
        self.advance()
        self._speed = speed
        self.changed.emit()

    def set_loop(self, loop: bool) -> None:
        """Start again at the end, or stop there."""
        self._loop = loop
        self.changed.emit()

    def advance(self) -> None:
        """Move by the time that has passed."""
        if not self.playing:
            return
        now = self._clock()
        target = self._position + (now - self._then) * self._speed if now > self._then else self._position
        self._then = now
        if target < self._last:
            self._position = target
        elif self._loop and math.isfinite(self._speed):
            self._position = 0.0
        else:
            self._position = self._last
            self._timer.stop()
        self.changed.emit()

    def close(self) -> None:
        """Stop moving."""
        self._timer.stop()


def _step(history: History) -> float:
    signals = history.signals
    return 0.0 if signals is None else 1.0 / signals.sample_rate

"""Pacing of a playback against absolute deadlines, so that timing errors do not accumulate."""

from __future__ import annotations

import time
from collections.abc import Callable

_CLOCK_ROUNDING = 1e-9  # s; no sleep for less


class Pacer:
    """Converts clock time to a position in a recording.

    A position is due at ``start + position / speed``, however late earlier ones were: a player that falls
    behind finds several positions due at once, and is on time again after them.

    Parameters
    ----------
    speed : seconds of the recording per second; infinite for as fast as possible.
    clock : returns seconds; monotonic.
    sleep : waits for seconds.

    Raises
    ------
    ValueError : the speed is not a positive number.
    """

    def __init__(
        self,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed = _checked(speed)
        self._clock = clock
        self._sleep = sleep
        self._position = 0.0  # while paused; else the position at ...
        self._since: float | None = None  # ... this instant of the clock; None while paused

    @property
    def speed(self) -> float:
        """Seconds of the recording per second; a new value applies from the current position."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        speed = _checked(speed)
        self.seek(self.position)
        self._speed = speed

    @property
    def paused(self) -> bool:
        """The position does not change, as before the first `resume`."""
        return self._since is None

    @property
    def position(self) -> float:
        """Seconds of the recording that have passed; at infinite speed, the last position set."""
        if self._since is None or self._speed == float("inf"):
            return self._position
        return self._position + (self._clock() - self._since) * self._speed

    def pause(self) -> None:
        """Hold the position."""
        self._position, self._since = self.position, None

    def resume(self) -> None:
        """Continue from the current position."""
        if self._since is None:
            self._since = self._clock()

    def seek(self, position: float) -> None:
        """Set the position; running or paused as before."""
        self._position = position
        if self._since is not None:
            self._since = self._clock()

    def due(self, position: float) -> bool:
        """Whether `position` has been reached."""
        return self._due_in(position) <= _CLOCK_ROUNDING

    def wait(self, position: float, timeout: float) -> bool:
        """Sleep until `position` is due, at most `timeout` seconds; return whether it is."""
        deadline = self._clock() + timeout
        while not self.due(position):
            left = deadline - self._clock()
            if left <= _CLOCK_ROUNDING:
                return False
            # the clock advances between two calls: the position may be overdue by now
            self._sleep(max(0.0, min(left, self._due_in(position))))
        return True

    def _due_in(self, position: float) -> float:
        """Return seconds of the clock until `position`; infinite while paused."""
        if self._since is None:
            return float("inf")
        return self._since + (position - self._position) / self._speed - self._clock()


def _checked(speed: float) -> float:
    if not speed > 0.0:
        raise ValueError(f"speed {speed:g}: must be a positive number, or max")
    return speed

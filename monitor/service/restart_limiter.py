"""How often a rig may begin anew: every time all kernels are made anew, and with other channels a run file too."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from monitor.messages.blocks import Stream
from monitor.transport.rate_limit import TokenBucket

_RESTARTS = 50, 2.0  # at once, and a second
_LAYOUTS = 20, 1.0 / 60.0
_TOLD_EVERY = 1.0  # s


class RestartLimiter:
    """Let a rig begin anew 50 times and then twice a second, with other channels 20 times and then once a minute.

    What is refused is counted until it is told.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._restarts, self._layouts = TokenBucket(*_RESTARTS, clock), TokenBucket(*_LAYOUTS, clock)
        self._telling = TokenBucket(1, 1.0 / _TOLD_EVERY, clock)
        self._layout: object = None
        self._refused = 0

    def allow(self, stream: Stream) -> bool:
        """Tell whether `stream` may begin now, after another one."""
        layout = stream.rig, stream.sample_rate, stream.channels
        if not self._restarts.take() or (layout != self._layout and not self._layouts.take()):
            self._refused += 1
            return False
        self._layout = layout
        return True

    def told(self, *, at_once: bool = False) -> int:
        """Return how many blocks were refused since it was last told; 0 where it was told just now, but `at_once`."""
        if not self._refused or not (at_once or self._telling.take()):
            return 0
        refused, self._refused = self._refused, 0
        return refused

"""Intake of the service: short blocks joined, restarts limited, and the deadlines after a stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

import numpy as np

from monitor.messages.blocks import Event, SignalBlock, Stream
from monitor.transport.rate_limit import TokenBucket

_MOST_ROWS, _LONGEST = 64, 0.05  # samples, s of the stream: health and requests are not to wait for more
_ROUNDING = 8.0  # units in the last place: times that differ by less are the same


def joined(items: Iterable[tuple[SignalBlock | Event, float]]) -> Iterator[tuple[SignalBlock | Event, float]]:
    """Give what has come, with how long it waited; short blocks that go on in number and time are given as one.

    It has waited as long as the last of its parts. The results are the same, bit for bit.
    """
    parts: list[SignalBlock] = []
    rows, since = 0, 0.0
    for item, waited in items:
        if parts and not (isinstance(item, SignalBlock) and _goes_on(parts[0], rows, item)):
            yield _one(parts), since
            parts, rows = [], 0
        if isinstance(item, SignalBlock):
            parts.append(item)
            rows, since = rows + len(item), waited
        else:
            yield item, waited
    if parts:
        yield _one(parts), since


def _goes_on(first: SignalBlock, rows: int, block: SignalBlock) -> bool:
    if block.stream is not first.stream or block.index != first.index + rows or not rows or not len(block):
        return False
    if rows + len(block) > min(_MOST_ROWS, _LONGEST * first.stream.sample_rate):
        return False
    time = first.time + rows * first.stream.dt
    return abs(block.time - time) <= _ROUNDING * float(np.spacing(abs(first.time) + abs(time - first.time)))


def _one(parts: list[SignalBlock]) -> SignalBlock:
    first = parts[0]
    if len(parts) == 1:
        return first
    return SignalBlock(
        first.stream, first.index, first.time, np.concatenate([part.samples for part in parts]), parts[-1].last
    )


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

    def take_rejected_count(self, *, at_once: bool = False) -> int:
        """Return how many blocks were refused since it was last told; 0 where it was told just now, but `at_once`."""
        if not self._refused or not (at_once or self._telling.take()):
            return 0
        refused, self._refused = self._refused, 0
        return refused


_RESULTS, _SAMPLES = 0.5, 3.0  # s
_ON_THE_WAY = 0.15  # s


class StopDeadlines:
    """For half a second results are computed as ever; then samples are only passed on; after three seconds no longer.

    What had been sent may still be on its way through the kernel and libzmq, on a busy machine for a tenth of a
    second: so long it is waited for.

    Parameters
    ----------
    stop : says whether to stop.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._since = math.inf

    def stopping(self, now: float) -> bool:
        """Tell whether to stop; asked at `now`, s."""
        if self._since == math.inf and self._stop():
            self._since = now
        return self._since < math.inf

    def compute(self, now: float) -> bool:
        """Tell whether there is time for results; asked at `now`, s."""
        return not self.stopping(now) or now < self._since + _RESULTS

    def on_the_way(self, now: float) -> float:
        """Return for how many s more may be on its way; asked at `now`, s."""
        return max(0.0, self._since + _ON_THE_WAY - now)

    def over(self, now: float) -> bool:
        """Tell whether there is no time left at all."""
        return now >= self._since + _SAMPLES

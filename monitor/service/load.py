"""Load control: blocks joined, restarts limited, work shed, sinks thinned, deadlines, and blocks that wait."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from time import monotonic

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config import Measure
from monitor.engine.continuity import Accepted
from monitor.engine.monitor import MAX_ROWS_PER_SECOND
from monitor.messages import Sink
from monitor.messages.blocks import Event, SignalBlock
from monitor.messages.headline import FALLBACKS, HEADLINE
from monitor.transport.base import RecordingSink
from monitor.transport.rate_limit import TokenBucket

_MAX_ROWS, _MAX_SECONDS = 64, 0.05  # of a joined block, so that health and requests do not wait for it
_ROUNDING = 8.0  # units in the last place: times that differ by less are equal


def join_blocks(items: Iterable[tuple[SignalBlock | Event, float]]) -> Iterator[tuple[SignalBlock | Event, float]]:
    """Yield items with the time that each has waited; short blocks that are contiguous are joined into one.

    A joined block has waited as long as the last of its parts. The results are the same, bit for bit.
    """
    parts: list[SignalBlock] = []
    rows, since = 0, 0.0
    for item, waited in items:
        if parts and not (isinstance(item, SignalBlock) and _is_contiguous(parts[0], rows, item)):
            yield _concatenate(parts), since
            parts, rows = [], 0
        if isinstance(item, SignalBlock):
            parts.append(item)
            rows, since = rows + len(item), waited
        else:
            yield item, waited
    if parts:
        yield _concatenate(parts), since


def _is_contiguous(first: SignalBlock, rows: int, block: SignalBlock) -> bool:
    if block.stream is not first.stream or block.index != first.index + rows or not rows or not len(block):
        return False
    if block.joint:
        return False
    if rows + len(block) > min(_MAX_ROWS, _MAX_SECONDS * first.stream.sample_rate):
        return False
    time = first.time + rows * first.stream.dt
    return abs(block.time - time) <= _ROUNDING * float(np.spacing(abs(first.time) + abs(time - first.time)))


def _concatenate(parts: list[SignalBlock]) -> SignalBlock:
    first = parts[0]
    if len(parts) == 1:
        return first
    samples = np.concatenate([part.samples for part in parts])
    return SignalBlock(first.stream, first.index, first.time, samples, parts[-1].last, first.joint)


_RESTARTS = 50, 2.0  # burst, and per second
_LAYOUTS = 20, 1.0 / 60.0
_REPORT_INTERVAL = 1.0  # s


class RestartLimiter:
    """Limit how often a rig restarts: 50 times, then 2/s; with other channels 20 times, then once a minute.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._restarts, self._layouts = TokenBucket(*_RESTARTS, clock), TokenBucket(*_LAYOUTS, clock)
        self._reports = TokenBucket(1, 1.0 / _REPORT_INTERVAL, clock)
        self._layout: object = None
        self._rejected = self._samples = 0

    def allow(self, block: SignalBlock) -> bool:
        """Return whether the stream of `block` may begin now, after another one."""
        layout = block.stream.rig, block.stream.sample_rate, block.stream.channels
        if not self._restarts.allow() or (layout != self._layout and not self._layouts.allow()):
            self._rejected += 1
            self._samples += len(block)
            return False
        self._layout = layout
        return True

    def take_rejected(self, *, force: bool = False) -> tuple[int, int]:
        """Return the blocks and samples rejected since the last report; zeros within a second of it unless forced."""
        if not self._rejected or not (force or self._reports.allow()):
            return 0, 0
        rejected = self._rejected, self._samples
        self._rejected = self._samples = 0
        return rejected


# the furthest from the headline
_SHED_FIRST = ("transfer", "fei", "paei_adaptive")


def shedding_order(
    measures: Collection[Measure], watched: Collection[str] = (), headline: Collection[str] = ()
) -> tuple[Measure, ...]:
    """Return the measures that can be paused, in the order in which they are.

    First those that are furthest from the headline, then the costliest; those that alarms watch after all others, and
    the headline last. Where an alarm is on the headline delay or ratio, PAEI speaks for it then, and is never paused.

    Parameters
    ----------
    measures : those computed.
    watched, headline : those that alarms watch, and those that speak for an alarm on a headline value.
    """
    deputy = next((measure for measure in FALLBACKS if measure in headline and measure in measures), "")

    def rank(measure: Measure) -> tuple[bool, bool, int, float]:
        first = _SHED_FIRST.index(measure) if measure in _SHED_FIRST else len(_SHED_FIRST)
        return measure == HEADLINE, measure in watched, first, -CATALOGUE[measure].cost

    return tuple(sorted((m for m in measures if CATALOGUE[m].cost and m != deputy), key=rank))


_VIEWERS, _RESULTS = "viewers", "results"
_OVERLOAD_LAG = 0.3  # s of lag above which something more is shed
_OVERLOAD_UPDATES = 2  # in a row: a backlog from before the stream began is soon worked off
_NORMAL_LAG = 0.05  # s of lag below which the service keeps up
_STEP_INTERVAL = 1.0  # s between two steps, so that the effect of the last one shows
_RECOVERY_TIME = 10.0  # s without lag after which the last step is undone


class LoadShedding:
    """Decide by the lag of the results which work is shed.

    Parameters
    ----------
    order : of the measures, see `shedding_order`.
    """

    def __init__(self, order: Sequence[Measure]) -> None:
        self._steps = (_VIEWERS, _RESULTS, *order)
        self._level = 0
        self._last_step = self._last_lag = -math.inf
        self._lag, self._overloaded = 0.0, 0  # the last lag; updates in a row at which it was too large and rising

    def set_order(self, order: Sequence[Measure]) -> None:
        """Set the order of the measures; as many as before are paused, now the first of these."""
        self._steps = (_VIEWERS, _RESULTS, *order)
        self._level = min(self._level, len(self._steps))

    @property
    def shed(self) -> tuple[str, ...]:
        """What is shed, in this order."""
        return self._steps[: self._level]

    @property
    def exhausted(self) -> bool:
        """Nothing more can be shed."""
        return self._level == len(self._steps)

    @property
    def thins_viewers(self) -> bool:
        """Viewers get only a part of the blocks."""
        return _VIEWERS in self.shed

    @property
    def thins_results(self) -> bool:
        """Subscribers get only a part of the blocks."""
        return _RESULTS in self.shed

    @property
    def paused(self) -> frozenset[str]:
        """Measures that are not computed."""
        return frozenset(self.shed) - {_VIEWERS, _RESULTS}

    def update(self, now: float, lag: float, *, faster_than_real_time: bool = False) -> str:
        """Update with the lag [s] at `now` [s, monotonic]; return what changed, in one line, else an empty string.

        Parameters
        ----------
        faster_than_real_time : samples come faster than the rig's clock, as from a replay, which waits if asked to.
        """
        overloaded = lag > _OVERLOAD_LAG and lag >= self._lag and not faster_than_real_time
        self._overloaded = self._overloaded + 1 if overloaded else 0
        self._lag = lag
        if lag > _NORMAL_LAG:
            self._last_lag = now
        may_shed = now - self._last_step >= _STEP_INTERVAL and self._level < len(self._steps)
        if self._overloaded >= _OVERLOAD_UPDATES and may_shed:
            self._last_step, self._level = now, self._level + 1
            return f"overloaded, {lag:.2g} s behind: {_step_texts(self._steps[self._level - 1])[0]}"
        if self._level and now - max(self._last_lag, self._last_step) >= _RECOVERY_TIME:
            self._last_step, self._level = now, self._level - 1
            return f"keeps up again: {_step_texts(self._steps[self._level])[1]}"
        return ""


def _step_texts(step: str) -> tuple[str, str]:
    """Return what a step does, and what its end does."""
    if step == _VIEWERS:
        return "the feeds of other programs are thinned", "the feeds of other programs are complete again"
    if step == _RESULTS:
        thinned = "published signals and results are thinned, what is recorded is not"
        return thinned, "all signals and results are published again"
    return f"{step} is paused", f"{step} is computed again"


_THINNED_INTERVAL = 0.1  # s between the blocks that are published when time is short


class SinkSchedule:
    """Which sinks get a block: under load viewers and subscribers get a part, a recording every block.

    Parameters
    ----------
    sinks : the first is the one that clients wait for, and may be thinned; the others get every block.
    recorders : get signals when they arrive, and every block of results.
    viewers : sinks for other programs.
    shedding : decides what is thinned.
    clock : s, monotonic.

    Attributes
    ----------
    all : every sink, for events, alarms, health and transfer functions, which are never thinned.
    clients : all but the recorders.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        recorders: Sequence[RecordingSink],
        viewers: Sequence[Sink],
        shedding: LoadShedding,
        clock: Callable[[], float],
    ) -> None:
        self._first, self._others, self._viewers = tuple(sinks[:1]), tuple(sinks[1:]), tuple(viewers)
        self.recorders = tuple(recorders)
        self.clients = (*sinks, *viewers)
        self.all = (*sinks, *recorders, *viewers)
        self._shedding = shedding
        self._clock = clock
        self._last_published = self._last_viewed = -math.inf

    def first(self, *, unthinned: bool) -> tuple[Sink, ...]:
        """Return the first sink if it gets the next block; always if `unthinned`."""
        now = self._clock()
        if not unthinned and self._shedding.thins_results and now - self._last_published < _THINNED_INTERVAL:
            return ()
        self._last_published = now
        return self._first

    def others(self, *, unthinned: bool) -> tuple[Sink, ...]:
        """Return the other sinks that get the next block, viewers last; all of them if `unthinned`."""
        now = self._clock()
        if not unthinned and self._shedding.thins_viewers and now - self._last_viewed < _THINNED_INTERVAL:
            return self._others
        self._last_viewed = now
        return (*self._others, *self._viewers)


_COMPUTE_TIME, _RECORD_TIME = 0.5, 10.0  # s after the stop
_IN_FLIGHT_TIME = 0.15  # s


class StopDeadlines:
    """After a stop everything that has arrived is recorded, for 10 s at most, and results are computed for 0.5 s.

    Messages sent before the stop may be in flight through the kernel and libzmq, on a busy machine for a tenth of a
    second: they are waited for.

    Parameters
    ----------
    stop : returns whether to stop.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._since = math.inf

    def stopping(self, now: float) -> bool:
        """Return whether to stop, at `now` [s]."""
        if self._since == math.inf and self._stop():
            self._since = now
        return self._since < math.inf

    def may_compute(self, now: float) -> bool:
        """Return whether there is time for results, at `now` [s]."""
        return not self.stopping(now) or now < self._since + _COMPUTE_TIME

    def in_flight_time(self, now: float) -> float:
        """Return for how many s from `now` messages may still be in flight."""
        return max(0.0, self._since + _IN_FLIGHT_TIME - now)

    def expired(self, now: float) -> bool:
        """Return whether no time is left at all, at `now` [s]."""
        return now >= self._since + _RECORD_TIME


MAX_BYTES = 256 << 20
"""Memory for blocks that wait to be computed."""
_MAX_VALUES = 1 << 13  # computed at once: a tenth of a second of work at most
_OVERHEAD = 512  # bytes of a block beside its samples


class WaitingBlocks:
    """A queue of accepted blocks in order of arrival.

    Parameters
    ----------
    max_bytes : of memory.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._queue: deque[tuple[Accepted, float, int]] = deque()  # with its arrival and approximate memory
        self._n_bytes = 0
        self._left_out = self._start_left_out = False  # before the next block

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def samples(self) -> int:
        """Samples that wait."""
        return sum(len(accepted.block) for accepted, *_ in self._queue if accepted.block is not None)

    @property
    def oldest_arrival(self) -> float:
        """When the next block arrived, s; there is one."""
        return self._queue[0][1]

    @property
    def used(self) -> float:
        """Share of the memory that is used, 0 .. 1."""
        return self._n_bytes / self._max_bytes

    def seconds(self, block: SignalBlock) -> float:
        """Return how many s of a stream with blocks like this one the memory holds."""
        per_sample = block.samples.itemsize * len(block.stream.channels)
        return self._max_bytes / (per_sample + _OVERHEAD / max(len(block), 1)) / block.stream.sample_rate

    def add(self, accepted: Accepted, arrived: float) -> None:
        """Append an accepted block, in parts if it is large."""
        block = accepted.block
        rows = 0 if block is None else 1 + _MAX_VALUES // (1 + len(block.stream.channels))
        if block is None or len(block) <= rows:
            self._append(accepted, arrived)
            return
        for part in block.parts(rows):
            self._append(accepted._replace(block=part), arrived)
            accepted = Accepted(None)

    def _append(self, accepted: Accepted, arrived: float) -> None:
        n_bytes = _OVERHEAD + (0 if accepted.block is None else accepted.block.samples.nbytes)
        self._queue.append((accepted, arrived, n_bytes))
        self._n_bytes += n_bytes

    def pop(self) -> tuple[Accepted, float]:
        """Remove and return the oldest, and its arrival; after blocks left out it starts its stream, or has a gap."""
        accepted, arrived, n_bytes = self._queue.popleft()
        self._n_bytes -= n_bytes
        if self._left_out and accepted.block is not None:
            accepted = accepted._replace(started=accepted.started or self._start_left_out, broken=True)
            self._left_out = self._start_left_out = False
        return accepted, arrived

    def leave_out(self, share: float) -> tuple[int, tuple[Event, ...]]:
        """Leave out the oldest until this share of the memory is used; return how many samples, and their events."""
        samples, events = 0, list[Event]()
        while self._queue and self._n_bytes > share * self._max_bytes:
            accepted, _ = self.pop()
            events += accepted.events
            if accepted.block is not None:
                samples += len(accepted.block)
                self._left_out, self._start_left_out = True, self._start_left_out or accepted.started
        return samples, tuple(events)


class UnpublishedSignals:
    """Computed blocks of signals until the next row of results, 200 times a second at most.

    A message a sample costs publisher and subscribers more than its content.
    """

    def __init__(self) -> None:
        self._blocks: list[SignalBlock] = []
        self._samples = 0

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: SignalBlock) -> bool:
        """Append a block; return whether it is time to publish them, without results too."""
        self._blocks.append(block)
        self._samples += len(block)
        return block.last or not len(block) or self._samples * MAX_ROWS_PER_SECOND >= block.stream.sample_rate

    def take(self) -> list[SignalBlock]:
        """Remove and return them, as one block where they are contiguous."""
        blocks, self._blocks, self._samples = self._blocks, [], 0
        return [block for block, _ in join_blocks((each, 0.0) for each in blocks) if isinstance(block, SignalBlock)]

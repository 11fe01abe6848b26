"""Time axis of the display, monotonic also where the rig restarts or its clock jumps; runs without a gap."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from monitor.messages.blocks import ResultBlock, ResultStream, Samples, SignalBlock, Stream

PAUSE = 1.0
"""s between two segments."""
_MOST_SEGMENTS = 4096
# the service's limits between a clock jump and drift
_JUMP = 0.1
_DRIFT = 0.1
_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class ClockSegment:
    """Part of the axis in which the rig's clock advances uniformly.

    Parameters
    ----------
    x_begin, x_end : of its first and newest sample, s.
    offset : time of the rig = x + offset, s.
    epoch : of the rig.
    index : of the sample at `x_begin`.
    sample_rate : Hz.
    follows : continues the segment before, whose clock drifted: nothing was interrupted.
    """

    x_begin: float
    x_end: float
    offset: float
    epoch: int
    index: int = 0
    sample_rate: float = 1.0
    follows: bool = False

    def x_at(self, index: int) -> float:
        """Return x of the sample `index`."""
        return self.row_of(index) / self.sample_rate

    def row_of(self, index: int) -> int:
        """Return the position of the sample `index`, in steps of 1/sample_rate from 0."""
        return round(self.x_begin * self.sample_rate) + index - self.index

    @property
    def numbers(self) -> range:
        """Numbers of its samples."""
        return range(self.index, self.index + round((self.x_end - self.x_begin) * self.sample_rate) + 1)

    def holds(self, time: float) -> bool:
        """Whether a sample of it was taken at `time` of the rig, or within half a step of it."""
        half = 0.5 / self.sample_rate
        return self.x_begin - half <= time - self.offset <= self.x_end + half


class DisplayTimeline:
    """Place samples on an axis of seconds that begins near 0.

    A restart of the rig, a clock jump or another rate begins a new segment, `PAUSE` s after the newest sample and at
    an offset of whole seconds from the rig's time. Samples are at multiples of 1/sample_rate, within half a step of
    the rig's time. Where the rig's clock drifts from index and rate, a new segment follows without a pause as soon
    as the difference is a tenth of a second.
    """

    def __init__(self) -> None:
        self._segments: deque[ClockSegment] = deque(maxlen=_MOST_SEGMENTS)
        self._last = (0, 0.0)
        self._end = -math.inf
        self._interrupted = False

    @property
    def segments(self) -> tuple[ClockSegment, ...]:
        """Oldest first; at most 4096, the oldest are dropped."""
        return tuple(self._segments)

    def numbered_once(self, segment: ClockSegment) -> bool:
        """Whether no other segment of its epoch has samples with the numbers of `segment`."""
        mine = segment.numbers
        return not any(
            other is not segment
            and other.epoch == segment.epoch
            and max(mine.start, other.numbers.start) < min(mine.stop, other.numbers.stop)
            for other in self._segments
        )

    @property
    def epoch(self) -> int | None:
        """Of the newest segment; None before the first."""
        return self._segments[-1].epoch if self._segments else None

    @property
    def end(self) -> float:
        """The newest x; -inf before the first."""
        return self._end

    def epoch_at(self, x: float) -> int | None:
        """Return the epoch at `x`, in a break the one before it; None before the first."""
        at = bisect_right(self._segments, x, key=lambda segment: segment.x_begin) - 1
        return self._segments[at].epoch if at >= 0 else None

    def interrupt(self) -> None:
        """Let the next sample begin a new segment: the rig was restarted with the same epoch."""
        self._interrupted = True

    def place(self, epoch: int, index: int, time: float, sample_rate: float) -> float:
        """Return x [s] of the sample `index`, taken at `time` of the rig; signals and results may alternate."""
        segment = self._segments[-1] if self._segments else None
        if (
            segment is None
            or self._interrupted
            or epoch != segment.epoch
            or sample_rate != segment.sample_rate
            or self._jumped(index, time, sample_rate)
        ):
            segment = self._begin(epoch, index, time, sample_rate)
        elif abs(time - segment.x_at(index) - segment.offset) > max(_DRIFT, 2.5 / sample_rate):
            segment = self._follow(segment, index, time)
        self._last = index, time
        return self.reach(index)

    def reach(self, index: int) -> float:
        """Return x of the sample `index` of the newest segment, and extend the segment to it."""
        segment = self._segments[-1]
        x = segment.x_at(index)
        if x > segment.x_end:
            self._segments[-1] = replace(segment, x_end=x)
            self._end = max(self._end, x)
        return x

    def _jumped(self, index: int, time: float, sample_rate: float) -> bool:
        before, then = self._last
        span = (index - before) / sample_rate
        return not abs(time - then - span) <= max(_JUMP, 2.5 / sample_rate, _SHARE * span)

    def _begin(self, epoch: int, index: int, time: float, rate: float) -> ClockSegment:
        least = max(0.0, self._end + PAUSE)
        time = time if math.isfinite(time) else least
        row = round((least + (time - least) % 1.0) * rate)
        if self._segments:
            # where steps are long, rounding could place it before the newest x
            row = max(row, math.floor(self._end * rate) + 1)
        x = row / rate
        self._segments.append(ClockSegment(x, x, float(round(time - x)), epoch, index, rate))
        self._end = max(self._end, x)
        self._interrupted = False
        return self._segments[-1]

    def _follow(self, segment: ClockSegment, index: int, time: float) -> ClockSegment:
        x = segment.x_at(index)
        offset = round((time - x) / _DRIFT) * _DRIFT
        self._segments.append(ClockSegment(x, x, offset, segment.epoch, index, segment.sample_rate, True))
        self._end = max(self._end, x)
        return self._segments[-1]

    def run_of(self, x: float) -> float:
        """Return where the run that holds `x` begins: a segment and those that follow it; NaN in a break."""
        after = bisect_right(self._segments, x, key=lambda segment: segment.x_begin)
        at = after - 1
        if math.isnan(self.time_at(x)) and not (0 < after < len(self._segments) and self._segments[after].follows):
            return math.nan
        # the first ones may be dropped
        while at > 0 and self._segments[at].follows:
            at -= 1
        return self._segments[at].x_begin

    def time_at(self, x: float) -> float:
        """Return the rig's time at `x`; extrapolated after the newest sample; NaN in a break and before the first."""
        at = bisect_right(self._segments, x, key=lambda segment: segment.x_begin) - 1
        if at < 0:
            return math.nan
        segment = self._segments[at]
        newest = at == len(self._segments) - 1
        until = segment.x_end + (math.inf if newest else 1.0 / segment.sample_rate)
        return x + segment.offset if x <= until else math.nan

    def sample_at(self, x: float) -> tuple[float, int] | None:
        """Return the rig's time and the index of the sample nearest to `x`; None before the first and in a break."""
        time = self.time_at(x)
        if math.isnan(time):
            return None
        segment = self._segments[bisect_right(self._segments, x, key=lambda each: each.x_begin) - 1]
        index = segment.index + round((min(x, segment.x_end) - segment.x_begin) * segment.sample_rate)
        return segment.x_at(index) + segment.offset, index

    def x_of(self, time: float, epoch: int | None = None) -> float:
        """Return x of the rig's `time`: in the newest segment (of `epoch`) that contains it.

        Where none does, it is clipped to the newest segment; 0 before the first sample.
        """
        known = [segment for segment in reversed(self._segments) if epoch in (None, segment.epoch)]
        known = known or [*reversed(self._segments)][:1]
        for segment in known:
            if segment.holds(time):
                return time - segment.offset
        if not known:
            return 0.0
        newest = known[0]
        x = time - newest.offset if math.isfinite(time) else newest.x_end
        return min(max(x, newest.x_begin), newest.x_end)


_MAX_TIME_ERROR = 0.1  # s by which the time of a contiguous block may differ from the expected one

Block = TypeVar("Block", SignalBlock, ResultBlock)


class ContiguousRun(Generic[Block]):
    """Rows of consecutive blocks without a gap, collected until they are stored."""

    def __init__(self) -> None:
        self._stream: Stream | ResultStream | None = None
        self._rows: list[Samples] = []
        self._x = self._step = self._time = self._max_error = 0.0
        self._epoch: int | None = None
        self._every = 1
        self._index = self._n_rows = 0

    def is_contiguous_with(self, block: Block) -> bool:
        """Whether `block` follows without a gap, a clock jump or a change of the stream."""
        return (
            block.stream is self._stream
            and block.index == self._index
            and -self._max_error <= block.time - self._time <= self._max_error
        )

    def precedes(self, block: Block) -> bool:
        """Whether `block` has an earlier index in the same epoch, which means that the rig was restarted."""
        return block.stream.epoch == self._epoch and block.index < self._index

    def begin(self, block: Block, x: float) -> None:
        """Start a run at `block`, whose first row is at `x`; the rows before must have been popped."""
        stream = self._stream = block.stream
        self._every = stream.every if isinstance(stream, ResultStream) else 1
        self._step = self._every / stream.sample_rate
        self._max_error = max(_MAX_TIME_ERROR, 2.5 / stream.sample_rate)
        self._epoch = stream.epoch
        self._x, self._index, self._n_rows = x, block.index, 0

    def append(self, block: Block) -> None:
        """Append a contiguous block, or the one that the run begins with."""
        rows = block.samples if isinstance(block, SignalBlock) else block.values
        if len(rows):
            self._rows.append(rows)
        self._n_rows += len(rows)
        self._index = block.index + len(rows) * self._every
        self._time = block.time + len(rows) * self._step

    @property
    def newest_index(self) -> int:
        """Index of the newest sample."""
        return self._index - self._every

    def pop_rows(self) -> tuple[float, Samples] | None:
        """Return x of the first row and the rows, (n_rows, n_columns), and remove them; None where there are none.

        The run continues with the next block.
        """
        if not self._rows:
            return None
        x, rows = self._x, self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)
        self._x += self._n_rows * self._step
        self._rows, self._n_rows = [], 0
        return x, rows

    def end(self) -> None:
        """Let the next block begin a new run, even if it is contiguous."""
        self._stream = None

    def reset(self) -> None:
        """Forget the newest index: no block that comes next precedes it."""
        self._stream = self._epoch = None

"""History: the signals, results, events and alarms of a service on one time axis, in bounded memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from gui.model.alarms import AlarmSummary, WatchedLimits, summary, watched_limits
from gui.model.receiver import ReceivedMessages
from gui.model.series import ResultHistory, SignalHistory
from gui.model.service_state import ServiceState, service_state
from gui.model.timeline import Timeline
from monitor.messages.alarms import Alarm
from monitor.messages.blocks import Event, ResultBlock, ResultStream, Samples, SignalBlock, Stream, TransferBlock
from monitor.messages.health import Health

# s by which the time of a block may be off where it still goes on from the one before
_LATE = 0.1

Block = TypeVar("Block", SignalBlock, ResultBlock)


class _ContiguousRun(Generic[Block]):
    """Rows from one x on, without a hole."""

    def __init__(self) -> None:
        self._stream: Stream | ResultStream | None = None
        self._rows: list[Samples] = []
        self._x = self._step = self._time = self._late = 0.0
        self._epoch: int | None = None
        self._every = 1
        self._index = self._n_rows = 0

    def is_contiguous_with(self, block: Block) -> bool:
        """Whether `block` follows without a gap, a jump of the clock or a change."""
        return (
            block.stream is self._stream
            and block.index == self._index
            and -self._late <= block.time - self._time <= self._late
        )

    def precedes(self, block: Block) -> bool:
        """Whether `block` lies before what has come: a service says nothing twice without a restart."""
        return block.stream.epoch == self._epoch and block.index < self._index

    def begin(self, block: Block, x: float) -> None:
        """Let rows go on from those of `block`, the first of which stands at `x`; all before it were taken."""
        stream = self._stream = block.stream
        self._every = stream.every if isinstance(stream, ResultStream) else 1
        self._step = self._every / stream.sample_rate
        self._late = max(_LATE, 2.5 / stream.sample_rate)
        self._epoch = stream.epoch
        self._x, self._index, self._n_rows = x, block.index, 0

    def add(self, block: Block) -> None:
        """Take a block that goes on, or the one that `begin` was told."""
        rows = block.samples if isinstance(block, SignalBlock) else block.values
        self._rows.append(rows)
        self._n_rows += len(rows)
        self._index = block.index + len(rows) * self._every
        self._time = block.time + len(rows) * self._step

    @property
    def newest(self) -> int:
        """Index of the newest sample."""
        return self._index - self._every

    def take_rows(self) -> tuple[float, Samples] | None:
        """Return x of the first row and the rows, (n_rows, n_columns), and forget them; None where there are none.

        What is added next may go on from them.
        """
        if not self._rows:
            return None
        x, rows = self._x, self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)
        self._x += self._n_rows * self._step
        self._rows, self._n_rows = [], 0
        return x, rows

    def pause(self) -> None:
        """Let the next block begin a run of its own, though it may follow."""
        self._stream = None

    def forget(self) -> None:
        """Let nothing that comes next lie before what was."""
        self._stream = self._epoch = None


_MOST_EVENTS = 10_000
_FOR_RESULTS = 4


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event, and where it stands on the axis [s]."""

    x: float
    event: Event


class History:
    """Signals, results, transfer functions, events and health of one rig, on one axis.

    A restart of the rig continues on the same time axis; other channels, columns or another rate begin a new history.
    The axis is that of the samples or, where a service publishes results alone, of these.

    Parameters
    ----------
    memory : bytes at most; a quarter of it is for results. It is taken at once, when the first block tells the width.
    minutes : how far back everything is kept as it came, where memory allows.

    Attributes
    ----------
    halted : it is a replay that its user has halted.
    alarms : of the service, as it told them last; None where it has never told any.
    summary : what stands of them.
    limits : what they watch; another object only where that is something else.
    """

    def __init__(self, memory: int = 512 << 20, minutes: float = 10.0) -> None:
        self._memory, self._minutes = memory, minutes
        self.timeline = Timeline()
        self.signals: SignalHistory | None = None
        self.results: ResultHistory | None = None
        self.health: Health | None = None
        self.alarms: tuple[Alarm, ...] | None = None
        self.summary, self.limits = AlarmSummary(), WatchedLimits()
        self.silence, self.age = 0.0, math.inf
        self.halted = False
        self.generation = 0
        self.version = 0
        self._events: deque[PlacedEvent] = deque(maxlen=_MOST_EVENTS)
        self._transfer: TransferBlock | None = None
        self._epoch: int | None = None
        self._signals, self._results = _ContiguousRun[SignalBlock](), _ContiguousRun[ResultBlock]()

    @property
    def state(self) -> ServiceState:
        """How the service is, and whether the newest values are those of now."""
        results = self.results
        interval = 0.0 if results is None else results.stream.every / results.stream.sample_rate
        return service_state(self.health, self.silence, self.age, interval, halted=self.halted)

    @property
    def events(self) -> Sequence[PlacedEvent]:
        """What happened, the newest last; the oldest of very many are forgotten."""
        return self._events

    @property
    def transfer(self) -> TransferBlock | None:
        """The newest transfer functions of the run that goes on; what was told of the run before is no longer so."""
        if self._transfer is None or self._epoch not in (None, self._transfer.stream.epoch):
            return None
        return self._transfer

    @property
    def begin_x(self) -> float:
        """Where the oldest that is known begins, s; 0 before the first."""
        begins = [kept.begin_x for kept in (self.signals, self.results) if kept is not None]
        return min((x for x in begins if not math.isnan(x)), default=0.0)

    @property
    def end_x(self) -> float:
        """The newest x, s; 0 before the first."""
        return max(0.0, self.timeline.end)

    @property
    def nbytes(self) -> int:
        """Bytes that the rings hold."""
        return sum(kept.nbytes for kept in (self.signals, self.results) if kept is not None)

    def update(self, arrivals: ReceivedMessages, *, silence: float = 0.0, age: float = math.inf) -> None:
        """Keep what has come.

        Parameters
        ----------
        silence : s since the service last said how it is.
        age : s since results last came.
        """
        self.silence, self.age = silence, age
        self.health = arrivals.health or self.health
        if arrivals.alarms is not None:
            self._take_alarms(arrivals.alarms.alarms)
        for item in arrivals.in_order:
            if isinstance(item, Event):
                self._keep()
                self._events.append(PlacedEvent(self.timeline.x_of(item.time, self._epoch), item))
            elif isinstance(item, SignalBlock):
                self._take(item, self._signals)
            else:
                self._take(item, self._results)
        self._keep()
        # the next look asks the timeline again whether the rig's clock runs away
        self._signals.pause()
        self._results.pause()
        self._transfer = arrivals.transfer or self._transfer
        self.version += bool(arrivals)

    def _take_alarms(self, alarms: tuple[Alarm, ...]) -> None:
        self.alarms, self.summary = alarms, summary(alarms)
        limits = watched_limits(alarms)
        if limits != self.limits:
            self.limits = limits

    def _take(self, block: Block, stretch: _ContiguousRun[Block]) -> None:
        if not stretch.is_contiguous_with(block):
            self._keep()
            self._follow(block)
            if stretch.precedes(block):
                self.timeline.interrupt()
                self._signals.forget()
                self._results.forget()
            if not len(block):
                return
            x = self.timeline.place(block.stream.epoch, block.index, block.time, block.stream.sample_rate)
            stretch.begin(block, x)
        stretch.add(block)

    def _keep(self) -> None:
        """Put what is gathered where it stays."""
        signals, results = self._signals.take_rows(), self._results.take_rows()
        if signals is not None and self.signals is not None:
            self.timeline.reach(self._signals.newest)
            self.signals.append(*signals)
        if results is not None and self.results is not None:
            self.timeline.reach(self._results.newest)
            self.results.append(*results)

    def _follow(self, block: SignalBlock | ResultBlock) -> None:
        """Detect a restart of the rig, other channels and other columns."""
        epoch = block.stream.epoch
        if epoch != self._epoch:
            self._epoch = epoch
            if self.results is not None:
                self.results.restart()
        if isinstance(block, SignalBlock):
            self._follow_signals(block.stream)
        else:
            self._follow_results(block.stream)

    def _follow_signals(self, stream: Stream) -> None:
        if self.signals is not None and _same(self.signals.stream, stream):
            self.signals.stream = stream
            return
        if self.signals is not None:
            # of another rig; what it holds is given back before as much is taken again
            self.signals = self.results = None
        self.signals = SignalHistory(stream, self._minutes, self._memory - self._memory // _FOR_RESULTS)
        self.generation += 1

    def _follow_results(self, stream: ResultStream) -> None:
        if self.results is not None and _same(self.results.stream, stream):
            self.results.stream = stream
            return
        self.results = None
        if self.signals is not None and self.signals.sample_rate != stream.sample_rate:
            # of a rig whose signals the service keeps to itself
            self.signals = None
        self.results = ResultHistory(stream, self._minutes, self._memory // _FOR_RESULTS)
        self.generation += 1


def _same(one: Stream | ResultStream, other: Stream | ResultStream) -> bool:
    return one is other or replace(one, epoch=other.epoch) == other

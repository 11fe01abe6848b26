"""Whether a block continues the stream: gaps, duplicates, late blocks, restarts and clock jumps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from monitor.messages.blocks import Event, EventKind, SignalBlock, Stream

_SECONDS, _SECONDS_OF_SAME = 1.0, 5.0
_BLOCKS = 5
_TIMES = 4  # as many samples as came of the stream that is followed
_MOST = 4
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class _Rival:
    """What came of one stream without a gap, and how many samples of the followed one came meanwhile."""

    blocks: list[SignalBlock] = field(default_factory=list)
    samples: int = 0
    n_bytes: int = 0
    against: int = 0

    def append(self, block: SignalBlock) -> None:
        self.blocks.append(block)
        self.samples += len(block)
        self.n_bytes += block.samples.nbytes

    @property
    def is_long(self) -> bool:
        """It has not won with this, and more is not kept."""
        seconds = self.samples / self.blocks[-1].stream.sample_rate
        could_win = len(self.blocks) >= _BLOCKS
        return (could_win and seconds > 2 * _SECONDS_OF_SAME) or self.n_bytes > _MOST_BYTES

    def continued_by(self, block: SignalBlock) -> bool:
        return self.blocks[-1].index + len(self.blocks[-1]) == block.index


class RivalStreams:
    """Up to four streams, each with the blocks of it that were refused."""

    def __init__(self) -> None:
        self._rivals: dict[Stream, _Rival] = {}

    def wins(self, block: SignalBlock, *, same: bool) -> bool:
        """Tell whether a stream that is refused is to be believed once `block` of it has come.

        It is where at least a second of it came in five blocks without a gap, and four times as many samples as of
        the stream that is followed. Nothing is changed by asking.

        Parameters
        ----------
        same : it may be what came before once more, epoch, numbers and times: then five seconds must come.
        """
        rival = self._rivals.get(block.stream)
        if rival is None or not len(block) or not rival.continued_by(block):
            return False
        samples = rival.samples + len(block)
        enough = (_SECONDS_OF_SAME if same else _SECONDS) * block.stream.sample_rate
        return samples >= max(enough, _TIMES * rival.against + 1) and len(rival.blocks) + 1 >= _BLOCKS

    def add(self, block: SignalBlock) -> None:
        """Keep a block that is refused."""
        if not len(block):
            return
        rival = self._rivals.get(block.stream)
        if rival is not None and rival.continued_by(block) and not rival.is_long:
            rival.append(block)
            return
        if rival is None and len(self._rivals) == _MOST:
            del self._rivals[min(self._rivals, key=lambda stream: self._rivals[stream].samples)]
        self._rivals[block.stream] = begun = _Rival()
        begun.append(block)

    def oppose(self, samples: int) -> None:
        """Count samples of the stream that is followed."""
        for stream, rival in list(self._rivals.items()):
            rival.against += samples
            # what is as far behind as that is not kept
            if rival.against > rival.samples:
                del self._rivals[stream]

    def take(self, block: SignalBlock) -> SignalBlock:
        """Return all that came of the stream up to and with `block` as one; forget all others."""
        blocks = [*self._rivals[block.stream].blocks, block]
        self._rivals.clear()
        samples = np.concatenate([each.samples for each in blocks])
        return SignalBlock(block.stream, blocks[0].index, blocks[0].time, samples, block.last)

    def clear(self) -> None:
        """Forget all."""
        self._rivals.clear()


_REMEMBERED_GAPS = 64
_CLOCK_TOLERANCE = 0.1
_BELIEVED = "what was refused as late or doubled goes on and on, and is taken instead of what came before"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What to make of a block.

    Parameters
    ----------
    block : the part of it that is new; None when nothing is.
    started : it begins a stream: the first one, after a restart, or with other channels.
    broken : samples before it are missing, or their times do not join: windows across the seam mean nothing.
    events : what there is to tell.
    """

    block: SignalBlock | None
    started: bool = False
    broken: bool = False
    events: tuple[Event, ...] = ()


class Continuity:
    """Follow one rig's stream by epoch, index and time.

    What is late, doubled or of an earlier epoch is refused; where that goes on, it is the rig, and is believed: see
    `RivalStreams`. Nothing of it is lost then.
    """

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._next = 0
        self._time = 0.0
        self._ended = False
        self._flowing = False
        self._missing: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED_GAPS)
        self._rivals = RivalStreams()
        self._wary = False

    def begins(self, block: SignalBlock) -> bool:
        """Tell whether `block` begins a stream anew, after another one; nothing is changed by asking."""
        if self._stream is None:
            return False
        return (self._beginning(block) is not None and not self._wary) or (
            self._is_refused(block) and self._rivals.wins(block, same=self._joins(block))
        )

    def accept(self, block: SignalBlock) -> Arrival:
        """Return what is new in `block`, and what happened to the stream before it."""
        current = self._stream
        beginning = self._beginning(block)
        if beginning is not None and (current is None or not self._wary):
            self._rivals.clear()
            return self._start(block, EventKind.STARTED if current is None else EventKind.RESTART, beginning)
        if not self._is_refused(block):
            arrival = self._continue(block)
            if arrival.block is not None:
                self._rivals.oppose(len(arrival.block))
            return arrival
        if self._rivals.wins(block, same=self._joins(block)):
            # from now on no single message is believed that begins a stream
            self._wary = True
            return self._start(self._rivals.take(block), EventKind.RESTART, _BELIEVED)
        self._rivals.add(block)
        if beginning is not None:
            return Arrival(
                None, events=(_event(EventKind.REORDERED, block, len(block), "of a stream not believed yet"),)
            )
        if current is not None and block.stream.epoch < current.epoch:
            return Arrival(None, events=(_event(EventKind.REORDERED, block, len(block), "of an earlier epoch"),))
        return self._continue(block)

    def _is_refused(self, block: SignalBlock) -> bool:
        """Whether nothing of `block` continues the stream, though the rig is the one that is followed."""
        current = self._stream
        if current is None:
            return False
        if self._beginning(block) is not None or block.stream.epoch < current.epoch:
            return True
        return len(block) > 0 and block.index + len(block) <= self._next and not block.last

    def _joins(self, block: SignalBlock) -> bool:
        """Whether epoch, number and time of `block` are those of a sample that has come already."""
        current = self._stream
        if current is None or block.stream.epoch != current.epoch:
            return False
        dt = block.stream.dt
        return abs(block.time - self._time + (self._next - block.index) * dt) <= max(_CLOCK_TOLERANCE, 2.5 * dt)

    def _beginning(self, block: SignalBlock) -> str | None:
        """Say how `block` begins a stream, empty in the ordinary way; None: it does not."""
        current = self._stream
        if current is None or block.stream.rig != current.rig or block.stream.epoch > current.epoch:
            return ""
        if block.stream.epoch < current.epoch:
            return "with a smaller epoch than before" if self._ended else None
        if block.stream is not current and block.stream != current:
            return "channels or rate changed"
        return None

    def _start(self, block: SignalBlock, kind: EventKind, detail: str) -> Arrival:
        self._stream = block.stream
        self._missing.clear()
        self._ended = False
        self._flowing = False
        self._next, self._time = block.index, block.time
        events = [_event(kind, block, 0, detail)]
        return Arrival(self._take(block, events), started=True, events=tuple(events))

    def _continue(self, block: SignalBlock) -> Arrival:
        events: list[Event] = []
        broken = False
        if block.index > self._next:
            missing = block.index - self._next
            self._missing.append((self._next, block.index))
            events.append(Event(EventKind.GAP, self._time, self._next, missing))
            broken = True
        elif block.index < self._next:
            old = min(len(block), self._next - block.index)
            if old:
                late = self._fills(block.index, block.index + old)
                events.append(_event(EventKind.REORDERED if late else EventKind.DUPLICATE, block, old))
            if old == len(block) and not block.last:
                return Arrival(None, events=tuple(events))
            # an end that is older than what was taken ends nothing anew and takes nothing back
            if block.index + old < self._next:
                return Arrival(None, events=tuple(events))
            block = block.tail(old)
        if not broken and len(block) and self._flowing and self._clock_jumped(block):
            jump = block.time - self._time
            events.append(_event(EventKind.CLOCK_JUMP, block, 0, f"{jump:+.3f} s against index and rate"))
            broken = True
        return Arrival(self._take(block, events), broken=broken, events=tuple(events))

    def _fills(self, start: int, stop: int) -> bool:
        for i, (low, high) in enumerate(self._missing):
            if start < high and stop > low:
                # what came late once is a duplicate when it comes again
                del self._missing[i]
                self._missing.extend((a, b) for a, b in ((low, start), (stop, high)) if a < b)
                return True
        return False

    def _clock_jumped(self, block: SignalBlock) -> bool:
        tolerance = max(_CLOCK_TOLERANCE, 2.5 * block.stream.dt, 0.05 * len(block) * block.stream.dt)
        return abs(block.time - self._time) > tolerance

    def _take(self, block: SignalBlock, events: list[Event]) -> SignalBlock:
        if len(block) or block.index > self._next or not self._flowing:
            self._time = block.time + len(block) * block.stream.dt
        self._next = block.index + len(block)
        self._flowing |= len(block) > 0
        if block.last and not self._ended:
            self._ended = True
            events.append(Event(EventKind.ENDED, self._time, self._next))
        return block


def _event(kind: EventKind, block: SignalBlock, count: int, detail: str = "") -> Event:
    return Event(kind, block.time, block.index, count, detail)

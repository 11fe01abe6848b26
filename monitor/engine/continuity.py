"""Whether a block continues the stream: gaps, duplicates, late blocks, restarts and clock jumps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Event, EventKind, SignalBlock, Stream

_CONFIRM_SECONDS, _CONFIRM_SECONDS_OF_REPEAT = 1.0, 5.0
_CONFIRM_BLOCKS = 5
_CONFIRM_RATIO = 4  # of its samples to those of the followed stream in the same time
_MAX_CANDIDATES = 4
_MAX_BYTES = 64 << 20


@dataclass(slots=True)
class _Candidate:
    """Consecutive blocks of a rejected stream, and the number of samples of the followed one since the first.

    ``events`` say that they are late or duplicate, which is true only if the stream is not confirmed.
    """

    blocks: list[SignalBlock] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    samples: int = 0
    n_bytes: int = 0
    followed: int = 0

    def append(self, block: SignalBlock) -> None:
        self.blocks.append(block)
        self.samples += len(block)
        self.n_bytes += block.samples.nbytes

    @property
    def is_long(self) -> bool:
        """Whether it is too long to store more: it would have been confirmed by now, or takes too much memory."""
        seconds = self.samples / self.blocks[-1].stream.sample_rate
        enough_blocks = len(self.blocks) >= _CONFIRM_BLOCKS
        return (enough_blocks and seconds > 2 * _CONFIRM_SECONDS_OF_REPEAT) or self.n_bytes > _MAX_BYTES

    def continued_by(self, block: SignalBlock) -> bool:
        return self.blocks[-1].index + len(self.blocks[-1]) == block.index


class CandidateStreams:
    """Rejected streams, up to four, with their blocks, until one is confirmed as the rig's."""

    def __init__(self) -> None:
        self._candidates: dict[Stream, _Candidate] = {}
        self._released: list[Event] = []

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._candidates)

    def is_confirmed(self, block: SignalBlock, *, repeat: bool) -> bool:
        """Return whether `block` confirms a rejected stream; the state does not change.

        That takes a second of it in at least five blocks without a gap, and four times as many samples as of the
        followed stream.

        Parameters
        ----------
        repeat : it may be a repetition of the followed stream, with its epoch, numbers and times: then it takes five
            seconds.
        """
        candidate = self._candidates.get(block.stream)
        if candidate is None or not len(block) or not candidate.continued_by(block):
            return False
        samples = candidate.samples + len(block)
        required = (_CONFIRM_SECONDS_OF_REPEAT if repeat else _CONFIRM_SECONDS) * block.stream.sample_rate
        return (
            samples >= max(required, _CONFIRM_RATIO * candidate.followed + 1)
            and len(candidate.blocks) + 1 >= _CONFIRM_BLOCKS
        )

    def add(self, block: SignalBlock, events: Sequence[Event]) -> None:
        """Store a rejected block, with what to report of it if its stream is not confirmed."""
        if not len(block):
            self._released += events
            return
        candidate = self._candidates.get(block.stream)
        if candidate is None or not candidate.continued_by(block) or candidate.is_long:
            if candidate is None and len(self._candidates) == _MAX_CANDIDATES:
                self._drop(min(self._candidates, key=lambda stream: self._candidates[stream].samples))
            self._drop(block.stream)
            self._candidates[block.stream] = candidate = _Candidate()
        candidate.append(block)
        candidate.events += events

    def _drop(self, stream: Stream) -> None:
        if (candidate := self._candidates.pop(stream, None)) is not None:
            self._released += candidate.events

    def take_events(self) -> tuple[Event, ...]:
        """Return what is to be reported of streams that were dropped since the last call."""
        events, self._released = tuple(self._released), []
        return events

    def count_followed(self, samples: int) -> None:
        """Count samples of the followed stream."""
        for stream, candidate in list(self._candidates.items()):
            candidate.followed += samples
            # a stream with fewer samples than the followed one is dropped
            if candidate.followed > candidate.samples:
                self._drop(stream)

    def pop(self, block: SignalBlock) -> SignalBlock:
        """Return all blocks of the stream, with `block`, as one, and drop all streams."""
        blocks = [*self._candidates.pop(block.stream).blocks, block]
        self.clear()
        samples = np.concatenate([each.samples for each in blocks])
        return SignalBlock(block.stream, blocks[0].index, blocks[0].time, samples, block.last)

    def clear(self) -> None:
        """Drop all streams."""
        for stream in list(self._candidates):
            self._drop(stream)


_MAX_GAPS = 64
_CLOCK_TOLERANCE = 0.1
_CONFIRMED = "the blocks rejected as late or duplicate continue: they are accepted as the rig's stream"


class Accepted(NamedTuple):
    """The accepted part of a block.

    Parameters
    ----------
    block : the part that is new; None when there is none.
    started : it starts a stream: the first one, after a restart, or with other channels.
    broken : samples before it are missing, or its times do not match: windows across its start are not valid.
    events : gaps, duplicates and the like.
    """

    block: SignalBlock | None
    started: bool = False
    broken: bool = False
    events: tuple[Event, ...] = ()


class Continuity:
    """Follow one rig's stream by epoch, index and time.

    Blocks that are late, duplicate or of an earlier epoch are rejected. One message with a large epoch, or with a
    number far ahead, makes all later blocks of the rig look like that, and so does a rig that restarts with the same
    epoch and numbers. Rejected blocks that continue are therefore accepted as the rig's stream, without loss
    (`CandidateStreams`).
    """

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._next = 0
        self._time = 0.0
        self._ended = False
        self._flowing = False
        self._missing: deque[tuple[int, int]] = deque(maxlen=_MAX_GAPS)
        self._candidates = CandidateStreams()
        self._needs_confirmation = False

    def starts_stream(self, block: SignalBlock) -> bool:
        """Return whether `block` starts a new stream after another one; the state does not change."""
        if self._stream is None:
            return False
        return (self._start_reason(block) is not None and not self._needs_confirmation) or (
            self._is_rejected(block) and self._candidates.is_confirmed(block, repeat=self._is_repeat(block))
        )

    def accept(self, block: SignalBlock) -> Accepted:
        """Return the new part of `block`, and the events before it.

        That a block was late or duplicate is reported once its stream is not going to be confirmed any more.
        """
        if self._follows(block):
            return Accepted(self._advance(block, []))
        accepted = self._accept(block)
        if accepted.block is not None and accepted.block.last:
            self._candidates.clear()
        released = self._candidates.take_events()
        return accepted._replace(events=released + accepted.events) if released else accepted

    def finish(self) -> tuple[Event, ...]:
        """Return what is to be reported of blocks that were rejected, at the end."""
        self._candidates.clear()
        return self._candidates.take_events()

    def _follows(self, block: SignalBlock) -> bool:
        """Whether `block` is simply the next one, with nothing to report or to confirm: nearly always."""
        return (
            block.stream is self._stream
            and block.index == self._next
            and self._flowing
            and not block.last
            and len(block) > 0
            and not self._candidates
            and not self._clock_jumped(block)
        )

    def _accept(self, block: SignalBlock) -> Accepted:
        current = self._stream
        reason = self._start_reason(block)
        if reason is not None and (current is None or not self._needs_confirmation):
            self._candidates.clear()
            return self._start(block, EventKind.STARTED if current is None else EventKind.RESTART, reason)
        if not self._is_rejected(block):
            accepted = self._continue(block)
            if accepted.block is not None:
                self._candidates.count_followed(len(accepted.block))
            return accepted
        if self._candidates.is_confirmed(block, repeat=self._is_repeat(block)):
            # from now on no single message can start a stream
            self._needs_confirmation = True
            return self._start(self._candidates.pop(block), EventKind.RESTART, _CONFIRMED)
        if reason is not None:
            events: tuple[Event, ...] = (
                _event(EventKind.REORDERED, block, len(block), "of a stream not confirmed yet"),
            )
        elif current is not None and block.stream.epoch < current.epoch:
            events = (_event(EventKind.REORDERED, block, len(block), "of an earlier epoch"),)
        else:
            events = self._continue(block).events
        self._candidates.add(block, events)
        return Accepted(None)

    def _is_rejected(self, block: SignalBlock) -> bool:
        """Whether no part of `block` continues the stream of the followed rig."""
        current = self._stream
        if current is None:
            return False
        if self._start_reason(block) is not None or block.stream.epoch < current.epoch:
            return True
        return len(block) > 0 and block.index + len(block) <= self._next and not block.last

    def _is_repeat(self, block: SignalBlock) -> bool:
        """Whether epoch, number and time of `block` are those of a sample already received."""
        current = self._stream
        if current is None or block.stream.epoch != current.epoch:
            return False
        dt = block.stream.dt
        return abs(block.time - self._time + (self._next - block.index) * dt) <= max(_CLOCK_TOLERANCE, 2.5 * dt)

    def _start_reason(self, block: SignalBlock) -> str | None:
        """Return why `block` starts a stream, empty in the normal case; None if it does not."""
        current = self._stream
        if current is None or block.stream.rig != current.rig or block.stream.epoch > current.epoch:
            return ""
        if block.stream.epoch < current.epoch:
            return "with a smaller epoch than before" if self._ended else None
        if block.stream is not current and block.stream != current:
            return "channels or rate changed"
        return None

    def _start(self, block: SignalBlock, kind: EventKind, detail: str) -> Accepted:
        self._stream = block.stream
        self._missing.clear()
        self._ended = False
        self._flowing = False
        self._next, self._time = block.index, block.time
        events = [_event(kind, block, 0, detail)]
        return Accepted(self._advance(block, events), started=True, events=tuple(events))

    def _continue(self, block: SignalBlock) -> Accepted:
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
                late = self._fill_gap(block.index, block.index + old)
                events.append(_event(EventKind.REORDERED if late else EventKind.DUPLICATE, block, old))
            if old == len(block) and not block.last:
                return Accepted(None, events=tuple(events))
            # an end before the newest sample changes nothing
            if block.index + old < self._next:
                return Accepted(None, events=tuple(events))
            block = block.tail(old)
        if not broken and len(block) and self._flowing and self._clock_jumped(block):
            jump = f"{block.time - self._time:+.3f} s against index and rate"
            events.append(_event(EventKind.CLOCK_JUMP, block, 0, block.joint or jump))
            broken = True
        return Accepted(self._advance(block, events), broken=broken, events=tuple(events))

    def _fill_gap(self, start: int, stop: int) -> bool:
        for i, (low, high) in enumerate(self._missing):
            if start < high and stop > low:
                # samples that fill a gap are duplicates when they are repeated
                del self._missing[i]
                self._missing.extend((a, b) for a, b in ((low, start), (stop, high)) if a < b)
                return True
        return False

    def _clock_jumped(self, block: SignalBlock) -> bool:
        if block.joint:
            return True
        dt = block.stream.dt
        tolerance = max(_CLOCK_TOLERANCE, 2.5 * dt, 0.05 * len(block) * dt)
        return abs(block.time - self._time) > tolerance

    def _advance(self, block: SignalBlock, events: list[Event]) -> SignalBlock:
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

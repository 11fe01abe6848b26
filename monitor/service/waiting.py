"""Blocks that have arrived and are recorded, and wait to be computed, within a limit of memory."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from monitor.engine.continuity import Accepted
from monitor.messages.blocks import Event, SignalBlock

MAX_BYTES = 256 << 20
"""Memory for blocks that wait to be computed."""
_MAX_VALUES = 1 << 13  # computed at once: a tenth of a second of work at most
_OVERHEAD = 512  # bytes of a block beside its samples


class Waiting(NamedTuple):
    """A block that waits, and when it arrived, s on the clock of the service."""

    accepted: Accepted
    arrived: float

    @property
    def n_bytes(self) -> int:
        """Approximate memory."""
        block = self.accepted.block
        return _OVERHEAD + (0 if block is None else block.samples.nbytes)


class WaitingBlocks:
    """A queue of accepted blocks in order of arrival.

    Parameters
    ----------
    max_bytes : of memory.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._queue: deque[Waiting] = deque()
        self._n_bytes = 0
        self._left_out = self._start_left_out = False  # before the next block

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def samples(self) -> int:
        """Samples that wait."""
        return sum(len(each.accepted.block) for each in self._queue if each.accepted.block is not None)

    @property
    def oldest_arrival(self) -> float:
        """When the next block arrived, s; there is one."""
        return self._queue[0].arrived

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
        if accepted.block is None:
            self._append(Waiting(accepted, arrived))
            return
        rows = 1 + _MAX_VALUES // (1 + len(accepted.block.stream.channels))
        first = accepted
        for part in accepted.block.parts(rows):
            self._append(Waiting(first._replace(block=part), arrived))
            first = Accepted(None)

    def _append(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        self._n_bytes += waiting.n_bytes

    def pop(self) -> Waiting:
        """Remove and return the oldest; after blocks that were left out it starts its stream, or is after a gap."""
        oldest = self._queue.popleft()
        self._n_bytes -= oldest.n_bytes
        if not self._left_out or oldest.accepted.block is None:
            return oldest
        started = oldest.accepted.started or self._start_left_out
        self._left_out = self._start_left_out = False
        return oldest._replace(accepted=oldest.accepted._replace(started=started, broken=True))

    def leave_out(self, share: float) -> tuple[int, tuple[Event, ...]]:
        """Leave out the oldest until this share of the memory is used; return how many samples, and their events."""
        samples, events = 0, list[Event]()
        while self._queue and self._n_bytes > share * self._max_bytes:
            accepted = self.pop().accepted
            events += accepted.events
            if accepted.block is not None:
                samples += len(accepted.block)
                self._left_out, self._start_left_out = True, self._start_left_out or accepted.started
        return samples, tuple(events)

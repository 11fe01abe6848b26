"""Blocks that wait: recorded ones to be computed, within a limit of memory, and computed ones to be published."""

from __future__ import annotations

from collections import deque

from monitor.engine.continuity import Accepted
from monitor.engine.monitor import MAX_ROWS_PER_SECOND
from monitor.messages.blocks import Event, SignalBlock
from monitor.service.load import join_blocks

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

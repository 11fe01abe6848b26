"""Which sample of the stream a block begins with."""

from __future__ import annotations

from monitor.messages.blocks import SignalBlock


class SampleCount:
    """Counts samples from the first that comes, through gaps and restarts."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._offset = 0
        self._end = 0

    @property
    def end(self) -> int:
        """The number of the sample that comes next, unless some are missing."""
        return self._end

    def start_of(self, block: SignalBlock) -> int:
        """Return the number of the block's first sample."""
        if block.stream.epoch != self._epoch:
            self._epoch = block.stream.epoch
            self._offset = self._end - block.index
        start = block.index + self._offset
        self._end = max(self._end, start + len(block))
        return start

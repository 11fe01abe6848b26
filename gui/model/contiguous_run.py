"""Contiguous run: rows of consecutive blocks without a gap, which are stored together."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from monitor.messages.blocks import ResultBlock, ResultStream, Samples, SignalBlock, Stream

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

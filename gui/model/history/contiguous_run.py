"""Consecutive blocks of one stream, gathered so that many small ones cost no more than a large one."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

from monitor.messages.blocks import ResultBlock, ResultStream, Samples, SignalBlock, Stream

# s by which the time of a block may be off where it still goes on from the one before
_LATE = 0.1

Block = TypeVar("Block", SignalBlock, ResultBlock)


class ContiguousRun(Generic[Block]):
    """Rows from one x on, without a hole."""

    def __init__(self) -> None:
        self._stream: Stream | ResultStream | None = None
        self._rows: list[Samples] = []
        self._x = self._step = self._time = self._late = 0.0
        self._epoch: int | None = None
        self._every = 1
        self._index = self._n_rows = 0

    def goes_on(self, block: Block) -> bool:
        """Whether `block` follows without a gap, a jump of the clock or a change."""
        return (
            block.stream is self._stream
            and block.index == self._index
            and -self._late <= block.time - self._time <= self._late
        )

    def goes_back(self, block: Block) -> bool:
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

    def taken(self) -> tuple[float, Samples] | None:
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
        """Let what comes next begin anew, though it may follow."""
        self._stream = None

    def forget(self) -> None:
        """Let nothing that comes next lie before what was."""
        self._stream = self._epoch = None

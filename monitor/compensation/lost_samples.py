"""Repair of lost samples: short gaps are bridged when the next sample arrives, a few milliseconds late."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples


class GapBridge:
    """Releases blocks of commands and measured signals, later by the longest gap that is bridged.

    Across a gap the difference of measured and command is interpolated linearly and added to the command, which is
    known: the error is a fraction of the tracking error, not of the motion.

    Parameters
    ----------
    n : columns.
    block : samples that are released at once.
    longest : samples of the longest gap that is bridged; in a longer one measured stays NaN.

    Attributes
    ----------
    latency : samples between the newest sample and the newest released one.
    counts : (2, n) samples that were bridged, and that were not, up to the newest released one.
    """

    def __init__(self, n: int, block: int, longest: int) -> None:
        self.block = block
        # a whole number of blocks
        self.latency = -(-longest // block) * block
        self._longest = longest
        # commands, measured, sent; the first row is the last released one
        self._rows: Samples = np.full((3, 1 + block + self.latency, n), np.nan)
        self._filled = 1
        self.counts = np.zeros((2, n), dtype=np.int64)

    def push(self, command: Samples, measured: Samples, sent: Samples) -> Samples | None:
        """Store a sample of each, (n,); return (3, block, n) when a block is released."""
        rows = self._rows
        rows[0, self._filled], rows[1, self._filled], rows[2, self._filled] = command, measured, sent
        self._filled += 1
        if self._filled < rows.shape[1]:
            return None
        bridge_gaps(rows[0], rows[1], self.block, self._longest, self.counts)
        released = rows[:, 1 : self.block + 1].copy()
        rows[:, : self.latency + 1] = rows[:, self.block :].copy()
        self._filled = self.latency + 1
        return released


@kernel
def bridge_gaps(command: Samples, measured: Samples, block: int, longest: int, counts: NDArray[np.int64]) -> None:
    """Bridge the gaps that begin in rows 1 to `block`, (n_rows, n), in place, and count lost samples, (2, n)."""
    n_rows = command.shape[0]
    for k in range(command.shape[1]):
        for row in range(1, block + 1):
            if np.isfinite(measured[row, k]):
                continue
            # what earlier rows lost and bridged has been filled in, and is counted with the first row of its gap
            end = row
            while end < n_rows and not np.isfinite(measured[end, k]):
                end += 1
            if not np.isfinite(measured[row - 1, k]) or end - row > longest or end == n_rows:
                measured[row, k] = np.nan
                counts[1, k] += 1
                continue
            before = measured[row - 1, k] - command[row - 1, k]
            after = measured[end, k] - command[end, k]
            for at in range(row, end):
                share = (at - row + 1) / (end - row + 1)
                measured[at, k] = command[at, k] + before + share * (after - before)
            counts[0, k] += end - row

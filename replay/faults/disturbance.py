"""What every fault is: it takes a block and gives back what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Protocol

from monitor.messages.blocks import Role, SignalBlock, Stream

ROUNDING = 1e-6  # of a sample: 0.3 s at 10 Hz is sample 3, not 4


class Disturbance(Protocol):
    """One fault."""

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return what comes of `block`."""
        ...

    def flush(self) -> Sequence[SignalBlock]:
        """Return what was held back, at the end of the stream."""
        ...


class Passing:
    """Holds nothing back."""

    def flush(self) -> Sequence[SignalBlock]:
        """Return nothing."""
        return ()


def sample_at(time: float, rate: float) -> int:
    """Return the number of the first sample at or after `time`."""
    return ceil(time * rate - ROUNDING)


def measured_columns(stream: Stream) -> list[int]:
    """Return where the measured channels stand."""
    return [column for column, channel in enumerate(stream.channels) if channel.role is Role.MEASURED]

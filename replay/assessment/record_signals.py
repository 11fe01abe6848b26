"""All samples of a recording at once, and the holes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.blocks import Samples
from replay.assessment.results import RecordWarning
from replay.formats import Recording

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class RecordSignals:
    """The samples that are there, (n, n_channels); how many are missing in how many gaps; restarts."""

    samples: Samples
    missing: int
    gaps: int
    restarts: int

    def warnings(self, rate: float) -> Iterator[RecordWarning]:
        """Say what is missing in a record of `rate` samples a second."""
        if not (self.gaps or self.restarts):
            return
        parts = []
        if self.gaps:
            parts.append(
                f"{self.missing} samples ({self.missing / rate:.3g} s) are missing in {_times(self.gaps, 'gap')}"
            )
        if self.restarts:
            parts.append(f"the publisher started again {_times(self.restarts, 'time')}")
        yield RecordWarning(
            "gaps",
            f"{' and '.join(parts)}: windows across a gap have no value, and the whole-record figures are of "
            "the longest stretch without one; assess the parts between with --start and --stop",
        )


def read_signals(recording: Recording) -> RecordSignals:
    """Read a recording once from beginning to end."""
    pieces: list[Samples] = [np.empty((0, len(recording.stream.channels)))]
    missing = gaps = restarts = 0
    expected: int | None = None
    epoch = recording.stream.epoch
    for block in recording.blocks(_BLOCK):
        if expected is not None and (block.stream.epoch != epoch or block.index < expected):
            restarts += 1
        elif expected is not None and block.index > expected:
            gaps += 1
            missing += block.index - expected
        pieces.append(block.samples)
        expected, epoch = block.index + len(block), block.stream.epoch
    return RecordSignals(np.concatenate(pieces), missing, gaps, restarts)


def _times(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"

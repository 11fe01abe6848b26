"""All samples of a recording at once, and the holes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from replay.assessment.results import RecordWarning
from replay.formats import Recording
from replay.formats.recording_part import RecordingPart

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class RecordSignals:
    """The samples that are there, and what is not.

    Parameters
    ----------
    samples : (n, n_channels).
    time : (n,) s after the first sample of the record, also where only a part of it is read; through gaps, not
        through the pauses of restarts.
    missing, gaps : samples that are missing, in so many gaps.
    restarts : of the publisher.
    """

    samples: Samples
    time: NDArray[np.float64]
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
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    expected: int | None = None
    number = 0
    epoch = recording.stream.epoch
    for block in recording.blocks(_BLOCK):
        if expected is not None and (block.stream.epoch != epoch or block.index < expected):
            restarts += 1
        elif expected is not None and block.index > expected:
            gaps += 1
            missing += block.index - expected
            number += block.index - expected
        pieces.append(block.samples)
        numbers.append(np.arange(number, number + len(block)))
        number += len(block)
        expected, epoch = block.index + len(block), block.stream.epoch
    start = recording.start if isinstance(recording, RecordingPart) else 0.0
    time = start + np.concatenate(numbers) / recording.stream.sample_rate
    return RecordSignals(np.concatenate(pieces), time, missing, gaps, restarts)


def _times(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"

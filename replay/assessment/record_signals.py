"""The samples of a record as a whole, for pictures and for differences between records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from replay.assessment.record_survey import Continuity
from replay.formats import Recording

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class RecordSignals:
    """The samples of a record, and how many are missing.

    Parameters
    ----------
    samples : (n, n_channels).
    time : (n,) s after the first sample of the record, also where only a part of it is read; gaps count, pauses at
        restarts do not.
    missing, gaps : number of missing samples, and of gaps.
    restarts : of the publisher.
    """

    samples: Samples
    time: NDArray[np.float64]
    missing: int
    gaps: int
    restarts: int


def read_signals(recording: Recording) -> RecordSignals:
    """Read a recording once from beginning to end."""
    pieces: list[Samples] = [np.empty((0, len(recording.stream.channels)))]
    times: list[NDArray[np.float64]] = [np.empty(0)]
    continuity = Continuity(recording)
    for block in recording.blocks(_BLOCK):
        times.append(continuity.times(block))
        pieces.append(block.samples)
    return RecordSignals(
        np.concatenate(pieces), np.concatenate(times), continuity.missing, continuity.gaps, continuity.restarts
    )

"""The longest stretch of a recording in which no sample is missing, or is no number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Pair, Samples
from replay.formats import Recording

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Command and measured signal, (n, 2), without a hole.

    Parameters
    ----------
    samples : (n, 2).
    start : samples from the beginning of the recording on, those that are missing among them.
    left_out : samples that are no numbers, or stand beyond such a hole.
    """

    samples: Samples
    start: int
    left_out: int


def longest_stretch(recording: Recording, pair: Pair) -> Stretch:
    """Return the longest stretch without a hole; one of no samples where there is none."""
    pieces = list(_pieces(recording, pair))
    both = np.concatenate([np.empty((0, 2)), *(samples for _, samples in pieces)])
    good = _longest((np.abs(both) < LARGEST_SAMPLE).all(axis=1))
    samples = both[good]
    if not len(samples):
        return Stretch(samples, 0, len(both))
    # the piece in which it begins, and how many samples before it the pieces hold
    before = np.cumsum([0, *(len(each) for _, each in pieces)])
    piece = int(np.searchsorted(before, good.start, side="right")) - 1
    start = pieces[piece][0] - pieces[0][0] + good.start - int(before[piece])
    return Stretch(samples, start, len(both) - len(samples))


def _pieces(recording: Recording, pair: Pair) -> Iterator[tuple[int, Samples]]:
    expected: int | None = None
    for block in recording.blocks(_BLOCK):
        if expected is not None and block.index != expected:
            # where samples are missing, one that is no number stands for them
            yield expected, np.full((1, 2), np.nan)
        yield block.index, block.samples[:, [pair.command, pair.measured]]
        expected = block.index + len(block)


def _longest(good: NDArray[np.bool_]) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return slice(0, 0)
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))

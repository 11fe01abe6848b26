"""A whole recording in a few hundred columns, made in one pass and little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples, SignalBlock
from replay.formats.base import Recording
from replay.formats.run_file import RunRecording

_BLOCK = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """The least and the largest value of every channel, column by column of equal time.

    Parameters
    ----------
    seconds : (n_columns,), left edges, after the recording's first sample.
    low, high : (n_columns, n_channels); NaN where there is no number.
    """

    seconds: NDArray[np.float64]
    low: Samples
    high: Samples


def overview(recording: Recording, n_columns: int = 1000) -> Overview:
    """Return the recording in at most `n_columns` columns.

    Raises
    ------
    ValueError : the number of columns is below 1.
    RecordingError : the file has become unreadable.
    """
    if n_columns < 1:
        raise ValueError(f"an overview of {n_columns} columns: at least 1 is needed")
    rate = recording.stream.sample_rate
    whole = round(recording.duration * rate)
    width = max(1, ceil(whole / n_columns))
    low = np.full((ceil(whole / width), len(recording.stream.channels)), np.nan)
    high = low.copy()
    for number, samples in _numbered(recording):
        first = number // width
        edges = np.arange(first + 1, (number + len(samples) - 1) // width + 1) * width - number
        cuts = np.concatenate(([0], edges))
        there = slice(first, first + len(cuts))
        low[there] = np.fmin(low[there], np.fmin.reduceat(samples, cuts, axis=0))
        high[there] = np.fmax(high[there], np.fmax.reduceat(samples, cuts, axis=0))
    return Overview(np.arange(len(low), dtype=np.float64) * width / rate, low, high)


def _numbered(recording: Recording) -> Iterator[tuple[int, Samples]]:
    """Give the samples with the number of the first of them, counted through gaps and restarts."""
    behind = end = zero = 0
    epoch: int | None = None
    for block in _blocks(recording):
        if not len(block):
            continue
        if block.stream.epoch != epoch:
            epoch, behind, zero = block.stream.epoch, end, block.index
        number = behind + block.index - zero
        end = number + len(block)
        yield number, block.samples


def _blocks(recording: Recording) -> Iterator[SignalBlock]:
    if isinstance(recording, RunRecording):
        return recording.coarse_blocks(_BLOCK, 0.0, float("inf"))
    return recording.blocks(_BLOCK)

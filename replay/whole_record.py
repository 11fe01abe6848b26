"""What is said of a record as a whole: the index of Guo et al. and the criteria of the benchmark problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.blocks import Pair, Samples, units_differ
from monitor.indicators.base import LARGEST_SAMPLE
from monitor.indicators.benchmark_criteria import BenchmarkCriteria, benchmark_criteria
from monitor.indicators.frequency_evaluation import FrequencyEvaluation, frequency_evaluation_index
from replay.formats import Recording

_BLOCK = 1 << 16


@dataclass(frozen=True)
class WholeRecord:
    """FEI and J1 to J3 of one actuator; ``left_out`` samples were no numbers, or stood beyond such a hole.

    ``fei_tapered`` is FEI under a Hann taper: a record that breaks off in mid-motion leaks into ``fei`` as published.
    """

    fei: FrequencyEvaluation
    fei_tapered: FrequencyEvaluation
    criteria: BenchmarkCriteria
    left_out: int


def whole_record(recording: Recording, pair: Pair, max_delay: float) -> WholeRecord:
    """Evaluate the longest stretch of a recording that has no hole.

    Parameters
    ----------
    max_delay : s, the largest delay that J1 looks for.
    """
    both, left_out = longest_stretch(recording, pair)
    x_c, x_m = both[:, 0], both[:, 1]
    if not len(x_c):
        nothing = FrequencyEvaluation(np.nan, np.nan, np.nan, np.nan)
        return WholeRecord(nothing, nothing, BenchmarkCriteria(np.nan, np.nan, np.nan), left_out)
    rate, channels = recording.stream.sample_rate, recording.stream.channels
    criteria = benchmark_criteria(x_c, x_m, rate, max_delay=max_delay)
    if units_differ(channels[pair.command], channels[pair.measured]):
        criteria = criteria._replace(j2=np.nan, j3=np.nan)
    return WholeRecord(
        frequency_evaluation_index(x_c, x_m, rate),
        frequency_evaluation_index(x_c, x_m, rate, taper="hann"),
        criteria,
        left_out,
    )


def longest_stretch(recording: Recording, pair: Pair) -> tuple[Samples, int]:
    """Return command and measured signal of the longest stretch without a hole, (n, 2), and how much is left out."""
    both = np.concatenate([np.empty((0, 2)), *_pieces(recording, pair)])
    good = _longest((np.abs(both) < LARGEST_SAMPLE).all(axis=1))
    return both[good], len(both) - (good.stop - good.start)


def _pieces(recording: Recording, pair: Pair) -> Iterator[Samples]:
    expected: int | None = None
    for block in recording.blocks(_BLOCK):
        if expected is not None and block.index != expected:
            # where samples are missing, one that is no number stands for them
            yield np.full((1, 2), np.nan)
        yield block.samples[:, [pair.command, pair.measured]]
        expected = block.index + len(block)


def _longest(good: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return slice(0, 0)
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))

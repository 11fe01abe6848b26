"""What is said of a record as a whole: the index of Guo et al. and the criteria of the benchmark problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.indicators.benchmark_criteria import BenchmarkCriteria, benchmark_criteria
from monitor.indicators.frequency_evaluation import FrequencyEvaluation, frequency_evaluation_index
from monitor.messages.blocks import Pair, units_differ
from replay.formats import Recording
from replay.formats.gap_free import longest_stretch


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
    stretch = longest_stretch(recording, pair)
    left_out = stretch.left_out
    x_c, x_m = stretch.samples[:, 0], stretch.samples[:, 1]
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

"""FEI and J1 to J3 of all good samples of a record."""

from __future__ import annotations

import math

import numpy as np

from monitor.engine.gap_interpolation import GapInterpolation
from monitor.indicators.benchmark_criteria import BenchmarkCriteria, LaggedCorrelation
from monitor.indicators.frequency_evaluation import FrequencyEvaluation, FrequencyEvaluationSums
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Pair, Samples, units_differ
from replay.assessment.results import WholeRecord
from replay.assessment.running_figures import Moments
from replay.formats import Recording

_BLOCK = 1 << 16
_UNKNOWN = FrequencyEvaluation(np.nan, np.nan, np.nan, np.nan)


def whole_records(
    recording: Recording, max_delay: float, *, fei: bool = True, window: float = 0.0, bridge: float = 0.0
) -> tuple[WholeRecord, ...]:
    """Evaluate all good samples of each actuator, in a pass over the record.

    J1 to J3 are those of `benchmark_criteria`, without the signals in memory: J1 of all pairs of good samples, across
    gaps of known length too. FEI needs transforms of what has no gap: it sums those of all stretches of a window or
    more, or is of the longest stretch where there is none.

    Parameters
    ----------
    max_delay : s, the largest delay searched for J1.
    fei : FEI too, NaN otherwise: one stretch at a time is in memory for it.
    window : s, the shortest stretch for FEI.
    bridge : s, the longest gap that is interpolated for FEI.
    """
    stream, n_samples = recording.stream, recording.n_samples
    rate, channels = stream.sample_rate, stream.channels
    criteria = [_Criteria(pair, rate, n_samples, max_delay) for pair in stream.pairs]
    stretches = [_Stretches(pair, rate, window * rate) for pair in stream.pairs] if fei else []
    gaps = GapInterpolation(stream, bridge, window or 1.0)
    epoch, expected, total = stream.epoch, -1, 0
    for block in recording.blocks(_BLOCK):
        missing = block.index - expected if expected >= 0 else 0
        restarted = block.stream.epoch != epoch or missing < 0
        epoch, expected = block.stream.epoch, block.index + len(block)
        if restarted:
            # a pause is of unknown length: no pair of samples crosses it, and none is missing
            gaps = GapInterpolation(block.stream, bridge, window or 1.0)
        total += len(block) + (0 if restarted else missing)
        for each in criteria:
            each.add(block.samples, n_samples if restarted else missing)
        for part, broken in gaps.push(block, broken=missing != 0) if fei else ():
            for stretch in stretches:
                stretch.add(part.samples, broken=broken or restarted)
    found = []
    for number, (pair, each) in enumerate(zip(stream.pairs, criteria, strict=True)):
        same_unit = not units_differ(channels[pair.command], channels[pair.measured])
        plain, tapered, included = stretches[number].result() if fei else (_UNKNOWN, _UNKNOWN, total)
        found.append(
            WholeRecord(plain, tapered, each.result(same_unit=same_unit), total - each.n_good, total - included)
        )
    return tuple(found)


class _Criteria:
    """J1 to J3 of blocks in their order."""

    def __init__(self, pair: Pair, rate: float, n_samples: int, max_delay: float) -> None:
        self._columns, self._rate = [pair.command, pair.measured], rate
        self._moments = Moments()
        self._peaks = np.zeros(2)
        self._correlation = LaggedCorrelation(int(min(max_delay * rate, n_samples)), min(_BLOCK, n_samples))

    def add(self, samples: Samples, distance: int) -> None:
        """Include the next block, that many samples after the one before."""
        c, m = samples[:, self._columns].T
        good = (np.abs(c) < LARGEST_SAMPLE) & (np.abs(m) < LARGEST_SAMPLE)
        self._correlation.skip(distance)
        self._correlation.add(c, m, good)
        if good.any():
            command, error = c[good], m[good] - c[good]
            self._moments.add(command, error)
            self._peaks = np.maximum(self._peaks, [np.abs(command).max(), np.abs(error).max()])

    @property
    def n_good(self) -> int:
        """Number of good samples."""
        return self._moments.n

    def result(self, *, same_unit: bool) -> BenchmarkCriteria:
        """Return the criteria, NaN where undefined: J2 and J3 of signals in different units too."""
        command, error, _ = self._moments.variances if self.n_good else (0.0, 0.0, 0.0)
        low, high = self._moments.command_range
        return BenchmarkCriteria(
            j1=1000.0 * self._correlation.lag() / self._rate if high > low else np.nan,
            j2=100.0 * math.sqrt(error / command) if high > low and same_unit else np.nan,
            j3=float(100.0 * self._peaks[1] / self._peaks[0]) if self._peaks[0] > 0.0 and same_unit else np.nan,
        )


class _Stretches:
    """FEI of the stretches without a gap of at least `shortest` samples."""

    def __init__(self, pair: Pair, rate: float, shortest: float) -> None:
        self._columns, self._shortest = [pair.command, pair.measured], shortest
        self._sums = FrequencyEvaluationSums(rate), FrequencyEvaluationSums(rate, taper="hann")
        self._open: list[Samples] = []
        self._longest = np.empty((0, 2))
        self._included = 0

    def add(self, samples: Samples, *, broken: bool) -> None:
        """Include the next block; `broken`: there is a gap before it."""
        if broken:
            self._close()
        used = samples[:, self._columns]
        good = np.abs(used).max(axis=1) < LARGEST_SAMPLE
        edges = np.flatnonzero(np.diff(good, prepend=False, append=False)).reshape(-1, 2)
        for begin, end in edges.tolist():
            if begin:
                self._close()
            self._open.append(used[begin:end])
        if not good[-1:].all():
            self._close()

    def _close(self) -> None:
        """End the stretch that is open."""
        if not self._open:
            return
        stretch, self._open = np.concatenate(self._open), []
        if len(stretch) >= self._shortest:
            self._include(stretch)
        elif len(stretch) > len(self._longest):
            self._longest = stretch

    def _include(self, stretch: Samples) -> None:
        self._included += len(stretch)
        for each in self._sums:
            each.add(*np.ascontiguousarray(stretch.T))

    def result(self) -> tuple[FrequencyEvaluation, FrequencyEvaluation, int]:
        """Return FEI, that under a Hann taper, and the number of samples that are in them."""
        self._close()
        if not self._included and len(self._longest):
            self._include(self._longest)
        plain, tapered = (each.evaluation for each in self._sums)
        return plain, tapered, self._included

"""FEI and J1 to J3 of the longest segment of a record without a gap."""

from __future__ import annotations

import numpy as np

from monitor.indicators.benchmark_criteria import BenchmarkCriteria
from monitor.indicators.frequency_evaluation import FrequencyEvaluation, frequency_evaluation_index
from monitor.indicators.parts.cross_spectra import fast_length
from monitor.messages.blocks import Pair, Samples, SignalBlock, units_differ
from replay.assessment.results import WholeRecord
from replay.formats import Recording
from replay.formats.parts import SegmentFinder, SegmentPlace, longest_gap_free_segment

_BLOCK = 1 << 16
_UNKNOWN = FrequencyEvaluation(np.nan, np.nan, np.nan, np.nan)


def whole_records(recording: Recording, max_delay: float, *, fei: bool = True) -> tuple[WholeRecord, ...]:
    """Evaluate the longest gap-free segment of each actuator, in three passes over the record.

    J1 to J3 are those of `benchmark_criteria`, without the signals in memory; J2 to rounding, J1 and J3 exactly.

    Parameters
    ----------
    max_delay : s, the largest delay searched for J1.
    fei : FEI too, NaN otherwise: its transforms are of the whole segment, which is in memory for them.
    """
    pairs, rate = recording.stream.pairs, recording.stream.sample_rate
    finders = [SegmentFinder(pair) for pair in pairs]
    for block in recording.blocks(_BLOCK):
        for finder in finders:
            finder.add(block)
    criteria = [
        _SegmentCriteria(pair, finder.longest, rate, max_delay) for pair, finder in zip(pairs, finders, strict=True)
    ]
    for later in (False, True):
        row = 0
        for block in recording.blocks(_BLOCK):
            for each in criteria:
                each.add(block, row, later=later)
            row += len(block)
    found = []
    for pair, each, finder in zip(pairs, criteria, finders, strict=True):
        values, channels = each.criteria(), recording.stream.channels
        if units_differ(channels[pair.command], channels[pair.measured]):
            values = values._replace(j2=np.nan, j3=np.nan)
        plain = tapered = _UNKNOWN
        if fei and finder.longest.samples:
            x_c, x_m = longest_gap_free_segment(recording, pair).samples.T
            plain = frequency_evaluation_index(x_c, x_m, rate)
            tapered = frequency_evaluation_index(x_c, x_m, rate, taper="hann")
        found.append(WholeRecord(plain, tapered, values, finder.longest.left_out))
    return tuple(found)


class _SegmentCriteria:
    """J1 to J3 of a segment in two passes: means and ranges, then squares and the correlation.

    The correlation at the lags that are searched is a sum over blocks, of each with the end of the one before it.
    """

    def __init__(self, pair: Pair, place: SegmentPlace, rate: float, max_delay: float) -> None:
        self._columns, self._place, self._rate = [pair.command, pair.measured], place, rate
        self._max_lag = int(min(max_delay * rate, place.samples))
        # of command, measured and the error
        self._sums, self._squares = np.zeros(3), np.zeros(3)
        self._low, self._high = np.full(3, np.inf), np.full(3, -np.inf)
        self._n_before = self._max_lag + 1
        self._before = np.zeros((2, self._n_before))
        self._length = fast_length(min(_BLOCK, max(1, place.samples)) + self._n_before)
        self._spectra = np.zeros((2, self._length // 2 + 1), dtype=np.complex128)

    def add(self, block: SignalBlock, row: int, *, later: bool) -> None:
        """Include what of a block, whose first row has that number, is in the segment; `later` in the second pass."""
        begin, end = (
            min(max(at - row, 0), len(block)) for at in (self._place.row, self._place.row + self._place.samples)
        )
        if begin == end:
            return
        c, m = block.samples[begin:end, self._columns].T
        signals = np.stack([c, m, m - c])
        if later:
            self._second(signals)
        else:
            self._sums += signals.sum(axis=1)
            self._low, self._high = (
                np.minimum(self._low, signals.min(axis=1)),
                np.maximum(self._high, signals.max(axis=1)),
            )

    def _second(self, signals: Samples) -> None:
        centred = signals - (self._sums / self._place.samples)[:, None]
        self._squares += np.einsum("ij,ij->i", centred, centred)
        ranges = (self._high - self._low)[:2]
        if not ranges.all():
            return
        new = centred[:2] / ranges[:, None]
        both = np.concatenate([self._before, new], axis=1)
        self._before = both[:, -self._n_before :]
        of_new, of_both = (np.fft.rfft(each, self._length) for each in (new, both))
        # measured after the command, and before it
        self._spectra += of_both.conj() * of_new[::-1]

    def criteria(self) -> BenchmarkCriteria:
        """Return the criteria after both passes, NaN where undefined."""
        if not self._place.samples:
            return BenchmarkCriteria(np.nan, np.nan, np.nan)
        (moves, follows, _), largest = self._high > self._low, np.maximum(self._high, -self._low)
        command, _, error = np.sqrt(self._squares / self._place.samples)
        return BenchmarkCriteria(
            j1=1000.0 * self._lag() / self._rate if moves and follows else np.nan,
            j2=float(100.0 * error / command) if moves else np.nan,
            j3=float(100.0 * largest[2] / largest[0]) if largest[0] > 0.0 else np.nan,
        )

    def _lag(self) -> float:
        """Return the lag of the largest correlation, samples; NaN when none within the largest lag is a maximum."""
        n = self._n_before
        both = np.fft.irfft(self._spectra, self._length)
        # from no lag to the largest, of measured after the command and before it
        after, before = np.roll(both, n, axis=1)[:, : n + 1]
        correlation = np.concatenate([before[:0:-1], after])
        lags = np.arange(-n, n + 1)
        # one lag more on either side shows whether the last one is a maximum; beyond the segment there is none
        nearby = np.where(np.abs(lags) < self._place.samples, correlation, 0.0)
        peak = int(np.argmax(nearby))
        return float(lags[peak]) if 0 < peak < len(nearby) - 1 else np.nan

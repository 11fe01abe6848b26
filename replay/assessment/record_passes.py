"""Passes over a record: the dominant frequency of each command; FEI and J1 to J3 of all good samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from monitor.engine.gap_interpolation import GapInterpolation
from monitor.indicators.benchmark_criteria import BenchmarkCriteria, LaggedCorrelation
from monitor.indicators.frequency_evaluation import FrequencyEvaluation, FrequencyEvaluationSums
from monitor.indicators.parts.cross_spectra import Spectrum, fast_length
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Pair, Samples, units_differ
from replay.assessment.results import WholeRecord
from replay.assessment.signal_checks import Moments
from replay.formats import Recording

_BLOCK = 1 << 16
# frequencies are searched up to this fraction of the sample rate
_HIGHEST = 0.1
# bins to one over the duration: a record of two cycles gives its frequency to a few percent
_PADDING = 8

_DECIMATION = 4
# 200 dB from 0.15 of the rate on, whose images would lie in the band that is searched; a ripple of 1e-10 in it
_TAPS, _KAISER = 268, 21.1

# of the first search: bins to one over the duration, and the longest transform: a longer signal is folded
_SHIFTS, _LONGEST = 4, 1 << 18
# a bin of the first search is at most an eighth of 1 / duration from a peak, and at most this fraction lower
_NEAR = 0.95


def dominant_frequencies(recording: Recording) -> Iterator[float]:
    """Yield the frequency [Hz] of the largest velocity of each command that moves.

    It is the largest bin of ``k |X[k]|`` below a tenth of the sample rate, with X the spectrum of the command without
    its mean, under a Hann taper, padded to eight times its length. The velocity, because the motion is then found
    despite a slow drift or a lasting displacement. A sample that is no number counts as the mean, and samples beyond
    a gap follow the last one before it.

    In memory are two bytes for each sample of each command, and two more of one of them.
    """
    commands = [pair.command for pair in recording.stream.pairs]
    n, means = _means(recording, commands)
    filters = [_Decimator(n) for _ in commands]
    first = 0
    for block in recording.blocks(_BLOCK):
        values = block.samples[:, commands] - means
        values[~(np.abs(block.samples[:, commands]) < LARGEST_SAMPLE)] = 0.0
        # np.hanning(n)
        at = 2.0 * np.arange(first, first + len(block)) + 1 - n
        values *= (0.5 + 0.5 * np.cos(np.pi * at / max(1, n - 1)))[:, None]
        first += len(block)
        for column, decimator in enumerate(filters):
            decimator.add(values[:, column])
    while filters:
        peak = _peak(filters.pop(0).finish(), n)
        if peak:
            yield peak * recording.stream.sample_rate / (_PADDING * n)


def _means(recording: Recording, columns: list[int]) -> tuple[int, Samples]:
    """Return the number of samples, and the mean of each column over those that are numbers."""
    n, counts = 0, np.zeros(len(columns))
    # relative to the first value, so that the mean of a constant is that constant
    origin, sums = np.full(len(columns), np.nan), np.zeros(len(columns))
    for block in recording.blocks(_BLOCK):
        n += len(block)
        values = block.samples[:, columns]
        good = np.abs(values) < LARGEST_SAMPLE
        for column in np.flatnonzero(np.isnan(origin) & good.any(axis=0)):
            origin[column] = values[np.argmax(good[:, column]), column]
        sums += np.where(good, values - origin, 0.0).sum(axis=0)
        counts += good.sum(axis=0)
    return n, np.nan_to_num(origin) + sums / np.maximum(counts, 1.0)


class _Decimator:
    """Every fourth sample of a filtered signal of `n` samples, which comes in pieces; its start and end are zeros."""

    def __init__(self, n: int) -> None:
        at = np.arange(_TAPS) - 0.5 * (_TAPS - 1)
        taps = 2.0 * 0.125 * np.sinc(2.0 * 0.125 * at) * np.kaiser(_TAPS, _KAISER)
        # a row of the signal, of four samples, contributes to as many values as there are columns
        self._taps = np.ascontiguousarray(taps.reshape(-1, _DECIMATION)[:, ::-1].T)
        rows = -(-n // _DECIMATION)
        self._values = np.zeros(rows + self._taps.shape[1] - 1)
        self._rows = 0
        self._left: Samples = np.empty(0)

    def add(self, values: Samples) -> None:
        joined = np.concatenate([self._left, values])
        whole = len(joined) // _DECIMATION * _DECIMATION
        self._filter(joined[:whole])
        self._left = joined[whole:]

    def finish(self) -> Samples:
        """Return the decimated signal."""
        if len(self._left):
            self._filter(np.pad(self._left, (0, _DECIMATION - len(self._left))))
        return self._values

    def _filter(self, values: Samples) -> None:
        rows = len(values) // _DECIMATION
        parts = values.reshape(rows, _DECIMATION) @ self._taps
        for delay in range(parts.shape[1]):
            begin = self._rows + delay
            self._values[begin : begin + rows] += parts[:, delay]
        self._rows += rows


def _peak(decimated: Samples, n: int) -> int:
    """Return the bin k of the largest ``k |X[k]|`` of the padded spectrum of `n` samples; 0 where all are zero."""
    near = _near_peaks(decimated)
    if not len(near):
        return 0
    # those bins of the padded spectrum that may have the largest value
    bins = np.unique(np.floor(_PADDING * n * near).astype(np.int64)[:, None] + np.arange(-2, 4))
    bins = bins[(bins >= 0) & (bins < _HIGHEST * _PADDING * n)]
    sizes = np.abs(_spectrum_at(decimated, _DECIMATION * bins / (_PADDING * n))) * bins
    return int(bins[np.argmax(sizes)])


def _near_peaks(decimated: Samples) -> Samples:
    """Return frequencies, per sample of the record, at which the velocity is near its largest value."""
    n_folds = -(-len(decimated) // _LONGEST)
    length = fast_length(-(-len(decimated) // n_folds))
    folds = np.zeros((n_folds, length))
    folds.reshape(-1)[: len(decimated)] = decimated
    n_shifts = _SHIFTS * n_folds
    largest, found = 0.0, [(np.empty(0), np.empty(0))]
    for shift in range(n_shifts):
        # bins (k + shift / n_shifts) / length: at whole k a fold differs from the one before by a constant phase
        phases = 2.0 * np.pi * shift / n_shifts * np.arange(n_folds)
        real, imaginary = np.stack([np.cos(phases), -np.sin(phases)]) @ folds
        waves = np.exp(-2j * np.pi * shift / n_shifts / length * np.arange(length))
        spectrum = np.fft.fft((real + 1j * imaginary) * waves)
        frequencies = (np.arange(length) + shift / n_shifts) / (length * _DECIMATION)
        frequencies = frequencies[frequencies < _HIGHEST]
        sizes: Samples = np.abs(spectrum[: len(frequencies)]) * frequencies
        largest = max(largest, float(sizes.max(initial=0.0)))
        near = (sizes >= _NEAR * largest) & (sizes > 0.0)
        found.append((frequencies[near], sizes[near]))
    frequencies, sizes = (np.concatenate(each) for each in zip(*found, strict=True))
    return np.asarray(frequencies[sizes >= _NEAR * largest])


def _spectrum_at(values: Samples, frequencies: NDArray[np.float64]) -> Spectrum:
    """Return the spectrum of (n,) values at (m,) frequencies, per sample."""
    length = min(len(values), 1 << 12)
    waves = np.exp(-2j * np.pi * np.arange(length)[:, None] * frequencies)
    found = np.zeros(len(frequencies), dtype=np.complex128)
    for first in range(0, len(values), length):
        piece = values[first : first + length]
        found += np.exp(-2j * np.pi * first * frequencies) * (piece @ waves[: len(piece)])
    return found


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

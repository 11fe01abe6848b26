"""Dominant frequency of each command, in passes over the record: no signal is in memory at its full rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.cross_spectra import Spectrum, fast_length
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Samples
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

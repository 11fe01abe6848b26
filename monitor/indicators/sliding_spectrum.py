"""A sliding discrete Fourier transform of command and measured signal that does not drift.

Every sample costs two multiply-adds a bin: the sample that enters minus the one that leaves, times a factor
that has the window for its period, so that what was added is removed again with the same factor. What rounding
is left then walks at random and stays below 1e-12 of the loudest spectrum for a million samples. The sums are
made anew from the stored window after so many, and whenever the spectrum has fallen far below what has passed
through it, a spike or a loud motion, whose rounding would show.

A pair begins, and begins again after a bad sample, as if it had stood still at its first value for ever: so
offsets never enter the sums, and bin 0 is held at zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.kernel import kernel, part

# rows of the sums; a row holds all real parts, then all imaginary parts
COMMAND, MEASURED = 0, 1
# what is this much smaller than what has passed has lost 1e-13 of itself to rounding
_FALLEN = 450.0
_RENEWED_AFTER = 1 << 20
_VECTOR = 16


class Bins(NamedTuple):
    """The bins that are kept: `low` .. `high` are searched, `first` .. `last` stored for their neighbours."""

    first: int
    low: int
    high: int
    last: int


class Spectrum(NamedTuple):
    """The arrays of a sliding spectrum.

    ``steps``, ``factors`` (2 n_bins,): turn of every bin from sample to sample, and up to the newest sample;
    ``turns`` (2, n_window): cosine and sine of the turn from slot 0 to the oldest sample, by newest slot;
    ``half`` (2, n_bins): sine and cosine of half the angle a sample; ``ring`` (n_pairs, n_window, 2); ``sums``
    (n_pairs, 2, 2 n_bins); ``loudest`` (n_pairs, 3): squares of the largest step and peak of command and measured
    signal that the sums remember, and of the command's largest step or range; ``age`` (n_pairs,): samples since they
    were made anew; ``clock`` (1,): slot of the sample that comes next.
    """

    steps: Samples
    factors: Samples
    turns: Samples
    half: Samples
    ring: Samples
    sums: Samples
    loudest: Samples
    age: NDArray[np.int64]
    clock: NDArray[np.int64]


def choose_bins(n_window: int, sample_rate: float, band: tuple[float, float] | None) -> Bins:
    """Return the bins for a band in Hz; by default up to a tenth of the sample rate.

    Raises
    ------
    ValueError : the band is not 0 <= low < high <= 0.4 times the sample rate, or holds no bin of the window.
    """
    resolution = sample_rate / n_window
    f_low, f_high = band if band is not None else (0.0, max(0.1 * sample_rate, 3.0 * resolution))
    if not 0.0 <= f_low < f_high <= 0.4 * sample_rate:
        raise ValueError(
            f"band = ({f_low:g}, {f_high:g}) Hz: must rise, within 0 and {0.4 * sample_rate:g} Hz"
            " (0.4 times the sample rate)"
        )
    low = max(1, int(np.ceil(f_low / resolution - 1e-9)))
    high = int(np.floor(f_high / resolution + 1e-9))
    if high < low:
        raise ValueError(
            f"band = ({f_low:g}, {f_high:g}) Hz: holds no multiple of {resolution:g} Hz, the resolution of the"
            " window; widen the band or lengthen the window"
        )
    # bin -1 is kept for the wide tapers' bin 1
    first, last = max(-1, low - 3), max(high, 2) + 3
    # a whole number of vectors: the last few of a loop, done one by one, would cost as much as all the others
    last += -(last - first + 1) % _VECTOR
    return Bins(first, low, high, last)


def new_spectrum(n_window: int, n_pairs: int, bins: Bins) -> Spectrum:
    """Return the spectrum of nothing."""
    k = np.arange(bins.first, bins.last + 1)
    half = np.pi * k / n_window
    turn = 2.0 * np.pi * np.arange(1, n_window + 1) / n_window
    return Spectrum(
        steps=np.concatenate([np.cos(2.0 * half), -np.sin(2.0 * half)]),
        factors=np.concatenate([np.where(k == 0, 0.0, 1.0), np.zeros(len(k))]),
        turns=np.stack([np.cos(turn), np.sin(turn)]),
        half=np.stack([np.sin(half), np.cos(half)]),
        ring=np.zeros((n_pairs, n_window, 2)),
        sums=np.zeros((n_pairs, 2, 2 * len(k))),
        loudest=np.zeros((n_pairs, 3)),
        age=np.zeros(n_pairs, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
    )


@part
def begin_pair(pair: int, c: float, m: float, ring: Samples, sums: Samples, loudest: Samples) -> None:
    """Let a pair have stood at (c, m) for ever."""
    for slot in range(ring.shape[1]):
        ring[pair, slot, 0], ring[pair, slot, 1] = c, m
    sums[pair] = 0.0
    loudest[pair] = 0.0


@part
def add_sample(
    pair: int, slot: int, c: float, m: float, factors: Samples, ring: Samples, sums: Samples, loudest: Samples
) -> None:
    """Let one sample of a pair in and the oldest out."""
    d_c, d_m = c - ring[pair, slot, 0], m - ring[pair, slot, 1]
    ring[pair, slot, 0], ring[pair, slot, 1] = c, m
    loudest[pair, 0] = max(loudest[pair, 0], d_c * d_c)
    loudest[pair, 1] = max(loudest[pair, 1], d_m * d_m)
    loudest[pair, 2] = max(loudest[pair, 2], d_c * d_c)
    rows = sums[pair]
    # both rows in one loop: each factor is fetched once
    row_c, row_m = rows[COMMAND], rows[MEASURED]
    for k in range(factors.shape[0]):
        row_c[k] += d_c * factors[k]
        row_m[k] += d_m * factors[k]


@part
def advance_clock(steps: Samples, factors: Samples, clock: NDArray[np.int64], n_window: int) -> None:
    """Turn the factors on, after all pairs have had their sample."""
    clock[0] += 1
    if clock[0] == n_window:
        # the factors begin again at one, so their rounding has the window for its period too
        clock[0] = 0
        _begin(factors, steps)
    else:
        _turn(factors, steps)


@part
def is_worn(pair: int, power_c: float, power_m: float, loudest: Samples, age: NDArray[np.int64], n: int) -> bool:
    """Whether the sums of a pair, whose peaks have these squared magnitudes, should be made anew."""
    loudest[pair, 0] = max(loudest[pair, 0], power_c)
    loudest[pair, 1] = max(loudest[pair, 1], power_m)
    limit = _FALLEN * _FALLEN
    fallen = loudest[pair, 0] > limit * power_c or loudest[pair, 1] > limit * power_m
    # not again at once, where something loud outside the band stays; and each pair at a time of its own
    return bool(fallen and age[pair] >= n // 16) or bool(age[pair] >= _RENEWED_AFTER + 977 * pair)


@kernel
def renew(pair: int, steps: Samples, ring: Samples, sums: Samples, loudest: Samples, age: NDArray[np.int64]) -> None:
    """Make a pair's sums anew from the stored window."""
    factors = np.empty_like(steps)
    _begin(factors, steps)
    sums[pair] = 0.0
    low = high = 0.0
    for slot in range(ring.shape[1]):
        c, m = ring[pair, slot, 0] - ring[pair, 0, 0], ring[pair, slot, 1] - ring[pair, 0, 1]
        for k in range(factors.shape[0]):
            sums[pair, COMMAND, k] += c * factors[k]
            sums[pair, MEASURED, k] += m * factors[k]
        _turn(factors, steps)
        low, high = min(low, c), max(high, c)
    loudest[pair] = 0.0
    loudest[pair, 2] = (high - low) ** 2
    # a burst leaves sample by sample: sixteen times in a row are free, then one in n/16 samples
    age[pair] = min(age[pair], ring.shape[1]) - ring.shape[1] // 16


@part
def _begin(factors: Samples, steps: Samples) -> None:
    n_bins = factors.shape[0] // 2
    for k in range(n_bins):
        # bin 0, whose step is one, stays out
        factors[k] = 1.0 if steps[k] != 1.0 else 0.0
        factors[n_bins + k] = 0.0


@part
def _turn(factors: Samples, steps: Samples) -> None:
    n_bins = factors.shape[0] // 2
    real, imaginary, step_re, step_im = factors[:n_bins], factors[n_bins:], steps[:n_bins], steps[n_bins:]
    for k in range(n_bins):
        re, im = real[k], imaginary[k]
        real[k] = re * step_re[k] - im * step_im[k]
        imaginary[k] = re * step_im[k] + im * step_re[k]

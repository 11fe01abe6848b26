"""A sliding discrete Fourier transform of command and measured signal that does not drift.

Every sample costs two multiply-adds a bin: the sample that enters minus the one that leaves, times a factor
that has the window for its period, so that what was added is removed again with the same factor. Rounding
is forgotten by a second, add-only set of sums that starts afresh every window and then takes over; after a
spike, whose rounding would be seen until then, the sums are made anew from the stored window.

Bin 0 is held at zero: constant offsets do not exist for what reads the spectrum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.indicators.kernel import kernel, part

# rows of the sums; the fresh sums of both follow. A row holds all real parts, then all imaginary parts
COMMAND, MEASURED, _FRESH = 0, 1, 2
# a spike this much larger than the spectrum's peak leaves a rounding of 1e-13 of the peak behind
_SPIKE = 450.0
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
    ``half`` (2, n_bins): sine and cosine of half the angle a sample; ``ring`` (n_pairs, n_window, 2);
    ``sums`` (n_pairs, 4, 2 n_bins); ``reference`` (n_pairs, 2); ``clock`` (2,): slot of the sample that comes
    next, age of the fresh sums.
    """

    steps: Samples
    factors: Samples
    turns: Samples
    half: Samples
    ring: Samples
    sums: Samples
    reference: Samples
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
    first, last = max(0, low - 3), max(high, 2) + 3
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
        sums=np.zeros((n_pairs, 4, 2 * len(k))),
        reference=np.zeros((n_pairs, 2)),
        clock=np.zeros(2, dtype=np.int64),
    )


@part
def add_sample(
    pair: int,
    c: float,
    m: float,
    factors: Samples,
    ring: Samples,
    sums: Samples,
    reference: Samples,
    clock: NDArray[np.int64],
) -> float:
    """Let one sample of a pair in and the oldest out; return the larger of the two steps between them."""
    slot = clock[0]
    if clock[1] == 0:
        reference[pair, 0], reference[pair, 1] = c, m
    d_c, d_m = c - ring[pair, slot, 0], m - ring[pair, slot, 1]
    ring[pair, slot, 0], ring[pair, slot, 1] = c, m
    a_c, a_m = c - reference[pair, 0], m - reference[pair, 1]
    rows = sums[pair]
    # four rows in one loop: each factor is fetched once
    row_c, row_m, fresh_c, fresh_m = rows[0], rows[1], rows[2], rows[3]
    for k in range(factors.shape[0]):
        factor = factors[k]
        row_c[k] += d_c * factor
        row_m[k] += d_m * factor
        fresh_c[k] += a_c * factor
        fresh_m[k] += a_m * factor
    return float(max(abs(d_c), abs(d_m)))


@kernel
def advance_clock(steps: Samples, factors: Samples, sums: Samples, clock: NDArray[np.int64], n_window: int) -> None:
    """After all pairs have had their sample: turn the factors on, and let the fresh sums take over in time."""
    clock[0] += 1
    clock[1] += 1
    if clock[0] == n_window:
        # the factors begin again at one, so their rounding has the window for its period too
        clock[0] = 0
        _begin(factors, steps)
    else:
        _turn(factors, steps)
    if clock[1] == n_window:
        clock[1] = 0
        for pair in range(sums.shape[0]):
            for row in range(_FRESH):
                for k in range(sums.shape[2]):
                    sums[pair, row, k] = sums[pair, _FRESH + row, k]
                    sums[pair, _FRESH + row, k] = 0.0


@kernel
def renew(pair: int, steps: Samples, ring: Samples, sums: Samples) -> None:
    """Make a pair's sums anew from the stored window."""
    factors = np.empty_like(steps)
    _begin(factors, steps)
    sums[pair, :_FRESH] = 0.0
    for slot in range(ring.shape[1]):
        c, m = ring[pair, slot, 0] - ring[pair, 0, 0], ring[pair, slot, 1] - ring[pair, 0, 1]
        for k in range(factors.shape[0]):
            sums[pair, COMMAND, k] += c * factors[k]
            sums[pair, MEASURED, k] += m * factors[k]
        _turn(factors, steps)


@part
def spoiled(spike: float, command_power: float, measured_power: float) -> bool:
    """Whether a step that left could have spoiled a spectrum whose peaks have these squared magnitudes."""
    limit = (spike / _SPIKE) ** 2
    return limit > command_power or limit > measured_power


@kernel
def _begin(factors: Samples, steps: Samples) -> None:
    n_bins = factors.shape[0] // 2
    for k in range(n_bins):
        # bin 0, whose step is one, stays out
        factors[k] = 1.0 if steps[k] != 1.0 else 0.0
        factors[n_bins + k] = 0.0


@kernel
def _turn(factors: Samples, steps: Samples) -> None:
    n_bins = factors.shape[0] // 2
    real, imaginary, step_re, step_im = factors[:n_bins], factors[n_bins:], steps[:n_bins], steps[n_bins:]
    for k in range(n_bins):
        re, im = real[k], imaginary[k]
        real[k] = re * step_re[k] - im * step_im[k]
        imaginary[k] = re * step_im[k] + im * step_re[k]
